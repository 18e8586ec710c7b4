#!/usr/bin/env python3
"""Writes an F16 or F32 GGUF model of the qwen2 family again with outlier channels in its keys, as
large trained Qwen models have them, to measure what types of keys and values lose there.

    outlier_keys.py bias IN.gguf OUT.gguf    # key biases of 50 to 300 in the slowest channels
    outlier_keys.py scale IN.gguf OUT.gguf   # channels of keys times 30, of queries over 30

`scale` leaves the model's function as it is. `bias` nearly does: what a bias adds to the score of a
key is the same for all keys but for the rotation by their distance, and that is 0.006 radians at
most over 1000 tokens in the four slowest pairs (base 1e6, heads of 64).
"""
import argparse

import gguf
import numpy as np

SLOWEST = 4  # pairs of channels, in every layer and head
SCALE = 30


def slow_channels(head, n_heads):
    """Rows of a matrix of heads: both halves of each of the slowest rope pairs."""
    pairs = np.arange(head // 2 - SLOWEST, head // 2)
    one = np.concatenate([pairs, pairs + head // 2])
    return (np.arange(n_heads)[:, None] * head + one).reshape(-1)


def scaled_channels(head, n_heads):
    pairs = np.array([3, head // 4, head // 2 - 5])
    one = np.concatenate([pairs, pairs + head // 2])
    return (np.arange(n_heads)[:, None] * head + one).reshape(-1)


def changed(kind, name, x, head):
    part = name.split(".")[2] if name.startswith("blk.") else ""
    if part not in ("attn_q", "attn_k"):
        return x
    layer = int(name.split(".")[1])
    if kind == "bias":
        if part == "attn_k" and name.endswith("bias"):
            rng = np.random.default_rng(layer)
            rows = slow_channels(head, len(x) // head)
            x[rows] += rng.uniform(50, 300, len(rows)) * rng.choice([-1, 1], len(rows))
        return x
    x[scaled_channels(head, len(x) // head)] *= SCALE if part == "attn_k" else 1 / SCALE
    return x


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("kind", choices=["bias", "scale"])
    p.add_argument("source")
    p.add_argument("target")
    args = p.parse_args()
    reader = gguf.GGUFReader(args.source)
    arch = reader.fields["general.architecture"].contents()
    number = lambda key: reader.fields[f"{arch}.{key}"].contents()
    head = number("embedding_length") // number("attention.head_count")
    writer = gguf.GGUFWriter(args.target, arch)
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name == "general.architecture":
            continue
        sub = field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(field.name, field.contents(), field.types[0], sub_type=sub)
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, changed(args.kind, tensor.name, tensor.data.copy(), head))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
