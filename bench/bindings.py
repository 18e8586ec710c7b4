#!/usr/bin/env python3
"""What the C interface and the Python package cost over the C++ API: the same work by turns in the
same minutes, medians of all rounds. Wall and processor time, and how often a thread waited or was
preempted, of the whole process.

    bindings.py [MODEL] [--rounds 15] [--tokens 300] [--texts 64]

Needs ninja -C build/release ruvllm_c ruv_bench_interface, and numpy for `embed`.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/release"
FIGURES = ("wall_ms", "cpu_ms", "waits", "preempted")
PROMPT = "Once upon a time"


def used(pid):
    """Processor time in ms, waits and preemptions of a process's threads, which must stay."""
    cpu = waits = preempted = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        cpu += int((task / "schedstat").read_text().split()[0]) / 1e6
        status = dict(line.split(":\t") for line in (task / "status").read_text().splitlines())
        waits += int(status["voluntary_ctxt_switches"])
        preempted += int(status["nonvoluntary_ctxt_switches"])
    return cpu, waits, preempted


class Python:
    """The package in this process, with the library of the build."""

    def __init__(self, file):
        os.environ["RUVLLM_LIBRARY"] = str(BUILD / "src/capi/libruvllm.so.1")
        sys.path.insert(0, str(ROOT / "bindings/python/src"))
        import ruvllm
        self.model = ruvllm.load(file, n_ctx=1024)

    def generate(self, n):
        return str(self.model.generate(PROMPT, max_tokens=n, temperature=0, ignore_eos=True))

    def stream(self, n):
        return "".join(self.model.stream(PROMPT, max_tokens=n, temperature=0, ignore_eos=True))

    def embed(self, n):
        texts = [f"Text {i} of those that are made into vectors." for i in range(n)]
        return f"{self.model.embed(texts)[-1][0]:.6f}"

    pid = "self"

    def __call__(self, work, n):
        started = time.perf_counter()
        out = getattr(self, work)(n)
        return {"wall_ms": (time.perf_counter() - started) * 1e3, "out": out}


class Child:
    """One side of ruv_bench_interface."""

    def __init__(self, process, side):
        self.process, self.side, self.pid = process, side, process.pid

    def __call__(self, work, n):
        print(self.side, work, n, file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        return json.loads(line) if line else sys.exit("ruv_bench_interface has ended")


def measured(side, work, n):
    before = used(side.pid)
    made = side(work, n)
    return {**dict(zip(FIGURES[1:], (b - a for a, b in zip(before, used(side.pid))))), **made}


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("model", nargs="?", default=str(ROOT / "models/ruvltra-nano-q8_0.gguf"))
    p.add_argument("--rounds", type=int, default=15)
    p.add_argument("--tokens", type=int, default=300)
    p.add_argument("--texts", type=int, default=64)
    args = p.parse_args()
    with subprocess.Popen([BUILD / "bench/micro/ruv_bench_interface", args.model], text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        sides = {"C++": Child(process, "cpp"), "C": Child(process, "c"),
                 "Python": Python(args.model)}
        print("| work | | wall, ms | × | CPU, ms | × | waits | preempted |")
        print("|---|---|---|---|---|---|---|---|")
        for work, n in (("generate", args.tokens), ("stream", args.tokens), ("embed", args.texts)):
            rows = {name: [] for name in sides}
            for i in range(args.rounds + 1):
                for name, side in sides.items():
                    rows[name].append(measured(side, work, n))
            if len({row["out"] for side in rows.values() for row in side}) != 1:
                sys.exit(f"{work}: the sides do not give the same")
            middle = {name: {f: statistics.median(row[f] for row in side[1:]) for f in FIGURES}
                      for name, side in rows.items()}
            for name, m in middle.items():
                ratio = [m[f] / middle["C++"][f] for f in FIGURES[:2]]
                print(f"| {work} {n} | {name} | {m['wall_ms']:.1f} | {ratio[0]:.3f} | "
                      f"{m['cpu_ms']:.1f} | {ratio[1]:.3f} | {m['waits']:.0f} | "
                      f"{m['preempted']:.0f} |", flush=True)
        process.stdin.close()


if __name__ == "__main__":
    main()
