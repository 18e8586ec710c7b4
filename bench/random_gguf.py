"""What the scripts that write models for measuring share: the shapes of published models, random
matrices, and the GGUF file around them. Speed does not depend on what the weights say."""
import pathlib
import subprocess

import gguf
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARY = ROOT / "build/release/apps/ruvllm/ruvllm"
# architecture, layers, width, query heads, key/value heads, head size, feed-forward, vocabulary
SHAPES = {
    "qwen2.5-0.5b": ("qwen2", 24, 896, 14, 2, 64, 4864, 151936),
    "llama-3.2-1b": ("llama", 16, 2048, 32, 8, 64, 8192, 128256),
    "qwen2.5-3b": ("qwen2", 36, 2048, 16, 2, 128, 11008, 151936),
}
BLOCK = 1 << 22  # random numbers that repeat
CONTEXT = 32768


def tensors(shape):
    """(name, shape) of every tensor but an output matrix that differs from the embedding."""
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


class F16Block:
    """Random F16 matrices, scaled as a trained model's are."""

    def __init__(self):
        self.block = np.random.default_rng(1).standard_normal(BLOCK, dtype=np.float32)

    def add(self, writer, name, dims):
        scale = np.float32(0.7 / dims[1] ** 0.5)
        x = np.resize((self.block * scale).astype(np.float16), dims[0] * dims[1])
        writer.add_tensor(name, x.reshape(dims))


def add_shape(w, shape, kind):
    """The metadata of a model whose matrices are of a file type such as f16 or q4_k_m."""
    arch, n_layers, width, n_heads, n_kv, head, hidden, n_vocab = shape
    w.add_file_type(gguf.LlamaFileType[f"MOSTLY_{kind.upper()}"])
    w.add_context_length(CONTEXT)
    w.add_embedding_length(width)
    w.add_block_count(n_layers)
    w.add_feed_forward_length(hidden)
    w.add_head_count(n_heads)
    w.add_head_count_kv(n_kv)
    w.add_rope_dimension_count(head)
    w.add_rope_freq_base(1000000.0 if arch == "qwen2" else 500000.0)
    w.add_layer_norm_rms_eps(1e-6 if arch == "qwen2" else 1e-5)
    w.add_vocab_size(n_vocab)


def write(path, shape, kind, name, add_metadata, add_matrix):
    """A whole file, under a temporary name until it is complete. add_metadata(writer) adds the
    tokenizer and what stands before the other tensors; add_matrix(writer, name, dims) is asked for
    every matrix; norms are ones, biases zeros."""
    part = path.with_suffix(".part")
    w = gguf.GGUFWriter(part, shape[0])
    w.add_name(name)
    add_shape(w, shape, kind)
    add_metadata(w)
    for tensor, dims in tensors(shape):
        if len(dims) == 2:
            add_matrix(w, tensor, dims)
        else:
            one = "norm" in tensor or "freqs" in tensor
            w.add_tensor(tensor, np.full(dims, 1.0 if one else 0.0, dtype=np.float32))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    part.rename(path)


def quantise(binary, source, kind, path):
    subprocess.run([binary, "quantize", "--model", source, "--type", kind, "--out", path],
                   check=True, stdout=subprocess.DEVNULL)


def add_arguments(parser):
    """What both scripts take: a folder, models, --binary."""
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("models", nargs="+", help="shape:type; shapes: " + ", ".join(SHAPES))
    parser.add_argument("--binary", type=pathlib.Path, default=BINARY)
