#!/usr/bin/env python3
"""Writes the data sets of the built-in model: train, known, unseen and triplets.

  generate.py --out FOLDER [--megabytes 60] [--eval-records 200] [--seed 1] [--plain FILE ...]

`train.jsonl` is for training. `known_CATEGORY.jsonl` has new conversations of the words and
patterns of training, `unseen_CATEGORY.jsonl` of words, patterns and tools that training never uses.
`triplets.jsonl` and `triplets_unseen.jsonl` have {anchor, positive, negative} for contrastive
training. `manifest.json` counts what was written and what was left out as a duplicate or because
evaluation has it. The same arguments give the same bytes.
"""

import argparse
import hashlib
import json
import pathlib

import triplets
from copying import copying
from draws import Draw
from extraction import extraction, questions
from numbers_and_lists import arithmetic, formats
from records import Contamination, MinHashIndex, make_record, read_records, spoken
from routing import routing
from small_talk import facts, small_talk, stories
from tool_calls import tool_talk

EVAL = pathlib.Path(__file__).resolve().parent / "eval"
# {category: (generator, share of the characters for training)}
CATEGORIES = {
    "tools": (tool_talk, 0.36),
    "extract": (extraction, 0.15),
    "routing": (routing, 0.12),
    "qa": (questions, 0.09),
    "copy": (copying, 0.10),
    "format": (formats, 0.06),
    "arith": (arithmetic, 0.04),
    "stories": (stories, 0.03),
    "facts": (facts, 0.02),
    "talk": (small_talk, 0.03),
}
# Their questions come from short fixed lists on purpose, so that all splits share them.
SHARED = ("facts", "talk")
PLAIN_SHARE = 0.03
# The share of made-up values in training.
STRANGE = 0.35
# Draws in a row that may be left out before a category counts as exhausted.
PATIENCE = 400


def make_content(draw, category, unseen=False):
    """One conversation or text; where nothing else says so, a third has a system message of its
    own.
    """
    content = tool_talk(draw, unseen) if category == "tools" else CATEGORIES[category][0](draw)
    messages = content.get("messages")
    if messages and not content.get("tools") and messages[0]["role"] != "system":
        kind = draw.random()
        if kind < 0.3:
            content["messages"] = [{"role": "system", "content": draw.pick("system")}] + messages
    return content


class Source:
    """The records of one category of one split, each like none before it."""

    def __init__(self, category, split, seed, index, forbidden=None):
        strange = STRANGE if split == "train" else 0
        name = "%s/%s/%s" % (seed, split, category)
        self.draw = Draw(name, held=split == "unseen", strange=strange)
        self.category, self.split, self.seed = category, split, seed
        self.index, self.forbidden = index, forbidden
        self.n_drawn = self.n_similar = self.n_contaminated = self.n_left_out = 0
        self.exhausted = False

    def next(self):
        """A record, or None once the category is exhausted."""
        while self.n_left_out < PATIENCE:
            content = make_content(self.draw, self.category, self.split == "unseen")
            provenance = {"generator": self.category, "seed": self.seed, "draw": self.n_drawn}
            record = make_record(content, self.category, self.split, provenance)
            self.n_drawn += 1
            self.n_left_out += 1
            if (
                self.forbidden
                and self.category not in SHARED
                and self.forbidden.contaminates(record)
            ):
                self.n_contaminated += 1
            elif not self.index.add(spoken(record)):
                self.n_similar += 1
            else:
                self.n_left_out = 0
                return record
        self.exhausted = True
        return None

    def counts(self):
        return {
            "drawn": self.n_drawn,
            "similar": self.n_similar,
            "contaminated": self.n_contaminated,
            "exhausted": self.exhausted,
        }


