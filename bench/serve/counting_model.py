#!/usr/bin/env python3
"""Writes GGUF files in the shapes of published models whose answers are known: after token i comes
token i + 1. Every matrix is there and is read, so a step costs what it costs in the real model; the
layers add nothing to the residual stream because their last matrices are zero, and the output
matrix is the embedding moved by one row. So a benchmark chooses what a model says by its prompt.

    bench/serve/counting_model.py build/models llama-3.2-1b:q4_0 qwen2.5-0.5b:q8_0

F16 is written here and quantised by ours (--binary). Prints the files.
"""
import argparse
import pathlib
import sys

import gguf
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from random_gguf import SHAPES, F16Block, add_arguments, quantise, write  # noqa: E402

SILENT = ("attn_output.weight", "ffn_down.weight")  # zero: the block's result is not heard
N_BYTES = 256


def byte_letters():
    """The letters that stand for bytes in byte-level BPE vocabularies, as GPT-2 publishes them."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters, extra = {b: chr(b) for b in plain}, 0
    for b in range(N_BYTES):
        if b not in letters:
            letters[b] = chr(N_BYTES + extra)
            extra += 1
    return [letters[b] for b in range(N_BYTES)]


def vocabulary(n):
    """Bytes, one merged pair, then words that tell their own id; the last is a control token."""
    letters = byte_letters()
    space = letters[ord(" ")]
    words = [f"{space}w{i}" for i in range(N_BYTES + 1, n - 1)]
    return letters + [space + "a"] + words + ["<end>"], [space + " a"]


def add_tokenizer(w, n_vocab):
    tokens, merges = vocabulary(n_vocab)
    types = [gguf.TokenType.NORMAL] * (n_vocab - 1) + [gguf.TokenType.CONTROL]
    w.add_tokenizer_model("gpt2")
    w.add_tokenizer_pre("llama-bpe")
    w.add_token_list(tokens)
    w.add_token_types(types)
    w.add_token_merges(merges)
    w.add_bos_token_id(n_vocab - 1)
    w.add_eos_token_id(n_vocab - 1)
    w.add_add_bos_token(False)


def write_f16(name, path):
    shape = SHAPES[name]
    width, n_vocab = shape.width, shape.n_vocab
    rows = np.random.default_rng(2).standard_normal((n_vocab, width), dtype=np.float32)
    rows = rows.astype(np.float16)
    source = F16Block()

    def add_tokenizer_and_output(w):
        add_tokenizer(w, n_vocab)
        w.add_tensor("output.weight", np.roll(rows, 1, axis=0))

    def add_matrix(w, tensor, dims):
        if tensor == "token_embd.weight":
            w.add_tensor(tensor, rows)
        elif tensor.endswith(SILENT):
            w.add_tensor(tensor, np.zeros(dims, dtype=np.float16))
        else:
            source.add(w, tensor, dims)

    write(path, shape, "f16", name + " that counts", add_tokenizer_and_output, add_matrix)


def made(name, kind, folder, binary):
    """The file of a shape and type, made when absent."""
    path = folder / f"{name}-counting-{kind}.gguf"
    if path.exists():
        return path
    if kind == "f16":
        write_f16(name, path)
    else:
        quantise(binary, made(name, "f16", folder, binary), kind, path)
    return path


def model_file(text, folder, binary):
    """A path, or shape:type of a counting model."""
    if pathlib.Path(text).exists():
        return pathlib.Path(text)
    name, _, kind = text.partition(":")
    if name not in SHAPES or not kind:
        sys.exit(f"{text}: neither a file nor shape:type; shapes are {', '.join(SHAPES)}")
    folder.mkdir(parents=True, exist_ok=True)
    return made(name, kind, folder, binary)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    add_arguments(p)
    args = p.parse_args()
    for model in args.models:
        print(model_file(model, args.folder, args.binary), flush=True)


if __name__ == "__main__":
    main()
