#!/usr/bin/env python3
"""Writes formats/ik_formats.bin: what the tensor formats of ik_llama.cpp mean, by its own library.

For each format: one row of random blocks, its header where the format has one, and the float32 that
dequantize_row_* makes of it. Those of IQ1_BN and IQ2_BN do not read the row's scale, which its
products do: the row is given without it, and the numbers are multiplied by it here.

The library is built of two files of ik_llama.cpp (seen at commit 8337e4c), without contraction of
products and sums, and of a table of all f16 numbers, by --build PATH/ik_llama.cpp.

Layout: that of make_format_goldens.py with an input of no numbers.
Usage: make_ik_format_goldens.py --build SOURCE (needs numpy, gcc on x86-64 with AVX2)
"""
import ctypes
import os
import struct
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
# Numbers and bytes of a block, bytes of a row's header.
FORMATS = {
    "q6_0": (32, 26, 0), "iq1_bn": (64, 13, 2), "iq2_bn": (64, 16, 4), "iq2_k": (256, 76, 0),
    "iq3_k": (256, 110, 0), "iq4_k": (256, 144, 0), "iq5_k": (256, 176, 0),
    "iq6_k": (256, 212, 0), "iq4_ks": (256, 136, 4), "iq2_ks": (256, 70, 2),
    "iq4_kss": (256, 128, 4), "q8_KV": (32, 32, 8), "iq5_ks": (256, 168, 4),
    "iq2_kt": (256, 68, 4), "iq3_kt": (256, 100, 4), "iq4_kt": (256, 128, 4),
    "iq3_ks": (256, 102, 2), "iq2_kl": (256, 86, 2), "iq1_kt": (256, 56, 4),
}
FLAGS = ["-O1", "-DNDEBUG", "-fPIC", "-mavx2", "-mfma", "-mf16c", "-mbmi", "-ffp-contract=off", "-w"]
TABLE = """
float ggml_table_f32_f16[1 << 16];
__attribute__((constructor)) static void fill(void) {
  for (int i = 0; i < 1 << 16; i++) {
    unsigned short bits = i;
    _Float16 half;
    __builtin_memcpy(&half, &bits, 2);
    ggml_table_f32_f16[i] = half;
  }
}
"""


def built(source, folder):
    """Of functions that the library lacks, none is called."""
    table = os.path.join(folder, "table.c")
    with open(table, "w") as file:
        file.write(TABLE)
    objects = []
    for compiler, path in [("g++", f"{source}/ggml/src/iqk/iqk_quantize.cpp"),
                           ("gcc", f"{source}/ggml/src/ggml-quants.c"), ("gcc", table)]:
        objects.append(os.path.join(folder, os.path.basename(path) + ".o"))
        include = [f"-I{source}/ggml/{part}" for part in ("include", "src", "src/iqk")]
        subprocess.run([compiler, *FLAGS, *include, "-c", path, "-o", objects[-1]], check=True)
    library = os.path.join(folder, "libik.so")
    subprocess.run(["g++", "-shared", "-o", library, *objects, "-lm"], check=True)
    return ctypes.CDLL(library, mode=os.RTLD_LAZY)


def random_row(rng, name):
    size, n_bytes, header = FORMATS[name]
    n = max(2, 192 // size)
    blocks = rng.integers(0, 256, (n, n_bytes), dtype=np.uint8)
    if header == 0:  # an f16 in each block
        halves = rng.standard_normal(n).astype(np.float16)
        blocks[:, :2] = halves.view(np.uint8).reshape(n, 2)
    scale = rng.standard_normal(1).astype(np.float16 if header == 2 else np.float32)
    head = scale.tobytes().ljust(header, b"\x5a") if header > 0 else b""
    return head + blocks.tobytes(), n * size, scale.astype(np.float32)[0]


def decoded(library, name, row, n, scale):
    is_bn = name.endswith("_bn")
    start = FORMATS[name][2] if is_bn else 0
    buffer = ctypes.create_string_buffer(row[start:], len(row))
    numbers = np.zeros(n, np.float32)
    function = getattr(library, "dequantize_row_" + name)
    function(buffer, numbers.ctypes.data_as(ctypes.c_void_p), ctypes.c_int64(n))
    return numbers * scale if is_bn else numbers


def main():
    rng = np.random.default_rng(20261128)
    with tempfile.TemporaryDirectory() as folder:
        library = built(sys.argv[sys.argv.index("--build") + 1], folder)
        with open(os.path.join(HERE, "formats", "ik_formats.bin"), "wb") as out:
            out.write(struct.pack("<I", 0))
            for name in FORMATS:
                row, n, scale = random_row(rng, name)
                numbers = decoded(library, name, row, n, scale)
                assert np.isfinite(numbers).all(), name
                out.write(struct.pack("<16sII", name.lower().encode(), n, len(row)))
                out.write(row + numbers.tobytes() + struct.pack("<Id", 0, 0.0))


main()
