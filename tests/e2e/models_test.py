#!/usr/bin/env python3
"""Several models of one server: loaded when asked for, unloaded for each other, asked at once.

Usage: models_test.py --binary RUVLLM --source FOLDER [TestName]...
"""
import os
import shutil
import tempfile
import threading
import time
import unittest

from server import Server, run_tests

CHAT = "/v1/chat/completions"


def body(model, **more):
    return {"model": model, "max_tokens": 8, "temperature": 0,
            "messages": [{"role": "user", "content": "Tell me a story."}], **more}


class Models(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        for name in ("one", "two"):
            shutil.copy(Server.model, os.path.join(cls.folder.name, name + ".gguf"))
        with open(os.path.join(cls.folder.name, "bad.gguf"), "w", encoding="utf-8") as file:
            file.write("no model")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def server(self, *more):
        return Server("--models-dir", self.folder.name, "--packed-cache", "off", *more)

    def phases(self, server):
        return {m["id"]: m["status"]["value"] for m in server.get("/v1/models")["data"]}

    def eventually(self, server, phases):
        # Looking at a model does not keep it loaded.
        for _ in range(400):
            if self.phases(server) == phases:
                return
            time.sleep(0.02)
        self.assertEqual(self.phases(server), phases)

    def answer(self, server, model):
        status, answer = server.post(CHAT, body(model))
        self.assertEqual(status, 200, answer)
        return answer

    def test_models_are_loaded_on_demand_and_unloaded_on_request(self):
        with self.server() as server:
            self.assertIn("bad.gguf is left out", "".join(server.said))
            unused = {"one": "unloaded", "two": "unloaded"}
            self.assertEqual(self.phases(server), {"nano": "loaded"} | unused)
            first = self.answer(server, "nano")
            other = self.answer(server, "two")
            self.assertEqual(other["model"], "two")
            self.assertEqual(other["choices"][0]["message"], first["choices"][0]["message"])
            self.assertEqual(self.phases(server)["two"], "loaded")
            self.assertEqual(server.post("/models/load", {"model": "one"})[0], 200)
            self.assertEqual(set(self.phases(server).values()), {"loaded"})
            for name in ("one", "two", "nano"):
                self.assertEqual(server.post("/models/unload", {"model": name})[0], 200)
            self.assertEqual(set(self.phases(server).values()), {"unloaded"})
            self.assertEqual(server.get("/health")["status"], "ok")
            self.assertEqual(self.answer(server, "nano")["choices"], first["choices"])
            status, answer = server.post(CHAT, body("three"))
            self.assertEqual((status, answer["error"]["code"]), (404, "model_not_found"))

    def test_a_response_in_the_background_keeps_its_model(self):
        with self.server("--keep-alive", 0) as server:
            wanted = {"model": "one", "input": "Hi", "background": True, "ignore_eos": True,
                      "max_output_tokens": 800}
            begun = [server.post("/v1/responses", wanted)[1] for _ in range(3)]
            self.assertEqual({response["model"] for response in begun}, {"one"})
            # It is answered when the model is unloaded, which waits for them.
            self.assertEqual(server.post("/models/unload", {"model": "one"})[0], 200)
            for response in begun:
                ended = server.get("/v1/responses/" + response["id"])
                self.assertEqual((ended["status"], ended["usage"]["output_tokens"]),
                                 ("incomplete", 800))
            self.eventually(server, {"nano": "unloaded", "one": "unloaded", "two": "unloaded"})

    def test_models_give_way_to_each_other_and_every_request_is_answered(self):
        with self.server("--model-memory", 30) as server:  # one of them takes 24 MiB
            wanted = self.answer(server, "nano")["choices"]
            seen = []

            def ask(model):
                seen.append((model, self.answer(server, model)))

            threads = [threading.Thread(target=ask, args=(name,))
                       for name in ("one", "two", "nano") * 4]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(len(seen), len(threads))
            for model, answer in seen:
                self.assertEqual((answer["model"], answer["choices"]), (model, wanted))
            self.assertEqual(list(self.phases(server).values()).count("loaded"), 1)

    def test_a_model_leaves_when_its_time_is_over(self):
        with self.server("--keep-alive", 1) as server:
            self.eventually(server, dict.fromkeys(("nano", "one", "two"), "unloaded"))
            self.answer(server, "one")
            status, _ = server.post("/api/generate", {"model": "one", "keep_alive": -1})
            self.assertEqual(status, 200)
            self.answer(server, "two")
            self.eventually(server, {"nano": "unloaded", "one": "loaded", "two": "unloaded"})
            server.post("/api/generate", {"model": "one", "keep_alive": 0})
            self.eventually(server, dict.fromkeys(("nano", "one", "two"), "unloaded"))
            self.assertEqual(server.get("/api/ps"), {"models": []})
            self.assertEqual(len(server.get("/api/tags")["models"]), 3)

    def test_a_model_that_has_gone_is_named_and_the_others_answer(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "gone.gguf")
            shutil.copy(os.path.join(self.folder.name, "one.gguf"), path)
            with Server("--models-dir", folder, "--packed-cache", "off") as server:
                os.remove(path)
                status, answer = server.post(CHAT, body("gone"))
                self.assertEqual((status, answer["error"]["code"]), (503, "model_not_loaded"))
                self.assertIn("gone.gguf", answer["error"]["message"])
                self.assertEqual(self.phases(server)["gone"], "failed")
                self.answer(server, "nano")

    def test_wrong_calls_are_named(self):
        one = os.path.join(self.folder.name, "one.gguf")
        for arguments, message in (
                (("--model", f"b={one}", "--model", f"b={one}"), "two models have the name 'b'"),
                (("--models-dir", self.folder.name + "/none"), "--models-dir"),
                (("--model", f"b={one}", "--draft-model", one), "goes with one model")):
            with self.assertRaisesRegex(RuntimeError, message):
                Server("--model", f"a={one}", *arguments)


if __name__ == "__main__":
    run_tests()
