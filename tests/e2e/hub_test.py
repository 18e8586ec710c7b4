#!/usr/bin/env python3
"""`ruvllm pull` and its neighbours against a server that speaks the hub's protocol, and the cache that
they share with huggingface_hub's own client.

Usage: hub_test.py --binary RUVLLM --source FOLDER [TestName]...
"""
import json
import os
import random
import shutil
import subprocess
import sys
import threading
import time
import unittest

from hub_case import REPO, HubCase, noise
from hub_server import Big, sha256_of
from server import Server, need_package, run_tests

os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
os.environ["HF_HUB_DISABLE_XET"] = "1"
huggingface_hub = need_package("huggingface_hub")

N_KILLS = int(os.environ.get("RUV_HUB_KILLS", "10"))


class HubTest(HubCase):
    # The cache.

    def test_a_pull_has_the_layout_of_the_hubs_own_client(self):
        pulled = self.pull(REPO)
        self.assertEqual(os.path.basename(pulled["path"]), "model-Q4_K_M.gguf")
        self.assert_pulled(pulled["path"], self.files["model-Q4_K_M.gguf"])
        target = os.readlink(pulled["path"])
        self.assertEqual(target, "../../blobs/" + sha256_of(self.files["model-Q4_K_M.gguf"]))
        root = os.path.join(self.folder, "hub", "models--owner--model-GGUF")
        with open(os.path.join(root, "refs", "main"), encoding="ascii") as ref:
            self.assertEqual(ref.read(), self.commit)
        self.assertEqual(sorted(os.listdir(root)), ["blobs", "refs", "snapshots"])

    def test_the_hubs_own_client_reads_our_cache(self):
        self.pull(REPO + ":Q8_0")
        before = len(self.hub.requests)
        for offline in (True, False):
            path = huggingface_hub.hf_hub_download(
                REPO, "model-Q8_0.gguf", cache_dir=self.folder + "/hub", endpoint=self.hub.url,
                local_files_only=offline)
            self.assert_pulled(path, self.files["model-Q8_0.gguf"])
        self.assertFalse([path for method, path, _ in self.hub.requests[before:]
                          if method == "GET" and "/store/" in path])
        info = huggingface_hub.scan_cache_dir(self.folder + "/hub")
        self.assertEqual([repo.repo_id for repo in info.repos], [REPO])
        self.assertEqual(list(info.warnings), [])

    def test_we_read_what_the_hubs_own_client_wrote(self):
        for name in ("README.md", "model-Q2_K.gguf"):
            huggingface_hub.hf_hub_download(REPO, name, cache_dir=self.folder + "/hub",
                                            endpoint=self.hub.url)
        pulled = self.pull(REPO + ":q2_k")
        self.assertEqual(pulled["n_fetched"], 0)
        offline = self.pull(REPO + ":Q2_K", HF_HUB_OFFLINE="1", HF_ENDPOINT="http://127.0.0.1:9")
        self.assertEqual(offline["path"], pulled["path"])
        self.refused("HF_HUB_OFFLINE keeps it from being fetched", REPO + ":Q8_0", HF_HUB_OFFLINE="1")

    def test_a_new_commit_shares_what_did_not_change(self):
        self.pull(REPO)
        commit = self.hub.add(REPO, {**self.files, "model-Q8_0.gguf": noise(1000, 9)})
        pulled = self.pull(REPO)
        self.assertEqual((pulled["commit"], pulled["n_fetched"]), (commit, 0))
        old = self.pull(REPO + "@" + self.commit)
        self.assertEqual(old["commit"], self.commit)

    def test_a_branch_with_a_slash(self):
        self.assertEqual(self.pull(REPO + "@refs/pr/1")["commit"], self.commit)
        self.assertEqual(self.pull(REPO + "@refs/pr/1", HF_HUB_OFFLINE="1")["commit"], self.commit)

    def test_all_parts_of_a_file(self):
        parts = {f"big-Q4_K_M-0000{i}-of-00003.gguf": noise(5000, i) for i in (1, 2, 3)}
        self.hub.add("owner/parts", {**parts, "mmproj-F16.gguf": noise(10, 5)})
        pulled = self.pull("owner/parts")
        self.assertEqual((pulled["n_files"], pulled["n_bytes"]), (3, 15000))
        self.assertTrue(pulled["path"].endswith("-00001-of-00003.gguf"))
        for name, content in parts.items():
            self.assert_pulled(os.path.join(os.path.dirname(pulled["path"]), name), content)

    def test_a_safetensors_model(self):
        files = {"config.json": b"{}", "tokenizer.json": b'{"a": 1}', "model.safetensors": noise(9000, 1),
                 "onnx/model.onnx": noise(9000, 2), "pytorch_model.bin": noise(9000, 3),
                 "1_Pooling/config.json": b"{ }", "README.md": b"x"}
        self.hub.add("owner/tensors", files)
        pulled = self.pull("owner/tensors")
        here = sorted(os.path.relpath(os.path.join(at, name), pulled["path"])
                      for at, _, names in os.walk(pulled["path"]) for name in names)
        self.assertEqual(here, ["1_Pooling/config.json", "config.json", "model.safetensors",
                                "tokenizer.json"])
        for name in here:
            self.assert_pulled(os.path.join(pulled["path"], name), files[name])

    def test_a_model_is_used_by_its_name(self):
        self.hub.add("owner/nano", {"nano-Q8_0.gguf": Big(Server.model)})
        call = ["run", "--model", "hf:owner/nano", "--max-tokens", "4", "--temperature", "0", "Hello"]
        first = self.run_program(*call)
        self.assertEqual(first.returncode, 0, first.stderr)
        again = self.run_program(*call, HF_ENDPOINT="http://127.0.0.1:9")
        self.assertEqual((again.returncode, again.stdout), (0, first.stdout))
        self.assertIn("is not here: fetching it", first.stderr)
        info = self.run_program("info", "--json", "hf:owner/nano:q8_0", HF_HUB_OFFLINE="1")
        self.assertEqual(info.returncode, 0, info.stderr)
        out = os.path.join(self.folder, "out.gguf")
        small = self.run_program("quantize", "--requantize", "hf:owner/nano", out, "q4_0")
        self.assertEqual(small.returncode, 0, small.stderr)
        absent = self.run_program("run", "--model", "hf:owner/absent", "Hello")
        self.assertEqual(absent.returncode, 1)
        self.assertIn("404", absent.stderr)

    # What networks do.

    def test_drops_cost_only_what_was_not_here(self):
        content = noise(40 << 20, 7)
        self.hub.add(REPO, {"m-Q4_K_M.gguf": content})
        self.hub.drops = 20
        self.assert_pulled(self.pull(REPO)["path"], content)
        self.assertEqual(self.hub.drops, 0)

    def test_errors_that_pass_are_tried_again(self):
        self.hub.failures = [(503, {}), (429, {"Retry_After": "0"}), (500, {}), (408, {})]
        self.pull(REPO)
        self.assertEqual(self.hub.failures, [])

    def test_a_server_without_ranges(self):
        content = noise(40 << 20, 8)
        self.hub.add(REPO, {"m-Q4_K_M.gguf": content})
        self.hub.no_ranges = True
        self.assert_pulled(self.pull(REPO)["path"], content)

    def test_an_expired_link_is_asked_for_again(self):
        content = noise(64 << 20, 8)
        self.hub.add(REPO, {"m-Q4_K_M.gguf": content})
        self.hub.failures = [(206, {})] * 0 + [(403, {})] * 0
        hub = self.hub

        def expire():
            while hub.n_requests("/store/") < 2:
                time.sleep(0.001)
            hub.expired |= {path.rsplit("=", 1)[1] for _, path, _ in list(hub.requests)
                            if "/store/" in path}
        thread = threading.Thread(target=expire)
        thread.start()
        self.assert_pulled(self.pull(REPO, "--connections", "2")["path"], content)
        thread.join()

    def test_a_digest_that_does_not_match_leaves_nothing(self):
        self.hub.wrong_bytes = True
        self.refused("hash to", REPO)
        root = os.path.join(self.folder, "hub", "models--owner--model-GGUF")
        self.assertEqual(os.listdir(os.path.join(root, "blobs")), [])
        self.assertFalse(os.path.exists(os.path.join(root, "refs", "main")))
        self.hub.wrong_bytes = False
        self.pull(REPO)

    def test_a_small_files_digest_is_checked(self):
        self.hub.add("owner/tensors", {"config.json": b"{}", "model.safetensors": noise(9000, 1)})
        self.hub.wrong_bytes = True
        self.refused("config.json", "owner/tensors")

    # What hostile servers do.

    def test_paths_that_lead_elsewhere(self):
        for path in ("../x.gguf", "/x.gguf", "a/../../x.gguf", "a//x.gguf", "x\u0000.gguf", ""):
            entry = {"rfilename": path, "size": 3, "lfs": {"sha256": "0" * 64, "size": 3}}
            self.hub.wrong_listing = json.dumps({"sha": "1" * 40, "siblings": [entry]}).encode()
            self.refused("file name", REPO)

    def test_listings_that_make_no_sense(self):
        good = {"rfilename": "x.gguf", "size": 3, "lfs": {"sha256": "0" * 64, "size": 3}}
        for listing in (b"", b"[]", b"{", b"[" * 100_000,
                        json.dumps({"sha": "main", "siblings": []}).encode(),
                        json.dumps({"sha": "1" * 40, "siblings": [{**good, "size": -1}]}).encode(),
                        json.dumps({"sha": "1" * 40, "siblings": [{**good, "lfs": 7}]}).encode(),
                        json.dumps({"sha": "1" * 40,
                                    "siblings": [{**good, "lfs": {"sha256": "zz"}}]}).encode(),
                        b" " * (33 << 20)):
            self.hub.wrong_listing = listing
            self.refused("", REPO)
        self.hub.wrong_listing = json.dumps(
            {"sha": "1" * 40, "siblings": [{**good, "size": 1 << 49}]}).encode()
        self.refused("has room for", REPO)

    def test_answers_that_break_http(self):
        for name in ("wrong_content_range", "packed"):
            setattr(self.hub, name, True)
            self.refused("server" if name != "packed" else "packed", REPO)
            setattr(self.hub, name, False)

    def test_bytes_beyond_those_asked_for(self):
        """Either the last bytes come first, and are the right ones, or the rest is noticed."""
        content = noise(200_000, 8)
        self.hub.add(REPO, {"m-Q4_K_M.gguf": content})
        self.hub.endless = True
        done = self.run_program("pull", "--json", REPO)
        if done.returncode == 0:
            self.hub.endless = False
            self.assert_pulled(self.pull(REPO)["path"], content)
        else:
            self.assertIn("server", done.stderr)

    def test_redirects(self):
        self.hub.redirects = 4
        self.pull(REPO)
        self.hub.redirects = 1000
        self.refused("redirects", REPO + ":Q8_0")
        self.hub.redirect_to = "file:///etc/passwd"
        self.refused("redirects to no URL", REPO + ":Q8_0")

    def test_a_refusal_says_what_to_do(self):
        self.refused("404", "owner/nothing")
        self.refused("it has model", REPO + ":Q3_K_S")
        self.refused("404", REPO + "@no-branch")
        self.hub.xet_only = True
        self.refused("Xet", REPO)

    def test_the_token_goes_to_the_hub_alone(self):
        self.hub.token = "hf_secret"
        self.hub.add("owner/private", self.files)
        self.refused("HF_TOKEN", "owner/private")
        said = self.run_program("pull", "owner/private", HF_TOKEN="hf_secret")
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertNotIn("hf_secret", said.stdout + said.stderr)
        for _, path, headers in self.hub.requests:
            if "/store/" in path:
                self.assertNotIn("Authorization", headers)
        shutil.rmtree(self.folder + "/hub")
        with open(self.folder + "/token", "w", encoding="ascii") as file:
            file.write("hf_secret\n")
        self.pull("owner/private")
        self.assertIn("HF_ENDPOINT", self.run_program(
            "pull", REPO, HF_ENDPOINT="http://hub.example", HF_TOKEN="hf_secret").stderr)

    # Processes.

    def test_two_processes_fetch_a_file_once(self):
        content = noise(8 << 20, 4)
        self.hub.add(REPO, {"m-Q4_K_M.gguf": content})
        self.hub.delay_s = 0.005
        command = [Server.binary, "pull", "--json", REPO]
        both = [subprocess.Popen(command, env=self.environment(), stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True) for _ in range(2)]
        said = [json.loads(process.communicate(timeout=60)[0]) for process in both]
        self.assertEqual(sorted(one["n_fetched"] for one in said), [0, len(content)])
        self.assertEqual(self.hub.n_requests("/store/"), 1)

    def test_a_killed_pull_continues(self):
        content = noise(48 << 20, 6)
        self.hub.add(REPO, {"m-Q4_K_M.gguf": content})
        self.hub.delay_s = 0.002
        lost, before, blob = [], 0, self.blob(content)
        for _ in range(N_KILLS):
            process = subprocess.Popen([Server.binary, "pull", REPO], env=self.environment(),
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.wait_for_bytes(blob, before)
            time.sleep(random.uniform(0.0, 0.05))
            process.kill()
            process.wait()
            before, beyond = self.unfinished_check(content)
            lost.append(beyond)
        self.hub.delay_s = 0
        self.assert_pulled(self.pull(REPO)["path"], content)
        print(f"{N_KILLS} kills: at most {max(lost)} bytes written and not noted", file=sys.stderr)

    def wait_for_bytes(self, blob, before):
        """Until the journal notes more than before, for two seconds at most."""
        for _ in range(400):
            if os.path.exists(blob) or self.n_noted(blob) > before:
                return
            time.sleep(0.005)

    def n_noted(self, blob):
        try:
            with open(blob + ".ruvllm.ranges", encoding="ascii") as journal:
                noted = {tuple(map(int, line.split()[1:])) for line in journal.read().split("\n")[:-1]
                         if line.startswith(("here ", "safe "))}
        except FileNotFoundError:
            return 0
        return sum(end - begin for begin, end in noted)

    def unfinished_check(self, content):
        """What the journal notes is there and right: its bytes, and those written beyond them."""
        blob = self.blob(content)
        if os.path.exists(blob):
            self.assert_pulled(blob, content)
            return len(content), 0
        if not os.path.exists(blob + ".ruvllm.ranges") or not os.path.exists(blob + ".ruvllm.incomplete"):
            return 0, 0
        noted = set()
        with open(blob + ".ruvllm.ranges", encoding="ascii") as journal:
            for line in journal.read().split("\n")[:-1]:
                if line.startswith(("here ", "safe ")):
                    noted.add(tuple(map(int, line.split()[1:])))
        with open(blob + ".ruvllm.incomplete", "rb") as file:
            data = file.read()
        step = 4096
        here = bytearray(len(data) // step + 1)
        for begin, end in noted:
            self.assertEqual(data[begin:end], content[begin:end])
            for at in range(begin // step, end // step):
                here[at] = 1
        beyond = sum(step for at in range(0, len(data), step)
                     if not here[at // step] and data.count(0, at, at + step) < min(step, len(data) - at))
        # A MB for each of six connections, and the pieces of pages at the ends of ranges.
        self.assertLessEqual(beyond, 7 << 20)
        return self.n_noted(blob), beyond


if __name__ == "__main__":
    run_tests()
