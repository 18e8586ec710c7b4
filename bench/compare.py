#!/usr/bin/env python3
"""Our speed beside other engines' on the same GGUF files in the same run. All take turns, who begins
changes every round, and medians are compared, so that a machine that slows down or warms up treats
them alike. The peers: llama-cpp-python always, ik_llama.cpp's llama-bench where --ik names it.

    build/venv/bin/python bench/compare.py --suite --ik llama-bench --into docs/speed.md
    build/venv/bin/python bench/compare.py --suite families --ik llama-bench --into docs/performance.md
    build/venv/bin/python bench/compare.py --suite avx2 --ik llama-bench --into docs/speed-avx2.md
    build/venv/bin/python bench/compare.py some.gguf other.gguf --rounds 7 --threads 1 2
    build/venv/bin/python bench/compare.py llama-3.2-1b:q4_0 --depth 4096 --prompt 0 --decode 32
    build/venv/bin/python bench/compare.py --check old.jsonl new.jsonl@commit

A name like llama-3.2-1b:q4_0 is a random model in the real shape (bench/make_models.py), kept in
build/models. Prints a Markdown table, appends one JSON line per file, thread count and depth to
bench/results/<machine>.jsonl, and with --into puts the table between the marks of a page. A peer
that does not know an architecture has no figure. Needs llama-cpp-python, numpy, and gguf for random
models.
"""
import argparse
import json
import os
import pathlib
import platform
import re
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import replace

from sides import HERE, IkLlama, LlamaCpp, Ours, Work, read_gb_s
from tables import KINDS, changes, put_into, table

ROOT = HERE.parent
SHORT, THREE = Work(2, 512, 64, 0), ("q8_0", "q4_k_m", "q4_0")
# shape, types, work, rounds. Of dense models, which docs/speed.md shows: about nineteen minutes on two cores.
DENSE = (
    ("llama-3.2-1b", ("f16", "bf16", "q8_0", "q6_k", "q5_k_m", "q4_k_m", "q4_0", "iq4_xs"), SHORT, 3),
    ("qwen2.5-0.5b", ("f16", "q8_0", "q4_k_m", "q4_0"), SHORT, 3),
    ("qwen2.5-3b", THREE, replace(SHORT, n_decode=32), 2),
    ("llama-3.2-1b", ("q8_0", "q4_k_m"), replace(SHORT, threads=1, n_decode=32), 2),
    ("llama-3.2-1b", ("q4_k_m",), Work(2, 0, 32, 4096), 1),
    ("qwen2.5-0.5b", ("q4_k_m",), Work(2, 0, 32, 4096), 1),
)
# Experts, short convolutions and state spaces: about seven minutes.
FAMILIES = (
    ("olmoe-1b-7b", ("q4_k_m",), replace(SHORT, n_decode=48), 3),
    ("granite-3b-a800m", ("q4_k_m",), replace(SHORT, n_decode=48), 3),
    ("lfm2-1.2b", ("q4_0",), replace(SHORT, n_decode=48), 3),
    ("granite-4-h-1b", ("q4_k_m",), replace(SHORT, n_decode=48), 3),
    ("qwen3-next-small", ("q4_k_m",), replace(SHORT, n_decode=48), 3),
    ("mamba2-1.3b", ("q4_k_m",), replace(SHORT, n_decode=48), 3),
)
# Of dense models on processors whose prompts take five times as long: about an hour.
BRIEF = replace(SHORT, n_decode=32)
AVX2 = (
    ("llama-3.2-1b", ("f16", "bf16", "q8_0", "q6_k", "q5_k_m", "q4_k_m", "q4_0", "iq4_xs"), BRIEF, 5),
    ("qwen2.5-0.5b", THREE, BRIEF, 5),
    ("qwen2.5-3b", ("q4_k_m",), replace(BRIEF, n_decode=16), 3),
    ("llama-3.2-1b", ("q4_k_m",), replace(BRIEF, threads=1), 3),
    ("llama-3.2-1b", ("q4_k_m",), replace(BRIEF, n_prompt=4096, n_decode=0), 2),
    ("llama-3.2-1b", ("q4_k_m",), replace(BRIEF, n_prompt=8192, n_decode=0), 1),
    ("llama-3.2-1b", ("q4_k_m",), Work(2, 0, 32, 4096), 1),
)
SUITES = {"dense": DENSE, "families": FAMILIES, "avx2": AVX2}


