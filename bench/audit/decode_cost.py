#!/usr/bin/env python3
"""What an audit log costs the decoding of 8 streams.

    bench/audit/decode_cost.py --model qwen2.5-0.5b-q4_0.gguf [--rounds 30] [--write docs/audit.md]

Two servers of the same model, one with a log, are asked in turn, the first one changing from round to
round. What is compared is the processor's time that a server takes for a token, all its threads
together: the time on the clock changes more between rounds than a log can cost. Prints a table, or
writes it between the marks of a page.
"""
import argparse
import os
import pathlib
import random
import statistics
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCE / "tests/e2e"), str(SOURCE / "bench")]
from server import Server  # noqa: E402
from streams import STREAMS, tokens_per_second  # noqa: E402
from tables import put_into  # noqa: E402


def interval(ratios, draws=2000):
    """95 % of medians of as many ratios, drawn with replacement."""
    rng = random.Random(1)
    medians = sorted(statistics.median(rng.choices(ratios, k=len(ratios))) for _ in range(draws))
    return medians[int(0.025 * draws)], medians[int(0.975 * draws)]


def processor_seconds(server):
    with open(f"/proc/{server.process.pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def row(args, contents, n_tokens):
    n_answers = max(1, 64 // n_tokens)
    with tempfile.TemporaryDirectory() as folder:
        with Server() as plain, Server("--audit", folder, "--audit-contents", contents) as noted:
            costs = {plain: [], noted: []}
            for i in range(args.rounds + 1):
                for server in ((plain, noted), (noted, plain))[i % 2]:
                    before = processor_seconds(server)
                    tokens_per_second(server, n_tokens, n_answers=n_answers)
                    n = STREAMS * n_tokens * n_answers
                    costs[server].append(1000 * (processor_seconds(server) - before) / n)
    without, beside = (costs[one][1:] for one in (plain, noted))  # the first round warms up
    ratios = [b / a for a, b in zip(without, beside)]
    low, high = interval(ratios)
    return (f"| {n_tokens} tokens, contents {contents} | {statistics.median(without):.2f} | "
            f"{statistics.median(beside):.2f} | {statistics.median(ratios):.4f} | {low:.4f} to {high:.4f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", default=str(SOURCE / "build/release/apps/ruvllm/ruvllm"))
    parser.add_argument("--model", required=True)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--write", type=pathlib.Path, help="a page with marks for the table")
    args = parser.parse_args()
    Server.binary, Server.model = args.binary, args.model
    lines = [f"| answers of {STREAMS} streams, {pathlib.Path(args.model).stem} | processor ms a token without a log | with | "
             "ratio, median | 95 % of medians |", "|---|---|---|---|---|"]
    lines += [row(args, "hashed", 64), row(args, "kept", 64), row(args, "kept", 8)]
    text = "\n".join(lines) + "\n"
    if args.write:
        put_into(args.write, text, "decode")
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
