#!/usr/bin/env python3
"""Writes ik_levels.cpp: the levels of ik_llama.cpp's formats, which are facts of its files.

The numbers are read from the tables iq2nl_values, iq3nl_values, iq4k_values, iq5nl_values and
iq2kl_values of its ggml/src/ggml-common.h (seen at commit 8337e4c).
Usage: make_ik_levels.py PATH/ggml-common.h > ik_levels.cpp
"""
import re
import sys

TABLES = [("kLevelsIk2", "iq2nl_values"), ("kLevelsIk3", "iq3nl_values"),
          ("kLevelsIk4", "iq4k_values"), ("kLevelsIk5", "iq5nl_values")]


def numbers_of(source, name):
    body = re.search(r"GGML_TABLE_BEGIN\(\w+, %s, \d+\)(.*?)GGML_TABLE_END" % name, source, re.S)
    return [int(n, 0) for n in re.findall(r"-?0x[0-9a-f]+|-?\d+", body[1])]


def put(declaration, numbers):
    print(f"const int8_t {declaration}[{len(numbers)}] = {{")
    for i in range(0, len(numbers), 16):
        print("    " + " ".join(f"{n}," for n in numbers[i:i + 16]))
    print("};")


source = open(sys.argv[1]).read()
print("// Levels of ik_llama.cpp's formats. Written by make_ik_levels.py: do not edit.")
print('#include "tensor/formats/ik_levels.h"\n\nnamespace ruv {\n\n// clang-format off')
for ours, theirs in TABLES:
    put(ours, numbers_of(source, theirs))
pairs = numbers_of(source, "iq2kl_values")
put("kPairsIk2Kl", [(byte ^ 128) - 128 for word in pairs for byte in (word & 255, word >> 8)])
print("// clang-format on\n\n}  // namespace ruv")