def output(*command):
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def machine():
    with open("/proc/cpuinfo") as f:
        info = f.read()
    names = re.findall(r"^model name\s*: (.*)$", info, re.M)
    # A virtual machine's name may be that of several generations.
    parts = [re.findall(rf"^{key}\s*: (\d+)$", info, re.M)[:1] for key in ("cpu family", "model")]
    made = " (family {}, model {})".format(parts[0][0], parts[1][0]) if all(parts) else ""
    return {"cpu": (names[0] if names else platform.machine()) + made, "cores": os.cpu_count()}


def circumstances(binary):
    build = next(p for p in binary.resolve().parents if (p / "CMakeCache.txt").exists())
    cache = (build / "CMakeCache.txt").read_text()
    compiler = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", cache, re.M).group(1)
    return {"time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "commit": output("git", "rev-parse", "--short=12", "HEAD").strip(),
            "dirty": bool(output("git", "status", "--porcelain", "--untracked-files=no").strip()),
            "machine": machine(),
            "compiler": output(compiler, "--version").splitlines()[0]}


def summary(runs):
    middle = statistics.median(runs)
    return {"tokens_per_s": middle, "spread": (max(runs) - min(runs)) / middle,
            "runs": [round(x, 2) for x in runs]}


def summaries(reports):
    """Speeds of one side; of decode also how many tokens it makes of each GB that memory gives."""
    parts = {kind: summary([r[kind] for r in reports]) for kind in KINDS if kind in reports[0]}
    if "decode" in parts:
        parts["decode"]["read_gb_s"] = statistics.median(r["read_gb_s"] for r in reports)
        parts["decode"]["tokens_per_gb"] = statistics.median(
            r["decode"] / r["read_gb_s"] for r in reports)
    return parts


def our_part(reports):
    """Our speeds with the share of the limit that each run measured itself."""
    part = summaries(reports)
    for kind in part:
        part[kind]["limit_fraction"] = statistics.median(r["shares"][kind] for r in reports)
    for key in ("load_ms", "first_token_ms", "peak_memory_bytes"):
        part[key] = statistics.median(r["report"][key] for r in reports)
    return part


def measure(sides, file, work, rounds):
    runs = {side.name: [] for side in sides}
    for turn in range(rounds):
        for side in sides if turn % 2 == 0 else reversed(sides):
            before = read_gb_s(sides[0].binary, work.threads)
            run = side.measure(file, work)
            if run is None:
                continue
            run["read_gb_s"] = (before + read_gb_s(sides[0].binary, work.threads)) / 2
            runs[side.name].append(run)
    reports = [r["report"] for r in runs["ours"]]
    result = {"file": file.name, "file_bytes": file.stat().st_size, "threads": work.threads,
              "n_prompt": work.n_prompt, "n_decode": work.n_decode, "depth": work.depth,
              "rounds": rounds, "isa": reports[0]["isa"], "format": reports[0]["format"],
              "machine_limits": {key: max(r["machine"][key] or 0 for r in reports) for key in
                                 ("read_gb_s", "int8_gop_s", "f32_gop_s", "bf16_gop_s")},
              "prefill_limit": reports[0]["prefill_limit"], "ours": our_part(runs.pop("ours"))}
    result["peers"] = {name: summaries(reports) for name, reports in runs.items() if reports}
    result["ratio"] = {
        name: {kind: result["ours"][kind]["tokens_per_s"] / part[kind]["tokens_per_s"]
               for kind in part if kind in result["ours"]}
        for name, part in result["peers"].items()}
    for name, part in result["peers"].items():
        if "decode" in part:
            result["ratio"][name]["decode_at_equal_reads"] = (
                result["ours"]["decode"]["tokens_per_gb"] / part["decode"]["tokens_per_gb"])
    return result


