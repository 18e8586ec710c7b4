#!/usr/bin/env python3
"""What an operator of `ruvllm serve` sees: its log, its metrics, its properties, its defaults.

Usage: operations_test.py --binary RUVLLM --source FOLDER [TestName]...
"""
import hashlib
import json
import os
import re
import signal
import socket
import tempfile
import time
import unittest
import urllib.error
import urllib.request

from server import Server, run_tests

# A server that keeps no sessions, documents and log, and does not learn, refuses these.
OFF = ("/v1/sessions", "/v1/feedback", "/v1/audit", "/v1/audit/entries", "/v1/audit/stats", "/v1/files",
       "/v1/memory/documents", "/v1/memory/stats", "/v1/vector_stores")
CHAT = "/v1/chat/completions"
HI = [{"role": "user", "content": "hi, this is a secret"}]


def ask(server, path, headers=None):
    """(status, headers, text) of a GET."""
    request = urllib.request.Request(server.url + path, headers=headers or {})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.status, answer.headers, answer.read().decode()


def eventually(condition):
    for _ in range(200):
        if condition():
            return True
        time.sleep(0.05)
    return False


class Sockets(unittest.TestCase):
    def ask(self, path, what="GET /v1/models"):
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(60)
            client.connect(path)
            client.sendall(f"{what} HTTP/1.1\r\nHost: localhost\r\n"
                           "Connection: close\r\n\r\n".encode())
            return b"".join(iter(lambda: client.recv(65536), b"")).decode()

    def test_a_server_listens_on_a_file_of_its_user(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "s")
            with Server("--socket-file", path) as server:
                self.assertIn(f"unix:{path}", "".join(server.said))
                self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
                self.assertTrue(self.ask(path).startswith("HTTP/1.1 200"))
                self.assertIn('"nano"', self.ask(path))
                # A second server does not take it.
                with self.assertRaisesRegex(RuntimeError, "in use"):
                    Server("--socket-file", path)
                self.assertTrue(self.ask(path).startswith("HTTP/1.1 200"))
            self.assertFalse(os.path.exists(path))

    def test_what_a_killed_server_left_is_replaced_and_other_files_are_not(self):
        with tempfile.TemporaryDirectory() as folder:
            path, other = os.path.join(folder, "s"), os.path.join(folder, "other")
            Server("--socket-file", path).stop(signal.SIGKILL)
            self.assertTrue(os.path.exists(path))
            with Server("--socket-file", path):
                self.assertTrue(self.ask(path).startswith("HTTP/1.1 200"))
            with open(other, "w", encoding="utf-8") as file:
                file.write("mine")
            with self.assertRaisesRegex(RuntimeError, "cannot listen"):
                Server("--socket-file", other)
            self.assertTrue(os.path.exists(other))
            with self.assertRaisesRegex(RuntimeError, "it must have 1 to 107"):
                Server("--socket-file", os.path.join(folder, "x" * 120))


