#!/usr/bin/env python3
"""Models that are here: names, tags and short names of them, `ruvllm list`, `rm`, `tag` and `cache`, with
huggingface_hub's own client as the witness of what the cache holds.

Usage: local_models_test.py --binary RUVLLM --source FOLDER [TestName]...
"""
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import unittest.mock

from hub_case import REPO, HubCase, noise
from hub_server import Big, etag_of
from server import Server, need_package, run_tests

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from program import Program, Terminal

os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
os.environ["HF_HUB_DISABLE_XET"] = "1"
huggingface_hub = need_package("huggingface_hub")

OTHER = "other/tensors"
RUN = ("--max-tokens", "4", "--temperature", "0", "Hello")


class LocalCase(HubCase):
    def cache(self):
        """What the hub's own client finds: {repository: {commit: (files, references)}} and bytes."""
        info = huggingface_hub.scan_cache_dir(self.folder + "/hub")
        self.assertEqual(list(info.warnings), [])
        return {repo.repo_id: {revision.commit_hash: (sorted(file.file_name for file in revision.files),
                                                      sorted(revision.refs))
                               for revision in repo.revisions}
                for repo in info.repos}, info.size_on_disk

    def lock(self, path):
        """Holds a lock as whoever fetches the file does, until the test ends or it is closed."""
        os.makedirs(os.path.dirname(path), exist_ok=True)
        file = open(path, "w", encoding="ascii")
        self.addCleanup(file.close)
        fcntl.flock(file, fcntl.LOCK_EX)
        return file

    def hub_lock(self, content):
        name = "models--" + REPO.replace("/", "--")
        return self.lock(f"{self.folder}/hub/.locks/{name}/{etag_of(content)}.lock")

    def removes(self, *names):
        return self.said("rm", "--yes", *names)["n_bytes"]


