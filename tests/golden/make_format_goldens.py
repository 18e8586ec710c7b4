#!/usr/bin/env python3
"""Writes formats/formats.bin: what every tensor format means, by the gguf package.

For each format: random block bytes and the float32 they decode to; where gguf can encode, the bytes
it makes of one shared input; where only llama.cpp encodes by rounding alone (NVFP4), the bytes that
it makes; where it searches (K and IQ types), the squared error of its encoding of that input. Formats
gguf does not decode (integers, F64, Q8_1, Q8_K) are decoded here by their layout.

Second witness: when llama_cpp is installed, every decoding is compared bit by bit with
dequantize_row_* of its libggml-base. Seen with gguf 0.19.0 and llama-cpp-python 0.3.36: all 24
formats that have such a function (all but the plain ones and Q8_1) are equal in every bit.

Layout, little-endian: u32 n, n f32 (the input); then per format: char[16] name, u32 n_numbers,
u32 n_block_bytes, bytes, n_numbers f32; u32 n_encoded_bytes, bytes; f64 peer_error (0: none).

Usage: make_format_goldens.py (needs numpy, gguf; llama_cpp for NVFP4, errors and the witness)
"""
import ctypes
import os
import struct

import numpy as np
from gguf import GGMLQuantizationType as T
from gguf import GGML_QUANT_SIZES, quants

HERE = os.path.dirname(os.path.abspath(__file__))
SIZES = {t: GGML_QUANT_SIZES[t] for t in T}
SIZES[T.Q8_1] = (32, 36)  # the package still counts two float32
# Offsets of the f16 fields of a block: random bytes there could be infinite.
HALVES = {
    "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q8_1": [0, 2],
    "Q2_K": [80, 82], "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208],
    "IQ1_S": [0], "IQ2_XXS": [0], "IQ2_XS": [0], "IQ2_S": [0], "IQ3_XXS": [0], "IQ3_S": [0],
    "IQ4_NL": [0], "IQ4_XS": [0], "TQ1_0": [52], "TQ2_0": [64],
}
FORMATS = [t for t in T if t.name != "Q1_0"]
ROUNDED = ["NVFP4"]  # by llama.cpp alone
SEARCHED = ["Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "IQ4_XS", "IQ1_S", "IQ1_M",
            "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S"]
WEIGHED = ["IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS"]  # not written without weights: all are 1
INTEGERS = {"I8": np.int8, "I16": np.int16, "I32": np.int32, "I64": np.int64, "F64": np.float64}


def shared_input(rng):
    """Eight super-blocks: what weights look like, and the corners."""
    rows = [rng.standard_normal(256) * 0.02, rng.standard_t(4, 256), rng.standard_normal(256) * 7]
    rows.append(-np.abs(rng.standard_normal(256)))  # negative only
    rows.append(np.zeros(256))
    rows.append(np.where(rng.random(256) < 0.5, -1.5, 1.5))  # only ± the greatest
    huge = rng.standard_normal(256) * 0.01
    huge[100] = 30000.0  # one number drowns the rest
    rows.append(huge)
    rows.append(rng.integers(-1, 2, 256) * 0.75)  # ternary
    return np.concatenate(rows).astype(np.float32)


def random_blocks(rng, t):
    block_size, block_bytes = SIZES[t]
    n = max(3, 96 // block_size)
    blocks = rng.integers(0, 256, (n, block_bytes), dtype=np.uint8)
    for at in HALVES.get(t.name, []):
        blocks[:, at:at + 2] = rng.standard_normal(n).astype(np.float16).view(np.uint8).reshape(n, 2)
    if t == T.Q8_K:
        blocks[:, :4] = rng.standard_normal(n).astype(np.float32).view(np.uint8).reshape(n, 4)
    if t == T.IQ1_M:
        blocks[:, 55] &= 0x3F  # the top exponent bits of its scattered scale
    if t == T.MXFP4:
        blocks[:, 0] = rng.integers(0, 250, n)
    if t == T.F64:
        blocks = rng.standard_normal(n).view(np.uint8).reshape(n, 8)
    return np.ascontiguousarray(blocks)


def decoded(t, blocks):
    if t.name in INTEGERS:
        return blocks.reshape(-1).view(INTEGERS[t.name]).astype(np.float32)
    if t == T.Q8_1:
        d = blocks[:, :2].copy().view(np.float16).astype(np.float32)
        return (blocks[:, 4:].view(np.int8).astype(np.float32) * d).reshape(-1)
    if t == T.Q8_K:
        d = blocks[:, :4].copy().view(np.float32)
        return (blocks[:, 4:260].view(np.int8).astype(np.float32) * d).reshape(-1)
    return quants.dequantize(blocks.reshape(-1), t).reshape(-1)


def peer_library():
    try:
        import llama_cpp
    except ImportError:
        return None
    folder = os.path.join(os.path.dirname(llama_cpp.__file__), "lib")
    return ctypes.CDLL(os.path.join(folder, "libggml-base.so"))


def pointer(array):
    return ctypes.c_void_p(array.ctypes.data)


def check_witness(peer, t, blocks, numbers):
    decode = getattr(peer, "dequantize_row_" + t.name.lower().replace("_k", "_K"), None)
    if decode is None:
        return False
    other = np.empty_like(numbers)
    decode(pointer(blocks), pointer(other), ctypes.c_int64(numbers.size))
    assert np.array_equal(other.view(np.uint32), numbers.view(np.uint32)), t.name
    return True


def peer_encoded(peer, t, x):
    block_size, block_bytes = SIZES[t]
    out = np.zeros(x.size // block_size * block_bytes, np.uint8)
    i64 = ctypes.c_int64
    ones = np.ones(256, np.float32)
    peer.ggml_quantize_chunk(ctypes.c_int(int(t)), pointer(x), pointer(out), i64(0),
                             i64(x.size // 256), i64(256),
                             pointer(ones) if t.name in WEIGHED else None)
    return out


def peer_error(peer, t, x):
    out = peer_encoded(peer, t, x)
    off = quants.dequantize(out, t).reshape(-1).astype(np.float64) - x
    return float((off ** 2).sum())


def main():
    rng = np.random.default_rng(20240601)
    peer = peer_library()
    x = shared_input(rng)
    normal = x[:4 * 256].copy()  # the error is judged without the corners
    out = [struct.pack("<I", x.size), x.tobytes()]
    witnessed = 0
    for t in FORMATS:
        blocks = random_blocks(rng, t)
        with np.errstate(over="ignore"):
            numbers = decoded(t, blocks)
        if peer is not None:
            witnessed += check_witness(peer, t, blocks, numbers)
        try:
            encoded = quants.quantize(x, t).view(np.uint8).tobytes()
        except NotImplementedError:
            encoded = peer_encoded(peer, t, x).tobytes() if t.name in ROUNDED else b""
        error = peer_error(peer, t, normal) if peer is not None and t.name in SEARCHED else 0.0
        out.append(struct.pack("<16sII", t.name.lower().encode(), numbers.size, blocks.size))
        out += [blocks.tobytes(), numbers.astype(np.float32).tobytes()]
        out += [struct.pack("<I", len(encoded)), encoded, struct.pack("<d", error)]
    with open(os.path.join(HERE, "formats", "formats.bin"), "wb") as file:
        file.write(b"".join(out))
    print(f"{len(FORMATS)} formats, {sum(map(len, out))} bytes, {witnessed} witnessed")


main()
