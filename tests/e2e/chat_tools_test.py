#!/usr/bin/env python3
"""Tests of `ruvllm run` and `ruvllm chat` with --tools and --mcp: the real binary and model, programs
in the sandbox, a server made with MCP's Python SDK, and a person at a terminal.

Usage: chat_tools_test.py --binary RUVLLM --source FOLDER [TestName]...
"""
import argparse
import json
import os
import re
import shutil
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))

from program import Program, Terminal, call  # noqa: E402

SKIP = 77
PAGE_TOKENS = 16
QUESTION = "Play the song Winter Road."
SPEED = re.compile(r"prompt (\d+) tokens(?: \((\d+) kept\))?, .*?; answer (\d+) tokens")
PARAMETERS = {"type": "object", "properties": {"title": {"type": "string", "description":
              "Title of the song"}}, "required": ["title"], "additionalProperties": False}


def tool(script, name="play_song", **members):
    """A tool of the kind the model was trained on, which runs a script of the shell."""
    return {"name": name, "description": "Play music by title and artist.",
            "parameters": PARAMETERS, "command": ["sh", "-c", script], **members}


QUEUED = tool("""cat > /dev/null; printf '{"status": "queued", "seconds": 177}'""")
ASKING = tool("cat", consent=True)


class ToolTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def file(self, content, name="tools.json"):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as out:
            json.dump(content, out)
        return path

    def tools(self, *tools):
        return "--tools", self.file({"tools": tools})

    def ask(self, *arguments, prompt=QUESTION, text=""):
        return call("run", prompt, "--model", Program.model, "--temperature", "0", "--max-tokens",
                    "120", *arguments, text=text)

    def forced(self, *tools, more=()):
        """An answer whose first round calls a tool, and what was shown of the calls."""
        done = self.ask(*self.tools(*tools), "--tool-choice", "required", *more)
        return done, [line for line in done.stderr.splitlines() if line.startswith("[tool]")]