class Cached(LocalCase):
    def setUp(self):
        super().setUp()
        self.hub.add(OTHER, {"config.json": b"{}", "model.safetensors": noise(9000, 1)})

    def test_what_is_listed_is_what_the_hubs_own_client_finds(self):
        for name in (REPO + ":Q8_0", REPO + ":Q2_K", OTHER):
            self.pull(name)
        models = {model["name"]: model for model in self.said("list")["models"]}
        self.assertEqual(set(models), {f"hf:{REPO}:Q8_0", f"hf:{REPO}:Q2_K", f"hf:{OTHER}"})
        self.assertEqual(sum(model["n_bytes"] for model in models.values()), self.cache()[1])
        one = models[f"hf:{REPO}:Q8_0"]
        self.assertEqual((one["type"], one["n_bytes"], one["commit"], one["refs"]),
                         ("Q8_0", 300_000, self.commit, ["main"]))
        self.assert_pulled(one["path"], self.files["model-Q8_0.gguf"])
        self.assertEqual(models[f"hf:{OTHER}"]["type"], "safetensors")
        shown = self.run_program("ls").stdout
        for word in (f"hf:{REPO}:Q2_K", "300.0 kB", "main " + self.commit[:10], one["path"]):
            self.assertIn(word, shown)

    def test_a_type_is_removed_and_the_rest_stays(self):
        self.pull(REPO + ":Q8_0")
        self.pull(REPO + ":Q2_K")
        self.assertEqual(self.removes(f"hf:{REPO}:q8_0"), 300_000)
        self.assertEqual(self.cache(), ({REPO: {self.commit: (["model-Q2_K.gguf"], ["main"])}}, 90_000))
        self.assertFalse(os.path.exists(self.blob(self.files["model-Q8_0.gguf"])))
        self.assert_fails("has no 'q8_0'", "rm", "--yes", f"hf:{REPO}:q8_0")
        self.assertEqual(self.pull(REPO + ":Q8_0")["n_fetched"], 300_000)
        self.removes(REPO + ":Q8_0", REPO + ":Q2_K")
        self.assertEqual(self.cache(), ({}, 0))

    def test_a_revision_is_removed_with_what_no_other_has(self):
        new = noise(40_000, 9)
        self.pull(REPO + ":Q8_0")
        self.pull(REPO + ":Q2_K")
        commit = self.hub.add(REPO, {**self.files, "model-Q2_K.gguf": new})
        for wanted in ("Q8_0", "Q2_K"):
            self.pull(f"{REPO}:{wanted}")
        both = ["model-Q2_K.gguf", "model-Q8_0.gguf"]
        self.assertEqual(self.cache()[0][REPO], {self.commit: (both, []), commit: (both, ["main"])})
        self.assertEqual(self.removes(f"{REPO}@{self.commit}"), 90_000)
        self.assertEqual(self.cache(), ({REPO: {commit: (both, ["main"])}}, 340_000))
        self.pull(REPO + ":Q8_0@refs/pr/1")
        # With two refs and the small journals beside the contents.
        self.assertTrue(340_080 <= self.removes(REPO) < 341_000)
        self.assertEqual(self.cache(), ({}, 0))
        self.assertFalse(os.path.exists(self.folder + "/hub/models--owner--model-GGUF"))

    def test_what_the_hubs_own_client_fetched_is_removed(self):
        for name in self.files:
            huggingface_hub.hf_hub_download(REPO, name, cache_dir=self.folder + "/hub",
                                            endpoint=self.hub.url)
        self.pull(OTHER)
        before = self.cache()[1]
        freed = self.removes(f"hf:{REPO}:Q4_K_M")
        self.assertEqual(self.cache()[1], before - freed)
        self.assertEqual(self.cache()[0][REPO][self.commit][0],
                         ["README.md", "model-Q2_K.gguf", "model-Q8_0.gguf"])
        self.removes(REPO)
        self.assertEqual(list(self.cache()[0]), [OTHER])

    def test_what_is_being_fetched_stays(self):
        self.pull(REPO + ":Q8_0")
        self.pull(REPO + ":Q2_K")
        before = self.cache()
        held = self.hub_lock(self.files["model-Q8_0.gguf"])
        for name in (REPO, REPO + ":Q8_0", REPO + "@main"):
            self.assert_fails("is being fetched", "rm", "--yes", name)
        self.assertEqual(self.cache(), before)
        self.removes(REPO + ":Q2_K")
        held.close()
        self.removes(REPO)
        # A file that no byte has arrived of.
        self.pull(REPO + ":Q2_K")
        self.hub_lock(self.files["model-Q4_K_M.gguf"])
        self.assert_fails("is being fetched", "rm", "--yes", REPO)

    def test_removing_needs_consent(self):
        self.pull(REPO + ":Q8_0")
        before = self.cache()
        self.assert_fails("--yes gives it", "rm", REPO)
        self.assertIn("300.", self.run_program("rm", "--dry-run", REPO).stdout)
        Program.binary = Server.binary
        for answer, after in ((b"n\n", before), (b"\x03", before), (b"maybe\ny\n", ({}, 0))):
            terminal = Terminal("rm", REPO, **self.environment())
            terminal.wait_for(b"300.")
            for line in answer.splitlines(True):
                terminal.wait_for(b"[n]o: ")
                terminal.send(line)
            terminal.close()
            self.assertEqual(self.cache(), after)

    def test_names_that_nothing_has(self):
        self.assert_fails("is not here", "rm", "--yes", "owner/absent")
        self.assert_fails("neither a file nor", "rm", "--yes", "absent")
        self.assert_fails("ollama:llama3:latest is not here", "rm", "--yes", "ollama:llama3")
        self.assert_fails("not a repository", "rm", "--yes", "./model.gguf")
        self.assert_fails("name what", "rm", code=2)


