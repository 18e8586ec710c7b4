"""What tests of models by name share: a hub, a cache and the places of one user, all in a folder."""
import json
import os
import random
import shutil
import subprocess
import tempfile
import unittest

from hub_server import HubServer, etag_of
from server import Server

REPO = "owner/model-GGUF"


def noise(n_bytes, seed):
    return random.Random(seed).randbytes(n_bytes)


class HubCase(unittest.TestCase):
    def setUp(self):
        self.hub = HubServer()
        self.addCleanup(self.hub.close)
        self.folder = tempfile.mkdtemp(prefix="ruv_hub_")
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.files = {"README.md": b"# A model\n", "model-Q8_0.gguf": noise(300_000, 1),
                      "model-Q4_K_M.gguf": noise(200_000, 2), "model-Q2_K.gguf": noise(90_000, 3)}
        self.commit = self.hub.add(REPO, self.files)

    def environment(self, **more):
        plain = {name: value for name, value in os.environ.items()
                 if not name.startswith(("HF_", "RUVLLM_"))}
        return {**plain, "HF_ENDPOINT": self.hub.url, "HF_HOME": self.folder, "HOME": self.folder,
                "XDG_CACHE_HOME": self.folder + "/caches", "XDG_DATA_HOME": self.folder + "/data",
                "XDG_CONFIG_HOME": self.folder + "/config", **more}

    def run_program(self, *arguments, **more):
        return subprocess.run([Server.binary, *arguments], env=self.environment(**more),
                              capture_output=True, text=True, timeout=120, check=False)

    def said(self, *arguments, **more):
        """What a call that must succeed prints as JSON."""
        done = self.run_program(*arguments, "--json", **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def pull(self, *arguments, **more):
        return self.said("pull", *arguments, **more)

    def assert_fails(self, words, *arguments, code=1, **more):
        done = self.run_program(*arguments, **more)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertIn(words, done.stderr)
        return done.stderr

    def refused(self, words, *arguments, **more):
        return self.assert_fails(words, "pull", *arguments, **more)

    def blob(self, content, repo=REPO):
        return os.path.join(self.folder, "hub", "models--" + repo.replace("/", "--"), "blobs",
                            etag_of(content))

    def assert_pulled(self, path, content):
        with open(path, "rb") as file:
            self.assertEqual(file.read(), content)