class Programs(ToolTest):
    """`run` with programs in the sandbox."""

    def test_the_model_calls_and_answers(self):
        done = self.ask(*self.tools(QUEUED))
        self.assertEqual(done.returncode, 0, done.stderr)
        call_line, result_line = (line for line in done.stderr.splitlines()
                                  if line.startswith("[tool]"))
        self.assertEqual(call_line, '[tool] play_song {"title": "Winter Road"}')
        self.assertRegex(result_line, r'^\[tool\] play_song answered after \d+ ms: '
                                      r'\{"status": "queued", "seconds": 177\}$')
        self.assertIn("queued", done.stdout)  # the answer, and nothing else
        self.assertNotIn("tool", done.stdout)
        self.assertEqual(done.stdout.count("\n"), 1, done.stdout)

    def test_the_second_round_keeps_the_first(self):
        done = self.ask(*self.tools(QUEUED))
        rounds = [[int(n or 0) for n in line] for line in SPEED.findall(done.stderr)]
        self.assertEqual(len(rounds), 2, done.stderr)
        (prompt, _, answer), (whole, kept, _) = rounds
        self.assertGreater(kept, prompt)
        self.assertGreaterEqual(kept, (prompt + answer - 1) // PAGE_TOKENS * PAGE_TOKENS)
        self.assertGreater(whole, kept)

    def test_arguments_reach_the_program(self):
        _, lines = self.forced(tool("cat"))
        self.assertRegex(lines[1], r'answered after \d+ ms: \{"title":"Winter Road"\}$')

    def test_only_the_first_answer_is_forced(self):
        done, lines = self.forced(QUEUED)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(lines), 2, lines)

    def test_rounds_are_bounded(self):
        done, lines = self.forced(QUEUED, more=("--max-rounds", "1"))
        self.assertEqual(done.returncode, 1)
        self.assertEqual(len(lines), 2, lines)
        self.assertIn("stopped after 1 round of calls", done.stderr)
        self.assertEqual(done.stdout, "")

    def test_quiet_says_only_the_calls(self):
        done = self.ask(*self.tools(QUEUED), "--quiet")
        self.assertEqual(done.stderr.count("\n"), 2, done.stderr)

    def test_hostile_programs_are_results(self):
        limits = {"wall_s": 1, "output_kb": 64}
        cases = [("while :; do echo flood; done", "wrote more than 65536 bytes"),
                 ("sleep 100", "stopped after 1000 ms"),
                 ("kill -9 $$", "signal 9|exit code 137"),
                 ("echo no luck >&2; exit 3", "exit code 3 no luck"),
                 ("exec 2>&1; cat /etc/passwd; ls /home", "No such file"),
                 ("exec no-such-program", "exit code 127")]
        for script, says in cases:
            start = time.monotonic()
            done, lines = self.forced(tool(script, limits=limits))
            self.assertIn(done.returncode, (0, 1), done.stderr)
            self.assertRegex(lines[1], "play_song failed after .*(" + says + ")", script)
            self.assertLess(time.monotonic() - start, 60)

    def test_results_are_cut_to_the_context(self):
        done, lines = self.forced(tool("cat > /dev/null; seq 100000"))
        self.assertIn("answered", lines[1])
        self.assertEqual(done.returncode, 0, done.stderr)  # the next prompt fits

    def test_nothing_moves_the_cursor(self):
        done, lines = self.forced(tool(r"printf '\033[2J\033]0;x\007\342\200\256abc\n\nd'"))
        self.assertIn("<U+001B>[2J<U+001B>]0;x<U+0007><U+202E>abc d", lines[1])
        self.assertNotIn("\x1b", done.stderr)

    def test_calls_that_reach_out_need_consent(self):
        for reach in ({"network": True}, {"writable": [self.folder]}, {"consent": True}):
            done, lines = self.forced(tool("cat", **reach))
            self.assertIn("play_song was not run: it needs consent", done.stderr)
            self.assertIn("the user did not allow this call", lines[1])
            done, lines = self.forced(tool("cat", **reach), more=("--yes",))
            self.assertIn("answered", lines[1])
        done, lines = self.forced(tool("cat", network=True, consent=False))
        self.assertIn("answered", lines[1])

    def test_without_the_sandbox_all_need_consent(self):
        seen = os.path.join(self.folder, "seen")
        script = f"cat > {seen}; cat {seen}"
        _, lines = self.forced(tool(script, consent=False), more=("--unsandboxed",))
        self.assertIn("did not allow", lines[1])
        self.assertFalse(os.path.exists(seen))
        self.forced(tool(script, consent=False), more=("--unsandboxed", "--yes"))
        self.assertTrue(os.path.exists(seen))

    def test_tools_that_cannot_be_checked_are_left_out(self):
        elsewhere = {"type": "object", "properties": {"a": {"$ref": "https://example.org/a"}}}
        odd = {**QUEUED, "name": "odd", "parameters": elsewhere}
        done, lines = self.forced(odd, QUEUED)
        self.assertIn("the tool 'odd' of", done.stderr)
        self.assertIn("is left out: its schema cannot be checked", done.stderr)
        self.assertIn("play_song", lines[0])

    def test_wrong_calls(self):
        file = self.tools(QUEUED)
        for arguments, says in (
                (("--yes",), "--yes needs --tools or --mcp"),
                (("--tool-choice", "required"), "--tool-choice needs --tools or --mcp"),
                ((*file, "--json"), "--json cannot be used with --tools"),
                ((*file, "--raw"), "--raw cannot be used with --tools"),
                ((*file, "--max-rounds", "0"), "--max-rounds")):
            done = self.ask(*arguments)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(says, done.stderr)
        for arguments, says in (
                (("--tools", "/no/such/file"), "/no/such/file"),
                (("--tools", self.file({"tools": [{"name": "a"}]}, "wrong.json")),
                 "tools[0]: 'description' is required"),
                ((*file, "--tool-choice", "other"), "there is no tool 'other'")):
            done = self.ask(*arguments)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(says, done.stderr)

    def test_models_that_call_nothing_are_refused(self):
        data = os.environ.get("RUV_DATA_DIR") or os.path.join(Program.source, "..", "shared", "data")
        stories = os.path.join(data, "models", "stories260K", "derived", "stories260K.f32.gguf")
        if not os.path.exists(stories):
            self.skipTest("the model stories260K is missing")
        done = call("run", "a", "--model", stories, *self.tools(QUEUED))
        self.assertEqual(done.returncode, 1)
        self.assertIn("--tools", done.stderr)


