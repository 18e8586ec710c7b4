#!/usr/bin/env python3
"""llama.cpp's quantiser, through llama-cpp-python, in a process of its own.

    peer_quantizer.py SOURCE.gguf OUT.gguf TYPE [--imatrix FILE] [--threads 1]

TYPE is a name as `ruvllm quantize` has it. Prints one JSON object: the seconds that the call took,
and the process's peak memory, of which base_bytes were there before the call. Exit code 1: the
quantiser refused, and says why on stderr.
"""
import argparse
import ctypes
import json
import pathlib
import subprocess
import sys
import time

import gguf
import llama_cpp
import numpy as np


def quiet():
    """Only warnings and errors are shown. The result must outlive what llama.cpp says."""
    warning = 3
    callback = llama_cpp.llama_log_callback(lambda level, text, user: sys.stderr.write(
        text.decode(errors="replace")) if level >= warning else None)
    llama_cpp.llama_log_set(callback, ctypes.c_void_p(0))
    return callback


def peak_memory(pid="self"):
    """The most memory that a process had resident, in bytes; 0 where it has ended."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    lines = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(lines[0].split()[1]) * 1024 if lines else 0


def importance_of(path):
    """Mean squares by tensor: of all its matrices in one row, ones where nothing was measured.
    The embedding of a tied model is left out, as llama.cpp's own tool measures `blk.` and the
    output alone."""
    tensors = {t.name: np.array(t.data, np.float32) for t in gguf.GGUFReader(path).tensors}
    means = {}
    for key, sums in tensors.items():
        name, _, part = key.rpartition(".")
        if part != "in_sum2" or name == "token_embd.weight":
            continue
        counts = tensors[name + ".counts"].reshape(-1, 1)
        sums = sums.reshape(len(counts), -1)
        mean = np.where(counts > 0, sums / np.maximum(counts, 1), 1)
        means[name] = np.ascontiguousarray(mean.reshape(-1), np.float32)
    return means


def as_entries(means):
    """An array that ends with an empty entry; it refers to the numbers."""
    entries = (llama_cpp.llama_model_imatrix_data * (len(means) + 1))()
    for entry, (name, mean) in zip(entries, means.items()):
        entry.name, entry.size = name.encode(), mean.size
        entry.data = mean.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
    return entries


def quantize(source, out, kind, imatrix=None, threads=1):
    """The seconds that it took; None where llama.cpp refused."""
    params = llama_cpp.llama_model_quantize_default_params()
    name = "ALL_F32" if kind == "f32" else "MOSTLY_" + kind.upper()
    params.ftype = getattr(llama_cpp, "LLAMA_FTYPE_" + name)
    params.nthread = threads
    means = importance_of(imatrix) if imatrix else {}
    entries = as_entries(means)
    if means:
        params.imatrix = ctypes.cast(entries, type(params.imatrix))
    begin = time.perf_counter()
    failed = llama_cpp.llama_model_quantize(str(source).encode(), str(out).encode(), params)
    return None if failed else time.perf_counter() - begin


def by_peer(source, out, kind, imatrix=None, threads=1):
    """What this program prints, called as a process; None and why where llama.cpp refused."""
    command = [sys.executable, __file__, str(source), str(out), kind, "--threads", str(threads)]
    done = subprocess.run(command + (["--imatrix", str(imatrix)] if imatrix else []),
                          capture_output=True, text=True, errors="replace")
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip(" =")]
        return None, said[-1][:200] if said else f"exit code {done.returncode}"
    return json.loads(done.stdout), ""


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("source")
    p.add_argument("out")
    p.add_argument("type")
    p.add_argument("--imatrix")
    p.add_argument("--threads", type=int, default=1)
    args = p.parse_args()
    log = quiet()

    base = peak_memory()
    seconds = quantize(args.source, args.out, args.type, args.imatrix, args.threads)
    del log
    if seconds is None:
        sys.exit(1)
    print(json.dumps({"seconds": seconds, "peak_bytes": peak_memory(), "base_bytes": base,
                      "version": llama_cpp.__version__}))


if __name__ == "__main__":
    main()
