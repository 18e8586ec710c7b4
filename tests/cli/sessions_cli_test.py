#!/usr/bin/env python3
"""Tests of sessions through the real binary: `chat --session`, `sessions`, and the field `session`
of a server that is stopped, killed and started again.

Usage: sessions_cli_test.py --binary RUVLLM --source FOLDER [TestName]...
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import unittest
import urllib.error
import urllib.request

from program import Program, call, call_json

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from server import Server  # noqa: E402

PAGE = 16
LINES = ["Tell me a story about a small boat and the sea.", "Go on.", "How does it end?"]
# Not so hot that an answer is put together of other tokens than those its text is cut into.
SAMPLED = {"temperature": 0.7, "seed": 4, "max_tokens": 30}


def user(text):
    return {"role": "user", "content": text}


class SessionTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def key_file(self, name, digit):
        path = os.path.join(self.folder, name)
        pathlib.Path(path).write_text(64 * digit + "\n", encoding="utf-8")
        return path

    def session_files(self, cache):
        return sorted(pathlib.Path(cache, "sessions").glob("*.session"))


class CommandLine(SessionTest):
    OPTIONS = ("--temperature", "1.2", "--seed", "11", "--max-tokens", "30")

    def chat(self, lines, *arguments):
        return call("chat", "--model", Program.model, *self.OPTIONS, *arguments,
                    text="".join(line + "\n" for line in lines))

    def test_a_chat_goes_on_as_if_it_had_never_stopped(self):
        whole = self.chat(LINES)
        self.assertEqual(whole.returncode, 0, whole.stderr)
        kept = ("--session", "boat", "--cache-dir", self.folder)
        parts = [self.chat([line], *kept) for line in LINES]
        for part in parts:
            self.assertEqual(part.returncode, 0, part.stderr)
        self.assertEqual("".join(part.stdout for part in parts), whole.stdout)
        self.assertNotIn("boat", parts[0].stderr)
        self.assertIn("session 'boat' continues after 2 messages", parts[1].stderr)
        self.assertIn("session 'boat' continues after 4 messages", parts[2].stderr)
        shown = call_json("sessions", "show", "boat", "--cache-dir", self.folder, "--json")
        self.assertEqual([m["content"] for m in shown["messages"][::2]], LINES)
        self.assertEqual(shown["n_messages"], 6)

    def test_the_default_folder(self):
        for variables in ({"XDG_CACHE_HOME": self.folder, "HOME": "none"},
                          {"XDG_CACHE_HOME": "", "HOME": self.folder}):
            done = call("chat", "--model", Program.model, "--session", "a", "--max-tokens", "2",
                        "--packed-cache", "off", text="Hi\n", env=variables)
            self.assertEqual(done.returncode, 0, done.stderr)
            done = call("sessions", "list", "--json", env=variables)
            self.assertEqual(json.loads(done.stdout)["sessions"][0]["name"], "a")
        self.assertTrue(os.path.isdir(os.path.join(self.folder, ".cache", "ruvllm", "sessions")))
        done = call("sessions", "list", env={"XDG_CACHE_HOME": "", "HOME": ""})
        self.assertEqual(done.returncode, 2)

    def test_run_starts_where_kept_pages_end(self):
        run = ("run", "--model", Program.model, "--json", "--temperature", "0", "--max-tokens", "8",
               LINES[0])
        alone = call_json(*run)
        first = call_json(*run, "--cache-dir", self.folder)
        again = call_json(*run, "--cache-dir", self.folder)
        self.assertEqual(first["text"], alone["text"])
        self.assertEqual(again["ids"], alone["ids"])
        self.assertEqual(first["timings"]["n_cached_tokens"], 0)
        n = len(alone["prompt_ids"])
        self.assertEqual(again["timings"]["n_cached_tokens"], (n - 1) // PAGE * PAGE)

    def test_list_show_delete(self):
        kept = ("--cache-dir", self.folder)
        self.assertEqual(call_json("sessions", "list", "--json", *kept), {"sessions": []})
        for name in ("b", "a"):
            self.assertEqual(self.chat(["Hi"], "--session", name, *kept).returncode, 0)
        listed = call_json("sessions", "list", "--json", *kept)["sessions"]
        self.assertEqual([s["name"] for s in listed], ["a", "b"])
        self.assertEqual(listed[0]["n_messages"], 2)
        self.assertGreater(listed[0]["n_tokens"], 0)
        self.assertIn("a ", call("sessions", "list", *kept).stdout)
        self.assertTrue(call("sessions", "show", "a", *kept).stdout.startswith("user: Hi\n"))
        self.assertEqual(call("sessions", "delete", "a", *kept).returncode, 0)
        for action in ("show", "delete"):
            gone = call("sessions", action, "a", *kept)
            self.assertEqual(gone.returncode, 1)
            self.assertIn("no session 'a'", gone.stderr)
        self.assertEqual(len(self.session_files(self.folder)), 1)

    def test_wrong_calls(self):
        for arguments in (("chat", "--session", "../x"), ("chat", "--session", ""),
                          ("sessions",), ("sessions", "forget"), ("sessions", "show"),
                          ("sessions", "list", "a")):
            with self.subTest(arguments):
                self.assertEqual(call(*arguments).returncode, 2)
        wrong = call("sessions", "show", "../x", "--cache-dir", self.folder)
        self.assertEqual(wrong.returncode, 1)
        self.assertIn("letters", wrong.stderr)

    def test_a_system_message_belongs_to_a_beginning(self):
        kept = ("--session", "s", "--cache-dir", self.folder)
        self.assertEqual(self.chat(["Hi"], *kept, "--system", "Be brief.").returncode, 0)
        self.assertEqual(self.chat(["Hi"], *kept, "--system", "Be brief.").returncode, 0)
        other = self.chat(["Hi"], *kept, "--system", "Be long.")
        self.assertEqual(other.returncode, 1)
        self.assertIn("--system", other.stderr)
        shown = call_json("sessions", "show", "s", "--cache-dir", self.folder, "--json")
        self.assertEqual([m["role"] for m in shown["messages"]],
                         ["system", "user", "assistant", "user", "assistant"])
        self.chat(["/reset", "New"], *kept)
        shown = call_json("sessions", "show", "s", "--cache-dir", self.folder, "--json")
        self.assertEqual([m["role"] for m in shown["messages"]], ["system", "user", "assistant"])

    def test_a_damaged_file_is_reported_and_stays(self):
        kept = ("--cache-dir", self.folder)
        for name in ("a", "b"):
            self.chat(["Hi"], "--session", name, *kept)
        file = self.session_files(self.folder)[0]
        file.write_bytes(b"junk")
        listed = call("sessions", "list", "--json", *kept)
        self.assertEqual(len(json.loads(listed.stdout)["sessions"]), 1)
        self.assertIn(file.name, listed.stderr)
        codes = [self.chat(["Hi"], "--session", name, *kept).returncode for name in ("a", "b")]
        self.assertEqual(sorted(codes), [0, 1])
        self.assertEqual(file.read_bytes(), b"junk")

    def test_encrypted(self):
        kept = ("--cache-dir", self.folder, "--cache-key", self.key_file("key", "a"))
        secret = "My secret word is heron."
        self.assertEqual(self.chat([secret], "--session", "hidden", *kept).returncode, 0)
        for file in pathlib.Path(self.folder).rglob("*"):
            content = file.read_bytes() if file.is_file() else b""
            self.assertFalse(b"heron" in content or b"hidden" in content, file)
        shown = call_json("sessions", "show", "hidden", "--json", *kept)
        self.assertEqual(shown["messages"][0]["content"], secret)
        for others in ((), ("--cache-key", self.key_file("other", "b"))):
            done = call("sessions", "list", "--json", "--cache-dir", self.folder, *others)
            self.assertEqual(json.loads(done.stdout), {"sessions": []})
            self.assertIn("encrypted", done.stderr)


class OverHttp(SessionTest):
    def serve(self, *arguments):
        Server.binary, Server.model = Program.binary, Program.model
        return Server("--cache-dir", self.folder, *arguments)

    def ask(self, server, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(server.url + path, data, method=method,
                                         headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=100) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

    def chat(self, server, messages, **more):
        body = {"model": "nano", "messages": messages, **SAMPLED, **more}
        status, answer = server.post("/v1/chat/completions", body)
        self.assertEqual(status, 200, answer)
        return answer["choices"][0]["message"]["content"], answer["usage"]

    def test_a_session_goes_on_over_restarts_with_the_same_bytes_and_its_pages(self):
        whole, answers, used = [], [], []
        for line in LINES:
            with self.serve() as server:
                text, usage = self.chat(server, [user(line)], session="boat")
                answers.append(text)
                used.append(usage)
        with Server() as server:  # nothing is kept here
            for line, answer in zip(LINES, answers):
                whole.append(user(line))
                self.assertEqual(self.chat(server, whole)[0], answer)
                whole.append({"role": "assistant", "content": answer})
        for before, now in zip(used, used[1:]):
            # The pages of all old turns; the answer's last token was never computed.
            old = (before["total_tokens"] - 1) // PAGE * PAGE
            self.assertGreaterEqual(now["prompt_tokens_details"]["cached_tokens"], old)
        with self.serve() as server:
            self.assertEqual(server.get("/v1/sessions/boat")["messages"], whole)

    def test_what_was_answered_survives_a_kill(self):
        for turn in range(1, 5):
            with self.serve() as server:
                self.chat(server, [user(str(turn))], session="a", max_tokens=2)
                body = {"model": "nano", "messages": [user("never answered")], "session": "a",
                        "stream": True, "ignore_eos": True}
                connection = server.open_stream("/v1/chat/completions", body)
                server.stop(signal.SIGKILL)
                connection.close()
            kept = call_json("sessions", "show", "a", "--json", "--cache-dir", self.folder)
            said = [m["content"] for m in kept["messages"] if m["role"] == "user"]
            self.assertEqual(said, [str(i + 1) for i in range(turn)])

    def test_users_and_the_folder_s_owner(self):
        with self.serve() as server:
            self.chat(server, [user("I am Ann.")], session="trip", user="ann", max_tokens=2)
            self.assertEqual(self.ask(server, "GET", "/v1/sessions/trip?user=ben")[0], 404)
            self.assertEqual(self.ask(server, "DELETE", "/v1/sessions/trip")[0], 404)
            put = {"messages": [user("I am Ben.")]}
            self.assertEqual(self.ask(server, "PUT", "/v1/sessions/trip?user=ben", put)[0], 200)
            shown = self.ask(server, "GET", "/v1/sessions/trip?user=ann")[1]
            self.assertEqual(shown["messages"][0]["content"], "I am Ann.")
            listed = call_json("sessions", "list", "--json", "--cache-dir", self.folder)
            self.assertEqual([s["user"] for s in listed["sessions"]], ["ann", "ben"])
            busy = call("sessions", "delete", "trip", "--user", "ben", "--cache-dir", self.folder)
            self.assertEqual(busy.returncode, 1, busy.stderr)
        done = call("sessions", "delete", "trip", "--user", "ben", "--cache-dir", self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        listed = call_json("sessions", "list", "--json", "--cache-dir", self.folder)
        self.assertEqual([s["user"] for s in listed["sessions"]], ["ann"])

    def test_the_command_line_goes_on_with_a_server_s_session(self):
        with self.serve() as server:
            self.chat(server, [user("Hi")], session="both")
        done = call("chat", "--model", Program.model, "--session", "both", "--cache-dir",
                    self.folder, text="And now?\n")
        self.assertIn("continues after 2 messages", done.stderr)
        with self.serve() as server:
            self.assertEqual(server.get("/v1/sessions")["data"][0]["n_messages"], 4)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--source", required=True)
    arguments, rest = parser.parse_known_args()
    Program.binary, Program.source = arguments.binary, arguments.source
    Program.model = Program.find_model()
    if not Program.model:
        print("no model to test with")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
