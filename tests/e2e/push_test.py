#!/usr/bin/env python3
"""`ruvllm push` against a server that speaks the hub's protocol and checks what it is sent; what was pushed
is fetched with huggingface_hub's own client.

Usage: push_test.py --binary RUVLLM --source FOLDER [TestName]...
"""
import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from hub_server import Big, HubServer, sha256_of
from server import Server, need_package, run_tests

os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
os.environ["HF_HUB_DISABLE_XET"] = "1"
huggingface_hub = need_package("huggingface_hub")

REPO = "owner/model-GGUF"
TOKEN = "hf_write"


def noise(n_bytes, seed):
    return random.Random(seed).randbytes(n_bytes)


class PushTest(unittest.TestCase):
    def setUp(self):
        self.hub = HubServer()
        self.addCleanup(self.hub.close)
        self.pushes = self.hub.pushes
        self.folder = tempfile.mkdtemp(prefix="ruv_push_")
        self.addCleanup(shutil.rmtree, self.folder, True)

    def file(self, name, content):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def environment(self, **more):
        plain = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
        return {**plain, "HF_ENDPOINT": self.hub.url, "HF_HOME": self.folder + "/home",
                "HF_TOKEN": TOKEN, **more}

    def run_program(self, *arguments, **more):
        return subprocess.run([Server.binary, "push", *arguments], env=self.environment(**more),
                              capture_output=True, text=True, timeout=120, check=False)

    def push(self, *arguments, **more):
        """What a push that must succeed says as JSON. Files that are no models have no card."""
        done = self.run_program("--json", "--no-card", *arguments, REPO, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def refused(self, words, *arguments, **more):
        done = self.run_program("--no-card", *arguments, **more)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn(words, done.stderr)
        self.assertNotIn(TOKEN, done.stdout + done.stderr)
        self.assertEqual(self.pushes.commits, [])

    def assert_hub_has(self, name, content):
        path = huggingface_hub.hf_hub_download(REPO, name, cache_dir=self.folder + "/theirs",
                                               endpoint=self.hub.url, token=False)
        with open(path, "rb") as file:
            self.assertEqual(file.read(), content)

    # What works.

    def test_files_become_one_commit(self):
        large, small = noise(300_000, 1), b'{"a": 1}\n'
        done = self.push(self.file("m-Q4_K_M.gguf", large), self.file("config.json", small),
                         self.file("empty.gguf", b""), "--message", "Two files")
        self.assertEqual((done["is_new"], done["n_committed"], done["n_sent"]), (True, 3, len(large)))
        [(repo, header, paths)] = self.pushes.commits
        self.assertEqual((repo, header["summary"]), (REPO, "Two files"))
        self.assertEqual(paths, ["m-Q4_K_M.gguf", "config.json", "empty.gguf"])
        self.assertEqual(done["commit"], self.hub.repos[REPO]["commit"])
        self.assertNotIn(REPO, self.pushes.private)
        self.assert_hub_has("m-Q4_K_M.gguf", large)
        self.assert_hub_has("config.json", small)
        self.assert_hub_has("empty.gguf", b"")
        # The store's URLs are signed: the token goes to the hub alone.
        for method, path, headers in self.hub.requests:
            if method in ("PUT", "POST"):
                self.assertEqual("Authorization" in headers, method == "POST", path)

    def test_what_is_there_is_not_sent_again(self):
        paths = [self.file(name, noise(9000, seed)) for seed, name in enumerate(("a.gguf", "b.gguf"))]
        self.push(*paths)
        again = self.push(*paths, self.file("c.json", b"{}"))
        self.assertEqual((again["n_committed"], again["n_sent"], again["is_new"]), (1, 0, False))
        nothing = self.push(*paths, self.folder + "/c.json")
        self.assertEqual((nothing["n_committed"], len(self.pushes.commits)), (0, 2))
        self.assertEqual(nothing["commit"], again["commit"])
        # A content that the hub has under another name.
        renamed = self.push(self.file("d.gguf", noise(9000, 0)))
        self.assertEqual((renamed["n_committed"], renamed["n_sent"]), (1, 0))

    def test_parts(self):
        content = noise(1_000_000, 2)
        self.pushes.part_bytes = 300_000
        self.push(self.file("m.gguf", content), self.file("same.gguf", content))
        self.assertEqual(self.hub.n_requests("/put/"), 4)
        self.assert_hub_has("m.gguf", content)
        self.assert_hub_has("same.gguf", content)

    def test_a_private_repository(self):
        self.push(self.file("m.gguf", noise(5000, 1)), "--private")
        self.assertIn(REPO, self.pushes.private)

    def test_a_dry_run_sends_nothing(self):
        self.push(self.file("a.gguf", noise(5000, 1)))
        before = len(self.hub.requests)
        done = self.run_program("--dry-run", "--no-card", self.folder + "/a.gguf",
                                self.file("b.gguf", noise(6000, 2)), REPO, HF_TOKEN="")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("is there: a.gguf", done.stdout)
        self.assertIn(f"would be sent: b.gguf 6.0 kB {sha256_of(noise(6000, 2))}", done.stdout)
        new = self.run_program("--dry-run", "--no-card", self.folder + "/b.gguf", "owner/new")
        self.assertIn("owner/new would be made, public", new.stdout)
        self.assertEqual({method for method, _, _ in self.hub.requests[before:]}, {"GET"})

    # README.md.

    def card(self):
        return self.hub.repos[REPO]["files"]["README.md"].decode()

    def test_a_card_says_what_the_files_are(self):
        done = self.run_program(Server.model, self.file("config.json", b"{}"), REPO, "--license", "mit",
                                "--base-model", "owner/base")
        self.assertEqual(done.returncode, 0, done.stderr)
        text = self.card()
        data = huggingface_hub.ModelCard(text).data
        self.assertEqual((data.license, data.base_model, data.tags),
                         ("mit", "owner/base", ["gguf", "q8_0"]))
        info = subprocess.run([Server.binary, "info", "--json", Server.model], capture_output=True,
                              check=True)
        info = json.loads(info.stdout)
        name = os.path.basename(Server.model)
        n_ctx = info["numbers"]["n_ctx_train"]
        for part in ("# model-GGUF\n", f"| {info['architecture']} |", f"| {n_ctx} |",
                     f"`{Big(Server.model).sha256()}`", f"`{sha256_of(b'{}')}`", "| config.json |"):
            self.assertIn(part, text)
        self.assertEqual(text.count(name), 2)
        self.assert_hub_has("README.md", text.encode())

    def test_a_card_that_is_there_stays(self):
        self.hub.add(REPO, {"README.md": b"# Mine\n"})
        done = self.run_program(Server.model, REPO)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.card(), "# Mine\n")
        given = self.run_program(Server.model, REPO, "--card", self.file("card.md", b"# Given\n"))
        self.assertEqual(given.returncode, 0, given.stderr)
        self.assertEqual(self.card(), "# Given\n")

    def test_a_card_needs_files_that_can_be_read(self):
        done = self.run_program(self.file("m.gguf", b"no model"), REPO)
        self.assertEqual(done.returncode, 1)
        self.assertIn("--no-card", done.stderr)
        self.assertEqual(self.hub.n_requests("/repos/create"), 0)

    # What networks do.

    def test_breaks_in_the_middle_of_a_part(self):
        content = noise(3 << 20, 3)
        self.pushes.part_bytes = 1 << 20
        self.pushes.cut_puts = 3
        self.push(self.file("m.gguf", content))
        self.assertEqual(self.pushes.cut_puts, 0)
        self.assert_hub_has("m.gguf", content)

    def test_errors_that_pass_are_tried_again(self):
        self.pushes.refusals = [(path, status) for path in ("preupload", "objects/batch", "/put/",
                                                            "/verify/", "/commit/main")
                                for status in (503, 500)]
        self.push(self.file("m.gguf", noise(5000, 3)))
        self.assertEqual((self.pushes.refusals, len(self.pushes.commits)), ([], 1))

    def test_a_commit_whose_answer_is_lost(self):
        self.pushes.lost_commits = 1
        done = self.push(self.file("m.gguf", noise(5000, 3)))
        self.assertEqual(done["commit"], self.hub.repos[REPO]["commit"])
        self.assertEqual(len(self.pushes.commits), 1)

    def test_an_interrupted_push_continues(self):
        contents = {f"{i}.gguf": noise(4 << 20, i) for i in range(3)}
        paths = [self.file(*item) for item in contents.items()]
        command = [Server.binary, "push", "--no-card", *paths, REPO]
        self.pushes.cut_puts = 0
        for how in (signal.SIGKILL, signal.SIGINT):
            with subprocess.Popen(command, env=self.environment(), stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL) as process:
                n_before = len(self.pushes.contents)
                while len(self.pushes.contents) == n_before and process.poll() is None:
                    time.sleep(0.0005)
                process.send_signal(how)
        n_here = len(self.pushes.contents)
        done = self.push(*paths)
        self.assertEqual(done["n_sent"], (3 - n_here) * (4 << 20))
        for name, content in contents.items():
            self.assert_hub_has(name, content)

    # What hubs refuse.

    def test_a_refusal_says_what_to_do(self):
        path = self.file("m.gguf", noise(5000, 3))
        self.refused("set HF_TOKEN", path, REPO, HF_TOKEN="")
        self.refused("does not know the token", path, REPO, HF_TOKEN="hf_other")
        self.pushes.refusals = [("repos/create", 403)]
        self.refused("may not write", path, REPO)
        self.pushes.refusals = [("/put/", 413)]
        self.refused("takes nothing this large", path, REPO)
        self.pushes.refusals = [("/commit/main", 403)]
        self.refused("may not write", path, REPO)
        self.pushes.ignored = {"m.gguf"}
        self.refused(".gitignore leaves out m.gguf", path, REPO)
        self.pushes.ignored, self.pushes.transfer = set(), "xet"
        self.refused("'xet' only", path, REPO)
        self.pushes.transfer = None
        self.refused("a folder", self.folder, REPO)
        self.refused("not a repository", path, "model")
        self.refused("No such file", self.folder + "/absent.gguf", REPO)
        os.mkdir(self.folder + "/other")
        self.refused("two files have the name", path, self.file("other/m.gguf", b""), REPO)

    def test_an_etag_of_another_content(self):
        path = self.file("m.gguf", noise(500_000, 3))
        self.pushes.part_bytes = 200_000
        self.pushes.wrong_etags = 1
        self.refused("parts could not be found", path, REPO)
        self.push(path)

    def test_the_repository_changes_meanwhile(self):
        path = self.file("m.gguf", noise(5000, 3))
        self.push(path)
        real = self.hub.files_at
        first = real(REPO, "main")
        self.hub.add(REPO, {**first[1], "new.txt": b"new"})
        answers = [first]
        self.hub.files_at = lambda repo, revision: answers.pop() if answers else real(repo, revision)
        done = self.run_program("--no-card", self.file("n.gguf", noise(5000, 4)), REPO)
        self.assertEqual(done.returncode, 1)
        self.assertIn("has changed meanwhile", done.stderr)

    def test_hostile_answers_about_lfs(self):
        path = self.file("m.gguf", noise(5000, 3))

        def upload(**more):
            return lambda places: [{**places[0], "actions": {"upload": {**more}}}]
        for words, places in (
                ("'objects'", lambda places: 7), ("does not say where", lambda places: []),
                ("no 'href'", upload()), ("not a URL", upload(href="file:///etc/passwd")),
                ("not a URL", upload(href="http://a/b\r\nX: y")),
                ("header", upload(href="http://127.0.0.1:9/x", header={"A": "b\r\nC: d"})),
                ("chunk_size", upload(href="http://127.0.0.1:9/x", header={"chunk_size": "0"})),
                ("are not 50 parts", upload(href="http://127.0.0.1:9/x",
                                            header={"chunk_size": "100", "1": "http://a/1"})),
                ("does not say where", lambda places: [{**places[0], "size": 1}]),
                ("the hub refuses it: too large", lambda places: [
                    {**places[0], "error": {"code": 422, "message": "too large"}}])):
            self.pushes.places = places
            self.refused(words, path, REPO)


if __name__ == "__main__":
    run_tests()