class Logs(unittest.TestCase):
    def test_a_line_for_each_request_and_nothing_of_its_contents(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "log")
            with Server("--log-file", path) as server:
                server.post(CHAT, {"messages": HI, "max_tokens": 8, "user": "ann"})
                server.post(CHAT, {"messages": HI, "top_a": 1})
                ask(server, "/health", {"X-Request-Id": "probe-1"})
                lines = [line for line in server.said if re.match(r"\d\d:\d\d:\d\d ", line)]
                eventually(lambda: len(server.said) >= 6)
            said = "".join(server.said)
            lines = [line for line in server.said if re.match(r"\d\d:\d\d:\d\d ", line)]
            self.assertEqual(len(lines), 3, said)
            self.assertRegex(lines[0], r"POST /v1/chat/completions 200 \w+, \d+ \+ \d+ tokens")
            self.assertIn(" 400, ", lines[1])
            self.assertIn("probe-1", lines[2])
            self.assertNotIn("secret", said)
            with open(path, encoding="utf-8") as file:
                rows = [json.loads(line) for line in file]
            self.assertEqual([row["status"] for row in rows], [200, 400, 200])
            self.assertEqual((rows[0]["user"], rows[0]["model"]), ("ann", "nano"))
            self.assertGreater(rows[0]["generated_tokens"], 0)
            self.assertNotIn("secret", json.dumps(rows))

    def logged_until(self, path, n):
        """The lines of a log file when n of them are not of /health."""
        def rows():
            with open(path, encoding="utf-8") as file:
                return [json.loads(line) for line in file.read().split("\n")[:-1]]
        self.assertTrue(eventually(
            lambda: sum(row["path"] != "/health" for row in rows()) >= n))
        return rows()

    def test_contents_on_request(self):
        words = 'a "secret"\n\u00e9\u2028\x1b[31m <|im_end|>'
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "log")
            with Server("--log-prompts", "--log-file", path) as server:
                said = server.post(CHAT, {"messages": [{"role": "user", "content": words}],
                                          "max_tokens": 8, "n": 2})[1]
                server.post("/v1/completions", {"prompt": words, "max_tokens": 8, "echo": True})
                server.post("/v1/completions", {"prompt": words, "max_tokens": 0})
                with server.open_stream(CHAT, {"messages": HI, "max_tokens": 400, "stream": True,
                                               "ignore_eos": True}) as client:
                    seen = b""
                    while not re.search(rb'"content":"[^"]', seen):
                        seen += client.recv(65536)
                self.assertTrue(eventually(lambda: server.n_running() == 0))
                server.post(CHAT, {"messages": HI, "top_a": 1})
                server.post("/v1/embeddings", {"input": ["first", "second"]})
                rows = [row for row in self.logged_until(path, 6) if row["path"] != "/health"]
            chat, echo, none, left, refused, vectors = rows
            self.assertEqual(len(chat["prompts"]), 1)
            self.assertIn(words, chat["prompts"][0])
            self.assertIn("<|im_start|>user", chat["prompts"][0])
            self.assertEqual(chat["answers"],
                             [choice["message"]["content"] for choice in said["choices"]])
            self.assertFalse(chat["contents_cut"])
            self.assertIn("secret", echo["prompts"][0])
            self.assertEqual(len(echo["answers"]), 1)
            self.assertNotIn("secret", echo["answers"][0])
            self.assertEqual(none["answers"], [""])
            self.assertTrue(left["client_left"])
            self.assertIn("this is a secret", left["prompts"][0])
            self.assertTrue(left["answers"][0])
            self.assertEqual(refused["status"], 400)
            self.assertNotIn("prompts", refused)
            self.assertEqual((len(vectors["prompts"]), vectors["answers"]), (2, []))
            self.assertIn("second", vectors["prompts"][1])
            # The console has lines of text.
            self.assertNotIn("secret", "".join(server.said))

    def test_contents_have_a_limit(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "log")
            with Server("--log-prompts", "--log", "json", "--log-file", path) as server:
                status, _ = server.post("/v1/completions", {
                    "prompt": [f"{i} " + "word " * 200 for i in range(100)], "max_tokens": 0})
                self.assertEqual(status, 200)
                [row] = self.logged_until(path, 1)
                self.assertTrue(eventually(lambda: "word word" in server.said[-1]))
                self.assertEqual(json.loads(server.said[-1])["prompts"], row["prompts"])
            self.assertTrue(row["contents_cut"])
            self.assertIn("0 word word", row["prompts"][0])
            self.assertLess(sum(len(prompt.encode()) for prompt in row["prompts"]), (64 << 10) + 1)
            self.assertGreater(len(row["prompts"]), 50)

    def test_contents_are_in_no_line_of_text(self):
        for log in ("text", "off"):
            with self.assertRaisesRegex(RuntimeError, "--log-prompts needs lines in JSON"):
                Server("--log-prompts", "--log", log)

    def test_nothing_of_a_request_moves_the_cursor(self):
        with Server() as server:
            for path in ("%1b%5b2J", "%c2%9b2J", "%e2%80%a8", "%e2%80%ae", "%0d%0a", "%ff"):
                with self.assertRaises(urllib.error.HTTPError) as refused:
                    ask(server, f"/end-{path}-end")
                refused.exception.close()
            self.assertTrue(eventually(lambda: sum("-end" in line for line in server.said) == 6))
        for line in server.said:
            self.assertTrue(line.rstrip("\n").isprintable(), repr(line))

    def test_off_is_off(self):
        with Server("--log", "off") as server:
            server.get("/health")
        self.assertFalse([line for line in server.said if "/health" in line])

    def test_a_log_file_that_cannot_be_is_an_error(self):
        with self.assertRaisesRegex(RuntimeError, "--log-file"):
            Server("--log-file", "/nothing/there/log")


