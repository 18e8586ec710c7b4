#!/usr/bin/env python3
"""Writes GGUF files of random weights in the shapes of published models, for measuring speed where
the real weights are not at hand: speed does not depend on what the weights say. One block of random
numbers is repeated, which no engine can make use of.

    make_models.py build/models qwen2.5-0.5b:f16 qwen2.5-0.5b:q4_k_m llama-3.2-1b:q8_0 qwen2.5-3b:q4_0

F16 is written here and quantised by ours (--binary). Of the large shapes no F16 file is made: their
matrices repeat quantised blocks of the 1B file of the same type. Prints the files.
"""
import argparse
import math

import gguf
import numpy as np

from random_gguf import BLOCK, SHAPES, F16Block, add_arguments, quantise, write

LARGE = {"qwen2.5-3b", "olmoe-1b-7b", "granite-3b-a800m"}
SEED = "llama-3.2-1b"
T = gguf.GGMLQuantizationType
# type of the layers, of the values' and down matrices where more bits are spent, of the embedding
TYPES = {"q8_0": (T.Q8_0, T.Q8_0, T.Q8_0), "q4_0": (T.Q4_0, T.Q4_0, T.Q6_K),
         "q4_k_m": (T.Q4_K, T.Q6_K, T.Q6_K)}


def gets_more_bits(name, n_layers):
    """The layers whose attn_v and ffn_down a "medium" mixture stores in the next larger type."""
    if not name.endswith(("attn_v.weight", "ffn_down.weight", "ffn_down_exps.weight")):
        return False
    i = int(name.split(".")[1])
    return i < n_layers // 8 or i >= 7 * n_layers // 8 or (i - n_layers // 8) % 3 == 2


class QuantisedBlocks:
    """Matrices that repeat the bytes of a quantised file's, type by type."""

    def __init__(self, kind, n_layers, file):
        self.types, self.n_layers, self.bytes = TYPES[kind], n_layers, {}
        for tensor in gguf.GGUFReader(file).tensors:
            self.bytes.setdefault(tensor.tensor_type, np.array(tensor.data).reshape(-1)[:BLOCK])

    def add(self, writer, name, dims):
        small, large, embedding = self.types
        kind = (embedding if name in ("token_embd.weight", "output.weight") else
                large if gets_more_bits(name, self.n_layers) else small)
        n_block, n_bytes = gguf.GGML_QUANT_SIZES[kind]
        row = dims[-1] // n_block * n_bytes
        block = self.bytes[kind]
        x = np.resize(block[:len(block) // n_bytes * n_bytes], math.prod(dims[:-1]) * row)
        writer.add_tensor(name, x.reshape(*dims[:-1], row), raw_dtype=kind)


def write_random(name, kind, source, path):
    write(path, SHAPES[name], kind, name + " with random weights",
          lambda w: w.add_tokenizer_model("none"), source.add)


def made(name, kind, folder, binary):
    """The file of a shape and type, made when absent."""
    path = folder / f"{name}-{kind}.gguf"
    if path.exists():
        return path
    if kind == "f16":
        write_random(name, kind, F16Block(), path)
    elif name in LARGE:
        seed = made(SEED, kind, folder, binary)
        write_random(name, kind, QuantisedBlocks(kind, SHAPES[name].n_layers, seed), path)
    else:
        quantise(binary, made(name, "f16", folder, binary), kind, path)
    return path


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    add_arguments(p)
    args = p.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    for model in args.models:
        name, _, kind = model.partition(":")
        if name not in SHAPES or not kind or (name in LARGE and kind not in TYPES):
            p.error(f"{model}: shapes are {', '.join(SHAPES)}; {', '.join(LARGE)} in "
                    f"{', '.join(TYPES)}")
        print(made(name, kind, args.folder, args.binary), flush=True)


if __name__ == "__main__":
    main()
