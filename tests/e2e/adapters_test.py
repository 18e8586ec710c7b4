#!/usr/bin/env python3
"""Adapters of a server: named in requests, loaded, replaced and unloaded while it answers.

Usage: adapters_test.py --binary RUVLLM --source FOLDER [TestName]...
"""
import json
import os
import random
import subprocess
import tempfile
import threading
import unittest

from peft_files import llama_shapes, write_adapter, write_control_vector
from server import Server, run_tests

CHAT = "/v1/chat/completions"
LOAD, UNLOAD = "/v1/load_lora_adapter", "/v1/unload_lora_adapter"


def resident_mebibytes(pid):
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20


def body(**more):
    return {"max_tokens": 12, "temperature": 0, "ignore_eos": True,
            "messages": [{"role": "user", "content": "Tell me a story."}], **more}


class Adapters(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        command = [Server.binary, "info", "--json"] + ["--model", Server.model] * bool(Server.model)
        info = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
        cls.shapes = llama_shapes(info, range(2))
        for seed, name in enumerate(("a", "b", "c")):
            write_adapter(cls.path(name), cls.shapes, seed)
        draw, n_embd = random.Random(7), info["numbers"]["n_embd"]
        write_control_vector(cls.path("steer.gguf"), {
            layer: [draw.uniform(-0.5, 0.5) for _ in range(n_embd)] for layer in (1, 2)})

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder.name, name)

    def server(self, *more):
        return Server("--packed-cache", "off", *more)

    def text(self, server, **more):
        status, answer = server.post(CHAT, body(**more))
        self.assertEqual(status, 200, answer)
        return answer["choices"][0]["message"]["content"]

    def refused(self, server, path, request, status=400):
        actual, answer = server.post(path, request)
        self.assertEqual(actual, status, answer)
        return answer["error"]["message"]

    def test_rows_of_a_length_have_no_scale(self):
        write_adapter(self.path("dora"), self.shapes, 7, dora=True)
        with self.server("--lora-modules", f"dora={self.path('dora')}",
                         "--lora-modules", f"a={self.path('a')}") as server:
            base, a, dora = self.text(server), self.text(server, model="a"), self.text(server, model="dora")
            self.assertEqual(len({base, a, dora}), 3)
            self.assertEqual(self.text(server, lora=["a"]), a)
            self.assertNotIn(self.text(server, lora=["a", "dora"]), (base, a))
            half = body(lora=[{"name": "dora", "scale": 0.5}])
            self.assertIn("for a scale of 1", self.refused(server, CHAT, half))

    def test_requests_choose_adapters(self):
        with self.server("--lora-modules", f"a={self.path('a')}",
                         "--lora-modules", f"b={self.path('b')}") as server:
            base, a, b = self.text(server), self.text(server, model="a"), self.text(server, model="b")
            self.assertEqual(len({base, a, b}), 3)
            self.assertEqual(self.text(server, model="nano"), base)
            self.assertEqual(self.text(server, lora=["a"]), a)
            self.assertEqual(self.text(server, lora=[{"id": 1, "scale": 1}]), b)
            self.assertEqual(self.text(server, model="a", lora=[]), base)
            self.assertEqual(self.text(server, lora=[{"name": "a", "scale": 0}]), base)
            both = self.text(server, lora=["a", {"name": "b", "scale": 0.5}])
            self.assertNotIn(both, (base, a, b))
            self.assertEqual([one["name"] for one in server.get("/lora-adapters")], ["a", "b"])
            models = server.get("/v1/models")["data"]
            self.assertEqual([(one["id"], one.get("parent")) for one in models],
                             [("nano", None), ("a", "nano"), ("b", "nano")])
            self.assertEqual(server.get("/v1/models/b")["parent"], "nano")
            self.assertEqual(server.post(CHAT, body(model="a"))[1]["model"], "a")
            self.assertEqual(server.post(CHAT, body(lora=["a"]))[1]["model"], "nano")

    def test_requests_choose_control_vectors(self):
        with self.server("--lora-modules", f"steer={self.path('steer.gguf')}",
                         "--lora-modules", f"a={self.path('a')}") as server:
            def steered(scale):
                return self.text(server, lora=[{"name": "steer", "scale": scale}])

            base, one, less = self.text(server), steered(1), steered(-1)
            mixed = self.text(server, lora=["a", "steer"])
            self.assertEqual(len({base, one, less, mixed, self.text(server, lora=["a"])}), 5)
            self.assertEqual(steered(0), base)
            # Prefixes of the others are cached now.
            choices = {base: [], one: ["steer"], less: [{"name": "steer", "scale": -1}],
                       mixed: ["a", "steer"]}
            answers = {}

            def ask(expected, lora):
                answers[expected] = self.text(server, lora=lora)

            threads = [threading.Thread(target=ask, args=each) for each in choices.items()]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(answers, {answer: answer for answer in choices})

    def test_what_the_server_starts_with_is_the_usual(self):
        with self.server("--lora", self.path("a"), "--lora-modules", f"b={self.path('b')}") as server:
            usual = self.text(server)
            self.assertEqual(self.text(server, lora=["a"]), usual)
            self.assertNotEqual(self.text(server, lora=[]), usual)
        for argument in ("--lora", "--lora-modules"):
            done = subprocess.run([Server.binary, "serve", "--port", "0", argument, "nothing"],
                                  capture_output=True, text=True, check=False)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("nothing", done.stderr)

    def test_many_requests_with_different_adapters_have_their_own_answers(self):
        with self.server(*[word for name in "abc" for word in
                           ("--lora-modules", f"{name}={self.path(name)}")]) as server:
            models = ["nano", "a", "b", "c"] * 3
            alone = {model: self.text(server, model=model) for model in set(models)}
            together = [None] * len(models)

            def ask(i):
                together[i] = self.text(server, model=models[i])

            threads = [threading.Thread(target=ask, args=(i,)) for i in range(len(models))]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(together, [alone[model] for model in models])

    def test_adapters_are_loaded_replaced_and_unloaded(self):
        with self.server("--lora-dir", self.folder.name) as server:
            base = self.text(server)
            self.assertIn("404", str(server.post(CHAT, body(model="x"))[0]))
            status, loaded = server.post(LOAD, {"lora_name": "x", "lora_path": "a"})
            self.assertEqual(status, 200, loaded)
            generation = loaded["adapter"]["generation"]
            a = self.text(server, model="x")
            self.assertNotEqual(a, base)
            taken = self.refused(server, LOAD, {"lora_name": "x", "lora_path": "b"})
            self.assertIn(f"generation {generation}", taken)
            self.refused(server, LOAD, {"lora_name": "x", "lora_path": "b",
                                        "expected_generation": generation + 1})
            self.assertEqual(self.text(server, model="x"), a)
            status, loaded = server.post(LOAD, {"lora_name": "x", "lora_path": "b",
                                                "expected_generation": generation})
            self.assertEqual(status, 200, loaded)
            self.assertGreater(loaded["adapter"]["generation"], generation)
            self.assertNotIn(self.text(server, model="x"), (a, base))
            self.refused(server, UNLOAD, {"lora_name": "x", "expected_generation": generation})
            self.assertEqual(server.post(UNLOAD, {"lora_name": "x"})[0], 200)
            self.refused(server, UNLOAD, {"lora_name": "x"}, 404)
            self.assertEqual(server.post(CHAT, body(model="x"))[0], 404)

    def test_swaps_under_load_mix_no_answers(self):
        """RUV_SWAPS: how many; 10,000 take minutes."""
        n_swaps = int(os.environ.get("RUV_SWAPS", "100"))
        with self.server("--lora-dir", self.folder.name) as server:
            def load(name):
                return server.post(LOAD, {"lora_name": "x", "lora_path": name, "load_inplace": True})

            right = set()
            for name in "ab":
                self.assertEqual(load(name)[0], 200)
                right.add(self.text(server, model="x"))
            answers, done = [], threading.Event()

            def ask():
                while not done.is_set():
                    answers.append(self.text(server, model="x"))

            threads = [threading.Thread(target=ask) for _ in range(3)]
            for thread in threads:
                thread.start()
            memory = []
            for i in range(n_swaps):
                status, answer = load("ab"[i % 2])
                self.assertEqual(status, 200, answer)
                if i % max(n_swaps // 10, 1) == 0:
                    memory.append(resident_mebibytes(server.process.pid))
            done.set()
            for thread in threads:
                thread.join()
            self.assertEqual(set(answers) - right, set())
            self.assertGreater(len(answers), 0)
            print(f"{n_swaps} swaps, {len(answers)} answers, MiB: {memory}")

    def test_what_cannot_be_honoured_is_refused_by_name(self):
        outside = tempfile.TemporaryDirectory()
        self.addCleanup(outside.cleanup)
        write_adapter(outside.name, self.shapes, 9)
        with self.server("--lora-dir", self.folder.name) as server:
            for path in (outside.name, "..", "a/../.."):
                self.refused(server, LOAD, {"lora_name": "y", "lora_path": path}, 403)
            self.refused(server, LOAD, {"lora_name": "y", "lora_path": "nothing"}, 404)
            self.refused(server, LOAD, {"lora_name": "nano", "lora_path": "a"})
            self.assertIn("lora_path", self.refused(server, LOAD, {"lora_name": "y"}))
            for lora, part in ((["x"], "'x' is not loaded"), ([{"id": 7}], "id 7"), ("a", "a list"),
                               ([{"name": "a", "weight": 1}], "lora[0].weight"),
                               ([{"name": "a", "scale": "1"}], "lora[0].scale"),
                               (["a"] * 17, "at most 16")):
                self.assertIn(part, self.refused(server, CHAT, body(lora=lora)))
        with self.server() as server:
            self.assertIn("--lora-dir",
                          self.refused(server, LOAD, {"lora_name": "y", "lora_path": "a"}, 403))

    def test_control_vectors_are_shown_and_not_merged(self):
        def lora(*words):
            return subprocess.run([Server.binary, "lora", *words], capture_output=True, text=True,
                                  check=False)

        steer = self.path("steer.gguf")
        shown = json.loads(lora("info", "--json", steer).stdout)
        self.assertEqual([row["layer"] for row in shown["directions"]], [1, 2])
        self.assertIn("control vector", lora("info", steer).stdout)
        done = lora("merge", "--out", self.path("merged.gguf"), steer)
        self.assertEqual(done.returncode, 1)
        self.assertIn("'direction.1' is a direction of a control vector", done.stderr)

    def test_run_computes_with_adapters(self):
        def run(*more):
            command = [Server.binary, "run", "--json", "--prompt", "Tell me a story.", "--max-tokens",
                       "12", "--temperature", "0", *more]
            command += ["--model", Server.model] * bool(Server.model)
            return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["text"]

        base, a = run(), run("--lora", self.path("a"))
        self.assertNotEqual(base, a)
        self.assertEqual(run("--lora", self.path("a") + "=1"), a)
        self.assertEqual(run("--lora", self.path("a") + "=0"), base)


if __name__ == "__main__":
    run_tests()
