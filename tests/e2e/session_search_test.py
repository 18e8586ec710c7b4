#!/usr/bin/env python3
"""Sessions of a server: found by what was said in them, and answered with the adapters they had.

Usage: session_search_test.py --binary RUVLLM --source FOLDER [TestName]...
"""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

from peft_files import llama_shapes, write_adapter
from server import Server, run_tests

CHAT, SEARCH = "/v1/chat/completions", "/v1/sessions/search"


class SessionSearch(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def server(self, *more):
        return Server("--packed-cache", "off", "--cache-dir", self.path("kept"),
                      "--memory", self.path("memory"), *more)

    def say(self, server, session, text, **more):
        status, answer = server.post(CHAT, {
            "session": session, "max_tokens": 8, "temperature": 0, "ignore_eos": True,
            "messages": [{"role": "user", "content": text}], **more})
        self.assertEqual(status, 200, answer)
        return answer["choices"][0]["message"]["content"]

    def found(self, server, query, **more):
        status, answer = server.post(SEARCH, {"query": query, **more})
        self.assertEqual(status, 200, answer)
        return [one["name"] for one in answer["data"]], answer

    def test_sessions_are_found_by_what_was_said(self):
        with self.server() as server:
            self.assertEqual(self.found(server, "anything")[0], [])
            self.say(server, "boats", "Tell me about Quillfeather the sailor.")
            self.say(server, "food", "How do I bake a plum cake?")
            self.say(server, "hers", "Quillfeather is mine.", user="ann")
            self.assertEqual(self.found(server, "Quillfeather")[0][0], "boats")
            self.assertEqual(self.found(server, "plum cake", k=1)[0], ["food"])
            self.assertEqual(self.found(server, "Quillfeather", user="ann")[0], ["hers"])
            # What is said later is found, too.
            self.say(server, "food", "And a Zwetschgendatschi?")
            names, answer = self.found(server, "Zwetschgendatschi", k=1)
            self.assertEqual((names, answer["n_pending"]), (["food"], 0))
            self.assertIn("Zwetschgendatschi", answer["data"][0]["text"])
            self.assertEqual(answer["data"][0]["n_messages"], 4)
        with self.server() as server:
            self.assertEqual(self.found(server, "Quillfeather", refresh_bytes=0, k=1)[0], ["boats"])
            self.assertEqual(server.ask("DELETE", "/v1/sessions/boats")[0], 200)
            self.assertNotIn("boats", self.found(server, "Quillfeather", refresh_bytes=0)[0])
        # Nothing of a deleted session is left in the store's texts.
        out = subprocess.run([Server.binary, "memory", "export", "--store",
                              self.path("memory/memory-sessions")], capture_output=True, text=True)
        self.assertEqual(out.returncode, 0, out.stderr)
        self.assertNotIn("Quillfeather", out.stdout)
        self.assertIn("Zwetschgendatschi", out.stdout)

    def test_much_is_embedded_in_parts(self):
        with self.server() as server:
            for i in range(4):
                self.say(server, f"s{i}", f"Number {i} of many.")
            pending = [self.found(server, "many", refresh_bytes=1)[1]["n_pending"] for _ in range(5)]
            self.assertEqual(pending, [3, 2, 1, 0, 0])

    def test_a_session_keeps_its_adapters(self):
        command = [Server.binary, "info", "--json"] + ["--model", Server.model] * bool(Server.model)
        info = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
        for seed, name in enumerate(("a", "b")):
            write_adapter(self.path(name), llama_shapes(info, range(2)), seed)
        modules = sum((["--lora-modules", f"{name}={self.path(name)}"] for name in "ab"), [])
        half, story = [{"name": "a", "scale": 0.75}], "Tell me a story."
        with self.server(*modules) as server:
            wanted = [self.say(server, "x", story, lora=half), self.say(server, "x", "More", lora=half)]
            base = self.say(server, "plain", story)
            self.assertNotEqual(base, wanted[0])
            self.assertEqual(self.say(server, "y", story, lora=half), wanted[0])
            self.assertEqual(self.say(server, "y", "More"), wanted[1])
            self.assertEqual(server.get("/v1/sessions/y")["lora"], half)
            self.say(server, "named", "Hello", model="b")
            self.assertEqual(server.get("/v1/sessions/named")["model"], "b")
            def listed(query):
                return [one["name"] for one in server.get("/v1/sessions?" + query)["data"]]
            self.assertEqual(listed("adapter=a"), ["x", "y"])
            self.assertEqual(listed("adapter=b"), ["named"])
            self.assertEqual(listed("model=nano"), ["plain", "x", "y"])
            self.assertEqual(listed("until=1"), [])
            self.assertEqual(len(listed("since=1")), 4)
            self.assertEqual(sorted(self.found(server, "story", adapter="a")[0]), ["x", "y"])
            self.assertEqual(self.found(server, "Hello", adapter="b")[0], ["named"])
        with self.server("--lora-modules", f"b={self.path('b')}") as server:
            status, answer = server.post(CHAT, {
                "session": "y", "messages": [{"role": "user", "content": "On"}]})
            self.assertEqual((status, answer["error"]["code"]), (400, "session_adapter_missing"))
            self.assertIn("'a'", answer["error"]["message"])
            self.say(server, "y", "On", lora=[])
            self.assertEqual(server.get("/v1/sessions/y")["lora"], [])
            self.say(server, "y", "On")

    def test_what_is_wrong_is_named(self):
        with self.server() as server:
            for wrong in ({}, {"query": " "}, {"query": 1}, {"query": "a", "k": 0}, {"query": "a", "k": 101},
                          {"query": "a", "since": -1}, {"query": "a", "adapter": 3}, {"query": "a", "x": 1},
                          {"query": "a", "refresh_bytes": 2_000_000}):
                self.assertEqual(server.post(SEARCH, wrong)[0], 400, wrong)
        with Server("--packed-cache", "off", "--memory", self.path("other")) as server:
            status, answer = server.post(SEARCH, {"query": "a"})
            self.assertEqual((status, answer["error"]["code"]), (400, "sessions_off"))
        with open(self.path("key"), "w", encoding="ascii") as file:
            file.write("5a" * 32)
        with self.server("--cache-key", self.path("key")) as server:
            status, answer = server.post(SEARCH, {"query": "a"})
            self.assertEqual((status, answer["error"]["code"]), (400, "sessions_sealed"))

    def test_encrypted_sessions_are_found_in_an_encrypted_memory(self):
        with open(self.path("key"), "w", encoding="ascii") as file:
            file.write("5a" * 32)
        key = self.path("key")
        with self.server("--cache-key", key, "--memory-key", key) as server:
            self.say(server, "x", "Quillfeather cooks.")
            self.assertEqual(self.found(server, "Quillfeather")[0], ["x"])
        files = [file for file in pathlib.Path(self.path("memory")).rglob("*") if file.is_file()]
        self.assertGreater(len(files), 6)
        for file in files:
            self.assertNotIn(b"Quillfeather", file.read_bytes(), file)


if __name__ == "__main__":
    run_tests()
