#!/usr/bin/env python3
"""Encoders of block formats beside those of llama.cpp: error and time on one thread.

The numbers are rows of weights as models have them (normal, and Student's t with 4 degrees of
freedom, whose few large numbers are harder), with and without an importance of columns. Each side
encodes the same rows, by turns; the error is the weighted square of what is lost, relative to that
of the rows, and both sides' bytes are read back by the gguf package. Where llama.cpp writes nothing
without importance, it gets ones. Time is that of the processor, the least of all rounds.

Our encoders are taken from build/release/src/tensor/libruv_tensor.a by a library of one function,
which is compiled beside it.

Usage: encoders.py [--types q4_k iq2_xs …] [--rounds 5] [--write]
  (needs numpy, gguf, llama_cpp and g++; --write puts the table into docs/quantising.md)
"""
import argparse
import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Types

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from tables import as_line, put_into  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs/quantising.md"
ALL = ["q4_0", "q8_0", "q2_k", "q3_k", "q4_k", "q5_k", "q6_k", "iq1_s", "iq1_m", "iq2_xxs",
       "iq2_xs", "iq2_s", "iq3_xxs", "iq3_s", "iq4_nl", "iq4_xs"]
NEED_WEIGHTS = ["iq1_s", "iq1_m", "iq2_xxs", "iq2_xs"]
N_ROWS, N_COLUMNS = 32, 2048
SOURCE = """
#include "tensor/format.h"
extern "C" void encode(const char* name, const float* x, const float* importance, void* to,
                       long long n_rows, long long n_columns) {
  const ruv::Format& format = *ruv::find_format(std::string_view(name));
  for (long long row = 0; row < n_rows; ++row) {
    format.encode(x + row * n_columns, importance,
                  static_cast<char*>(to) + row * format.bytes_of(n_columns), n_columns);
  }
}
"""


def our_library(folder):
    source, library = f"{folder}/encode.cpp", f"{folder}/encode.so"
    pathlib.Path(source).write_text(SOURCE)
    archive = ROOT / "build/release/src/tensor/libruv_tensor.a"
    subprocess.run(["g++", "-std=c++20", "-O2", "-shared", "-fPIC", f"-I{ROOT}/src", source,
                    str(archive), "-o", library], check=True)
    return ctypes.CDLL(library)


def their_library():
    import llama_cpp
    folder = os.path.join(os.path.dirname(llama_cpp.__file__), "lib")
    return ctypes.CDLL(os.path.join(folder, "libggml-base.so"), mode=os.RTLD_LAZY)


def at(array):
    return None if array is None else ctypes.c_void_p(array.ctypes.data)


def encoders(ours, theirs, name):
    kind = ctypes.c_int(int(Types[name.upper()]))
    i64 = ctypes.c_longlong
    theirs.ggml_quantize_init(kind)

    def by_us(x, importance, to):
        ours.encode(name.encode(), at(x), at(importance), at(to), i64(len(x)), i64(x.shape[1]))

    def by_them(x, importance, to):
        if importance is None and name in NEED_WEIGHTS:
            importance = np.ones(x.shape[1], np.float32)
        theirs.ggml_quantize_chunk(kind, at(x), at(to), i64(0), i64(len(x)), i64(x.shape[1]),
                                   at(importance))
    return by_us, by_them


def lost(name, x, importance, encoded):
    kind = Types[name.upper()]
    back = gguf.quants.dequantize(encoded.reshape(len(x), -1), kind).astype(np.float64)
    weights = 1.0 if importance is None else importance.astype(np.float64)
    return (weights * (back - x) ** 2).sum() / (weights * x.astype(np.float64) ** 2).sum()


def compared(ours, theirs, name, x, importance, rounds):
    """(error, seconds) of ours and theirs."""
    size, n_bytes = gguf.GGML_QUANT_SIZES[Types[name.upper()]]
    results = []
    sides = encoders(ours, theirs, name)
    buffers = [np.zeros(x.size // size * n_bytes, np.uint8) for _ in sides]
    seconds = [float("inf")] * 2
    for _ in range(rounds):
        for i, encode in enumerate(sides):
            begin = time.process_time()
            encode(x, importance, buffers[i])
            seconds[i] = min(seconds[i], time.process_time() - begin)
    for buffer, time_taken in zip(buffers, seconds):
        results.append((lost(name, x, importance, buffer), time_taken))
    return results


def table_of(ours, theirs, names, rounds):
    rng = np.random.default_rng(5)
    shape = (N_ROWS, N_COLUMNS)
    rows = {"normal": rng.standard_normal(shape), "t": rng.standard_t(4, shape)}
    columns = np.exp(rng.standard_normal(N_COLUMNS)).astype(np.float32)
    lines = [as_line(["type", "rows", "importance", "our error", "of llama.cpp's", "M numbers/s",
                      "speed of llama.cpp's"]), "|---|---|---|---:|---:|---:|---:|"]
    for name in names:
        for kind, x in rows.items():
            x = (0.02 * x).astype(np.float32)
            for importance in (None, columns):
                (error, seconds), (error_2, seconds_2) = compared(ours, theirs, name, x,
                                                                  importance, rounds)
                lines.append(as_line([
                    f"`{name}`", kind, "no" if importance is None else "yes", f"{error:.3g}",
                    f"{error / error_2:.3f}", f"{x.size / seconds / 1e6:.1f}",
                    f"{seconds_2 / seconds:.2f}"]))
                print(lines[-1], flush=True)
    return "\n".join(lines) + "\n"


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--types", nargs="+", default=ALL, choices=ALL)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--write", action="store_true", help=f"into {PAGE.relative_to(ROOT)}")
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        table = table_of(our_library(folder), their_library(), args.types, args.rounds)
    if args.write:
        put_into(PAGE, table, "encoders.py")


main()
