#!/usr/bin/env python3
"""What adapters cost: decode of 8 streams with 8 different adapters beside the same without, and how
long one takes to be loaded and swapped.

    bench/adapters.py --model qwen2.5-0.5b-q4_0.gguf [--rank 16] [--rounds 5] [--write docs/adapters.md]

Rounds with and without adapters take turns on one server. Needs the program and nothing else; the
adapters have random numbers, which cost what trained ones do. Prints a table, or writes it between
the marks of a page.
"""
import argparse
import array
import json
import pathlib
import random
import statistics
import struct
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(SOURCE / "tests/e2e"), str(SOURCE / "bench")]
from server import Server  # noqa: E402
from streams import STREAMS, tokens_per_second  # noqa: E402
from tables import put_into  # noqa: E402

NUMBERS = array.array("f", (random.Random(1).uniform(-0.01, 0.01) for _ in range(1 << 16)))


def shapes_of(numbers, targets):
    """{module: (n_out, n_in)} of a llama-like model."""
    n_embd, n_ff, head = numbers["n_embd"], numbers["n_ff"], numbers["head_dim"]
    q, kv = numbers["n_heads"] * head, numbers["n_kv_heads"] * head
    of_layer = {"self_attn.q_proj": (q, n_embd), "self_attn.v_proj": (kv, n_embd)}
    if targets == "all":
        of_layer |= {"self_attn.k_proj": (kv, n_embd), "self_attn.o_proj": (n_embd, q),
                     "mlp.gate_proj": (n_ff, n_embd), "mlp.up_proj": (n_ff, n_embd),
                     "mlp.down_proj": (n_embd, n_ff)}
    return {f"model.layers.{layer}.{name}": shape for layer in range(numbers["n_layers"])
            for name, shape in of_layer.items()}


def write_adapter(folder, shapes, rank, seed):
    folder.mkdir()
    header, parts, at = {}, [], 0
    for i, (module, (n_out, n_in)) in enumerate(shapes.items()):
        for half, shape in (("lora_A", (rank, n_in)), ("lora_B", (n_out, rank))):
            n = shape[0] * shape[1]
            shift = (seed * 7919 + i * 104729) % (1 << 15)
            numbers = NUMBERS[shift:] + NUMBERS * (n >> 16)
            parts.append(numbers[:n].tobytes())
            header[f"base_model.model.{module}.{half}.weight"] = {
                "dtype": "F32", "shape": shape, "data_offsets": [at, at + 4 * n]}
            at += 4 * n
    text = json.dumps(header).encode()
    (folder / "adapter_model.safetensors").write_bytes(
        struct.pack("<Q", len(text)) + text + b"".join(parts))
    (folder / "adapter_config.json").write_text(
        json.dumps({"peft_type": "LORA", "r": rank, "lora_alpha": rank}))
    return at


def decoding_speed(server, adapters, n_tokens):
    """Tokens a second of all streams together, each with its adapter, or without any."""
    return tokens_per_second(server, n_tokens, lambda i: {"lora": [adapters[i]] if adapters else []})


def milliseconds(work):
    begin = time.monotonic()
    status, answer = work()
    assert status == 200, answer
    return 1000 * (time.monotonic() - begin)


def swap_times(server, folder, n):
    """Of loading each of two adapters in turn under one name."""
    return [milliseconds(lambda: server.post("/v1/load_lora_adapter", {
        "lora_name": "swapped", "lora_path": str(folder / f"a{i % 2}"), "load_inplace": True}))
            for i in range(n)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", default=str(SOURCE / "build/release/apps/ruvllm/ruvllm"))
    parser.add_argument("--model", required=True)
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--tokens", type=int, default=48)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", type=pathlib.Path, help="a page with marks for the table")
    args = parser.parse_args()
    Server.binary, Server.model = args.binary, args.model
    lines = [f"| {STREAMS} adapters of rank {args.rank} of {pathlib.Path(args.model).stem} | MB each | tokens/s without"
             " | with | ratio | load and swap, ms, median and most |", "|---|---|---|---|---|---|"]
    lines += [row(args, targets) for targets in ("attention", "all")]
    text = "\n".join(lines) + "\n"
    if args.write:
        put_into(args.write, text, "adapters")
    else:
        print(text, end="")
    return 0


def row(args, targets):
    """Measures adapters of these targets."""
    info = json.loads(subprocess.run([args.binary, "info", "--json", "--model", args.model],
                                     capture_output=True, check=True).stdout)
    shapes = shapes_of(info["numbers"], targets)
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        names = [f"a{i}" for i in range(STREAMS)]
        n_bytes = [write_adapter(folder / name, shapes, args.rank, i) for i, name in enumerate(names)][0]
        modules = [word for name in names for word in ("--lora-modules", f"{name}={folder / name}")]
        with Server("--lora-dir", folder, *modules) as server:
            plain, adapted = [], []
            decoding_speed(server, names, 8)
            for _ in range(args.rounds):
                plain.append(decoding_speed(server, [], args.tokens))
                adapted.append(decoding_speed(server, names, args.tokens))
            loads = swap_times(server, folder, 10)
    ratios = [b / a for a, b in zip(plain, adapted)]
    what = "q and v" if targets == "attention" else "all projections"
    return (f"| {what}, {len(shapes)} matrices | {n_bytes / 1e6:.1f} | {statistics.median(plain):.1f} | "
            f"{statistics.median(adapted):.1f} | {statistics.median(ratios):.2f} ({min(ratios):.2f} to "
            f"{max(ratios):.2f}) | {statistics.median(loads):.1f}, {max(loads):.1f} |")


if __name__ == "__main__":
    sys.exit(main())
