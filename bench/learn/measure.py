#!/usr/bin/env python3
"""Measures learning from feedback: makes the streams (streams.py), runs ruv_bench_learn on them, one
call after the other, and prints the tables of docs/learning.md, or writes them there (--write). What
is in the folder already is not run again.

Usage: measure.py --bench RUV_BENCH_LEARN --binary RUVLLM --source FOLDER --out FOLDER
       [--turns 200] [--seeds 5] [--text FILE] [--only-report] [--write docs/learning.md]
"""
import argparse
import json
import math
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tables import put_into  # noqa: E402

WAYS = [("nothing", ["nothing"]), ("last 4 in the context", ["last", "k=4"]),
        ("4 retrieved in the context", ["retrieved", "k=4"]), ("LoRA of rank 8", ["lora"]),
        ("LoRA with 5 % replay", ["lora", "replay=0.05"]), ("all weights", ["full"]),
        ("MicroLoRA", ["micro"])]
LABELS = {"nothing": "nothing", "last 4 in the context": "last",
          "4 retrieved in the context": "retrieved", "LoRA of rank 8": "lora",
          "LoRA with 5 % replay": "replay", "all weights": "full", "MicroLoRA": "micro"}
SKILLS = [("LoRA of rank 8", "lora", ["lora"]), ("EWC, lambda 10", "ewc", ["lora", "lambda=10"]),
          ("5 % replay", "replay", ["lora", "replay=0.05"])]
HARMS = ("noise", "a step in the wrong direction, ten times as long", "30 lessons of random tokens",
         "numbers far too large, or none")
T95 = {1: 12.7, 2: 4.30, 3: 3.18, 4: 2.78}  # Student's, by degrees of freedom


def write_texts(source, out):
    """Texts and answers of the built-in model's own kind: what the gate measures, and others."""
    def lines(name):
        path = os.path.join(source, "recipes", "builtin", "eval", name)
        with open(path, encoding="utf-8") as file:
            return [json.loads(line) for line in file]
    facts = [row["text"] for row in lines("facts.jsonl") if len(row.get("text", "x" * 999)) < 260]

    def answers(name, first, n):
        found = [{"messages": row["messages"][-1:], "answer": str(row["expected"])}
                 for row in lines(name)
                 if not row.get("tools") and 3 < len(str(row["expected"])) < 70]
        return found[first:first + n]
    for name, first, n_texts, n_answers in (("gate", 0, 6, 4), ("base", 10, 24, 10)):
        with open(os.path.join(out, f"{name}.jsonl"), "w", encoding="utf-8") as file:
            for text in facts[first:first + n_texts]:
                file.write(json.dumps({"text": text}) + "\n")
            for row in answers("talk.jsonl", first, n_answers) + \
                    answers("format.jsonl", first, n_answers):
                file.write(json.dumps(row) + "\n")


class Runs:
    def __init__(self, arguments):
        self.a = arguments
        self.model = os.path.join(arguments.source, "models", "ruvltra-nano-q8_0.gguf")
        os.makedirs(arguments.out, exist_ok=True)

    def stream(self, kind, seed, *more):
        path = os.path.join(self.a.out, f"{kind}.{seed}.jsonl")
        if not os.path.exists(path) and not self.a.only_report:
            subprocess.run([sys.executable, os.path.join(os.path.dirname(__file__), "streams.py"),
                            "persona" if kind == "gate" else kind, "--seed", str(seed), "--out",
                            path, "--users", "1", *more], check=True)
        return path

    def result(self, stream, label, way):
        """What the run printed; None: it was not run."""
        path = stream[:-len("jsonl")] + label + ".out"
        if not os.path.exists(path):
            if self.a.only_report:
                return None
            texts = [f"{name}={os.path.join(self.a.out, name)}.jsonl" for name in ("gate", "base")]
            done = subprocess.run([self.a.bench, self.model, stream, *way, *texts], check=True,
                                  stdout=subprocess.PIPE, encoding="utf-8")
            with open(path, "w", encoding="utf-8") as file:
                file.write(done.stdout)
        with open(path, encoding="utf-8") as file:
            return [json.loads(line) for line in file]


def nll(rows, part=slice(None)):
    rows = [row for row in rows if "nll" in row][part]
    return sum(row["nll"] for row in rows) / sum(row["n"] for row in rows)


def interval(values):
    """The mean and half the width of its 95 % interval, as a text in percent."""
    n = len(values)
    mean = sum(values) / n
    if n < 2:
        return f"{100 * mean:+.1f} %"
    deviation = math.sqrt(sum((x - mean) ** 2 for x in values) / (n - 1))
    return f"{100 * mean:+.1f} % ± {100 * T95[min(n - 1, 4)] * deviation / math.sqrt(n):.1f}"


