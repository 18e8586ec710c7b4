#!/usr/bin/env python3
"""Runs what the documents promise: every ```sh run block of a Markdown file in a fresh folder with
the built program first in PATH, and every ```cpp compile block through the compiler. A block that
starts a server ends it itself. Blocks may name files relative to the repository by $RUV.

    run_blocks.py --binary build/release/apps/ruvllm/ruvllm --source . --compiler c++
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"^```(sh run|cpp compile)[ \t]*\n(.*?)^```", re.M | re.S)


def run(kind, body, args):
    with tempfile.TemporaryDirectory() as folder:
        if kind == "cpp compile":
            file = pathlib.Path(folder) / "block.cpp"
            file.write_text(body)
            command = [args.compiler, "-std=c++20", "-Wall", "-Wextra", "-fsyntax-only",
                       f"-I{args.source}/include", str(file)]
        else:
            command = ["bash", "-euo", "pipefail", "-c", body]
        env = {**os.environ, "RUV": str(args.source),
               "PATH": f"{args.binary.parent}:{os.environ['PATH']}"}
        return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True,
                              timeout=120, stdin=subprocess.DEVNULL)


def documents(source):
    yield from sorted(source.glob("*.md"))
    yield from sorted((source / "docs").rglob("*.md"))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--binary", type=pathlib.Path, required=True)
    p.add_argument("--source", type=pathlib.Path, required=True)
    p.add_argument("--compiler", default="c++")
    args = p.parse_args()
    args.source, args.binary = args.source.resolve(), args.binary.resolve()
    n = failed = 0
    for file in documents(args.source):
        text = file.read_text()
        for match in BLOCK.finditer(text):
            n += 1
            done = run(match.group(1), match.group(2), args)
            if done.returncode:
                failed += 1
                line = text.count("\n", 0, match.start()) + 1
                print(f"{file.relative_to(args.source)}:{line}: exit code {done.returncode}\n"
                      f"{done.stdout}{done.stderr}")
    print(f"{n - failed} of {n} blocks right")
    sys.exit(1 if failed else 0)


main()
