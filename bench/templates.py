#!/usr/bin/env python3
"""Rendering times of chat templates: ours beside Jinja2, in one run, on a chat of 20 messages.

  templates.py --bench build/release/bench/micro/ruv_bench_template FOLDER
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "oracle"))
from compare_templates import make_environment


def peer_us(template, context, seconds):
    times = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 3:
        begin = time.perf_counter()
        template.render(**context)
        times.append((time.perf_counter() - begin) * 1e6)
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bench", required=True)
    parser.add_argument("--seconds", type=float, default=0.02, help="for each template and side")
    parser.add_argument("folder", help="holds *.jinja")
    arguments = parser.parse_args()
    chats = json.loads(subprocess.run([arguments.bench, "--context"], capture_output=True,
                                      check=True, text=True).stdout)
    env = make_environment()
    rows = []
    done = subprocess.run([arguments.bench, arguments.folder, str(arguments.seconds)],
                          capture_output=True, check=True, text=True)
    for line in done.stdout.splitlines():
        row = json.loads(line)
        if "error" in row:
            print(f"{row['template']}: {row['error']}", file=sys.stderr)
            continue
        with open(os.path.join(arguments.folder, row["template"] + ".jinja"), encoding="utf-8") as file:
            source = file.read()
        begin = time.perf_counter()
        template = env.from_string(source)
        row["peer_parse_us"] = (time.perf_counter() - begin) * 1e6
        context = {"tools": None, "documents": None, "bos_token": "<s>", "eos_token": "</s>",
                   **chats[row["chat"]]}
        row["peer_render_us"] = peer_us(template, context, arguments.seconds)
        rows.append(row)
    rows.sort(key=lambda row: row["render_us"])
    for row in rows:
        print(f"{row['template']:60} {row['render_us']:8.1f} us, Jinja2 {row['peer_render_us']:8.1f}; parse "
              f"{row['parse_us']:6.0f} us, Jinja2 {row['peer_parse_us']:8.0f}")
    for name in ("render_us", "peer_render_us", "parse_us", "peer_parse_us"):
        values = sorted(row[name] for row in rows)
        print(f"{name}: median {statistics.median(values):.1f}, nine of ten below "
              f"{values[len(values) * 9 // 10]:.1f}, worst {values[-1]:.1f}")
    ratios = [row["peer_render_us"] / row["render_us"] for row in rows]
    print(f"Jinja2 takes {statistics.median(ratios):.1f} times as long (median), {min(ratios):.1f} at least")


if __name__ == "__main__":
    main()