class Chats(ToolTest):
    """`chat`: from a pipe, and with a person at a terminal."""

    def start(self, *arguments):
        terminal = Terminal("chat", "--model", Program.model, "--temperature", "0", "--max-tokens",
                            "120", *arguments, XDG_DATA_HOME=self.folder)
        terminal.wait_for(b"> ")
        return terminal

    def finish(self, terminal):
        terminal.send(b"\x04")
        self.assertEqual(terminal.close(), 0)

    def piped(self, text, *arguments):
        return call("chat", "--model", Program.model, "--temperature", "0", "--max-tokens", "120",
                    *arguments, text=text, env={"XDG_DATA_HOME": self.folder})

    def test_pipe(self):
        done = self.piped(f"{QUESTION}\n/reset\n{QUESTION}\n", *self.tools(QUEUED))
        self.assertEqual(done.returncode, 0, done.stderr)
        first, second = done.stdout.splitlines()
        self.assertEqual(first, second)
        self.assertIn("queued", first)
        self.assertEqual(done.stderr.count("[tool] play_song {"), 2, done.stderr)

    def test_a_session_keeps_calls_and_results(self):
        cache = os.path.join(self.folder, "cache")
        kept = ("--session", "songs", "--cache-dir", cache)
        first = self.piped(QUESTION + "\n", *self.tools(QUEUED), *kept)
        self.assertEqual(first.returncode, 0, first.stderr)
        shown = call("sessions", "show", "songs", "--cache-dir", cache).stdout
        self.assertIn("queued", shown)
        again = self.piped("Play the song Wild Horses.\n", *self.tools(QUEUED), *kept)
        self.assertIn("continues after 4 messages", again.stderr)
        self.assertRegex(again.stderr, r'\[tool\] play_song \{"title": "[^"]*Horses')

    def test_the_person_is_asked(self):
        chat = self.start(*self.tools(ASKING), "--tool-choice", "required")
        chat.send(QUESTION.encode() + b"\r")
        chat.wait_for(b'[tool] play_song {"title": "Winter Road"}')
        shown = chat.wait_for(b"[a]lways this tool: ")
        self.assertIn(b"Play music by title and artist.", shown)
        chat.send(b"what?\n")
        chat.wait_for(b"[a]lways this tool: ")
        chat.send(b"n\n")
        chat.wait_for(b"the user did not allow this call")
        chat.wait_for(b"> ")
        chat.send(b"/reset\r")
        chat.wait_for(b"> ")
        chat.send(QUESTION.encode() + b"\r")
        chat.wait_for(b"[a]lways this tool: ")
        chat.send(b"a\n")
        chat.wait_for(b"play_song answered")
        chat.wait_for(b"> ")
        chat.send(b"/reset\r")
        chat.wait_for(b"> ")
        chat.send(QUESTION.encode() + b"\r")
        self.assertNotIn(b"Run it?", chat.wait_for(b"play_song answered"))
        chat.wait_for(b"> ")
        self.finish(chat)

    def test_what_was_typed_before_is_no_consent(self):
        chat = self.start(*self.tools(ASKING), "--tool-choice", "required")
        chat.send(QUESTION.encode() + b"\r" + b"y\n")
        chat.wait_for(b"[a]lways this tool: ")
        time.sleep(0.5)
        self.assertNotIn(b"answered", chat.seen)
        chat.send(b"n\n")
        chat.wait_for(b"did not allow")
        chat.wait_for(b"> ")
        self.finish(chat)

    def test_ctrl_c_ends_a_tool_and_the_turn(self):
        slow = tool("sleep 100", limits={"wall_s": 100})
        chat = self.start(*self.tools(slow), "--tool-choice", "required")
        chat.send(QUESTION.encode() + b"\r")
        chat.wait_for(b"[tool] play_song")
        time.sleep(0.3)
        start = time.monotonic()
        chat.send(b"\x03")
        chat.wait_for(b"cancelled")
        chat.wait_for(b"stopped")
        chat.wait_for(b"> ")
        self.assertLess(time.monotonic() - start, 20)
        chat.send(b"/help\r")
        chat.wait_for(b"/reset")
        chat.wait_for(b"> ")
        self.finish(chat)

    def test_ctrl_c_at_the_question_ends_the_turn(self):
        chat = self.start(*self.tools(ASKING), "--tool-choice", "required")
        chat.send(QUESTION.encode() + b"\r")
        chat.wait_for(b"[a]lways this tool: ")
        chat.send(b"\x03")
        chat.wait_for(b"stopped")
        chat.wait_for(b"> ")
        chat.send(QUESTION.encode() + b"\r")  # the conversation goes on
        chat.wait_for(b"[a]lways this tool: ")
        chat.send(b"y\n")
        chat.wait_for(b"play_song answered")
        chat.wait_for(b"> ")
        self.finish(chat)


