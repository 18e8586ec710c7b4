#!/usr/bin/env python3
"""Tests of `ruvllm chat` at a pseudo-terminal and in a pipe: commands, pasted and quoted texts, how
answers are shown.

Usage: talk_cli_test.py --binary RUVLLM --source FOLDER [TestName]...
"""
import argparse
import fcntl
import json
import os
import re
import struct
import sys
import tempfile
import termios
import unittest

from program import Program, Terminal, call

QUESTION = "Tell me about yourself."
PASTE, PASTE_END = b"\x1b[200~", b"\x1b[201~"


class ChatTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def piped(self, text, *arguments):
        done = call("chat", "--model", Program.model, "--temperature", "0", *arguments, text=text,
                    env={"XDG_DATA_HOME": self.folder})
        self.assertNotIn("\x1b", done.stdout + done.stderr)
        return done

    def terminal(self, *arguments, columns=80, **env):
        chat = Terminal("chat", "--model", Program.model, "--temperature", "0", *arguments,
                        XDG_DATA_HOME=self.folder, **env)
        fcntl.ioctl(chat.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        chat.wait_for(b"> ")
        return chat

    def leave(self, chat):
        chat.wait_for(b"> ")
        chat.send(b"/bye\r")
        self.assertEqual(chat.close(), 0)

    def saved(self, name="out.json"):
        with open(self.path(name), encoding="utf-8") as file:
            return json.load(file)["messages"]


class Commands(ChatTest):
    def test_clear_save_and_load(self):
        done = self.piped(f"{QUESTION}\n/save {self.path('out.json')}\n/clear\n"
                          f"/save {self.path('empty.json')}\n/load {self.path('out.json')}\n"
                          f"Hi\n/save {self.path('more.json')}\n/bye\nnot sent\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([m["role"] for m in self.saved()], ["user", "assistant"])
        self.assertEqual(self.saved()[0]["content"], QUESTION)
        self.assertEqual(self.saved("empty.json"), [])
        self.assertEqual(self.saved("more.json")[:2], self.saved())
        self.assertEqual(len(self.saved("more.json")), 4)
        self.assertEqual(os.stat(self.path("out.json")).st_mode & 0o077, 0)
        done = self.piped(f"/save {self.path('out.json')}\n/load /no/such/file\n/save\n/load "
                          f"{__file__}\n")
        self.assertEqual(done.returncode, 0)
        for says in ("out.json", "/no/such/file", "/save needs a name", "not valid JSON"):
            self.assertIn(says, done.stderr)

    def test_set(self):
        done = self.piped("/set top-k 7\n/set parameter seed 5\n/set\n/set temperature hot\n"
                          "/set colour red\n/set logprobs 1\n/set\n")
        self.assertRegex(done.stderr, r"(?m)^top_k +7$")
        self.assertRegex(done.stderr, r"(?m)^seed +5$")
        for says in ("'hot' is not a number", "there is no option 'colour'",
                     "'logprobs' does not apply to a chat"):
            self.assertIn(says, done.stderr)

    def test_model(self):
        other = self.path("other.gguf")
        os.symlink(os.path.realpath(Program.model), other)
        done = self.piped(f"{QUESTION}\n/model /no/such/model\n/set top_k 9\n/model {other}\n/set\n"
                          f"/save {self.path('out.json')}\n")
        self.assertIn("/no/such/model", done.stderr)
        self.assertIn("context 1024 tokens", done.stderr)
        self.assertRegex(done.stderr, r"(?m)^top_k +9$")
        self.assertEqual(len(self.saved()), 2)

    def test_a_full_context_has_ways_out(self):
        done = self.piped("word " * 100 + "\n", "--ctx", "64")
        self.assertIn("/drop forgets the oldest", done.stderr)
        self.assertIn("a larger --ctx holds more", done.stderr)
        done = self.piped("word " * 1500 + "\n")
        self.assertIn("the context holds 1024", done.stderr)
        self.assertNotIn("larger --ctx", done.stderr)
        question = "Tell me a story about a cat and a dog.\n"
        done = self.piped(question * 4 + f"/drop\n/save {self.path('out.json')}\n", "--ctx", "128",
                          "--max-tokens", "20", "--context-shift")
        self.assertIn("messages at its beginning were dropped", done.stderr)
        self.assertNotIn("and the context holds", done.stderr)
        self.assertEqual(len(done.stdout.splitlines()), 4)
        self.assertEqual(len(self.saved()) % 2, 0)
        self.assertIn("nothing to forget", self.piped("/drop\n").stderr)


class Texts(ChatTest):
    def test_three_quotes(self):
        self.piped(f'"""one\ntwo\n\nthree"""\n/save {self.path("out.json")}\n')
        self.assertEqual(self.saved()[0]["content"], "one\ntwo\n\nthree")
        done = self.piped('"""one\n')
        self.assertEqual(done.stdout, "")
        self.assertIn("was not sent", done.stderr)

    def test_pasted_lines_are_one_message(self):
        chat = self.terminal("--max-tokens", "3")
        chat.send(PASTE + b"one\rtwo \xc3\xa9\n\x07three\r" + PASTE_END)
        chat.wait_for(b"three")
        chat.send(b" four\r")
        chat.wait_for(b"tokens/s")
        chat.wait_for(b"> ")
        chat.send(b"Alt\x1b\rEnter\r")
        chat.wait_for(b"tokens/s")
        chat.wait_for(b"> ")
        chat.send(f"/save {self.path('out.json')}\r".encode())
        chat.wait_for(b"messages written")
        self.leave(chat)
        messages = self.saved()
        self.assertEqual([m["content"] for m in messages if m["role"] == "user"],
                         ["one\ntwo é\nthree four", "Alt\nEnter"])

    def test_pastes_are_asked_for_and_not_left_on(self):
        chat = Terminal("chat", "--model", Program.model, XDG_DATA_HOME=self.folder)
        chat.wait_for(b"\x1b[?2004h")
        chat.wait_for(b"> ")  # only now is the terminal the line editor's
        chat.send(b"\x04")
        chat.wait_for(b"\x1b[?2004l")
        self.assertEqual(chat.close(), 0)


class Screen(ChatTest):
    def test_banner(self):
        chat = Terminal("chat", XDG_DATA_HOME=self.folder)
        chat.wait_for(b"context 1024 tokens")
        if "q8_0" in Program.model:
            chat.wait_for(b"a toy to try the program with")
        chat.wait_for(b"/help lists")
        self.leave(chat)
        chat = Terminal("chat", "--quiet", "--model", Program.model, XDG_DATA_HOME=self.folder)
        self.assertNotIn(b"context", chat.wait_for(b"> "))
        chat.send(b"\x04")
        self.assertEqual(chat.close(), 0)

    def shown(self, *arguments, columns=40, **env):
        chat = self.terminal(*arguments, columns=columns, **env)
        chat.send(QUESTION.encode() + b"\r")
        chat.wait_for(b"\n")
        text = chat.wait_for(b"tokens/s").decode()
        self.leave(chat)
        return re.sub(r"\x1b\[[?0-9]*[a-z]", "", text.replace("\r\n", "\n"))

    def test_words_are_not_broken(self):
        plain = self.shown("--plain", columns=40)
        answer = plain.rpartition("\nprompt ")[0] or plain
        wrapped = self.shown(columns=40)
        for text in (self.shown(columns=40, NO_COLOR="1"), wrapped):
            lines = text.splitlines()
            self.assertTrue(all(len(line) <= 40 for line in lines if "tokens" not in line), lines)
        words = [word for word in answer.split() if word.isalpha()]
        self.assertTrue(set(words) <= set(wrapped.split()), (words, wrapped))

    def shown_by_run(self, *arguments):
        run = Terminal("run", "--model", Program.model, "--quiet", "--seed", "1", *arguments,
                       COLUMNS="40")
        self.assertEqual(run.close(), 0, run.seen)
        return run.seen.decode().replace("\r\n", "\n")

    def test_run_breaks_lines_between_words(self):
        plain = self.shown_by_run("--plain", QUESTION)
        wrapped = self.shown_by_run(QUESTION)
        self.assertTrue(all(len(line) <= 40 for line in wrapped.splitlines()), wrapped)
        self.assertEqual(wrapped.split(), plain.split())
        self.assertGreater(max(map(len, plain.splitlines())), 40)

    def test_run_leaves_a_form_as_it_is(self):
        form = ("--regex", "[*]{2}bold[*]{2} x{60} y", "Hi")
        self.assertEqual(self.shown_by_run(*form), f"**bold** {'x' * 60} y\n")

    def test_errors_are_red(self):
        chat = self.terminal()
        chat.send(b"/load /no/such/file\r")
        chat.wait_for(b"\x1b[31mruvllm chat: ")
        self.leave(chat)
        chat = self.terminal(NO_COLOR="1")
        chat.send(b"/load /no/such/file\r")
        chat.wait_for(b"\n")
        self.assertNotIn(b"\x1b[31m", chat.wait_for(b"/no/such/file: "))
        self.leave(chat)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    Program.binary = os.path.abspath(arguments.binary)
    Program.source = arguments.source
    Program.model = Program.find_model()
    if not Program.model:
        print("skipped: neither the built-in model nor RUV_DATA_DIR/trained/nano is here")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *arguments.names], verbosity=2)


if __name__ == "__main__":
    main()
