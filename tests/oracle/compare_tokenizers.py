#!/usr/bin/env python3
"""Compares the ids and texts of `ruvllm tokenize` with those of `tokenizers`, `tiktoken` and
`sentencepiece`, for every vocabulary of the test data: all cases files, mixed real text, and random
strings. Ends with 1 when anything differs.

  compare_tokenizers.py --binary build/release/apps/ruvllm/ruvllm --quick         (a minute)
  compare_tokenizers.py --binary build/release/apps/ruvllm/ruvllm                 (slow: hours)
  compare_tokenizers.py --binary … --only phi-2 --megabytes 100 --strings 1000000

RWKV has no package: its peer is the published rule, longest token first, written out below. Needs
tokenizers, tiktoken, sentencepiece, gguf and numpy.
"""
import argparse
import pathlib
import sys
import time

import corpus
import vocabularies
from ours import Ours


class Tally:
    """What was compared for one vocabulary, and the first differences."""

    def __init__(self, vocabulary, ours, peer, shown):
        self.vocabulary, self.ours, self.peer, self.shown = vocabulary, ours, peer, shown
        self.wrong = 0
        self.bytes = 0
        self.texts = 0
        self.decoded = 0

    def report(self, kind, text, got, wanted):
        self.wrong += 1
        if self.wrong > self.shown:
            return
        if kind == "ids":
            text = self.shrink(text)
            got, wanted = self.ours.encode([text])[0], self.peer.encode([text])[0]
        print(f"  {self.vocabulary.name}: {kind} differ for {text[:300]!r}\n"
              f"    ours {clip(got)}\n    peer {clip(wanted)}", flush=True)

    def differs(self, text):
        return self.ours.encode([text])[0] != self.peer.encode([text])[0]

    def shrink(self, text, tries=400):
        """A short part of `text` that still differs; sums that drift need all of it."""
        step = len(text) // 2
        while step >= 1:
            at = 0
            while at < len(text) and len(text) > 1:
                tries -= 1
                if tries < 0:
                    return text
                shorter = text[:at] + text[at + step:]
                if shorter and self.differs(shorter):
                    text = shorter
                else:
                    at += step
            step //= 2
        return text

    def compare(self, texts, decode):
        got = self.ours.encode(texts)
        wanted = self.peer.encode(texts)
        self.texts += len(texts)
        self.bytes += sum(map(len, map(str.encode, texts)))
        for text, ours, peer in zip(texts, got, wanted):
            if ours != peer:
                self.report("ids", text, ours, peer)
        if decode:
            self.compare_decoding(wanted)

    def compare_decoding(self, ids):
        self.decoded += len(ids)
        for one, got, wanted in zip(ids, self.ours.decode(ids), self.peer.decode(ids)):
            if wanted is not None and got != wanted:
                self.report("decoded", repr(one[:40]), got, wanted)


def clip(value):
    text = repr(value)
    return text if len(text) < 300 else text[:300] + "…"


def compare_cases(tally):
    """The cases files: ids that the packages gave when the data was made."""
    cases = list(tally.vocabulary.cases())
    got = tally.ours.encode([case["text"] for case in cases])
    for case, ids in zip(cases, got):
        if ids != case["ids"]:
            tally.wrong += 1
            print(f"  {tally.vocabulary.name}: case {case['text']!r}\n    ours {ids}\n"
                  f"    file {case['ids']}")
    return len(cases)


def compare_stream(tally, batches, limit, measure):
    """Batches of texts until `limit` is reached in what `measure` tells. One in eight is decoded."""
    for number, texts in enumerate(batches):
        if measure(tally) >= limit or tally.wrong > 1000:
            break
        tally.compare(texts, decode=number % 8 == 0)


def compare(vocabulary, args, text):
    begin = time.monotonic()
    peer = vocabulary.peer()
    ours = Ours(args.binary, vocabulary)
    tally = Tally(vocabulary, ours, peer, args.shown)
    n_cases = compare_cases(tally)
    compare_stream(tally, corpus.mixed(text, args.seed), args.megabytes * 1e6, lambda t: t.bytes)
    n_mixed, mixed_bytes = tally.texts, tally.bytes
    compare_stream(tally, corpus.random_strings(vocabulary.pieces(peer), args.seed), args.strings,
                   lambda t: t.texts - n_mixed)
    ours.close()
    print(f"{vocabulary.name:28} {peer.name:14} {n_cases:4} cases  {mixed_bytes / 1e6:7.1f} MB  "
          f"{tally.texts - n_mixed:8} strings  {tally.decoded:8} decoded  {tally.wrong} wrong  "
          f"{time.monotonic() - begin:.0f} s", flush=True)
    return tally.wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True, help="the program ruvllm")
    parser.add_argument("--data", type=pathlib.Path, default=vocabularies.default_data())
    parser.add_argument("--only", action="append", default=[], help="names that hold this")
    parser.add_argument("--quick", action="store_true", help="0.5 MB and 4,000 strings each")
    parser.add_argument("--megabytes", type=float, default=100, help="of mixed text")
    parser.add_argument("--strings", type=int, default=1_000_000, help="random ones")
    parser.add_argument("--shown", type=int, default=10, help="differences to print")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if args.quick:
        args.megabytes, args.strings = 0.5, 4000
    found = [v for v in vocabularies.all_of(args.data)
             if not args.only or any(part in v.name for part in args.only)]
    if not found:
        sys.exit(f"{args.data}: no vocabularies")
    text = corpus.Text(args.data)
    print(f"{text.n_bytes / 1e6:.1f} MB of distinct text; more is made of its lines at random")
    wrong = sum(compare(vocabulary, args, text) for vocabulary in found)
    print(f"{len(found)} vocabularies, {wrong} differences")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
