#!/usr/bin/env python3
"""What the pages say of speed, measured on the machine at hand, in one run: the table beside other
engines (docs/speed.md, or docs/speed-avx2.md without AVX-512), what kernels wait for
(docs/performance.md), and README's table of the geometric means of both pages.

    build/venv/bin/python bench/speed_pages.py --ik path/to/llama-bench
    bench/speed_pages.py --readme        only README's, of the pages as they are; tools/check compares
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys

from tables import put_into

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Row in README, page, suite of bench/compare.py.
PAGES = (("AVX-512", "docs/speed.md", "dense"), ("AVX2", "docs/speed-avx2.md", "avx2"))
MEANS = "| geometric mean, empty context |"


def means(page):
    """Prefill and decode beside llama.cpp and ik_llama.cpp, as the page prints them."""
    line = next(line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith(MEANS))
    figures = re.findall(r"\*\*([\d.]+)\*\*", line)
    if len(figures) != 4:
        raise SystemExit(f"{page}: {len(figures)} means instead of 4")
    return figures


def readme_table(root=ROOT):
    lines = ["| times as fast as | llama.cpp: prompts | decode | ik_llama.cpp: prompts | decode |",
             "|---|---|---|---|---|"]
    for name, page, _ in PAGES:
        prompts, ik_prompts, decode, ik_decode = means(root / page)
        lines.append(f"| [{name}]({page}) | {prompts} | {decode} | {ik_prompts} | {ik_decode} |")
    return "".join(line + "\n" for line in lines)


def measure(ik):
    has_avx512 = " avx512bw " in pathlib.Path("/proc/cpuinfo").read_text()
    _, page, suite = PAGES[0 if has_avx512 else 1]
    command = [sys.executable, str(ROOT / "bench/compare.py"), "--suite", suite, "--into", str(ROOT / page)]
    subprocess.run(command + (["--ik", str(ik)] if ik else []), check=True)
    ablation = ROOT / "build/release/bench/micro/ruv_bench_ablation"
    text = subprocess.run([ablation, str(os.cpu_count()), "--markdown"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    put_into(ROOT / "docs/performance.md", text, "ablation")


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--ik", type=pathlib.Path, help="llama-bench of ik_llama.cpp")
    p.add_argument("--readme", action="store_true", help="measure nothing")
    args = p.parse_args()
    if not args.readme:
        measure(args.ik)
    put_into(ROOT / "README.md", readme_table(), "speed")


if __name__ == "__main__":
    main()