class Metrics(unittest.TestCase):
    def samples(self, server):
        """{name with labels: value}, every line checked for its form."""
        status, headers, text = ask(server, "/metrics")
        self.assertEqual(status, 200)
        self.assertIn("version=0.0.4", headers["Content-Type"])
        found, types = {}, {}
        for line in text.splitlines():
            if line.startswith("# TYPE "):
                _, _, name, kind = line.split(" ")
                self.assertNotIn(name, types, "a metric twice")
                types[name] = kind
                continue
            if line.startswith("# HELP "):
                continue
            self.assertRegex(line, r'^[a-z_:0-9]+(\{[a-z_]+="[^"\n]*"(,[a-z_]+="[^"\n]*")*\})? \S+$')
            name, value = line.rsplit(" ", 1)
            self.assertNotIn(name, found)
            found[name] = float(value)
            bare = re.sub(r"_(bucket|sum|count)$", "", name.split("{")[0])
            self.assertTrue(name.split("{")[0] in types or types.get(bare) == "histogram", name)
            if types.get(name.split("{")[0]) == "counter" and not name.startswith(("vllm:", "llamacpp:")):
                self.assertIn("_total", name)
        return found

    def test_they_count_what_was_done(self):
        with Server() as server:
            before = self.samples(server)
            status, answer = server.post(CHAT, {"messages": HI, "max_tokens": 8, "user": "ann"})
            self.assertEqual(status, 200)
            usage = answer["usage"]
            eventually(lambda: self.samples(server).get("ruvllm_generated_tokens_total", 0) > 0)
            after = self.samples(server)
            self.assertEqual(before["ruvllm_prompt_tokens_total"], 0)
            self.assertEqual(after["ruvllm_prompt_tokens_total"], usage["prompt_tokens"])
            self.assertEqual(after["vllm:generation_tokens_total"], usage["completion_tokens"])
            self.assertEqual(after["vllm:time_to_first_token_seconds_count"], 1)
            self.assertEqual(after['ruvllm_user_tokens_total{user="ann",kind="generated"}'],
                             usage["completion_tokens"])
            self.assertEqual(after['ruvllm_requests_total{route="/v1/chat/completions",status="200"}'],
                             1)
            self.assertGreater(after['ruvllm_steps_total{model_name="nano"}'], 0)


