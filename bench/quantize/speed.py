#!/usr/bin/env python3
"""Whole files: `ruvllm quantize` beside llama.cpp's llama_model_quantize, with equal threads, by
turns.

The file is one of random weights in the shape of a layer of Llama 3.2 1B with a small vocabulary,
made when absent. Ours is a process from its start to its end, theirs the call alone; the time is
the least of all rounds. Memory is the peak of resident memory, in which both count pages of the
mapped model that they have read; from theirs, what the process had before the call is taken away.
The last column is ours less the largest tensor of the source, which is meant to be at most 64 MB.

Ours is looked at every 4 ms, since the kernel adds to a process's own figure that of its parent.

Usage: speed.py [--types q4_k_m q8_0 …] [--rounds 2] [--threads 2] [--imatrix] [--write]
  (needs numpy, gguf and llama_cpp; --write puts the table into docs/quantising.md)
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import gguf
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from peer_quantizer import by_peer, peak_memory  # noqa: E402
from random_gguf import BINARY, ROOT, F16Block, Shape, write  # noqa: E402
from tables import as_line, put_into  # noqa: E402

PAGE = ROOT / "docs/quantising.md"
TYPES = ["q8_0", "q4_0", "q6_k", "q4_k_m", "q2_k", "iq4_xs"]
SHAPE = Shape("llama", 1, 2048, 32, 8, 64, 8192, 16384)
MB = 1 << 20


def make_source(path):
    if not path.exists():
        write(path, SHAPE, "f16", "random weights", lambda w: w.add_tokenizer_model("none"),
              F16Block().add)
    return path


def make_importance(source, path):
    """Columns that differ by factors, as those of models do."""
    rng = np.random.default_rng(3)
    writer = gguf.GGUFWriter(path, "")
    writer.add_type("imatrix")
    writer.add_uint32("imatrix.chunk_count", 1)
    writer.add_uint32("imatrix.chunk_size", 512)
    writer.add_array("imatrix.datasets", ["random"])
    for tensor in gguf.GGUFReader(source).tensors:
        if len(tensor.shape) == 2 and tensor.name != "token_embd.weight":
            sums = np.exp(rng.standard_normal((1, int(tensor.shape[0])))).astype(np.float32)
            writer.add_tensor(f"{tensor.name}.in_sum2", sums)
            writer.add_tensor(f"{tensor.name}.counts", np.ones((1, 1), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def by_us(binary, source, out, kind, imatrix, threads):
    """(seconds, peak bytes)"""
    command = [binary, "quantize", "--model", source, "--out", out, "--type", kind, "--force",
               "--even-if-unsupported", "--threads", threads]
    command += ["--imatrix", imatrix] if imatrix else []
    begin = time.perf_counter()
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    peak = 0
    while process.poll() is None:
        peak = max(peak, peak_memory(process.pid))
        time.sleep(0.004)
    if process.returncode:
        raise SystemExit(f"exit code {process.returncode}: {' '.join(map(str, command))}")
    return time.perf_counter() - begin, peak


def compare(args, source, kind, imatrix, folder):
    """Seconds and peak memory of ours and theirs."""
    seconds, peaks = [float("inf")] * 2, [0, 0]
    out = pathlib.Path(folder) / "out.gguf"
    for _ in range(args.rounds):
        ours = by_us(args.binary, source, out, kind, imatrix, args.threads)
        made, why = by_peer(source, out, kind, imatrix, args.threads)
        if made is None:
            raise SystemExit(f"llama.cpp writes no {kind}: {why}")
        theirs = made["seconds"], made["peak_bytes"] - made["base_bytes"]
        for i, (taken, peak) in enumerate((ours, theirs)):
            seconds[i], peaks[i] = min(seconds[i], taken), max(peaks[i], peak)
    return seconds, peaks


def table_of(args, source, folder):
    largest = max(t.n_bytes for t in gguf.GGUFReader(source).tensors)
    weights = sum(int(t.n_elements) for t in gguf.GGUFReader(source).tensors)
    lines = [as_line(["type", "importance", "seconds", "llama.cpp", "speed of llama.cpp's",
                      "M weights/s", "peak MB", "llama.cpp", "above the largest tensor"]),
             "|---|---|" + "---:|" * 7]
    for kind in args.types:
        for imatrix in [None] + ([make_importance(source, f"{folder}/imatrix.gguf")]
                                 if args.imatrix else []):
            (ours, theirs), (peak, other) = compare(args, source, kind, imatrix, folder)
            lines.append(as_line([
                f"`{kind}`", "yes" if imatrix else "no", f"{ours:.2f}", f"{theirs:.2f}",
                f"{theirs / ours:.2f}", f"{weights / ours / 1e6:.1f}", f"{peak / MB:.0f}",
                f"{other / MB:.0f}", f"{(peak - largest) / MB:.0f}"]))
            print(lines[-1], flush=True)
    note = (f"A file of {os.path.getsize(source) / MB:.0f} MB with {weights / 1e6:.0f} M weights, "
            f"whose largest tensor has {largest / MB:.0f} MB; {args.threads} threads.")
    return "\n".join(lines) + f"\n\n{note}\n"


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--types", nargs="+", default=TYPES)
    p.add_argument("--rounds", type=int, default=2)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--imatrix", action="store_true", help="each type also with importance")
    p.add_argument("--binary", type=pathlib.Path, default=BINARY)
    p.add_argument("--source", type=pathlib.Path, default=ROOT / "build/models/quantise-f16.gguf")
    p.add_argument("--write", action="store_true", help=f"into {PAGE.relative_to(ROOT)}")
    args = p.parse_args()
    args.source.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        table = table_of(args, make_source(args.source), folder)
    if args.write:
        put_into(PAGE, table, "speed.py")


main()
