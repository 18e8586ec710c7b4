"""Forms of answers beside llguidance and XGrammar, in one run on one machine.

    bench/grammar/tables.py --build build/release --vocabulary qwen.tiktoken \
        --schemas maskbench_sample.jsonl

Peers come from PyPI (bench/grammar/requirements.txt). Every engine meets every schema once and reads
the same tokens, one thread each, one after the other."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TIMES = ["mean", "p50", "p90", "p99", "p99.9", "max"]
COUNTS = ["passed", "refused", "invalid accepted", "valid refused"]


def last_json(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"{' '.join(command)}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return None
    return json.loads(done.stdout.strip().splitlines()[-1])


def row(cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |")


def table(title, head, results, cells):
    print(f"\n{title}\n")
    row(head)
    row(["---"] + ["--:"] * (len(head) - 1))
    for result in results:
        row([result["engine"]] + cells(result))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--vocabulary", required=True, help="a tiktoken file")
    parser.add_argument("--scheme", default="qwen2", help="how the vocabulary splits words")
    parser.add_argument("--schemas", required=True, help="JSON lines, as MaskBench's")
    parser.add_argument("--runs", type=int, default=1, help="the best of this many is shown")
    args = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory() as folder:
        tokens = os.path.join(folder, "tokens.jsonl")
        ours = [os.path.join(args.build, "bench/micro/ruv_bench_grammar"), args.vocabulary, args.scheme,
                args.schemas, "--tokens", tokens]
        peers = [[sys.executable, os.path.join(HERE, "peers.py"), args.vocabulary, tokens,
                  "--engine", name] for name in ("llguidance", "xgrammar")]
        for command in [ours] + peers:
            runs = [result for _ in range(args.runs) if (result := last_json(command))]
            if runs:
                results.append(min(runs, key=lambda result: result["mask_us"]["mean"]))
    micro = lambda key: lambda result: [f"{result[key][name]:,.1f}" for name in TIMES]
    table("Mask and token, microseconds", ["engine"] + TIMES, results, micro("mask_us"))
    table("Compile to the first mask, microseconds", ["engine"] + TIMES, results,
          micro("compile_us"))
    table(f"Schemas, of {results[0]['schemas']}", ["engine"] + COUNTS, results,
          lambda result: [result[name] for name in COUNTS])


if __name__ == "__main__":
    main()
