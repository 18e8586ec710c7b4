#!/usr/bin/env python3
"""`ruvllm pull ollama:…` against a server that speaks the protocol of Ollama's registry, and the folders
that it shares with Ollama.

Usage: registry_test.py --binary RUVLLM --source FOLDER [TestName]...
"""
import fcntl
import hashlib
import json
import os
import random
import shutil
import subprocess
import tempfile
import unittest
import unittest.mock

from hub_server import Big, HubServer, sha256_of
from server import Server, run_tests

TEMPLATE = b"{{ .Prompt }}"


def noise(n_bytes, seed):
    return random.Random(seed).randbytes(n_bytes)


class RegistryTest(unittest.TestCase):
    def setUp(self):
        self.hub = HubServer()
        self.addCleanup(self.hub.close)
        self.folder = tempfile.mkdtemp(prefix="ruv_registry_")
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.models = self.folder + "/models"
        self.host = self.hub.url.removeprefix("http://")
        self.content = noise(300_000, 1)
        self.manifest = self.hub.add_manifest(
            "library/tiny:latest", [("model", self.content), ("template", TEMPLATE)])

    def name(self, rest):
        return f"ollama:{self.host}/{rest}"

    def run_program(self, *arguments, input="", **more):
        plain = {name: value for name, value in os.environ.items()
                 if not name.startswith(("HF_", "OLLAMA_"))}
        return subprocess.run([Server.binary, *arguments], input=input, capture_output=True, text=True,
                              timeout=120, check=False,
                              env={**plain, "OLLAMA_MODELS": self.models, "HOME": self.folder,
                                   "XDG_CACHE_HOME": self.folder, "XDG_DATA_HOME": self.folder, **more})

    def pull(self, name, **more):
        done = self.run_program("pull", "--json", self.name(name), **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return {**json.loads(done.stdout), "said": done.stderr}

    def refused(self, words, name="library/tiny", **more):
        done = self.run_program("pull", self.name(name), **more)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn(words, done.stderr)
        self.assertFalse(os.path.exists(f"{self.models}/manifests/{self.host}"))

    def blobs(self):
        return sorted(os.listdir(self.models + "/blobs"))

    def put(self, path, data):
        os.makedirs(os.path.dirname(f"{self.models}/{path}"), exist_ok=True)
        with open(f"{self.models}/{path}", "wb") as file:
            file.write(data)

    # The folders.

    def test_a_pull_has_ollamas_layout(self):
        pulled = self.pull("library/tiny")
        digests = {layer["digest"].replace(":", "-")
                   for layer in [self.manifest["config"], *self.manifest["layers"]]}
        self.assertEqual(self.blobs(), sorted(digests))
        for name in self.blobs():
            with open(f"{self.models}/blobs/{name}", "rb") as file:
                self.assertEqual(hashlib.sha256(file.read()).hexdigest(), name.removeprefix("sha256-"))
        self.assertEqual(pulled["path"], f"{self.models}/blobs/sha256-{sha256_of(self.content)}")
        with open(f"{self.models}/manifests/{self.host}/library/tiny/latest", "rb") as file:
            self.assertEqual(file.read(), self.hub.manifests["library/tiny:latest"][0])
        self.assertEqual((pulled["n_files"], pulled["n_fetched"]), (3, pulled["n_bytes"]))
        self.assertIn("not used: template (the GGUF file has its own)", pulled["said"])
        again = self.pull("library/tiny:latest")
        self.assertEqual(again["n_fetched"], 0)

    def test_layers_that_ollama_fetched_are_used(self):
        self.put("blobs/sha256-" + sha256_of(self.content), self.content)
        self.assertEqual(self.pull("library/tiny")["n_fetched"],
                         len(TEMPLATE) + self.manifest["config"]["size"])
        self.assertFalse([path for _, path, _ in self.hub.requests
                          if sha256_of(self.content) in path])

    def test_what_ollama_fetched_is_found_offline(self):
        for layer in [self.manifest["config"], *self.manifest["layers"]]:
            digest = layer["digest"].removeprefix("sha256:")
            self.put("blobs/sha256-" + digest, self.hub.layers[digest])
        text = self.hub.manifests["library/tiny:latest"][0]
        listed = {"mediaType": "application/vnd.ollama.manifest.list.v2+json",
                  "manifests": [{"runner": "mlx", "digest": "sha256:" + "0" * 64},
                                {"runner": "llamacpp", "digest": "sha256:" + sha256_of(text)}]}
        self.put("blobs/sha256-" + sha256_of(text), text)
        # Versions before and after the one that has lists, and its own registry's two names.
        for path, name in ((f"manifests/{self.host}/library/tiny/old", self.name("library/tiny:old")),
                           ("manifests/registry.ollama.ai/library/tiny/old", "ollama:tiny:old"),
                           (f"manifests-v2/{self.host}/me/tiny/new", self.name("me/tiny:new")),
                           ("manifests-v2/ollama.com/library/tiny/new", "ollama:tiny:new")):
            self.put(path, json.dumps(listed).encode() if "v2" in path else text)
            done = self.run_program("pull", "--json", name, HF_HUB_OFFLINE="1")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(json.loads(done.stdout)["path"].endswith(sha256_of(self.content)))
        os.remove(f"{self.models}/blobs/sha256-{sha256_of(self.content)}")
        done = self.run_program("pull", "ollama:tiny:new", HF_HUB_OFFLINE="1")
        self.assertIn("its model is missing", done.stderr)
        self.assertEqual(self.hub.requests, [])

    def test_a_layer_of_another_size_is_fetched_again(self):
        self.put("blobs/sha256-" + sha256_of(self.content), self.content[:100])
        pulled = self.pull("library/tiny")
        with open(pulled["path"], "rb") as file:
            self.assertEqual(file.read(), self.content)

    def test_a_model_is_used_by_its_name(self):
        model = Big(Server.model)
        self.hub.add_manifest("me/nano:1b", [("model", model), ("template", TEMPLATE)])
        call = ["run", "--model", self.name("me/nano:1b"), "--max-tokens", "4", "--temperature", "0",
                "Hello"]
        first = self.run_program(*call)
        self.assertEqual(first.returncode, 0, first.stderr)
        self.assertIn("is not here: fetching it", first.stderr)
        self.assertIn("not used: template", first.stderr)
        self.hub.close()
        again = self.run_program(*call, "--quiet")
        self.assertEqual((again.returncode, again.stdout), (0, first.stdout))
        self.assertEqual(again.stderr, "")

    # Removing.

    def long_ago(self):
        for name in self.blobs():
            os.utime(f"{self.models}/blobs/{name}", (1e9, 1e9))

    def test_a_removal_leaves_what_other_names_have(self):
        self.hub.add_manifest("me/tiny:2", [("model", noise(50_000, 2)), ("template", TEMPLATE)])
        self.pull("library/tiny")
        self.pull("me/tiny:2")
        before = len(self.blobs())
        removed = self.run_program("rm", "--json", "--yes", self.name("library/tiny"))
        self.assertEqual(removed.returncode, 0, removed.stderr)
        self.assertGreaterEqual(json.loads(removed.stdout)["n_bytes"], len(self.content))
        self.assertEqual(len(self.blobs()), before - 1)
        again = self.run_program("rm", "--yes", self.name("library/tiny"))
        self.assertEqual(again.returncode, 1)
        self.assertIn("is not here", again.stderr)
        self.assertIn("me/tiny:2", self.run_program("list").stdout)
        self.assertEqual(self.pull("me/tiny:2")["n_fetched"], 0)
        shown = self.run_program("rm", "--dry-run", self.name("me/tiny:2"))
        self.assertIn("me/tiny:2: ", shown.stdout)
        self.assertNotIn("stay", shown.stdout)
        self.assertEqual(self.run_program("rm", "--yes", self.name("me/tiny:2")).returncode, 0)
        self.assertEqual(self.blobs(), [])
        fetched = self.pull("library/tiny")
        self.assertEqual(fetched["n_fetched"], fetched["n_bytes"])

    def test_a_killed_removal_leaves_what_the_cache_shows(self):
        self.pull("library/tiny")
        self.long_ago()
        place = f"{self.models}/manifests/{self.host}/library/tiny/latest"
        with open(place, "rb") as file:
            manifest = file.read()
        n_bytes = sum(os.path.getsize(f"{self.models}/blobs/{name}") for name in self.blobs())
        # Wherever it was when it was killed: the name is there with all, or gone.
        with subprocess.Popen([Server.binary, "rm", "--yes", self.name("library/tiny")],
                              env={**os.environ, "OLLAMA_MODELS": self.models},
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            while process.poll() is None and os.path.exists(place):
                pass
            process.kill()
        self.assertFalse(os.path.exists(place))
        # As of a kill right after the name was gone.
        for layer in [self.manifest["config"], *self.manifest["layers"]]:
            digest = layer["digest"].removeprefix("sha256:")
            self.put("blobs/sha256-" + digest, self.hub.layers[digest])
        self.long_ago()

        def left():
            kept = json.loads(self.run_program("cache", "--json").stdout)["kept"]
            return next(one["n_bytes"] for one in kept if one["name"] == "leftovers")
        self.assertEqual(left(), n_bytes)
        self.put(f"manifests/{self.host}/library/tiny/latest", manifest)
        self.assertEqual(left(), 0)
        os.remove(place)
        cleaned = self.run_program("cache", "clean", "--yes", "leftovers")
        self.assertEqual(cleaned.returncode, 0, cleaned.stderr)
        self.assertEqual((left(), self.blobs()), (0, []))

    def test_nothing_is_removed_while_a_model_is_fetched(self):
        self.pull("library/tiny")
        place = f"{self.models}/ruvllm-unfinished/sha256-{'0' * 64}.pull.lock"
        with open(place, "w", encoding="ascii") as pull:
            fcntl.flock(pull, fcntl.LOCK_EX)
            refused = self.run_program("rm", "--yes", self.name("library/tiny"))
        self.assertEqual(refused.returncode, 1)
        self.assertIn("is being fetched; nothing was removed", refused.stderr)
        self.assertEqual(self.pull("library/tiny")["n_fetched"], 0)
        self.assertEqual(self.run_program("rm", "--yes", self.name("library/tiny")).returncode, 0)

    # What networks do.

    def test_drops_and_errors(self):
        content = noise(40 << 20, 7)
        self.pull("library/tiny")  # whose config, a small layer that makes no progress, is the same
        self.hub.add_manifest("me/big:1b", [("model", content)])
        self.hub.failures = [(503, {}), (429, {"Retry_After": "0"})]
        self.hub.drops = 10
        self.hub.redirects = 3
        with open(self.pull("me/big:1b")["path"], "rb") as file:
            self.assertEqual(file.read(), content)
        self.assertEqual((self.hub.drops, self.hub.failures), (0, []))

    def test_a_killed_pull_continues(self):
        content = noise(24 << 20, 6)
        self.hub.add_manifest("me/big:1b", [("model", content)])
        self.hub.delay_s = 0.002
        place = f"{self.models}/ruvllm-unfinished/sha256-{sha256_of(content)}.ruvllm.ranges"
        command = [Server.binary, "pull", self.name("me/big:1b")]
        with subprocess.Popen(command, env={**os.environ, "OLLAMA_MODELS": self.models},
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            while not os.path.exists(place) or os.path.getsize(place) < 200:
                self.assertIsNone(process.poll())
            process.kill()
        self.assertFalse(any(sha256_of(content) in name for name in self.blobs()))
        self.hub.delay_s = 0
        with open(self.pull("me/big:1b")["path"], "rb") as file:
            self.assertEqual(file.read(), content)

    def test_a_digest_that_does_not_match_leaves_nothing(self):
        self.hub.wrong_bytes = True
        self.refused("hash to")
        self.assertEqual(self.blobs(), [])
        self.hub.wrong_bytes = False
        text = self.hub.manifests["library/tiny:latest"][0]
        self.hub.manifests["library/tiny:latest"] = (
            text, {"Docker-Content-Digest": "sha256:" + "0" * 64})
        self.refused("does not have the digest")
        self.hub.manifests["library/tiny:latest"] = (
            text, {"Docker-Content-Digest": "sha256:" + sha256_of(text)})
        self.pull("library/tiny")

    # What cannot be used, and what hostile servers do.

    def test_models_that_cannot_be_run_are_not_fetched(self):
        content = self.content
        for words, layers in (("adapter", [("model", content), ("adapter", noise(99, 2))]),
                              ("its tensors", [("tensor", content)]),
                              ("2 GGUF files", [("model", content), ("model", noise(99, 2))])):
            self.hub.add_manifest("library/tiny:latest", layers)
            self.refused(words)
        self.hub.add_manifest("library/private:latest", [("model", content)])
        self.refused("need a key", "library/private")
        self.refused("404", "library/nothing")
        self.assertEqual(self.hub.n_requests("/store/"), 0)

    def test_layers_without_effect_are_named(self):
        params = {"num_ctx": 4096, "temperature": 500, "num_gpu\x1b[31m": 1, "stop": ["x"] * 17}
        self.hub.add_manifest("library/tiny:latest", [
            ("model", self.content), ("params", json.dumps(params).encode()),
            ("messages", b"[]"), ("projector", noise(99, 2)), ("system", b" " * 300_000)])
        said = self.pull("library/tiny")["said"]
        for words in ("params: num_ctx (give it as --ctx)", "num_gpu<U+001B>", "messages (give them in",
                      "projector (", "system message (more than 262144 bytes)",
                      "params: temperature: 500 is out of range [0, 100]",
                      "params: stop: 17 texts, at most 16 are allowed"):
            self.assertIn(words, said)
        self.assertNotIn("defaults", said)

    # What the layers say of a model's use.

    def usable(self, params, system=b"You are a pirate."):
        """The name of a model that runs, with these layers."""
        layers = [("model", Big(Server.model)), ("system", system),
                  ("params", json.dumps(params).encode())]
        self.hub.add_manifest("me/nano:1b", layers)
        return self.name("me/nano:1b")

    def run_said(self, *arguments):
        done = self.run_program("run", "--json", "--max-tokens", "40", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_layers_are_the_defaults_of_run(self):
        name = self.usable({"temperature": 0, "stop": ["e"]})
        said = self.run_program("pull", name).stderr
        self.assertIn("its defaults: temperature 0, 1 stop text, a system message", said)
        self.assertNotIn("not used", said)
        prompt = "Tell me about yourself."
        plain = self.run_said("--model", Server.model, "--temperature", "0", "--system",
                              "You are a pirate.", prompt)
        self.assertIn("e", plain["text"])
        answer = self.run_said("--model", name, prompt)
        self.assertEqual(answer["prompt_ids"], plain["prompt_ids"])
        self.assertEqual(answer["text"], plain["text"][:plain["text"].index("e")])
        # What the call says wins.
        whole = self.run_said("--model", name, "--stop", "no such text", prompt)
        self.assertEqual(whole["text"], plain["text"])
        other = self.run_said("--model", name, "--system", "You are a cook.", prompt)
        self.assertNotEqual(other["prompt_ids"], plain["prompt_ids"])
        info = self.run_program("info", "--json", name)
        self.assertEqual(json.loads(info.stdout)["defaults"],
                         {"sampling": {"temperature": 0}, "stop": ["e"],
                          "system": "You are a pirate."})
        self.assertIn("temperature 0, 1 stop text, a system message",
                      self.run_program("info", name).stdout)

    def test_layers_are_the_defaults_of_a_server(self):
        name = self.usable({"temperature": 0, "top_k": 7, "stop": ["e"]})
        with unittest.mock.patch.dict(os.environ, {"OLLAMA_MODELS": self.models}), \
                unittest.mock.patch.object(Server, "model", ""):
            with Server("--model", name, "--model", "second=" + name, "--packed-cache", "off") as server:
                user = {"role": "user", "content": "Tell me about yourself."}
                system = {"role": "system", "content": "You are a pirate."}

                def said(messages, **more):
                    status, answer = server.post("/v1/chat/completions", {
                        "model": "second", "messages": messages, "max_tokens": 40, **more})
                    self.assertEqual(status, 200, answer)
                    return (answer["choices"][0]["message"]["content"],
                            answer["usage"]["prompt_tokens"])
                text, n_tokens = said([user])
                whole, n_same = said([system, user], stop="no such text")
                self.assertEqual((text, n_tokens), (whole[:whole.index("e")], n_same))
                self.assertNotEqual(said([{**system, "content": "x"}, user])[1], n_tokens)
                sampling = server.get("/props")["default_generation_settings"]["params"]
                self.assertEqual((sampling["temperature"], sampling["top_k"]), (0, 7))
                _, shown = server.post("/api/show", {"model": "second"})
                self.assertEqual((shown["parameters"], shown["system"]),
                                 ('temperature 0\ntop_k 7\nstop "e"\n', "You are a pirate."))

    def test_layers_are_the_defaults_of_a_chat(self):
        name = self.usable({"temperature": 0, "stop": ["e"]})
        call = ("--max-tokens", "40", "--quiet")
        asked = "Tell me about yourself.\n"
        plain = self.run_program("chat", "--model", Server.model, "--temperature", "0", "--stop", "e",
                                 "--system", "You are a pirate.", *call, input=asked)
        same = self.run_program("chat", "--model", name, *call, input=asked)
        self.assertEqual((same.returncode, plain.returncode), (0, 0), same.stderr)
        self.assertEqual(same.stdout, plain.stdout)
        self.assertTrue(same.stdout.strip())

    def test_hostile_manifests(self):
        def sent(**more):
            layer = {"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:" + "a" * 64,
                     "size": 10, **more}
            return json.dumps({"config": layer, "layers": [layer]}).encode()
        for words, text in (("", b""), ("", b"[" * 100_000), ("", b" " * (2 << 20)),
                            ("'layers'", b"{}"), ("sha256", sent(digest="md5:" + "a" * 64)),
                            ("digits", sent(digest="sha256:../../../etc/passwd")),
                            ("digits", sent(digest="sha256:" + "g" * 64)),
                            ("digits", sent(digest="sha256:" + "a" * 40)),
                            ("size", sent(size=-1)), ("size", sent(size=1 << 60)),
                            ("size", sent(size="10")), ("has room for", sent(size=1 << 49)),
                            ("not an object", json.dumps({"manifests": [7]}).encode()),
                            ("list of manifests", json.dumps({"manifests": [
                                {"runner": "ollama", "digest": "sha256:" + "a" * 64}]}).encode())):
            self.hub.manifests["library/tiny:latest"] = (text, {})
            self.refused(words)
        for name in ("../tiny", "a/b/c/d", "tiny:../x", ".hidden", "a b"):
            done = self.run_program("pull", self.name(name))
            self.assertEqual(done.returncode, 1)
            self.assertIn("is not a model", done.stderr)


if __name__ == "__main__":
    run_tests()
