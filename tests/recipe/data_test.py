#!/usr/bin/env python3
"""The data of the built-in model: the same bytes for a seed, records that are what they say, splits
that share neither words nor requests, no near duplicates, and the layout of the model's chat
template.
"""

import argparse
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECIPE = ROOT / "recipes/builtin"
sys.path.insert(0, str(RECIPE))

import chat_layout  # noqa: E402
import draws  # noqa: E402
import generate  # noqa: E402
import records  # noqa: E402
import tool_library  # noqa: E402
import values  # noqa: E402

BINARY = ""


def write_data(folder, hash_seed):
    """Small data sets, by a process of its own with another order of sets."""
    subprocess.run(
        [
            sys.executable,
            RECIPE / "generate.py",
            "--out",
            folder,
            "--megabytes",
            "1.5",
            "--eval-records",
            "40",
            "--triplets",
            "200",
        ],
        check=True,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
    )


class DataTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name) / "data"
        write_data(cls.folder, "1")
        cls.files = {path.stem: records.read_records(path) for path in cls.folder.glob("*.jsonl")}
        cls.train = cls.files["train"]

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def asked(self, name):
        return [text for record in self.files[name] for text in records.asked_texts(record)]

    def test_a_seed_gives_the_same_bytes(self):
        again = pathlib.Path(self.temporary.name) / "again"
        write_data(again, "2")
        names = sorted(path.name for path in self.folder.iterdir())
        self.assertEqual(names, sorted(path.name for path in again.iterdir()))
        for name in names:
            self.assertEqual((self.folder / name).read_bytes(), (again / name).read_bytes(), name)

    def test_each_record_says_what_it_is(self):
        for name, lines in self.files.items():
            self.assertEqual(len({record["id"] for record in lines}), len(lines), name)
            for record in lines:
                content = {key: record[key] for key in records.CONTENT if key in record}
                self.assertEqual(record["content_hash"], records.content_hash(content))
                self.assertEqual(record["license"], "CC0-1.0")
                self.assertEqual(record["source"], "recipes/builtin")
                self.assertTrue(record["provenance"])

    def test_provenance_makes_a_record_again(self):
        record = next(
            r for r in self.train if r["category"] == "routing" and r["provenance"]["draw"] > 3
        )
        name = "%s/train/routing" % record["provenance"]["seed"]
        draw = draws.Draw(name, strange=generate.STRANGE)
        for _ in range(record["provenance"]["draw"] + 1):
            content = generate.make_content(draw, "routing")
        self.assertEqual(content["messages"], record["messages"])

    def test_all_categories_and_agents_occur(self):
        self.assertEqual({r["category"] for r in self.train}, set(generate.CATEGORIES))
        answers = "".join(
            m["content"]
            for r in self.train
            if r["category"] == "routing"
            for m in r["messages"]
            if m["role"] == "assistant"
        )
        for agent in values.AGENTS:
            self.assertIn(agent, answers)

    def test_held_out_entries_are_not_in_a_list_for_training(self):
        for name, entries in draws.all_lists().items():
            self.assertTrue(entries.seen, name)
            self.assertTrue(set(entries.seen).isdisjoint(entries.held), name)

    def test_training_uses_no_held_out_pattern(self):
        text = "\n".join(t for t in self.asked("train"))
        known = {phrase for entries in draws.all_lists().values() for phrase in entries.seen}
        for name, entries in draws.all_lists().items():
            if not name.startswith(("task ", "route ask", "route name", "extract ask")):
                continue
            for phrase in entries.held:
                pieces = [re.escape(piece) for piece in re.split(r"\{\w\}", phrase.strip())]
                pattern = r"^[^\n]{0,60}" + r"[^\n]{1,60}?".join(pieces) + "$"
                if phrase not in known and len(phrase) > 24 and "\n" not in phrase:
                    self.assertIsNone(re.search(pattern, text, re.M), phrase)

    def test_training_uses_no_held_out_tool(self):
        held = {name for tool in tool_library.library(True) for name in tool.names}
        train = {name for tool in tool_library.library(False) for name in tool.names}
        self.assertTrue(held.isdisjoint(train))
        used = {t["function"]["name"] for r in self.train for t in r.get("tools", [])}
        self.assertTrue(used.isdisjoint(held))
        unseen = {t["function"]["name"] for r in self.files["unseen_tools"] for t in r["tools"]}
        self.assertFalse(unseen.isdisjoint(held))

    def test_training_asks_nothing_of_an_evaluation(self):
        asked = {
            text
            for name in self.files
            if name.startswith(("known_", "unseen_"))
            if not name.endswith(generate.SHARED)
            for text in self.asked(name)
        }
        for path in generate.EVAL.glob("*.jsonl"):
            if path.stem not in generate.SHARED:
                asked |= {t for r in records.read_records(path) for t in records.asked_texts(r)}
        self.assertGreater(len(asked), 1000)
        for record in self.train:
            if record["category"] not in generate.SHARED:
                for text in records.asked_texts(record):
                    if len(text.split()) >= 6:
                        self.assertFalse(text in asked, text)

    def test_values_of_calls_can_be_copied_from_the_request(self):
        n_values = n_copied = 0
        for record in self.train:
            asked = ""
            for message in record.get("messages", []) if record["category"] == "tools" else []:
                asked = message["content"] if message["role"] == "user" else asked
                for call in message.get("tool_calls", []):
                    for word in call["function"]["arguments"].values():
                        n_values += 1
                        n_copied += str(word).lower() in asked.lower()
        self.assertGreater(n_values, 300)
        self.assertGreater(n_copied / n_values, 0.98)

    def test_training_has_values_that_are_in_no_list(self):
        songs = set(draws.all_lists()["song"].seen)
        draw = draws.Draw("songs", strange=generate.STRANGE)
        share = sum(values.value(draw, "song") in songs for _ in range(400)) / 400
        self.assertTrue(0.5 < share < 0.8, share)
        plain = draws.Draw("songs")
        self.assertTrue(all(values.value(plain, "song") in songs for _ in range(100)))

    def test_extraction_answers_follow_their_schemas(self):
        for record in self.train + self.files["unseen_extract"]:
            answers = [m["content"] for m in record.get("messages", []) if m["role"] == "assistant"]
            for schema, answer in zip(record.get("schemas", []), answers):
                self.assertEqual(list(schema["properties"]), list(json.loads(answer)))

    def test_triplets_differ_in_the_task_only(self):
        self.assertEqual(len(self.files["triplets"]), 200)
        for record in self.files["triplets"]:
            self.assertEqual(len({record["anchor"], record["positive"], record["negative"]}), 3)


