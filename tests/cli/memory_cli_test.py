#!/usr/bin/env python3
"""Tests of `ruvllm memory` through the real binary: documents are kept, found, replaced, removed and
copied, and what is wrong is named.

Usage: memory_cli_test.py --binary RUVLLM --source FOLDER [TestName]...
"""
import argparse
import json
import os
import pathlib
import shutil
import sqlite3
import sys
import tempfile
import unittest

from program import Program, call
from small_pdf import pdf

SHIP = "# The ship\n\nIt sails on Tuesday at nine.\n\n## Crew\n\nThe cook is called Quillfeather.\n"
BREAD = "Rye bread needs a day.\n\nWheat bread is quicker.\n"


class Memory(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.store = os.path.join(self.folder, "store")

    def write(self, name, text):
        path = pathlib.Path(self.folder, name)
        path.write_text(text, encoding="utf-8")
        return str(path)

    def memory(self, *arguments, text=None, env=None):
        return call("memory", *arguments, "--store", self.store, text=text, env=env)

    def lines(self, *arguments, text=None):
        made = self.memory(*arguments, "--json", text=text)
        self.assertEqual(made.returncode, 0, made.stderr)
        return [json.loads(line) for line in made.stdout.splitlines()]

    def fails(self, words, *arguments, code=1, text=None, env=None):
        made = self.memory(*arguments, text=text, env=env)
        self.assertEqual(made.returncode, code, made.stdout + made.stderr)
        self.assertIn(words, made.stderr)

    def test_documents_are_kept_found_replaced_and_removed(self):
        ship, bread = self.write("ship.md", SHIP), self.write("bread.txt", BREAD)
        added = self.lines("add", ship, bread, "--meta", "year=2020")
        self.assertEqual([one["n_chunks"] for one in added], [2, 1])
        found = next(hit for hit in self.lines("search", "who", "is", "Quillfeather?", "-k", "3")
                     if hit["document"] == ship)
        self.assertEqual(found["headings"], "The ship > Crew")
        self.assertEqual(SHIP[found["first"]:found["end"]], found["text"])
        self.assertEqual(found["word_rank"], 1)
        self.assertGreater(found["vector_rank"], 0)
        self.assertEqual(len(self.lines("search", "bread", "--words-only")), 1)
        self.assertEqual(self.lines("search", "bread", "--words-only", "--meta", "year=2021"), [])
        # A text of its own, under a name, in place of the file's.
        self.lines("add", "-", "--name", bread, text="Oats are boiled.")
        self.assertEqual(self.lines("search", "rye", "--words-only"), [])
        listed = self.lines("list")
        self.assertEqual([one["name"] for one in listed], sorted([ship, bread]))
        self.assertEqual([one["metadata"] for one in listed], [{}, {"year": 2020}])
        self.assertEqual(self.lines("stats")[0]["n_vectors"], 3)
        self.assertEqual(self.memory("rm", ship, "--yes").returncode, 0)
        self.assertEqual(self.lines("search", "Quillfeather", "--words-only"), [])
        self.assertEqual(self.lines("stats")[0]["n_vectors"], 1)

    def test_chunks_are_as_short_as_the_model_takes_them(self):
        text = "吾輩は猫である。名前はまだ無い。" * 200  # a token for each byte
        self.lines("add", "-", "--name", "cat", text=text)
        found = self.lines("search", "猫", "-k", "50")
        self.assertGreater(len(found), 9)
        self.assertLessEqual({one["text"][0] for one in found}, {"吾", "名"})

    def test_pages_of_html_are_cited_by_their_headings(self):
        page = self.write("ship.HTML", "<title>x</title><h1>The ship</h1><p>It sails.<h2>Crew &amp; cook"
                          "</h2><p>The cook is <b>Quill</b>feather.<script>no()</script>")
        self.lines("add", page)
        found = self.lines("search", "Quillfeather", "--words-only")
        self.assertEqual([(one["headings"], one["text"]) for one in found],
                         [("The ship > Crew & cook", "Crew & cook\n\nThe cook is Quillfeather.")])
        self.assertEqual(self.lines("search", "no", "--words-only"), [])
        self.assertIn("ship.HTML:21-59  The ship > Crew & cook\n",
                      self.memory("search", "Quillfeather", "--words-only").stdout)

    def test_pdf_files_are_cited_by_their_pages(self):
        path = pathlib.Path(self.folder, "-ship.pdf")
        path.write_bytes(pdf([["The ship sails.", "On Tuesday."], ["The cook is Quillfeather."]]))
        nothing = {"PATH": self.folder}
        self.fails("-ship.pdf: PDF files are read by pdftotext, which is not installed: install "
                   "poppler-utils", "add", str(path), env=nothing)
        if shutil.which("pdftotext") is None:
            self.skipTest("no pdftotext")
        self.lines("add", str(path))
        found = self.lines("search", "Quillfeather", "--words-only")
        self.assertEqual([(one["page"], one["text"]) for one in found], [(2, "The cook is Quillfeather.")])
        self.assertIn("  page 2\n", self.memory("search", "cook", "--words-only").stdout)
        # By its first bytes, whatever its name is.
        unnamed = pathlib.Path(self.folder, "unnamed")
        unnamed.write_bytes(pdf([["Rye."]]))
        self.lines("add", str(unnamed))
        self.assertEqual(self.lines("search", "rye", "--words-only")[0]["page"], 1)
        self.fails("no page has text", "add", self.write("empty.pdf", pdf([[]]).decode()))
        self.fails("pdftotext cannot read it", "add", self.write("bad.pdf", "%PDF-1.4 no"))
        self.assertEqual(len(self.lines("list")), 2)

    def exported(self, *options):
        made = self.memory("export", *options)
        self.assertEqual(made.returncode, 0, made.stderr)
        return made.stdout

    def moved(self, lines, *options, code=0):
        """What `import` into another store says; then searches are of that store."""
        self.store = os.path.join(self.folder, "moved")
        made = self.memory("import", "-", *options, text=lines)
        self.assertEqual(made.returncode, code, made.stdout + made.stderr)
        return made

    def test_documents_move_to_another_store(self):
        old = self.store
        self.lines("add", self.write("ship.md", SHIP), "--meta", "year=2020")
        self.lines("add", self.write("bread.txt", BREAD))
        for options in ([], ["--vectors"]):
            self.store = old
            lines, listed = self.exported(*options), self.lines("list")
            found = self.lines("search", "who bakes?", "-k", "3")
            self.assertEqual(len(lines.splitlines()), 3)
            self.moved(lines)
            self.assertEqual(self.lines("list"), listed)
            self.assertEqual(self.lines("search", "who bakes?", "-k", "3"), found)
            self.assertEqual(self.exported(*options), lines)
            shutil.rmtree(self.store)

    def test_bad_lines_are_named_and_the_others_are_kept(self):
        self.lines("add", self.write("ship.md", SHIP), self.write("bread.txt", BREAD))
        head, ship, bread = self.exported("--vectors").splitlines()
        wrong = ["{", "[]", ship.replace('"n_bytes"', '"bytes"'), bread, ship[:50]]
        made = self.moved("\n".join([head, ship, *wrong, ""]), code=1)
        for words in ("-:3: ", "-:4: not a JSON object", "-:5: unknown member 'bytes'", "-:7: "):
            self.assertIn(words, made.stderr)
        self.assertEqual(made.stderr.count("\n"), 4)
        self.assertEqual(len(self.lines("list")), 2)
        # A document that was there stays where its line is wrong, and a name comes once in a file.
        made = self.moved("\n".join([head, ship.replace('"chunks"', '"chunk"'), bread, bread]), code=1)
        self.assertIn("-:4: a line before has a document of this name", made.stderr)
        self.assertEqual(len(self.lines("list")), 2)
        self.fails("first line says so", "import", "-", text=ship)
        self.fails("version 2 of exported", "import", "-", text=head.replace('memory":1', 'memory":2'))
        self.fails("it has vectors: --model", "import", "-", "--model", Program.model, text=head)
        other = json.loads(head)
        other["probe"] = other["probe"][::-1]
        self.fails("of another model", "import", "-", text=json.dumps(other))
        other = dict(json.loads(head), n_dims=2, probe=[])
        self.fails("of another model", "import", "-", text=json.dumps(dict(other, embedder="x")))
        self.fails("numbers, not 2", "import", "-", text=json.dumps(other))
        self.fails("--vectors is for export", "list", "--vectors", code=2)
        self.assertEqual(len(self.lines("list")), 2)

    def test_related_chunks_are_added(self):
        ship, bread = self.write("ship.md", SHIP), self.write("bread.txt", BREAD)
        self.lines("add", ship, bread)
        found = self.lines("search", "Quillfeather", "--words-only", "-k", "1", "--related", "1")
        self.assertEqual([(one["headings"], one["score"] > 0, one.get("related", 0) > 0) for one in found],
                         [("The ship > Crew", True, False), ("The ship", False, True)])
        self.assertIn("  The ship (related)\n", self.memory(
            "search", "Quillfeather", "--words-only", "-k", "1", "--related", "1").stdout)
        self.assertEqual(len(self.lines("search", "Quillfeather", "--words-only", "--related", "9",
                                        "--visit", "1")), 1)
        edges = self.lines("stats")[0]["n_edges"]
        self.lines("search", "cook", "bread", "--words-only", "--remember")
        self.assertEqual(self.lines("stats")[0]["n_edges"], edges + 1)
        self.memory("rm", ship, bread, "--yes")
        self.assertEqual(self.lines("stats")[0]["n_edges"], 0)

    def test_a_store_keeps_to_its_codes(self):
        ship = self.write("ship.md", SHIP)
        self.lines("add", ship, "--codes", "f16")
        self.lines("add", self.write("more.md", "Bread of rye."))
        self.assertEqual(self.lines("stats")[0]["codes"], "f16")
        self.fails('codes "f16", not "int4"', "add", ship, "--codes", "int4")
        self.fails("there are no codes", "add", ship, "--codes", "int2", code=2)

    def test_a_copy_is_a_store_and_the_file_one_of_sqlite(self):
        self.lines("add", self.write("ship.md", SHIP))
        copy = os.path.join(self.folder, "copy")
        self.assertEqual(self.memory("backup", copy).returncode, 0)
        self.fails("exists", "backup", copy)
        shutil.rmtree(self.store)
        self.store = copy
        self.assertEqual(self.lines("search", "Quillfeather", "-k", "1")[0]["word_rank"], 1)
        with sqlite3.connect(os.path.join(copy, "store.db")) as database:
            self.assertEqual(database.execute("PRAGMA integrity_check").fetchone()[0], "ok")
            count = database.execute("SELECT count(*) FROM chunks").fetchone()[0]
        database.close()
        self.assertEqual(count, 2)

    def test_packed_vectors_are_found_with_those_that_came_since(self):
        ship = self.write("ship.md", SHIP)
        self.lines("add", ship)
        before = self.lines("search", "Quillfeather", "-k", "2")
        self.assertEqual(self.lines("pack")[0]["n_packed"], 2)
        self.assertIn("nothing new to pack", self.memory("pack").stdout)
        self.assertEqual(self.lines("search", "Quillfeather", "-k", "2"), before)
        self.lines("add", self.write("more.md", "Bread of rye."))
        stats = self.lines("stats")[0]
        self.assertEqual((stats["n_packed"], stats["n_vectors"]), (2, 3))
        self.assertEqual(len(self.lines("search", "bread", "-k", "5")), 3)
        self.memory("rm", ship, "--yes")
        self.assertEqual(len(self.lines("search", "bread", "-k", "5")), 1)
        self.assertEqual(self.lines("pack")[0]["n_packed"], 1)
        self.fails("pack takes no x", "pack", "x", code=2)

    def test_texts_do_not_act_on_the_terminal(self):
        self.lines("add", "-", "--name", "a\x1b[31mb", text="# T\x1b]0;x\x07\n\nred \x1b[31m\nline")
        shown = self.memory("search", "red").stdout + self.memory("list").stdout
        self.assertNotIn("\x1b", shown)
        self.assertNotIn("\x07", shown)
        self.assertIn("\nline\n", shown)

    def test_what_is_wrong_is_named(self):
        self.fails("no memory store", "search", "x")
        self.fails("give add, search", "foo", code=2)
        self.fails("give what to search", "search", code=2)
        self.fails("list takes no x", "list", "x", code=2)
        self.fails("--name is for one", "add", "a", "b", "--name", "c", code=2)
        ship = self.write("ship.md", SHIP)
        self.fails("KEY=VALUE", "add", ship, "--meta", "year")
        self.fails("no.md: ", "add", os.path.join(self.folder, "no.md"))
        bad = pathlib.Path(self.folder, "bad.txt")
        bad.write_bytes(b"ab\xff")
        self.fails("byte 2: not UTF-8", "add", str(bad))
        long = self.write("long.md", "# " + "Words and words. " * 50 + "\n\ntext")
        self.fails("at most 64 are possible", "add", long, "--ctx", "64")
        self.fails("no memory store", "list")
        self.lines("add", ship)
        self.fails("no, no2: not in memory", "rm", "no", "no2", "--yes")
        self.fails("of another model", "search", "x", "--model", self.other_model())
        # What stays of a store that another program has.
        self.assertEqual(len(self.lines("list")), 1)

    def other_model(self):
        """Of the same name, family and size, with weights that were drawn anew."""
        path = os.path.join(self.folder, "other.gguf")
        made = call("train", "--model", Program.model, "--file", self.write("text", "sea " * 99),
                    "--fresh", "1", "--steps", "1", "--sequences", "1", "--ctx", "16", "--type",
                    "f16", "--out", path)
        self.assertEqual(made.returncode, 0, made.stderr)
        return path

    def in_clear(self, *words):
        """Files of the store that have one of the words."""
        return [str(file) for file in pathlib.Path(self.store).rglob("*") if file.is_file()
                for word in words if word.encode() in file.read_bytes()]

    def test_an_encrypted_store_has_nothing_in_clear_and_opens_with_its_key(self):
        mine = self.write("mine", "0123456789abcdef" * 4 + "\n")
        other = self.write("other", "ff" * 32)
        ship = self.write("ship.md", SHIP)
        self.lines("add", ship, "--key", mine, "--meta", "captain=Marrow")
        self.assertEqual(self.in_clear("Quillfeather", "quillfeather", "ship.md", "Marrow"), [])
        search = ("search", "Quillfeather", "--words-only")
        self.assertEqual(len(self.lines(*search, "--key", mine)), 1)
        self.fails("encrypted, and no key is given", *search)
        self.fails("the key is not that of this store", *search, "--key", other)
        # The sources of a key.
        env = {"THE_KEY": "0123456789ABCDEF" * 4}
        self.assertEqual(self.memory("stats", "--key", "env:THE_KEY", env=env).returncode, 0)
        self.fails("env:NO_KEY: the variable is not set", "stats", "--key", "env:NO_KEY")
        self.fails("--key env:THE_KEY: 64 hexadecimal digits", "stats", "--key", "env:THE_KEY",
                   env={"THE_KEY": "12"})
        self.fails("keyring:ruvllm-no-such-key", "stats", "--key", "keyring:ruvllm-no-such-key")
        # Another key in its place, and a copy.
        self.fails("the key is not that of this store", "rekey", "--key", other, "--new-key",
                   self.write("third", "ee" * 32))
        self.assertEqual(self.memory("rekey", "--key", mine, "--new-key", other).returncode, 0)
        self.fails("the key is not that of this store", *search, "--key", mine)
        copy = os.path.join(self.folder, "copy")
        self.assertEqual(self.memory("backup", copy, "--key", other).returncode, 0)
        exported = self.memory("export", "--vectors", "--key", other).stdout
        self.store = copy
        self.assertEqual(self.in_clear("Quillfeather", "ship.md"), [])
        self.assertEqual(self.memory("export", "--vectors", "--key", other).stdout, exported)

    def test_a_plain_store_takes_no_key(self):
        self.lines("add", self.write("ship.md", SHIP))
        mine = self.write("mine", "ab" * 32)
        self.fails("not encrypted, and a key is given", "list", "--key", mine)
        self.fails("no key of a store", "rekey", "--key", mine, "--new-key", mine)
        self.fails("rekey: give --key and --new-key", "rekey", "--key", mine, code=2)
        self.fails("--new-key is for rekey", "list", "--new-key", mine, code=2)

    def test_a_model_in_another_format_finds_the_same(self):
        self.lines("add", self.write("ship.md", SHIP))
        path = os.path.join(self.folder, "f16.gguf")
        made = call("quantize", "--model", Program.model, "--type", "f16", "--requantize", "--out",
                    path)
        self.assertEqual(made.returncode, 0, made.stderr)
        found = self.lines("search", "who cooks", "-k", "1", "--model", path)
        self.assertEqual(found[0]["document"], os.path.join(self.folder, "ship.md"))


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