class Servers(ToolTest):
    """A server made with MCP's Python SDK."""

    def setUp(self):
        super().setUp()
        try:
            import mcp  # noqa: F401
        except ImportError:
            self.skipTest("the Python package 'mcp' is missing")
        self.server = {"command": sys.executable, "args": [os.path.join(HERE, "mcp_song_server.py")]}

    def asked(self, name, *more, **servers):
        config = self.file({"mcpServers": servers or {"my": self.server}}, "mcp.json")
        done = self.ask("--mcp", config, "--tool-choice", name, *more)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        lines = [line for line in done.stderr.splitlines() if line.startswith("[tool]")]
        self.assertGreaterEqual(len(lines), 2, done.stdout + done.stderr)
        self.assertTrue(lines[0].startswith(f'[tool] {name} {{"title": "'), lines)
        return done, lines[1]

    def test_calls_reach_the_server(self):
        _, line = self.asked("my_play_song", "--yes")
        self.assertRegex(line, r"^\[tool\] my_play_song answered after \d+ ms: playing \w+")

    def test_failures_are_results(self):
        _, line = self.asked("my_lose_song", "--yes")
        self.assertRegex(line, r"^\[tool\] my_lose_song failed after \d+ ms: Error executing tool")

    def test_consent_is_for_tools_that_may_change_or_tell(self):
        for name in ("my_play_song", "my_lose_song"):
            done, line = self.asked(name)
            self.assertIn(name + " was not run: it needs consent", done.stderr)
            self.assertIn("did not allow", line)
        _, line = self.asked("my_find_song")
        self.assertRegex(line, "my_find_song answered after .*: found ")

    def test_ctrl_c_ends_a_call_and_the_server_stays(self):
        config = self.file({"mcpServers": {"my": self.server}}, "mcp.json")
        chat = Terminal("chat", "--model", Program.model, "--temperature", "0", "--max-tokens", "120",
                        "--mcp", config, "--tool-choice", "my_wait_song", "--yes",
                        XDG_DATA_HOME=self.folder)
        chat.wait_for(b"> ")
        for _ in range(2):
            chat.send(QUESTION.encode() + b"\r")
            chat.wait_for(b"[tool] my_wait_song {")
            time.sleep(0.3)
            chat.send(b"\x03")
            chat.wait_for(b"my_wait_song failed")
            chat.wait_for(b"error (cancelled)")
            chat.wait_for(b"stopped")
            chat.wait_for(b"> ")
        chat.send(b"\x04")
        self.assertEqual(chat.close(), 0)

    def test_a_server_that_fails_leaves_the_others(self):
        broken = {"command": sys.executable, "args": ["-c", "import sys; sys.exit('no licence')"]}
        done, line = self.asked("my_find_song", my=self.server, broken=broken)
        self.assertIn("MCP server broken: ", done.stderr)
        self.assertIn("no licence", done.stderr)
        self.assertIn("answered", line)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--source", required=True)
    args, rest = parser.parse_known_args()
    Program.binary, Program.source = os.path.abspath(args.binary), os.path.abspath(args.source)
    Program.model = Program.find_model()
    if not Program.model:
        print("skipped: the built-in model is missing")
        sys.exit(SKIP)
    if not shutil.which("bwrap") or not shutil.which("prlimit"):
        print("skipped: bwrap or prlimit is missing")
        sys.exit(SKIP)
    unittest.main(argv=[sys.argv[0], *rest])


main()
