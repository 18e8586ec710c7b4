#!/usr/bin/env python3
"""Our speed beside llama-cpp-python's on the same GGUF files in the same run. The two take turns,
who begins changes every round, and medians are compared, so that a machine that slows down or
warms up treats both alike.

    build/venv/bin/python bench/compare.py --models --threads 1 2 --readme
    build/venv/bin/python bench/compare.py some.gguf other.gguf --rounds 7

Prints a Markdown table, appends one JSON line per file and thread count to
bench/results/<machine>.jsonl, and with --readme puts the table into README.md. Needs llama-cpp-python,
numpy, and gguf for --models.
"""
import argparse
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"
TYPES = ("f16", "q8_0", "q4_0", "q4_k_m")


def output(*command):
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def call_json(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")
    return json.loads(done.stdout)


def machine():
    with open("/proc/cpuinfo") as f:
        names = re.findall(r"^model name\s*: (.*)$", f.read(), re.M)
    return {"cpu": names[0] if names else platform.machine(), "cores": os.cpu_count()}


def circumstances():
    cache = (ROOT / "build/release/CMakeCache.txt").read_text()
    compiler = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", cache, re.M).group(1)
    return {"time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "commit": output("git", "rev-parse", "--short=12", "HEAD").strip(),
            "dirty": bool(output("git", "status", "--porcelain", "--untracked-files=no").strip()),
            "machine": machine(),
            "compiler": output(compiler, "--version").splitlines()[0]}


def ours(args, file, threads):
    report = call_json(args.binary, "bench", "--model", file, "-p", args.prompt, "-n", args.decode,
                       "-t", threads, "-r", 1, "--json")
    return report, {kind: report[kind]["tokens_per_s"] for kind in ("prefill", "decode")}


def theirs(args, file, threads):
    report = call_json(sys.executable, HERE / "peer.py", "speed", file, threads, args.prompt,
                       args.decode, 1)
    return report, {kind: report[kind][0] for kind in ("prefill", "decode")}


def summary(runs):
    middle = statistics.median(runs)
    return {"tokens_per_s": middle, "spread": (max(runs) - min(runs)) / middle,
            "runs": [round(x, 2) for x in runs]}


def measure(args, file, threads):
    runs = {"ours": [], "peer": []}
    reports = {}
    for turn in range(args.rounds):
        sides = [("ours", ours), ("peer", theirs)]
        for name, side in sides if turn % 2 == 0 else reversed(sides):
            reports[name], speeds = side(args, file, threads)
            runs[name].append(speeds)
    result = {"file": file.name, "file_bytes": file.stat().st_size, "threads": threads,
              "n_prompt": args.prompt, "n_decode": args.decode, "rounds": args.rounds,
              "isa": reports["ours"]["isa"], "format": reports["ours"]["format"],
              "bandwidth_gb_s": reports["ours"]["machine"]["read_gb_s"],
              "int8_gop_s": reports["ours"]["machine"]["int8_gop_s"],
              "peer_version": reports["peer"]["version"]}
    for name, speeds in runs.items():
        result[name] = {kind: summary([s[kind] for s in speeds]) for kind in speeds[0]}
        for key in ("load_ms", "peak_memory_bytes"):
            result[name][key] = reports[name][key]
    for kind in ("prefill", "decode"):
        result["ours"][kind]["limit_fraction"] = reports["ours"][kind]["limit_fraction"]
    result["ratio"] = {kind: result["ours"][kind]["tokens_per_s"] /
                       result["peer"][kind]["tokens_per_s"] for kind in ("prefill", "decode")}
    return result


def table(results, about):
    cpu = about["machine"]
    lines = [f"{cpu['cores']} cores of {cpu['cpu']}, {about['compiler']}, commit {about['commit']}, "
             f"against llama-cpp-python {results[0]['peer_version']}; median of "
             f"{results[0]['rounds']} interleaved rounds, ± half the spread.", "",
             "| file | threads | prefill, tokens/s | peer | ratio | decode, tokens/s | peer | ratio |",
             "|---|---|---|---|---|---|---|---|"]

    def figure(part):
        return f"{part['tokens_per_s']:.1f} ± {50 * part['spread']:.0f} %"

    for r in results:
        cells = [r["file"].removesuffix(".gguf"), str(r["threads"])]
        for kind in ("prefill", "decode"):
            cells += [figure(r["ours"][kind]), figure(r["peer"][kind]), f"{r['ratio'][kind]:.2f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def made_models(args):
    """Random models in real shapes, quantised by ourselves; kept in build/models."""
    folder = ROOT / "build/models"
    listed = output(sys.executable, str(HERE / "make_models.py"), str(folder), *args.shapes)
    files = []
    for source in map(pathlib.Path, listed.split()):
        for kind in TYPES:
            file = source if kind == "f16" else source.with_name(
                source.name.replace("-f16", f"-{kind}"))
            if not file.exists():
                subprocess.run([args.binary, "quantize", "--model", source, "--type", kind, "--out",
                                file], check=True)
            files.append(file)
    return files


def into_readme(text):
    path = ROOT / "README.md"
    readme = path.read_text()
    if BEGIN not in readme or END not in readme:
        sys.exit(f"README.md has no {BEGIN} … {END}")
    before, rest = readme.split(BEGIN, 1)
    path.write_text(f"{before}{BEGIN}\n{text}{END}{rest.split(END, 1)[1]}")


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("files", nargs="*", type=pathlib.Path)
    p.add_argument("--binary", type=pathlib.Path, default=ROOT / "build/release/apps/ruvllm/ruvllm")
    p.add_argument("--models", action="store_true", help="random models in real shapes as well")
    p.add_argument("--shapes", nargs="*", default=[], help="only these of bench/make_models.py")
    p.add_argument("--threads", nargs="+", type=int, default=[os.cpu_count()])
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--prompt", type=int, default=512)
    p.add_argument("--decode", type=int, default=128)
    p.add_argument("--readme", action="store_true", help="put the table into README.md")
    args = p.parse_args()
    files = args.files + (made_models(args) if args.models else [])
    if not files:
        p.error("name GGUF files or give --models")
    about, results = circumstances(), []
    name = re.sub(r"[^a-z0-9]+", "-", about["machine"]["cpu"].lower()).strip("-")
    log = HERE / "results" / f"{name}-{about['machine']['cores']}.jsonl"
    log.parent.mkdir(exist_ok=True)
    for file in files:
        for threads in args.threads:
            results.append(measure(args, file, threads))
            print(f"{file.name}, {threads} threads: prefill ×{results[-1]['ratio']['prefill']:.2f}, "
                  f"decode ×{results[-1]['ratio']['decode']:.2f}", file=sys.stderr, flush=True)
            with log.open("a") as f:
                f.write(json.dumps({**about, **results[-1]}) + "\n")
    text = table(results, about)
    print(text)
    if args.readme:
        into_readme(text)


if __name__ == "__main__":
    main()