class Writer:
    """A file of records, with what the manifest says about it."""

    def __init__(self, folder, name):
        self.name, self.file = name, open(folder / name, "wb")
        self.digest, self.n_records, self.n_bytes = hashlib.sha256(), 0, 0

    def write(self, record):
        """The length of the line in bytes."""
        line = (json.dumps(record, ensure_ascii=False) + "\n").encode("utf-8")
        self.file.write(line)
        self.digest.update(line)
        self.n_records += 1
        self.n_bytes += len(line)
        return len(line)

    def close(self):
        self.file.close()
        return {"records": self.n_records, "bytes": self.n_bytes, "sha256": self.digest.hexdigest()}


def write_evaluation(folder, seed, count, manifest):
    """The splits for evaluation; returns what training must not contain."""
    forbidden = Contamination()
    for path in sorted(EVAL.glob("*.jsonl")):
        for record in read_records(path):
            if record.get("messages") or record.get("text"):
                forbidden.add(record)
    for split in ("known", "unseen"):
        index = MinHashIndex()
        for category in CATEGORIES:
            source = Source(category, split, seed, index)
            writer = Writer(folder, "%s_%s.jsonl" % (split, category))
            while writer.n_records < count and (record := source.next()):
                writer.write(record)
                forbidden.add(record)
            manifest[writer.name] = {**writer.close(), **source.counts()}
    return forbidden


def plain_records(paths, seed):
    """Pieces of texts in the public domain, cut at line breaks; the last tenth of each text is not
    used.
    """
    draw = Draw("%s/plain" % seed)
    for path in paths:
        text = pathlib.Path(path).read_text(encoding="utf-8")
        text, start = text[: len(text) * 9 // 10], 0
        while start < len(text):
            end = text.find("\n", start + draw.num(300, 2000)) + 1 or len(text)
            provenance = {"file": pathlib.Path(path).name, "offset": start}
            yield make_record({"text": text[start:end]}, "plain", "train", provenance)
            start = end


def write_training(folder, options, forbidden, manifest):
    """Categories in turn, always the one that lags most, up to the size; then plain texts."""
    index, writer = MinHashIndex(), Writer(folder, "train.jsonl")
    sources = {name: Source(name, "train", options.seed, index, forbidden) for name in CATEGORIES}
    written = dict.fromkeys(CATEGORIES, 0)
    limit = options.megabytes * 1e6
    while sum(written.values()) < limit:
        left = [name for name in CATEGORIES if not sources[name].exhausted]
        name = min(left, key=lambda n: written[n] / CATEGORIES[n][1])
        record = sources[name].next()
        if record:
            written[name] += writer.write(record)
    for record in plain_records(options.plain, options.seed):
        if writer.n_bytes > limit * (1 + PLAIN_SHARE):
            break
        writer.write(record)
    counts = {name: {"bytes": written[name], **sources[name].counts()} for name in CATEGORIES}
    manifest["train.jsonl"] = {**writer.close(), "categories": counts}


def write_triplets(folder, seed, count, manifest):
    for split, held in (("triplets", False), ("triplets_unseen", True)):
        writer = Writer(folder, split + ".jsonl")
        draw = Draw("%s/%s" % (seed, split), held)
        for number in range(count if not held else max(1, count // 10)):
            provenance = {"generator": "triplets", "seed": seed, "draw": number}
            writer.write(make_record(triplets.triplet(draw), "triplets", split, provenance))
        manifest[writer.name] = writer.close()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--out", type=pathlib.Path, required=True, help="a folder; created where there is none"
    )
    parser.add_argument("--megabytes", type=float, default=60, help="size of train.jsonl")
    parser.add_argument(
        "--eval-records", type=int, default=200, help="records of a category of a split"
    )
    parser.add_argument("--triplets", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plain", nargs="*", default=[], help="texts in the public domain")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    manifest = {"seed": options.seed, "license": "CC0-1.0"}
    forbidden = write_evaluation(options.out, options.seed, options.eval_records, manifest)
    write_training(options.out, options, forbidden, manifest)
    write_triplets(options.out, options.seed, options.triplets, manifest)
    (options.out / "manifest.json").write_text(
        json.dumps(manifest, indent=1) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