def model_file(name, binary):
    """A path, or shape:type of a random model, which is made when absent."""
    if pathlib.Path(name).exists():
        return pathlib.Path(name)
    return pathlib.Path(output(sys.executable, str(HERE / "make_models.py"),
                               str(ROOT / "build/models"), "--binary", str(binary), name).strip())


def jobs_of(args):
    """(model, work, rounds) of everything to measure."""
    for model in args.models:
        for threads in args.threads:
            yield model, Work(threads, args.prompt, args.decode, args.depth), args.rounds
    if args.suite:
        for shape, kinds, work, rounds in SUITES[args.suite]:
            for kind in kinds:
                yield f"{shape}:{kind}", work, rounds


def told(result):
    parts = [f"{kind} ×{ratio[kind]:.2f} {peer}" for peer, ratio in result["ratio"].items()
             for kind in KINDS if kind in ratio]
    shares = [f"{kind} {100 * result['ours'][kind]['limit_fraction']:.0f} % of its limit"
              for kind in KINDS if kind in result["ours"]]
    return (f"{result['file']}, {result['threads']} threads, depth {result['depth']}: "
            f"{', '.join(parts + shares)}")


def arguments():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("models", nargs="*", help="GGUF files, or shape:type of random models")
    p.add_argument("--suite", nargs="?", const="dense", choices=SUITES, help="what a page shows")
    p.add_argument("--binary", type=pathlib.Path, default=ROOT / "build/release/apps/ruvllm/ruvllm")
    p.add_argument("--ik", type=pathlib.Path, help="llama-bench of ik_llama.cpp")
    p.add_argument("--threads", nargs="+", type=int, default=[os.cpu_count()])
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--prompt", type=int, default=512)
    p.add_argument("--decode", type=int, default=64)
    p.add_argument("--depth", type=int, default=0, help="tokens of context before what is timed")
    p.add_argument("--log", type=pathlib.Path, help="where the JSON lines go")
    p.add_argument("--into", type=pathlib.Path, help="the page that the table is put into")
    p.add_argument("--check", nargs=2, metavar=("BEFORE", "AFTER"),
                   help="print the change between two logs, FILE or FILE@COMMIT, and measure nothing")
    args = p.parse_args()
    if not args.models and not args.suite and not args.check:
        p.error("name models, give --suite or --check")
    return args


def main():
    args = arguments()
    if args.check:
        print(changes(*args.check))
        return
    about, results = circumstances(args.binary), []
    name = re.sub(r"[^a-z0-9]+", "-", about["machine"]["cpu"].lower()).strip("-")
    log = args.log or HERE / "results" / f"{name}-{about['machine']['cores']}.jsonl"
    log.parent.mkdir(exist_ok=True)
    packed = ROOT / "build/packed"
    sides = [Ours(args.binary, packed), LlamaCpp()] + ([IkLlama(args.ik)] if args.ik else [])
    jobs = [(model_file(model, args.binary), *rest) for model, *rest in jobs_of(args)]
    for file, work, rounds in jobs:
        results.append(measure(sides, file, work, rounds))
        shutil.rmtree(packed, ignore_errors=True)  # as large as the models
        versions = {side.name: side.version for side in sides[1:]}
        print(told(results[-1]), file=sys.stderr, flush=True)
        with log.open("a") as f:
            f.write(json.dumps({**about, "versions": versions, **results[-1]}) + "\n")
    text = table(results, about, versions)
    print(text)
    if args.into:
        put_into(args.into, text)


if __name__ == "__main__":
    main()
