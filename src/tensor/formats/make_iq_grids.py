#!/usr/bin/env python3
"""Writes iq_grids.cpp: the codebooks of the IQ formats, from the tables of the gguf package.

A codebook entry becomes one 16-bit number: 8 values of 2 bits, or 4 values of 4 bits, first value
lowest. The values are indices into the few magnitudes a book uses.
Usage: make_iq_grids.py > iq_grids.cpp
"""
import numpy as np
from gguf import quants

BOOKS = [  # name, class, bits of an index
    ("kGridIq2Xxs", quants.IQ2_XXS, 2),
    ("kGridIq2Xs", quants.IQ2_XS, 2),
    ("kGridIq2S", quants.IQ2_S, 2),
    ("kGridIq3Xxs", quants.IQ3_XXS, 4),
    ("kGridIq3S", quants.IQ3_S, 4),
    ("kGridIq1S", quants.IQ1_S, 2),
]


def packed(book, bits):
    book.init_grid()
    values = book.grid.reshape(book.grid_shape)
    index = np.searchsorted(np.array(book.grid_map), values)
    return (index.astype(np.uint32) << (np.arange(book.grid_shape[1]) * bits)).sum(axis=1)


print("// Codebooks of the IQ formats. Written by make_iq_grids.py: do not edit.")
print('#include "tensor/formats/iq_grids.h"\n\nnamespace ruv {\n\n// clang-format off')
for name, book, bits in BOOKS:
    words = packed(book, bits)
    print(f"const uint16_t {name}[{len(words)}] = {{")
    for i in range(0, len(words), 12):
        print("    " + " ".join(f"0x{w:04X}," for w in words[i:i + 12]))
    print("};")
print("// clang-format on\n\n}  // namespace ruv")
