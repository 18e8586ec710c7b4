#!/usr/bin/env python3
"""The server under load beside llama.cpp's and ik_llama.cpp's on the same model file: reuse of
prefixes, time to the first token, restart, fairness, throughput, speculation, cancel, memory. All
take turns, who begins changes every round, and medians are compared.

    bench/serve/run.py --model llama-3.2-1b:q4_0 --llama-server P --ik-server P --page
    bench/serve/run.py --only reuse,cancel --model qwen2.5-0.5b:q4_0

A name like llama-3.2-1b:q4_0 is a counting model in the real shape (counting_model.py), kept in
build/models. Prints Markdown tables, appends one JSON line per part to
bench/results/serve-<machine>.jsonl, and with --page puts the tables into docs/serving-speed.md.
With --from-log nothing is measured: the tables are those of the log.
"""
import argparse
import asyncio
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys

import gguf

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import goals  # noqa: E402
from compare import circumstances  # noqa: E402
from counting_model import model_file  # noqa: E402
from goal import Setting  # noqa: E402
from page import into_page, newest, whole  # noqa: E402
from servers import all_sides  # noqa: E402

PART_S = 600


def number(reader, name):
    """A number of the file's metadata, whose keys begin with the architecture's name."""
    arch = bytes(reader.fields["general.architecture"].parts[-1]).decode()
    found = reader.fields.get(f"{arch}.{name}")
    return int(found.parts[-1][0]) if found else None


def setting_of(args, path):
    reader = gguf.GGUFReader(path)
    head = number(reader, "embedding_length") // number(reader, "attention.head_count")
    kv = 2 * 2 * number(reader, "block_count") * number(reader, "attention.head_count_kv") * head
    return Setting(str(path), number(reader, "vocab_size"), args.threads, args.long, kv,
                   str(args.binary))


def sides_of(args):
    return all_sides(args.binary, ROOT / "build/packed", args.llama_server, args.ik_server)


def measure_one(args):
    """Runs in a process of its own: one side's share of one part. Prints its numbers."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the server ends as well
    goal_name, part_name, side_name = args.one
    goal, setting = goals.ALL[goal_name], setting_of(args, args.model)
    side = sides_of(args)[side_name]
    found = asyncio.run(asyncio.wait_for(
        goal.measure(side, goal.parts(setting)[part_name], setting), PART_S))
    print(json.dumps(found))


def measured(args, path, *what):
    """A round of one side, in a process of its own behind --wrap; says why when it fails."""
    command = [*shlex.split(args.wrap), sys.executable, __file__, "--model", path, "--binary",
               args.binary, "--threads", args.threads, "--long", args.long, "--one", *what]
    for flag, binary in (("--llama-server", args.llama_server), ("--ik-server", args.ik_server)):
        command += [flag, binary] if binary else []
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        print(f"{' '.join(what)}: {last}", file=sys.stderr, flush=True)
        return {"failed": last[:300]}
    return json.loads(done.stdout.splitlines()[-1])


def run_part(args, path, goal_name, part, sides):
    goal, runs = goals.ALL[goal_name], {}
    taking_part = [name for name in sides if goal.sides(part, name)]
    for turn in range(args.rounds):
        for name in taking_part if turn % 2 == 0 else reversed(taking_part):
            found = measured(args, path, goal_name, part, name)
            runs.setdefault(name, []).append(found)
            print(f"{goal_name}, {part}, {name}: {json.dumps(found)[:200]}", file=sys.stderr,
                  flush=True)
    return {name: runs[name] for name in taking_part}


def arguments():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--model", default="llama-3.2-1b:q4_0", help="a GGUF file or shape:type")
    p.add_argument("--only", help="tables, comma-separated: " + ", ".join(goals.ALL))
    p.add_argument("--parts", default="", help="only parts whose name contains this")
    p.add_argument("--binary", type=pathlib.Path, default=ROOT / "build/release/apps/ruvllm/ruvllm")
    p.add_argument("--llama-server", type=pathlib.Path, help="llama-server of llama.cpp")
    p.add_argument("--ik-server", type=pathlib.Path, help="llama-server of ik_llama.cpp")
    p.add_argument("--sides", help="only these, comma-separated: ours, llama.cpp, ik_llama.cpp")
    p.add_argument("--threads", type=int, default=os.cpu_count())
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--long", type=int, default=8192, help="tokens of the long prompt")
    p.add_argument("--wrap", default="", help="a command before each part, such as taskset -c 0")
    p.add_argument("--log", type=pathlib.Path, help="where the JSON lines go")
    p.add_argument("--page", action="store_true", help="put the tables into docs/serving-speed.md")
    p.add_argument("--from-log", action="store_true", help="tables of the log, measure nothing")
    p.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    args = p.parse_args()
    unknown = set((args.only or "").split(",")) - set(goals.ALL) - {""}
    if unknown:
        p.error(f"no table {', '.join(sorted(unknown))}; there are {', '.join(goals.ALL)}")
    return args


def log_of(args, about):
    name = re.sub(r"[^a-z0-9]+", "-", about["machine"]["cpu"].lower()).strip("-")
    return args.log or HERE.parent / "results" / f"serve-{name}-{about['machine']['cores']}.jsonl"


def measure_all(args, names, about, log):
    path = model_file(args.model, ROOT / "build/models", args.binary)
    setting, sides = setting_of(args, path), sides_of(args)
    versions = {name: side.version for name, side in sides.items() if side.version}
    wanted = [s for s in sides if not args.sides or s in args.sides.split(",")]
    for name in names:
        for part in goals.ALL[name].parts(setting):
            if args.parts not in part:
                continue
            runs = run_part(args, path, name, part, wanted)
            if not any(runs.values()):
                continue
            line = {**about, "versions": versions, "goal": name, "part": part, "file": path.name,
                    "threads": args.threads, "rounds": args.rounds, "sides": runs}
            log.parent.mkdir(exist_ok=True)
            with log.open("a") as f:
                f.write(json.dumps(line) + "\n")
    return path.name


def main():
    args = arguments()
    if args.one:
        measure_one(args)
        return
    names = args.only.split(",") if args.only else list(goals.ALL)
    about = circumstances(args.binary)
    log = log_of(args, about)
    if not args.from_log:
        measure_all(args, names, about, log)
    lines = newest(log)
    print(whole({name: goals.ALL[name] for name in names}, lines))
    if args.page:
        into_page(ROOT / "docs/serving-speed.md", whole(goals.ALL, lines))


if __name__ == "__main__":
    main()