class Kept(LocalCase):
    def kept(self):
        return {one["name"]: one for one in self.said("cache")["kept"]}

    def unfinished(self):
        """A download that was killed after some bytes."""
        content = noise(24 << 20, 5)
        self.hub.add(REPO, {**self.files, "big-Q6_K.gguf": content})
        self.hub.delay_s = 0.01
        process = subprocess.Popen([Server.binary, "pull", REPO + ":Q6_K"], env=self.environment(),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while self.kept()["unfinished"]["n_bytes"] == 0:
            self.assertIsNone(process.poll())
        # Its lock is held while it runs.
        self.assertIn("stays", self.run_program("cache", "clean", "unfinished", "--yes").stderr)
        process.kill()
        process.wait()
        self.hub.delay_s = 0
        return content

    def test_unfinished_downloads_are_shown_and_cleaned(self):
        self.pull(REPO + ":Q8_0")
        content = self.unfinished()
        n_bytes = self.kept()["unfinished"]["n_bytes"]
        self.assertTrue(0 < n_bytes < len(content), n_bytes)
        would = self.said("cache", "clean", "--dry-run")
        self.assertEqual((would["n_bytes"], self.kept()["unfinished"]["n_bytes"]), (n_bytes, n_bytes))
        done = self.said("cache", "clean", "--yes")
        self.assertEqual(done["n_bytes"], n_bytes)
        self.assertEqual(self.kept()["unfinished"]["n_files"], 0)
        self.assertEqual(self.cache()[1], 300_000)
        self.assertEqual(self.kept()["models"]["n_bytes"], 300_000 + 40)

    def test_leftovers_of_a_removal_are_shown_and_cleaned(self):
        pulled = self.pull(REPO + ":Q8_0")
        self.pull(REPO + ":Q2_K")
        # As a removal leaves them that is killed after it has removed the links.
        os.remove(pulled["path"])
        lost = self.hub_lock(self.files["model-Q2_K.gguf"])
        left = self.kept()["leftovers"]
        self.assertEqual((left["n_bytes"], left["n_files"], left["clean"]), (300_000, 1, "usual"))
        self.assertIn("leftovers", self.run_program("cache").stdout)
        self.assertEqual(self.said("cache", "clean", "--dry-run", "leftovers")["n_bytes"], 300_000)
        held = self.hub_lock(self.files["model-Q8_0.gguf"])
        self.assertIn("it stays", self.run_program("cache", "clean", "leftovers", "--yes").stderr)
        held.close()
        lost.close()
        self.assertEqual(self.said("cache", "clean", "--yes")["n_bytes"], 300_000)
        self.assertEqual(self.kept()["leftovers"]["n_files"], 0)
        self.assertEqual(self.cache()[1], 90_000)
        # Without a snapshot the folder goes too.
        shutil.rmtree(self.folder + "/hub/models--owner--model-GGUF/snapshots")
        self.assertEqual(self.said("cache", "clean", "--yes", "leftovers")["n_bytes"], 90_000)
        self.assertEqual(self.kept()["leftovers"]["n_files"], 0)

    def test_packed_weights_and_prefixes(self):
        place = self.folder + "/caches/ruvllm"
        os.makedirs(place + "/packed")
        written = [f"{place}/packed/{name}" for name in ("0a.ruvpack", "0b.ruvpack.partial")]
        for path in written + [place + "/notes.txt", place + "/packed/notes.txt"]:
            with open(path, "w", encoding="ascii") as file:
                file.write("some bytes")
        story = "Once upon a time there was a boat on a long river. " * 8
        done = self.run_program("run", "--model", Server.model, "--cache-dir", place, *RUN[:-1], story)
        self.assertEqual(done.returncode, 0, done.stderr)
        kept = self.kept()
        self.assertEqual((kept["packed"]["path"], kept["packed"]["n_bytes"]), (place + "/packed", 20))
        self.assertGreater(kept["prefixes"]["n_bytes"], 0)
        server = self.lock(place + "/lock")
        with open(written[1], "r+", encoding="ascii") as writer:
            fcntl.flock(writer, fcntl.LOCK_EX)
            cleaned = self.said("cache", "clean", "--yes")["cleaned"]
        self.assertEqual([(one["name"], one["n_files"], len(one["busy"])) for one in cleaned],
                         [("packed", 1, 1), ("prefixes", 0, 1), ("unfinished", 0, 0),
                          ("leftovers", 0, 0)])
        server.close()
        self.said("cache", "clean", "--yes")
        kept = self.kept()
        self.assertEqual([kept[name]["n_files"] for name in ("packed", "prefixes")], [0, 0])
        self.assertTrue(os.path.exists(place + "/notes.txt"))
        self.assertTrue(os.path.exists(place + "/packed/notes.txt"))

    def test_what_is_not_made_again_is_named_or_stays(self):
        os.makedirs(self.folder + "/data/ruvllm")
        history = self.folder + "/data/ruvllm/history"
        with open(history, "w", encoding="ascii") as file:
            file.write("hello\n")
        self.said("cache", "clean", "--yes")
        self.assertTrue(os.path.exists(history))
        self.said("cache", "clean", "--yes", "history")
        self.assertFalse(os.path.exists(history))
        self.assert_fails("sessions delete", "cache", "clean", "--yes", "sessions")
        self.assert_fails("`ruvllm rm` removes them", "cache", "clean", "--yes", "packed", "models")
        self.assert_fails("did you mean 'packed'", "cache", "clean", "paked", code=2)
        self.assert_fails("--yes gives it", "cache", "clean")
        shown = self.run_program("cache").stdout
        for word in ("packed", self.folder + "/hub", "kept conversations", "total"):
            self.assertIn(word, shown)


class Known(LocalCase):
    def test_short_names(self):
        known = {one["name"]: one["means"] for one in self.said("list", "--known")["models"]}
        self.assertEqual(known["qwen3-0.6b"], "hf:Qwen/Qwen3-0.6B-GGUF:Q8_0")
        self.assertGreaterEqual(len(known), 25)
        self.hub.add("Qwen/Qwen3-0.6B-GGUF", {"Qwen3-0.6B-Q8_0.gguf": Big(Server.model)})
        first = self.run_program("run", "--model", "qwen3-0.6b", *RUN)
        self.assertEqual(first.returncode, 0, first.stderr)
        self.assertEqual(self.pull("qwen3-0.6b")["n_fetched"], 0)
        self.assert_fails("it has no 'Q2_K'", "pull", "qwen3-0.6b:Q2_K")
        self.assert_fails("did you mean 'qwen3-0.6b'", "run", "--model", "qwen-0.6b", *RUN)
        self.assert_fails("did you mean 'smollm2-135m'", "pull", "smolm2-135m")
        self.assert_fails("named hf:owner/x", "info", "owner/x")
        # A file of this name wins.
        os.makedirs(self.folder + "/here")
        shutil.copy(Server.model, self.folder + "/here/qwen3-0.6b")
        info = subprocess.run([os.path.abspath(Server.binary), "info", "--json", "qwen3-0.6b"], cwd=self.folder + "/here",
                              env=self.environment(HF_HUB_OFFLINE="1", HF_HUB_CACHE="/nowhere"),
                              capture_output=True, text=True, check=False)
        self.assertEqual(info.returncode, 0, info.stderr)
        self.removes("qwen3-0.6b")
        self.assertEqual(self.cache(), ({}, 0))


class Tags(LocalCase):
    def setUp(self):
        super().setUp()
        self.model = self.copied("tuned.gguf")

    def copied(self, name):
        path = os.path.join(self.folder, name)
        shutil.copy(Server.model, path)
        return path

    def names_file(self):
        return self.folder + "/data/ruvllm/models.json"

    def versions(self, name):
        return self.said("tag", "--list", name)["models"][0]["versions"]

    def test_every_assignment_is_a_version(self):
        with open(self.model, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        first = self.said("tag", self.model, "writer")
        self.assertEqual((first["tag"], first["version"], first["sha256"]), ("latest", 1, digest))
        small = os.path.join(self.folder, "small.gguf")
        self.assertEqual(self.run_program("quantize", "--requantize", self.model, small, "q4_0").returncode, 0)
        self.said("tag", small, "writer:canary")
        self.said("tag", "writer:canary", "writer:prod")
        self.said("tag", "writer@1", "writer:prod")
        versions = self.versions("writer")
        self.assertEqual([(one["version"], one["assigned"], one["tags"], one["source"]) for one in versions],
                         [(1, "latest", ["latest"], self.model), (2, "canary", ["canary"], small),
                          (3, "prod", [], small), (4, "prod", ["prod"], self.model)])
        answers = {name: self.run_program("run", "--model", name, *RUN).stdout
                   for name in (self.model, "writer", "writer@1", "writer:prod")}
        self.assertEqual(len(set(answers.values())), 1, answers)
        self.assertIn("writer:canary", self.run_program("list").stdout)
        self.assert_fails("has no tag 'other'; it has canary, latest, prod", "run", "--model",
                          "writer:other", *RUN)
        self.assert_fails("the newest is 4", "info", "writer@9")
        self.assert_fails("did you mean 'writer'", "info", "writr")
        self.assert_fails("give 'writer' a tag", "tag", self.model, "writer@7")
        self.assert_fails("means version 4", "rm", "--yes", "writer@4")
        self.removes("writer:prod", "writer@4")
        self.assertEqual([one["version"] for one in self.versions("writer")], [1, 2, 3])
        self.removes("writer")
        self.assert_fails("there is no name", "tag", "--list", "writer")
        self.assertTrue(os.path.exists(self.model))

    def test_a_file_that_was_changed_is_refused(self):
        self.said("tag", self.model, "writer")
        os.utime(self.model)
        self.assertEqual(self.run_program("info", "writer").returncode, 0)
        with open(self.model, "r+b") as file:
            file.seek(-1, os.SEEK_END)
            last = file.read(1)[0]
            file.seek(-1, os.SEEK_END)
            file.write(bytes([last ^ 1]))
        self.assert_fails("changed after it was named", "info", "writer")
        self.said("tag", self.model, "writer")
        self.assertEqual(self.run_program("info", "writer").returncode, 0)
        os.remove(self.model)
        self.assert_fails(self.model, "info", "writer")
        self.assert_fails("README", "tag", os.path.join(os.path.dirname(Server.model), "README.md"), "x")

    def test_a_pulled_model_keeps_its_commit(self):
        self.hub.add("owner/nano", {"nano-Q8_0.gguf": Big(Server.model)})
        commit = self.hub.repos["owner/nano"]["commit"]
        tagged = self.said("tag", "hf:owner/nano", "nano:v1")
        self.assertEqual(tagged["source"], f"hf:owner/nano:nano-Q8_0.gguf@{commit}")
        self.assertEqual(tagged["sha256"], Big(Server.model).sha256())
        self.hub.add("owner/nano", {"nano-Q8_0.gguf": noise(5000, 3)})
        self.pull("owner/nano")
        self.assertEqual(self.run_program("info", "nano:v1", HF_HUB_OFFLINE="1").returncode, 0)
        self.removes("owner/nano")
        self.assert_fails("is not here", "info", "nano:v1", HF_HUB_OFFLINE="1")
        self.assertEqual(self.run_program("info", "nano:v1").returncode, 0)

    def test_a_damaged_file_of_names_is_refused_with_the_place(self):
        self.said("tag", self.model, "writer")
        with open(self.names_file(), encoding="utf-8") as file:
            text = file.read()
        for wrong, says in ((text.replace('"latest":1', '"latest":7'), "models[0]: tags"),
                            (text.replace("sha256", "sha255", 1), "versions[0]: unknown field"),
                            (text[:-9], "models.json"), ("", "models.json"), ("[" * 5000, "models.json")):
            with open(self.names_file(), "w", encoding="utf-8") as file:
                file.write(wrong)
            self.assert_fails(says, "info", "writer")
            self.assert_fails(says, "tag", self.model, "other")
            with open(self.names_file(), encoding="utf-8") as file:
                self.assertEqual(file.read(), wrong)
        self.assertEqual(self.run_program("info", self.model).returncode, 0)

    def test_many_processes_name_at_once(self):
        calls = [subprocess.Popen([Server.binary, "tag", "--json", self.model, f"m:{i % 3}"],
                                  env=self.environment(), stdout=subprocess.PIPE, text=True)
                 for i in range(8)]
        numbers = [json.loads(call.communicate(timeout=60)[0])["version"] for call in calls]
        self.assertEqual(sorted(numbers), list(range(1, 9)))
        self.assertEqual(len(self.versions("m")), 8)

    def test_a_server_serves_tags(self):
        self.said("tag", self.model, "writer:prod")
        self.said("tag", Server.model, "writer:canary")
        with unittest.mock.patch.dict(os.environ, self.environment()), \
                unittest.mock.patch.object(Server, "model", ""):
            with Server("--model", self.model, "--model", "writer:prod", "--model", "writer:canary",
                        "--model", "b=writer@1", "--packed-cache", "off") as server:
                ids = [model["id"] for model in server.get("/v1/models")["data"]]
                self.assertEqual(ids, ["nano", "writer:prod", "writer:canary", "b"])
                body = {"model": "writer:canary", "max_tokens": 4, "temperature": 0,
                        "messages": [{"role": "user", "content": "Hi"}]}
                status, answer = server.post("/v1/chat/completions", body)
                self.assertEqual((status, answer["model"]), (200, "writer:canary"))


if __name__ == "__main__":
    run_tests()
