#!/usr/bin/env python3
"""Where the time of a step goes: samples `ruvllm bench` with perf (cpu-clock, no counters needed) and
prints the share of each part of a step, loading and the measuring of limits left out.

    step_profile.py build/models/llama-3.2-1b-q4_k_m.gguf decode [-d 4096] [-t 2]
"""
import argparse
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The first that matches names the part; None: not of a step.
PARTS = (
    (r"sum_words|_peak|Peaks<|MemoryReader|hash_bytes|pack_|pack<|packed|PackedFile", None),
    (r"^k\] .*(clear_page|copy_folio|folio|page_fault|pagecache|filemap|gup_)", None),
    (r"multiply_|gemm|dot_panel", "matmul"),
    (r"Pages<|BytePages|CpuAttend|score|value_block|exp_sum|attend", "attention"),
    (r"quantize_row|to_bf16", "activations to int8 or bf16"),
    (r"norm|silu|gelu|rope|::add|softcap", "norms, rope, gates, sums"),
    (r"KvPages|to_f16", "storing keys and values"),
    (r"WorkerPool|yield|sched|futex|spin|wait|switch", "waiting for the other threads"),
    (r".", "other"),
)


def samples(command, folder):
    """[(share, symbol)] of all samples."""
    record = folder + "/perf.data"
    subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-F", "999", "-o", record, *command],
                   check=True, stdout=subprocess.DEVNULL)
    report = subprocess.run(
        ["perf", "report", "-i", record, "--no-children", "-g", "none", "--stdio", "--sort",
         "symbol", "--percent-limit", "0.01"], capture_output=True, text=True, check=True).stdout
    for line in report.splitlines():
        found = re.match(r"\s*([\d.]+)%\s+\[(.*)$", line)
        if found:
            yield float(found[1]), found[2].replace("(anonymous namespace)::", "")


def part_of(symbol):
    return next(name for pattern, name in PARTS if re.search(pattern, symbol))


def detail_of(symbol):
    """Matmul by weight type: the number is ggml's."""
    kind = re.search(r"\(ruv::DType\)(\d+)", symbol)
    name = re.match(r".\] (?:ruv::)?([\w:]+)", symbol)
    return f"{name[1] if name else symbol}{f', type {kind[1]}' if kind else ''}"


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("model")
    p.add_argument("kind", choices=("prefill", "decode"))
    p.add_argument("--binary", type=pathlib.Path, default=ROOT / "build/release/apps/ruvllm/ruvllm")
    p.add_argument("-d", "--depth", default="0")
    p.add_argument("-t", "--threads", default="2")
    args = p.parse_args()
    amount = ["-p", "512", "-n", "0", "-r", "6"] if args.kind == "prefill" else [
        "-p", "0", "-n", "128", "-r", "3"]
    command = [str(args.binary), "bench", "-m", args.model, "-d", args.depth, "-t", args.threads,
               *amount]
    parts, details = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for share, symbol in samples(command, folder):
            if part := part_of(symbol):
                parts[part] = parts.get(part, 0) + share
                key = (part, detail_of(symbol))
                details[key] = details.get(key, 0) + share
    total = sum(parts.values())
    print(f"| {args.kind} of {pathlib.Path(args.model).stem}, depth {args.depth}, {args.threads} "
          "threads | share | mostly |\n|---|---|---|")
    for part, share in sorted(parts.items(), key=lambda x: -x[1]):
        best = sorted(((s, d) for (p, d), s in details.items() if p == part), reverse=True)[:2]
        mostly = ", ".join(f"{d} {100 * s / total:.1f} %" for s, d in best)
        print(f"| {part} | {100 * share / total:.1f} % | {mostly} |")


if __name__ == "__main__":
    main()
