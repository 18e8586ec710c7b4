#!/usr/bin/env python3
"""Decodes a model larger than the memory that its process may use, beside what the disk allows.

    bench/larger_than_memory.py build/models/olmoe-1b-7b-q4_k_m.gguf
    bench/larger_than_memory.py MODEL --share 1.5 --tokens 32 --into docs/performance.md

The packed file is written first, without a limit. Then a control group is limited to its bytes over
--share, and two runs of other lengths are made in it: what the longer one reads beyond the shorter is
decode alone. The disk's rate is that of reading the packed file past the page cache, in
pieces of an expert's size, two at a time. Needs root for the control group (version 1 or 2).
"""
import argparse
import concurrent.futures
import json
import mmap
import os
import pathlib
import random
import subprocess
import time

from tables import put_into

ROOT = pathlib.Path(__file__).resolve().parent.parent
GROUPS = pathlib.Path("/sys/fs/cgroup")
PIECE = 2 << 20
DISK_SECONDS = 5


class Group:
    """A control group with a limit on memory; version 1 has its controllers in folders."""

    def __init__(self, limit):
        old = (GROUPS / "memory").is_dir()
        self.path = (GROUPS / "memory" if old else GROUPS) / f"ruvllm-{os.getpid()}"
        self.path.mkdir()
        name = "memory.limit_in_bytes" if old else "memory.max"
        (self.path / name).write_text(str(limit))

    def join(self):
        (self.path / "cgroup.procs").write_text(str(os.getpid()))

    def close(self):
        self.path.rmdir()


def disk_bytes_per_s(path):
    size = path.stat().st_size // PIECE * PIECE
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    end = time.monotonic() + DISK_SECONDS

    def read(seed):
        draw, n = random.Random(seed), 0
        with mmap.mmap(-1, PIECE) as buffer:
            while time.monotonic() < end:
                n += os.preadv(fd, [buffer], draw.randrange(0, size, PIECE))
        return n

    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        n = sum(pool.map(read, (1, 2)))
    os.close(fd)
    return n / (time.monotonic() - begin)


def forget(path):
    """Gives up what memory has of a file: pages that are there already count for no group."""
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


def run(args, cache, n_tokens, group=None):
    """The report of a bench of n_tokens, and the bytes it read."""
    command = [args.binary, "bench", "--model", args.model, "-p", "0", "-n", str(n_tokens), "-r", "1",
               "--packed-cache", cache, "--json"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                             preexec_fn=group.join if group else None)
    out = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        raise SystemExit(f"{' '.join(map(str, command))}: ended with {status}")
    return json.loads(out), usage.ru_inblock * 512


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("model", type=pathlib.Path)
    p.add_argument("--share", type=float, default=1.3, help="weights over the memory there is")
    p.add_argument("--tokens", type=int, default=24)
    p.add_argument("--cache", type=pathlib.Path, default=ROOT / "build/packed")
    p.add_argument("--binary", type=pathlib.Path, default=ROOT / "build/release/apps/ruvllm/ruvllm")
    p.add_argument("--into", type=pathlib.Path, help="the page that the table is put into")
    args = p.parse_args()
    plain, _ = run(args, args.cache, args.tokens)
    packed = max(args.cache.glob("*.ruvpack"), key=lambda f: f.stat().st_atime_ns)
    limit = int(packed.stat().st_size / args.share)
    disk = disk_bytes_per_s(packed)
    group = Group(limit)
    try:
        forget(args.model)
        forget(packed)
        short, short_bytes = run(args, args.cache, args.tokens, group)
        forget(packed)
        long, long_bytes = run(args, args.cache, 3 * args.tokens, group)
    finally:
        group.close()
    per_token = (long_bytes - short_bytes) / (2 * args.tokens)
    speeds = [r["decode"]["tokens_per_s"] for r in (plain, short, long)]
    rows = (("packed weights", f"{packed.stat().st_size / 1e9:.2f} GB"),
            ("memory of the process", f"{limit / 1e9:.2f} GB"),
            ("disk, random pieces of 2 MiB, two at a time", f"{disk / 1e9:.2f} GB/s"),
            ("decode with all of it in memory", f"{speeds[0]:.1f} tokens/s"),
            ("decode within the limit", f"{speeds[2]:.1f} tokens/s"),
            ("read per token", f"{per_token / 1e6:.0f} MB"),
            ("share of the disk's rate", f"{100 * speeds[2] * per_token / disk:.0f} %"))
    text = "\n".join([f"| {args.model.stem} | |", "|---|---|",
                      *(f"| {name} | {value} |" for name, value in rows)]) + "\n"
    print(text)
    if args.into:
        put_into(args.into, text, "larger")


if __name__ == "__main__":
    main()
