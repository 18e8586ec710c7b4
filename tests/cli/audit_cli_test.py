#!/usr/bin/env python3
"""Tests of `ruvllm audit` on logs that `ruvllm serve --audit` wrote: listed, verified, run again,
proven, tampered with, and what is wrong is named.

Usage: audit_cli_test.py --binary RUVLLM --source FOLDER [TestName]...
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import unittest
import urllib.request

from program import Program, call, environment


class Server:
    """A server with a log; leaving it ends it, which writes what waits."""

    def __init__(self, log, *arguments):
        self.process = subprocess.Popen(
            [Program.binary, "serve", "--port", "0", "--cache-dir", log + "-cache", "--log", "off",
             "--audit", log, *arguments], stderr=subprocess.PIPE, text=True, env=environment())
        for line in self.process.stderr:
            found = re.match(r"listening on (http://\S+)", line)
            if found:
                self.url = found[1]
                return
        raise RuntimeError("the server did not start")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=60)

    def post(self, path, body, request_id="req-1"):
        request = urllib.request.Request(
            self.url + path, json.dumps(body).encode(),
            {"Content-Type": "application/json", "X-Request-Id": request_id})
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def ask(self, text, **fields):
        request_id = fields.pop("request_id", "req-1")
        body = {"messages": [{"role": "user", "content": text}], "max_tokens": 16, **fields}
        return self.post("/v1/chat/completions", body, request_id)


class Audit(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.log = os.path.join(self.folder, "log")

    def audit(self, *arguments):
        return call("audit", *arguments, "--log", self.log)

    def lines(self, *arguments):
        made = self.audit(*arguments, "--json")
        self.assertEqual(made.returncode, 0, made.stdout + made.stderr)
        return [json.loads(line) for line in made.stdout.splitlines()]

    def fails(self, words, *arguments, code=1):
        made = self.audit(*arguments)
        self.assertEqual(made.returncode, code, made.stdout + made.stderr)
        self.assertIn(words, made.stdout + made.stderr)

    def change(self, statement):
        with sqlite3.connect(os.path.join(self.log, "audit.db")) as database:
            database.execute(statement)

    def write_log(self, contents="kept"):
        with Server(self.log, "--audit-contents", contents) as server:
            said = server.ask("Hello", seed=7, request_id="req-hello", user="ann")
            server.ask("A colour?", temperature=0, stop=["e", "\u202e\u009b"])
            server.post("/v1/completions", {"prompt": ["One", "Two"], "max_tokens": 5, "n": 2})
            server.post("/v1/embeddings", {"input": "a text"})
        return said["choices"][0]["message"]["content"]

    def test_answers_are_noted_and_give_the_same_bytes_again(self):
        said = self.write_log()
        entries = self.lines("export")
        self.assertEqual(len(entries), 7)
        self.assertEqual(entries[0]["id"], "req-hello")
        self.assertEqual(entries[0]["tenant"], "ann")
        self.assertEqual(entries[0]["request"]["params"]["seed"], "7")
        self.assertEqual(self.lines("verify")[0]["faults"], [])
        self.assertEqual([one["result"] for one in self.lines("replay", "--all")], ["same"] * 7)
        self.assertIn(said, self.audit("show", "1").stdout)
        shown = self.audit("show", "2").stdout
        self.assertNotIn("\u202e", shown)
        self.assertNotIn("\u009b", shown)
        self.assertIn('      "temperature": 0.0,', shown)
        self.assertEqual(len(self.lines("list", "--request", "req-hello")), 1)
        self.assertEqual(len(self.lines("list", "--tenant", "nobody")), 0)
        table = self.audit("export", "--csv").stdout.splitlines()
        self.assertEqual(len(table), 8)
        self.assertEqual(table[0].count(","), table[1].count(","))
        figures = self.lines("stats")[0]["models"]
        self.assertEqual(list(figures.values())[0]["answers"], 7)

    def test_other_threads_and_instruction_sets_give_the_bytes_of_the_log(self):
        self.write_log()
        n_run = 0
        for isa in "ref", "avx2", "avx512bw", "neon":
            made = call("audit", "replay", "--all", "--json", "--log", self.log, "--threads", "1",
                        env={"RUV_ISA": isa})
            if "RUV_ISA" in made.stderr:
                continue  # not of this machine
            results = [json.loads(line)["result"] for line in made.stdout.splitlines()]
            self.assertEqual(results, ["same"] * 7, isa + made.stderr)
            n_run += 1
        self.assertGreaterEqual(n_run, 1)

    def test_a_changed_entry_is_named(self):
        self.write_log()
        self.change("UPDATE entries SET body = replace(body, 'ann', 'eve') WHERE number = 1")
        self.fails("entry 1: it was changed", "verify")
        self.fails("not the one that was signed", "prove", "1")
        self.change("DELETE FROM entries WHERE number = 4")
        self.fails("entry 4: it is missing", "verify")

    def test_a_forged_answer_is_found_by_running_it_again(self):
        self.write_log()
        self.change("UPDATE contents SET answer = x'05000000' WHERE number = 2")
        self.fails("entry 2: its answer was changed", "verify")
        self.fails("contents were changed", "replay", "2")

    def test_sealed_contents_are_for_the_owner_of_the_key(self):
        key = os.path.join(self.folder, "reader.key")
        self.assertIn("--audit-seal", self.audit("keygen", key).stdout)
        self.fails("exists", "keygen", key)
        with Server(self.log, "--audit-contents", "kept", "--audit-seal", key + ".pub") as server:
            said = server.ask("Hello, who is aboard the Brightwater?")["choices"][0]["message"]["content"]
            server.post("/v1/embeddings", {"input": "a text"})
        for file in pathlib.Path(self.log).iterdir():
            self.assertNotIn(said.encode(), file.read_bytes())
        self.assertEqual(self.lines("verify")[0]["sealed"], 2)
        shown = self.audit("show", "1").stdout
        self.assertNotIn(said, shown)
        self.assertIn("prompt and answer are sealed", shown)
        self.fails("contents are sealed", "replay", "1")
        self.assertIn(said, self.audit("show", "1", "--seal-key", key).stdout)
        results = [one["result"] for one in self.lines("replay", "--all", "--seal-key", key)]
        self.assertEqual(results, ["same"] * 2)
        self.assertEqual(self.lines("verify", "--seal-key", key)[0]["with_contents"], 2)
        other = os.path.join(self.folder, "other.key")
        self.audit("keygen", other)
        self.fails("this key does not open them", "show", "1", "--seal-key", other)
        self.fails("not a file that begins with", "show", "1", "--seal-key", key + ".pub")
        self.change("UPDATE sealed SET bytes = x'00' || bytes WHERE number = 1")
        self.fails("entry 1: its sealed contents were changed", "verify")

    def test_a_server_takes_the_open_half_with_kept_contents_alone(self):
        key = os.path.join(self.folder, "reader.key")
        self.audit("keygen", key)
        for words, arguments in (("the secret half", ("--audit-contents", "kept", "--audit-seal", key)),
                                 ("goes with --audit-contents kept", ("--audit-seal", key + ".pub"))):
            made = call("serve", "--port", "0", "--audit", self.log, *arguments)
            self.assertEqual(made.returncode, 1, made.stderr)
            self.assertIn(words, made.stderr)

    def test_what_was_noted_elsewhere_shows_a_cut(self):
        self.write_log()
        seen = self.lines("head")[0]
        trust = ["--public-key", seen["public_key"], "--head", seen["head"]]
        self.assertTrue(self.lines("verify", *trust)[0]["intact"])
        self.change("DELETE FROM heads")
        self.change("DELETE FROM entries")
        self.change("DELETE FROM contents")
        self.assertTrue(self.lines("verify")[0]["intact"])
        self.fails("seen earlier is not in the log", "verify", *trust)

    def test_a_proof_stands_without_the_log(self):
        self.write_log()
        proof = pathlib.Path(self.folder, "proof.json")
        proof.write_text(self.audit("prove", "1", "--contents").stdout, encoding="utf-8")
        key = self.lines("head")[0]["public_key"]
        shutil.rmtree(self.log)
        self.assertIn("entry 1 was in the log",
                      self.audit("check-proof", str(proof), "--public-key", key).stdout)
        self.fails("not by --public-key", "check-proof", str(proof), "--public-key", "00" * 32)
        proof.write_text(proof.read_text(encoding="utf-8").replace("req-hello", "req-howdy"),
                         encoding="utf-8")
        self.fails("not the one that was signed", "check-proof", str(proof))

    def test_with_digests_alone_the_prompt_is_needed(self):
        with Server(self.log) as server:
            server.post("/v1/completions", {"prompt": [5, 6, 7], "max_tokens": 5})
        self.fails("does not have its prompt", "replay", "1")
        prompt = pathlib.Path(self.folder, "ids")
        prompt.write_text("[5, 6, 7]", encoding="utf-8")
        self.assertEqual(self.lines("replay", "1", "--prompt-ids", str(prompt))[0]["result"], "same")
        prompt.write_text("[5, 6, 8]", encoding="utf-8")
        self.fails("not the prompt that it had", "replay", "1", "--prompt-ids", str(prompt))
        self.assertNotIn(b"Hello", pathlib.Path(self.log, "audit.db").read_bytes())

    def test_old_entries_are_removed_and_the_log_stays_whole(self):
        self.write_log()
        self.fails("--older", "prune", code=2)
        self.assertIn("7 contents removed",
                      self.audit("prune", "--contents", "--older", "2100-01-01", "--yes").stdout)
        self.assertTrue(self.lines("verify")[0]["intact"])
        self.assertIn("7 entries removed",
                      self.audit("prune", "--older", "2100-01-01", "--yes").stdout)
        verdict = self.lines("verify")[0]
        self.assertTrue(verdict["intact"])
        self.assertEqual(verdict["removed"], 7)
        with Server(self.log) as server:
            server.ask("Again")
        self.assertEqual([one["number"] for one in self.lines("export")], [8, 9])

    def test_wrong_calls_are_named(self):
        self.fails("there is no audit log", "verify")
        self.fails("no action", code=2)
        self.fails("give the number", "show", code=2)
        self.fails("verify takes no 3", "verify", "3", code=2)
        self.write_log("off")
        self.fails("'x' is not the number", "show", "x")
        self.fails("there is no entry 99", "show", "99")
        self.fails("--head has 2 characters", "verify", "--head", "ab")
        self.fails("no contents and no digests", "replay", "1")
        made = call("serve", "--audit-contents", "kept")
        self.assertEqual(made.returncode, 2)
        self.assertIn("go with --audit", made.stderr)
        made = call("serve", "--port", "0", "--audit", self.log, "--quantize", "q8_0")
        self.assertEqual(made.returncode, 2)
        self.assertIn("as which type weights were loaded", made.stderr)
        made = call("serve", "--port", "0", "--audit", self.log, "--audit-contents", "some")
        self.assertIn("some", made.stderr)
        os.remove(os.path.join(self.log, "audit.key"))
        made = call("serve", "--port", "0", "--audit", self.log)
        self.assertIn("the key of the log", made.stderr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--source", required=True)
    arguments, rest = parser.parse_known_args()
    Program.binary, Program.source = arguments.binary, arguments.source
    if not Program.find_model():
        print("no model to test with")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
