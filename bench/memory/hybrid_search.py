#!/usr/bin/env python3
"""What a search of a store costs, by words, by vectors, by both, with the reading of what it finds.

Usage: hybrid_search.py --bench RUV_BENCH_HYBRID [--chunks 100000,1000000] [--folder FOLDER]
                        [--write FILE]

Stores are drawn (bench/memory/hybrid_search.cpp says how); --folder keeps them for another run.
--write puts the table between the marks of FILE.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(SOURCE / "bench"))
from tables import put_into  # noqa: E402


def rows_of(options, folder, n):
    command = [options.bench, f"folder={folder}/{n}", f"chunks={n}"]
    out = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout
    lines = [json.loads(line) for line in out.splitlines()]
    made = next((line["made_seconds"] for line in lines if "made_seconds" in line), None)
    opened = next(line["open_seconds"] for line in lines if "open_seconds" in line)
    ways = [line for line in lines if "way" in line][1:]  # the first search of all reads the files
    return [f"| {n} | {'-' if made is None else f'{made:.0f}'} | {opened:.2f} | {line['way']} | "
            f"{line['p50_us'] / 1000:.2f} | {line['p99_us'] / 1000:.2f} | {line['found']:.2f} |" for line in ways]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bench", required=True)
    parser.add_argument("--chunks", default="100000,1000000")
    parser.add_argument("--folder")
    parser.add_argument("--write", type=pathlib.Path)
    options = parser.parse_args()
    lines = ["| chunks | made, s | opened, s | by | p50, ms | p99, ms | the chunk is among ten |",
             "|---|---|---|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        for n in options.chunks.split(","):
            lines += rows_of(options, options.folder or folder, int(n))
    text = "\n".join(lines) + "\n"
    print(text, end="")
    if options.write:
        put_into(options.write, text, "hybrid")


if __name__ == "__main__":
    main()