class DuplicatesTest(unittest.TestCase):
    def text(self, seed, count=60):
        draw = random.Random(seed)
        return [
            draw.choice("alpha beta gamma delta epsilon zeta eta theta iota kappa".split())
            for _ in range(count)
        ]

    def test_a_text_with_one_other_word_is_a_duplicate(self):
        index = records.MinHashIndex()
        words = [w + str(i) for i, w in enumerate(self.text(1))]
        self.assertTrue(index.add(" ".join(words)))
        self.assertFalse(index.add(" ".join(words)))
        words[30] = "other"
        self.assertFalse(index.add(" ".join(words)))

    def test_other_texts_are_not(self):
        index = records.MinHashIndex()
        for seed in range(200):
            self.assertTrue(index.add(" ".join(self.text(seed))), seed)

    def test_half_of_the_words_is_not_enough(self):
        index = records.MinHashIndex()
        words = [w + str(i) for i, w in enumerate(self.text(1, 100))]
        index.add(" ".join(words))
        self.assertTrue(index.add(" ".join(words[:50] + self.text(2, 50))))

    def test_overlap_is_found_by_runs_of_words(self):
        forbidden = records.Contamination()
        words = [w + str(i) for i, w in enumerate(self.text(1))]
        forbidden.add({"text": " ".join(words)})
        self.assertTrue(forbidden.contaminates({"text": " ".join(words)}))
        self.assertTrue(forbidden.contaminates({"text": " ".join(words[:40] + self.text(2, 12))}))
        self.assertFalse(forbidden.contaminates({"text": " ".join(words[:20] + self.text(2, 40))}))


class LayoutTest(unittest.TestCase):
    def test_it_is_what_the_chat_template_renders(self):
        contexts, expected = [], []
        for category in ("tools", "routing", "extract", "talk"):
            draw = draws.Draw("layout/" + category)
            for number in range(25):
                content = generate.make_content(draw, category)
                messages, follows = content["messages"], number % 2 == 0
                if follows:
                    messages = messages[:-1]
                contexts.append(
                    {
                        "messages": messages,
                        "tools": content.get("tools"),
                        "add_generation_prompt": follows,
                    }
                )
                parts = chat_layout.segments(messages, content.get("tools"), follows)
                expected.append("".join(text for text, _ in parts))
        lines = "".join(json.dumps(context) + "\n" for context in contexts)
        done = subprocess.run(
            [BINARY, "template", "--jsonl"], input=lines, capture_output=True, text=True, check=True
        )
        rendered = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(len(rendered), len(expected))
        for got, wanted in zip(rendered, expected):
            self.assertEqual(got.get("text"), wanted, got.get("error"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    options, rest = parser.parse_known_args()
    BINARY = options.binary
    unittest.main(argv=[sys.argv[0], *rest])
