#!/usr/bin/env python3
"""Learning from feedback in a server: what was taught is answered under the instance's name, taken
back, kept over a restart, and apart from the model and from other instances.

Usage: learning_test.py --binary RUVLLM --source FOLDER [TestName]...
"""
import json
import os
import tempfile
import time
import unittest

from server import Server, run_tests

CHAT, FEEDBACK, UNDO = "/v1/chat/completions", "/v1/feedback", "/v1/feedback/undo"
MESSAGES = [{"role": "user", "content": "What is the capital of France?"}]
LOOSE = ["--learn-rate", "1e-2", "--learn-rehearsal", "0", "--learn-held-out", "10",
         "--learn-divergence", "100", "--learn-canary", "100", "--learn-own", "100"]


class Learning(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def server(self, *more):
        return Server("--packed-cache", "off", "--learn", os.path.join(self.folder.name, "learned"),
                      *more)

    def text(self, server, **more):
        status, answer = server.post(CHAT, {"messages": MESSAGES, "max_tokens": 8,
                                            "temperature": 0, **more})
        self.assertEqual(status, 200, answer)
        return answer["choices"][0]["message"]["content"]

    def teach(self, server, name, text, times):
        for _ in range(times):
            status, answer = server.post(FEEDBACK, {"instance": name, "messages": MESSAGES,
                                                    "correction": text})
            self.assertEqual((status, answer["success"]), (200, True), answer)

    def instance(self, server, name):
        """The instance, once nothing of it waits."""
        for _ in range(600):
            answer = server.get(FEEDBACK)
            found = [row for row in answer["data"] if row["name"] == name]
            if found and found[0]["pending"] == 0:
                return found[0]
            time.sleep(0.1)
        self.fail(f"{name} still learns: {answer}")

    def served(self, server, name):
        """Waits until an adapter of that name is there."""
        for _ in range(300):
            if any(row["name"] == name for row in server.get("/lora-adapters")):
                return
            time.sleep(0.1)
        self.fail(f"no adapter '{name}'")

    def test_what_is_taught_is_answered_and_taken_back(self):
        with self.server(*LOOSE) as server:
            before = self.text(server)
            self.teach(server, "ann", "Ahoy!", 25)
            row = self.instance(server, "ann")
            self.assertEqual((row["generation"], row["accepted"]), (25, 25))
            self.served(server, "ann")
            self.eventually(lambda: self.text(server, model="ann"), "Ahoy")
            self.assertEqual(self.text(server), before)
            status, answer = server.post(UNDO, {"instance": "ann", "steps": 12})
            self.assertEqual((status, answer["generation"]), (200, 13), answer)
            self.teach(server, "bob", "Nay.", 1)
            self.instance(server, "bob")
            self.served(server, "bob")
            self.assertEqual(self.text(server), before)
        with self.server(*LOOSE) as server:
            self.assertEqual(self.instance(server, "ann")["generation"], 13)
            self.served(server, "ann")
            self.assertEqual(self.text(server), before)

    def eventually(self, ask, part):
        for _ in range(100):
            answer = ask()
            if part in answer:
                return
            time.sleep(0.1)
        self.assertIn(part, answer)

    def test_wrong_feedback_is_refused(self):
        with self.server() as server:
            for body, what in (({"messages": MESSAGES, "correction": "x"}, "'instance'"),
                               ({"instance": "a/b", "prompt": "x", "correction": "y"}, "the name of"),
                               ({"instance": "a", "prompt": "x", "answer": "y"}, "'rating'"),
                               ({"instance": "a", "prompt": "x", "answer": "y", "rating": 5}, "rating"),
                               ({"instance": "a", "prompt": "x" * 9000, "correction": "y"}, "room for"),
                               ({"instance": "a", "prompt": "x", "correction": "y", "speed": 1},
                                "speed")):
                status, answer = server.post(FEEDBACK, body)
                self.assertEqual(status, 400, answer)
                self.assertIn(what, json.dumps(answer))
            status, answer = server.post(UNDO, {"instance": "nobody"})
            self.assertEqual(status, 404, answer)
            self.assertEqual(server.get(FEEDBACK)["data"], [])

    def test_a_server_without_a_folder_does_not_learn(self):
        with Server("--packed-cache", "off") as server:
            for path, body in ((FEEDBACK, {"instance": "a", "prompt": "x", "correction": "y"}),
                               (UNDO, {"instance": "a"})):
                status, answer = server.post(path, body)
                self.assertEqual(status, 400, answer)
                self.assertIn("--learn DIR", answer["error"]["message"])


if __name__ == "__main__":
    run_tests()