def prequential(runs, kind, what, seeds, ways, more=()):
    """Rows of a table: the loss of each item before it was learned, beside a model that learns
    nothing of the same stream.
    """
    base_kind = "persona" if kind in ("thumbs", "shuffled", "signs") else kind
    lines = [f"| {what} | nats for a token | beside nothing | last third | base text | KL |",
             "|---|---|---|---|---|---|"]
    for name, way in ways:
        rows = []
        for seed in range(seeds):
            stream = runs.stream(kind, seed, *more)
            base = runs.result(runs.stream(base_kind, seed, *more), "nothing", ["nothing"])
            rows.append((base, runs.result(stream, LABELS[name], way)))
        rows = [(base, own) for base, own in rows if base and own]
        if not rows:
            continue
        third = slice(-(len([r for r in rows[0][0] if "nll" in r]) // 3), None)
        mean = sum(nll(own) for _, own in rows) / len(rows)
        whole = interval([nll(own) / nll(base) - 1 for base, own in rows])
        late = interval([nll(own, third) / nll(base, third) - 1 for base, own in rows])
        if name == "nothing":
            whole = late = ""
        ends = [row for _, own in rows for row in own if "end" in row and "held_out" in row]
        text = interval([e["held_out"] / e["base_held_out"] - 1 for e in ends]) if ends else ""
        kls = [e["divergence"] for e in ends if "divergence" in e]
        kl = f"{sum(kls) / len(kls):.3f}" if kls else ""
        lines.append(f"| {name}{seeds_told(rows, seeds)} | {mean:.3f} | {whole} | {late} | {text} | {kl} |")
    return lines + [""]


def seeds_told(rows, seeds):
    """Says how many seeds a row has where some were not run."""
    return "" if len(rows) == seeds else f" ({len(rows)} seeds)"


def forgetting(runs, seeds, more):
    lines = [f"| five toy skills in sequence, {seeds} seeds | loss when learned | at the end | rise | base text |",
             "|---|---|---|---|---|"]
    for name, label, way in SKILLS:
        first, last, text = [], [], []
        for seed in range(seeds):
            rows = runs.result(runs.stream("skills", seed, *more), label, way)
            if not rows:
                continue
            tests = [row for row in rows if "nll" in row and row["tag"][0] == "test"]
            order = list(dict.fromkeys(row["tag"][1] for row in tests))
            for place, skill in enumerate(order[:-1]):
                own = [row for row in tests if row["tag"][1] == skill]
                first.append(nll([row for row in own if row["tag"][2] == place]))
                last.append(nll([row for row in own if row["tag"][2] == len(order) - 1]))
            text += [e["held_out"] / e["base_held_out"] - 1 for e in rows if "end" in e]
        if first:
            a, b = sum(first) / len(first), sum(last) / len(last)
            lines.append(f"| {name}{seeds_told(text, seeds)} | {a:.3f} | {b:.3f} | {100 * (b / a - 1):+.0f} % "
                         f"| {interval(text)} |")
    return lines + [""]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--bench", "--binary", "--source", "--out"):
        parser.add_argument(name, required=True)
    parser.add_argument("--turns", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--text", help="a text in its order, for the natural stream")
    parser.add_argument("--only-report", action="store_true")
    parser.add_argument("--write", type=pathlib.Path, help="a page with marks for the tables")
    arguments = parser.parse_args()
    runs = Runs(arguments)
    if not arguments.only_report:
        write_texts(arguments.source, arguments.out)
    text = report(runs, arguments)
    if arguments.write:
        put_into(arguments.write, text, "learning")
    else:
        print(text)


def report(runs, arguments):
    """All tables, as Markdown. What was not run is left out."""
    seeds, turns = arguments.seeds, ["--turns", str(arguments.turns)]
    each = f"{arguments.turns} turns, {seeds} seeds"
    lines = prequential(runs, "persona", f"users with words and forms of their own, {each}", seeds,
                        WAYS, turns)
    for kind, what in (("thumbs", "thumbs alone"), ("shuffled", "thumbs of other turns"),
                       ("signs", "corrections as thumbs of random sign")):
        lines += prequential(runs, kind, f"{what}, {each}", seeds, [WAYS[-1]], turns)
    if arguments.text:
        lines += prequential(runs, "natural", f"a text in its order, 24 x 64 tokens, {seeds} seeds", seeds,
                             [WAYS[0], WAYS[-1]], ["--turns", "24", "--text", arguments.text, "--binary",
                                                   arguments.binary, "--model", runs.model])
    lines += forgetting(runs, min(seeds, 2), ["--turns", "25"])
    counts = runs.result(runs.stream("gate", 0, "--turns", "100"), "counts", ["gate"])
    if counts:
        lines += gate_table(counts[0])
    return "\n".join(lines)


def gate_table(counts):
    """What the gate let pass: ordinary steps, and each kind of planted harm (every fourth)."""
    n = counts["steps"]
    lines = ["| the gate | steps | let pass |", "|---|---|---|",
             f"| ordinary steps | {n} | {counts['accepted']} |"]
    for i, (what, passed) in enumerate(zip(HARMS, counts["harm_accepted"])):
        lines.append(f"| {what} | {(n - i + 3) // 4} | {passed} |")
    return lines + [""]


if __name__ == "__main__":
    main()