class Keys(unittest.TestCase):
    def status(self, server, path, key, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(server.url + path, data, {
            "Content-Type": "application/json", "Authorization": f"Bearer {key}"})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.load(answer) if path != "/metrics" else None
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

    def test_names_scopes_limits_and_reload(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "keys")
            digest = hashlib.sha256(b"watching").hexdigest()
            with open(path, "w", encoding="utf-8") as file:
                file.write("ann first\nbob second tokens=20\n"
                           f"monitor sha256:{digest} scopes=observe\n")
            with Server("--api-key-file", path, "--cache-dir", folder, "--log", "json") as server:
                chat = {"messages": HI, "max_tokens": 4, "session": "mine"}
                self.assertEqual(self.status(server, CHAT, "first", chat)[0], 200)
                self.assertEqual(self.status(server, CHAT, "none", chat)[0], 401)
                # A session belongs to its key.
                self.assertEqual(self.status(server, "/v1/sessions/mine", "first")[0], 200)
                self.assertEqual(self.status(server, "/v1/sessions/mine", "second")[0], 404)
                self.assertEqual(self.status(server, "/metrics", "watching")[0], 200)
                self.assertEqual(self.status(server, CHAT, "watching", chat)[0], 403)
                # The first answer is more than a minute's tokens.
                self.assertEqual(self.status(server, CHAT, "second", chat)[0], 200)
                self.assertTrue(eventually(
                    lambda: self.status(server, CHAT, "second", chat)[0] == 429))
                with open(path, "w", encoding="utf-8") as file:
                    file.write("ann third\n")
                server.process.send_signal(signal.SIGHUP)
                self.assertTrue(eventually(
                    lambda: self.status(server, "/v1/models", "third")[0] == 200))
                self.assertEqual(self.status(server, "/v1/models", "first")[0], 401)
                with open(path, "w", encoding="utf-8") as file:
                    file.write("ann x scopes=nothing\n")
                server.process.send_signal(signal.SIGHUP)
                self.assertTrue(eventually(lambda: any("stay as they were" in line
                                                       for line in server.said)))
                self.assertEqual(self.status(server, "/v1/models", "third")[0], 200)

    def test_without_a_file_a_hangup_ends_the_server(self):
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup's children ignore it
        with Server() as server:
            server.process.send_signal(signal.SIGHUP)
            self.assertEqual(server.process.wait(timeout=60), -signal.SIGHUP)

    def test_a_file_without_keys_is_refused(self):
        with tempfile.NamedTemporaryFile("w", suffix=".keys") as file:
            file.write("# none\n")
            file.flush()
            with self.assertRaisesRegex(RuntimeError, "there is no key"):
                Server("--api-key-file", file.name)


class Properties(unittest.TestCase):
    def test_props_version_ready_and_openapi(self):
        with Server("--temperature", "0.25", "--top-k", "3", "--dry-sequence-breakers", "x",
                    "--dry-sequence-breakers", "y z", "--samplers", "top_k", "--samplers",
                    "temperature") as server:
            props = server.get("/props")
            self.assertEqual(props["model_alias"], "nano")
            params = props["default_generation_settings"]["params"]
            self.assertEqual((params["temperature"], params["top_k"]), (0.25, 3))
            # They replace the defaults.
            self.assertEqual(params["dry_sequence_breakers"], ["x", "y z"])
            self.assertEqual(params["samplers"], ["top_k", "temperature"])
            self.assertEqual(params["mirostat"], 0)
            self.assertTrue(server.get("/version")["version"])
            self.assertEqual(server.get("/ready"), {"status": "ready"})
            document = server.get("/openapi.json")
            self.assertIn("post", document["paths"][CHAT])
            self.assertNotIn("security", document)  # this server asks for no key
            for path, operations in document["paths"].items():
                for method in operations:
                    if method == "get" and "{" not in path and path not in OFF:
                        self.assertEqual(ask(server, path)[0], 200, path)
            self.assertTrue(any("temperature 0.25, top_k 3" in line for line in server.said))

    # Greedy answers are the same for every seed.
    def test_a_request_that_says_nothing_uses_the_servers_sampling(self):
        with Server("--temperature", "0") as server:
            texts = {server.post(CHAT, {"messages": HI, "max_tokens": 16, "seed": seed})[1]
                     ["choices"][0]["message"]["content"] for seed in range(8)}
            self.assertEqual(len(texts), 1)
            warm = {server.post(CHAT, {"messages": HI, "max_tokens": 16, "seed": seed,
                                       "temperature": 2.0, "top_k": 0, "top_p": 1, "min_p": 0})[1]
                    ["choices"][0]["message"]["content"] for seed in range(8)}
            self.assertGreater(len(warm), 1)


if __name__ == "__main__":
    run_tests()
