#!/usr/bin/env python3
"""Writes GGUF files of random weights in the shapes of published models, for measuring speed where
the real weights are not at hand: speed does not depend on what the weights say. One block of random
numbers is repeated, which no engine can make use of.

    make_models.py build/models qwen2.5-0.5b:f16 qwen2.5-0.5b:q4_k_m llama-3.2-1b:q8_0 qwen2.5-3b:q4_0

F16 is written here and quantised by ours (--binary). Of the large shapes no F16 file is made: their
matrices repeat quantised blocks of the 1B file of the same type. Prints the files.
"""
import argparse
import pathlib
import subprocess

import gguf
import numpy as np

# architecture, layers, width, query heads, key/value heads, head size, feed-forward, vocabulary
SHAPES = {
    "qwen2.5-0.5b": ("qwen2", 24, 896, 14, 2, 64, 4864, 151936),
    "llama-3.2-1b": ("llama", 16, 2048, 32, 8, 64, 8192, 128256),
    "qwen2.5-3b": ("qwen2", 36, 2048, 16, 2, 128, 11008, 151936),
}
LARGE = {"qwen2.5-3b"}
SEED = "llama-3.2-1b"
BLOCK = 1 << 22  # random numbers that repeat
T = gguf.GGMLQuantizationType
# type of the layers, of the values' and down matrices where more bits are spent, of the embedding
TYPES = {"q8_0": (T.Q8_0, T.Q8_0, T.Q8_0), "q4_0": (T.Q4_0, T.Q4_0, T.Q6_K),
         "q4_k_m": (T.Q4_K, T.Q6_K, T.Q6_K)}


def tensors(shape):
    """(name, shape) of every tensor; the embedding is the output matrix as well."""
    arch, n_layers, width, n_heads, n_kv, head, hidden, n_vocab = shape
    yield "token_embd.weight", (n_vocab, width)
    yield "output_norm.weight", (width,)
    if arch == "llama":
        yield "rope_freqs.weight", (head // 2,)
    for i in range(n_layers):
        block = {"attn_norm": (width,), "ffn_norm": (width,), "attn_q": (n_heads * head, width),
                 "attn_k": (n_kv * head, width), "attn_v": (n_kv * head, width),
                 "attn_output": (width, n_heads * head), "ffn_gate": (hidden, width),
                 "ffn_up": (hidden, width), "ffn_down": (width, hidden)}
        for name, dims in block.items():
            yield f"blk.{i}.{name}.weight", dims
        if arch == "qwen2":
            for name in ("attn_q", "attn_k", "attn_v"):
                yield f"blk.{i}.{name}.bias", block[name][:1]


def gets_more_bits(name, n_layers):
    """The layers whose attn_v and ffn_down a "medium" mixture stores in the next larger type."""
    if not name.endswith(("attn_v.weight", "ffn_down.weight")):
        return False
    i = int(name.split(".")[1])
    return i < n_layers // 8 or i >= 7 * n_layers // 8 or (i - n_layers // 8) % 3 == 2


def repeated(block, n):
    return np.resize(block, n)


class F16Block:
    """Random F16 matrices, scaled as a trained model's are."""

    def __init__(self):
        self.block = np.random.default_rng(1).standard_normal(BLOCK, dtype=np.float32)

    def add(self, writer, name, dims):
        scale = np.float32(0.7 / dims[1] ** 0.5)
        x = repeated((self.block * scale).astype(np.float16), dims[0] * dims[1])
        writer.add_tensor(name, x.reshape(dims))


class QuantisedBlocks:
    """Matrices that repeat the bytes of a quantised file's, type by type."""

    def __init__(self, kind, n_layers, file):
        self.types, self.n_layers, self.bytes = TYPES[kind], n_layers, {}
        for tensor in gguf.GGUFReader(file).tensors:
            self.bytes.setdefault(tensor.tensor_type, np.array(tensor.data).reshape(-1)[:BLOCK])

    def add(self, writer, name, dims):
        small, large, embedding = self.types
        kind = (embedding if name == "token_embd.weight" else
                large if gets_more_bits(name, self.n_layers) else small)
        n_block, n_bytes = gguf.GGML_QUANT_SIZES[kind]
        row = dims[1] // n_block * n_bytes
        block = self.bytes[kind]
        x = repeated(block[:len(block) // n_bytes * n_bytes], dims[0] * row)
        writer.add_tensor(name, x.reshape(dims[0], row), raw_dtype=kind)


def write(name, kind, source, path):
    shape = SHAPES[name]
    arch, n_layers, width, n_heads, n_kv, head, hidden, n_vocab = shape
    w = gguf.GGUFWriter(path.with_suffix(".part"), arch)
    w.add_name(name + " with random weights")
    w.add_file_type(gguf.LlamaFileType[f"MOSTLY_{kind.upper()}"])
    w.add_context_length(32768)
    w.add_embedding_length(width)
    w.add_block_count(n_layers)
    w.add_feed_forward_length(hidden)
    w.add_head_count(n_heads)
    w.add_head_count_kv(n_kv)
    w.add_rope_dimension_count(head)
    w.add_rope_freq_base(1000000.0 if arch == "qwen2" else 500000.0)
    w.add_layer_norm_rms_eps(1e-6 if arch == "qwen2" else 1e-5)
    w.add_vocab_size(n_vocab)
    w.add_tokenizer_model("none")
    for tensor, dims in tensors(shape):
        if len(dims) == 2:
            source.add(w, tensor, dims)
        else:
            one = "norm" in tensor or "freqs" in tensor
            w.add_tensor(tensor, np.full(dims, 1.0 if one else 0.0, dtype=np.float32))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    path.with_suffix(".part").rename(path)


def made(name, kind, folder, binary):
    """The file of a shape and type, made when absent."""
    path = folder / f"{name}-{kind}.gguf"
    if path.exists():
        return path
    if kind == "f16":
        write(name, kind, F16Block(), path)
    elif name in LARGE:
        seed = made(SEED, kind, folder, binary)
        write(name, kind, QuantisedBlocks(kind, SHAPES[name][1], seed), path)
    else:
        subprocess.run([binary, "quantize", "--model", made(name, "f16", folder, binary), "--type",
                        kind, "--out", path], check=True, stdout=subprocess.DEVNULL)
    return path


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("folder", type=pathlib.Path)
    p.add_argument("models", nargs="+", help="shape:type; shapes: " + ", ".join(SHAPES))
    root = pathlib.Path(__file__).resolve().parent.parent
    p.add_argument("--binary", type=pathlib.Path, default=root / "build/release/apps/ruvllm/ruvllm")
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
