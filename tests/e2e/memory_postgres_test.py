#!/usr/bin/env python3
"""Documents in a real server of PostgreSQL with pgvector, which the Python package pgserver brings
along: what `ruvllm memory` keeps there, moves there and back, and refuses. Started by root, the
package makes a user "pgserver" for the server, which PostgreSQL wants.

Usage: memory_postgres_test.py --binary RUVLLM --source FOLDER [--tests MEMORY_TESTS] [TestName]...
"""
import argparse
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from program import Program, call, environment  # noqa: E402
from server import need_package  # noqa: E402

pgserver = need_package("pgserver")
SKIP = 77
SHIP = "# The ship\n\nIt sails on Tuesday at nine.\n\n## Crew\n\nThe cook is called Quillfeather.\n"
BREAD = "Rye bread needs a day.\n\nWheat bread is quicker.\n"


class Postgres(unittest.TestCase):
    memory_tests = None

    @classmethod
    def setUpClass(cls):
        cls.server_folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.server_folder.cleanup)
        cls.server = pgserver.get_server(os.path.join(cls.server_folder.name, "data"))
        cls.addClassCleanup(cls.server.cleanup)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.server.psql("DROP SCHEMA IF EXISTS ruvllm_memory CASCADE;")
        self.url = self.server.get_uri()

    def path(self, name, text=None):
        path = pathlib.Path(self.folder, name)
        if text is not None:
            path.write_text(text, encoding="utf-8")
        return str(path)

    def memory(self, *arguments, store=None, text=None, code=0):
        made = call("memory", *arguments, "--store", store or self.url, text=text)
        self.assertEqual(made.returncode, code, made.stdout + made.stderr)
        return made

    def lines(self, *arguments, **more):
        made = self.memory(*arguments, "--json", **more)
        return [json.loads(line) for line in made.stdout.splitlines()]

    def refused(self, words, *arguments, code=1, **more):
        error = self.memory(*arguments, code=code, **more).stderr
        self.assertIn(words, error)
        return error

    def test_the_store_answers_as_one_in_a_folder(self):
        if not self.memory_tests:
            self.skipTest("--tests is not given")
        made = subprocess.run(
            [self.memory_tests, "--gtest_filter=PostgresStoreTest.*"], capture_output=True, text=True,
            timeout=300, env=dict(os.environ, RUV_TEST_POSTGRES_URL=self.url))
        self.assertEqual(made.returncode, 0, made.stdout + made.stderr)
        self.assertNotIn("SKIPPED", made.stdout)
        self.assertIn("PASSED", made.stdout)

    def test_documents_are_kept_found_replaced_and_removed(self):
        self.refused("no memory store", "list")
        ship, bread = self.path("ship.md", SHIP), self.path("bread.txt", BREAD)
        local = self.path("local")
        for store in (self.url, local):
            added = self.lines("add", ship, bread, "--meta", "year=2020", store=store)
            self.assertEqual([one["n_chunks"] for one in added], [2, 1])
        for query in (["Quillfeather"], ["bread", "--words-only"], ["when does the ship leave?"],
                      ["ship", "--meta", "year=2020"], ["ship", "--meta", "year=2021"]):
            here, there = (self.lines("search", *query, store=store) for store in (local, self.url))
            for found in (*here, *there):
                found["similarity"] = round(found.get("similarity", 0), 5)
            self.assertEqual(here, there)
        self.lines("add", "-", "--name", bread, text="Oats are boiled.")
        self.assertEqual(self.lines("search", "rye", "--words-only"), [])
        self.assertEqual(self.lines("search", "oats", "--words-only")[0]["text"], "Oats are boiled.")
        listed = self.lines("list")
        self.assertEqual([one["name"] for one in listed], sorted([ship, bread]))
        self.assertEqual([one["metadata"] for one in listed], [{}, {"year": 2020}])
        stats = self.lines("stats")[0]
        self.assertEqual((stats["n_documents"], stats["n_vectors"]), (2, 3))
        self.assertTrue(stats["url"].startswith("postgresql://"), stats)
        self.memory("rm", ship, "--yes")
        self.refused("not in memory", "rm", ship, "--yes")
        self.assertEqual(self.lines("stats")[0]["n_chunks"], 1)

    def test_a_store_moves_there_and_back_unchanged(self):
        local, back = self.path("local"), self.path("back")
        self.memory("add", self.path("ship.md", SHIP), self.path("bread.txt", BREAD), "--meta",
                    "who=O'Hara", store=local)
        first = self.memory("export", "--vectors", store=local).stdout
        self.memory("import", self.path("first.jsonl", first))
        second = self.memory("export", "--vectors").stdout
        self.assertEqual(second, first)
        self.memory("import", self.path("second.jsonl", second), store=back)
        self.assertEqual(self.memory("export", "--vectors", store=back).stdout, first)
        # A second time, in the place of what is there; and with NUL, which is refused by its line.
        self.memory("import", self.path("first.jsonl"))
        self.assertEqual(self.memory("export", "--vectors").stdout, first)
        head, line = first.splitlines()[:2]
        wrong = line.replace("O'Hara", "O\\u0000Hara")
        self.assertNotEqual(wrong, line)
        self.refused("wrong.jsonl:2:", "import", self.path("wrong.jsonl", f"{head}\n{wrong}\n"))
        self.assertEqual(self.memory("export", "--vectors").stdout, first)

    def test_larger_sets_are_searched_by_the_graph(self):
        """Of random vectors nearly all that a folder's exact search finds first are found."""
        local, draw = self.path("local"), random.Random(1)
        self.memory("add", self.path("ship.md", SHIP), store=local)
        head = self.memory("export", "--vectors", store=local).stdout.splitlines()[0]
        n_dims, lines = json.loads(head)["n_dims"], [head]
        for i in range(30):
            chunks = [{"first": 20 * j, "end": 20 * j + 10, "headings": "", "text": "0123456789",
                       "vector": [round(draw.gauss(0, 1), 3) for _ in range(n_dims)]}
                      for j in range(100)]
            lines.append(json.dumps({"name": f"{i}", "metadata": {"half": i % 2}, "added": 1,
                                     "n_bytes": 2000, "chunks": chunks}))
        file = self.path("many.jsonl", "\n".join(lines) + "\n")
        exact = self.path("exact")
        self.memory("import", file, "--codes", "none", store=exact)
        self.memory("import", file)
        self.server.psql("ANALYZE ruvllm_memory.chunks;")
        for more, least in (((), 16), (("--meta", "half=1"), 20)):
            found = [{(one["document"], one["first"])
                      for one in self.lines("search", "a ship", "-k", "20", *more, store=store)}
                     for store in (exact, self.url)]
            self.assertEqual(len(found[1]), 20)
            self.assertGreaterEqual(len(found[0] & found[1]), least)
        time.sleep(1.5)  # the server counts scans when a session has ended, once a second at most
        scans = self.server.psql("SELECT 'scans', idx_scan FROM pg_stat_user_indexes"
                                 " WHERE indexrelname = 'chunks_vector';")
        self.assertRegex(scans, r"scans\D+[1-9]")

    def test_a_killed_client_leaves_no_half_document(self):
        local = self.path("local")
        n_documents = 60
        names = [self.path(f"{i}.txt", "\n\n".join(f"Part {j} of {i}. " + "word " * 180
                                                    for j in range(6))) for i in range(n_documents)]
        self.memory("add", *names, store=local)
        lines = self.memory("export", "--vectors", store=local).stdout
        whole = {document["name"]: document for document in map(json.loads, lines.splitlines()[1:])}
        file = self.path("all.jsonl", lines)
        n_killed = 0
        for wait in (0.02, 0.05, 0.08, 0.12, 0.2, 0.3):
            self.server.psql("DROP SCHEMA IF EXISTS ruvllm_memory CASCADE;")
            process = subprocess.Popen([Program.binary, "memory", "import", file, "--store", self.url],
                                       stdout=subprocess.DEVNULL, env=environment())
            time.sleep(wait)
            process.send_signal(signal.SIGKILL)
            n_killed += process.wait() == -signal.SIGKILL
            made = call("memory", "export", "--vectors", "--store", self.url)
            if made.returncode != 0:
                self.assertIn("no memory store", made.stderr)
                continue
            for document in map(json.loads, made.stdout.splitlines()[1:]):
                self.assertEqual(document, whole[document["name"]])
        self.assertGreater(n_killed, 0)
        self.memory("import", file)
        self.assertEqual(self.memory("export", "--vectors").stdout, lines)

    def test_several_processes_add_at_once(self):
        """The first of them makes the store; one document is left of those of one name."""
        local = self.path("local")
        self.memory("add", self.path("ship.md", SHIP), self.path("bread.txt", BREAD), store=local)
        lines = self.memory("export", "--vectors", store=local).stdout
        file = self.path("all.jsonl", lines)
        made = [subprocess.Popen([Program.binary, "memory", "import", file, "--store", self.url],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                 env=environment()) for _ in range(4)]
        for process in made:
            error = process.communicate(timeout=120)[1]
            self.assertEqual(process.returncode, 0, error)
        self.assertEqual(sorted(self.memory("export", "--vectors").stdout.splitlines()),
                         sorted(lines.splitlines()))

    def test_what_does_not_work_is_named(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))  # no one listens there
            away = f"postgresql://ann:tinsel@127.0.0.1:{taken.getsockname()[1]}/db"
            error = self.refused("Connection refused", "list", store=away)
            self.assertIn("PGPASSWORD", error)
            self.assertNotIn("tinsel", error)
        self.refused("cannot be read", "list", store="postgresql://ann:tin%sel@h/db")
        self.refused("only postgresql://", "list", store="mysql://host/db", code=2)
        self.refused("backup is for stores in a folder", "backup", self.path("copy"), code=2)
        for options in (["--related", "3"], ["--remember"], ["--codes", "int8"], ["--sync"],
                        ["--remove-damaged"]):
            self.refused(f"{options[0]} is for stores in a folder", "search", "x", *options, code=2)
        made = call("serve", "--memory", self.url, "--model", Program.model)
        self.assertEqual(made.returncode, 2, made.stderr)
        self.assertIn("a server keeps documents in a folder", made.stderr)

    def test_a_lock_of_others_ends_at_the_statement_timeout(self):
        ship = self.path("ship.md", SHIP)
        self.memory("add", ship)
        hold = subprocess.Popen([str(pathlib.Path(pgserver.__file__).parent / "pginstall/bin/psql"),
                                 self.url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        hold.stdin.write("BEGIN; LOCK TABLE ruvllm_memory.documents; SELECT 'locked';\n")
        hold.stdin.flush()
        while "locked" not in hold.stdout.readline():
            pass
        self.addCleanup(hold.kill)
        joined = "&" if "?" in self.url else "?"
        store = f"{self.url}{joined}options=-cstatement_timeout%3D300"
        self.refused("57014", "rm", ship, "--yes", store=store)
        hold.communicate("ROLLBACK;\n", timeout=60)
        self.memory("rm", ship, "--yes", store=store)

    def test_a_database_without_pgvector_is_named(self):
        self.server.psql("CREATE ROLE plain LOGIN;")
        self.server.psql("CREATE DATABASE bare;")
        self.server.psql("REVOKE CREATE ON DATABASE bare FROM PUBLIC;")
        url = self.url.replace("postgres:", "plain:").replace("/postgres?", "/bare?")
        self.assertNotEqual(url, self.url)
        self.refused("needs pgvector", "add", self.path("ship.md", SHIP), store=url)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--tests", help="the binary memory_tests")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    Program.binary, Program.source = arguments.binary, arguments.source
    Program.model = Program.find_model()
    Postgres.memory_tests = arguments.tests
    if not Program.model:
        print("skipped: there is no model; models/ruvltra-nano-q8_0.gguf is missing")
        sys.exit(SKIP)
    unittest.main(argv=[sys.argv[0], "-v", *arguments.names])


if __name__ == "__main__":
    main()
