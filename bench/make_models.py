#!/usr/bin/env python3
"""Writes GGUF files of random F16 weights in the shapes of published models, for measuring speed
where the real weights are not at hand: speed does not depend on what the weights say.

    make_models.py build/models qwen2.5-0.5b llama-3.2-1b
"""
import pathlib
import sys

import gguf
import numpy as np

# architecture, layers, width, query heads, key/value heads, head size, feed-forward, vocabulary
SHAPES = {
    "qwen2.5-0.5b": ("qwen2", 24, 896, 14, 2, 64, 4864, 151936),
    "llama-3.2-1b": ("llama", 16, 2048, 32, 8, 64, 8192, 128256),
}


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


def write(name, folder):
    shape = SHAPES[name]
    arch, n_layers, width, n_heads, n_kv, head, hidden, n_vocab = shape
    path = folder / f"{name}-f16.gguf"
    if path.exists():
        return path
    w = gguf.GGUFWriter(path.with_suffix(".part"), arch)
    w.add_name(name + " with random weights")
    w.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    w.add_context_length(4096)
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
    draw = np.random.default_rng(1)
    for tensor, dims in tensors(shape):
        if len(dims) == 2:
            x = draw.standard_normal(dims, dtype=np.float32) * np.float32(0.7 / dims[1] ** 0.5)
            w.add_tensor(tensor, x.astype(np.float16))
        elif tensor == "rope_freqs.weight":
            w.add_tensor(tensor, np.ones(dims, dtype=np.float32))
        else:
            norm = "norm" in tensor
            w.add_tensor(tensor, np.full(dims, 1.0 if norm else 0.0, dtype=np.float32))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    path.with_suffix(".part").rename(path)
    return path


if __name__ == "__main__":
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    for model in sys.argv[2:] or SHAPES:
        print(write(model, out))
