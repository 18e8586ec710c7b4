"""What the scripts that write models for measuring share: the shapes of published models, random
matrices, and the GGUF file around them. Speed does not depend on what the weights say."""
import math
import pathlib
import subprocess
import typing
import zlib

import gguf
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARY = ROOT / "build/release/apps/ruvllm/ruvllm"
BLOCK = 1 << 22  # random numbers that repeat
CONTEXT = 32768


class Shape(typing.NamedTuple):
    arch: str
    n_layers: int
    width: int
    n_heads: int
    n_kv: int
    head: int
    hidden: int  # width of the feed-forward, or of each expert
    n_vocab: int
    n_experts: int = 0
    n_used: int = 0
    attention: tuple = ()  # of hybrids: the layers with attention
    n_scans: int = 0  # heads of a state space, each SCAN_HEAD wide with SCAN_STATE numbers a column
    n_delta: int = 0  # values' heads of the gated delta rule, DELTA_HEAD wide, two for each of keys

    def has_attention(self, i):
        return not self.is_hybrid() or i in self.attention

    def is_hybrid(self):
        return self.arch in ("lfm2", "granitehybrid", "mamba2", "qwen3next")


SHAPES = {
    "qwen2.5-0.5b": Shape("qwen2", 24, 896, 14, 2, 64, 4864, 151936),
    "llama-3.2-1b": Shape("llama", 16, 2048, 32, 8, 64, 8192, 128256),
    "qwen2.5-3b": Shape("qwen2", 36, 2048, 16, 2, 128, 11008, 151936),
    "olmoe-1b-7b": Shape("olmoe", 16, 2048, 16, 16, 128, 1024, 50304, 64, 8),
    "granite-3b-a800m": Shape("granitemoe", 32, 1536, 24, 8, 64, 512, 49155, 40, 8),
    "lfm2-1.2b": Shape("lfm2", 16, 2048, 32, 8, 64, 8192, 65536,
                       attention=(2, 5, 8, 10, 12, 14)),
    "granite-4-h-1b": Shape("granitehybrid", 40, 1536, 12, 4, 128, 4096, 100352,
                            attention=(5, 15, 25, 35), n_scans=48),
    # Not published: the layers of Qwen3-Next 80B-A3B, half as wide, with an eighth of its experts.
    "qwen3-next-small": Shape("qwen3next", 16, 1024, 8, 2, 256, 256, 65536, 64, 8,
                              attention=(3, 7, 11, 15), n_delta=16),
    "mamba2-1.3b": Shape("mamba2", 48, 2048, 0, 0, 0, 0, 50288, n_scans=64),
}
ROPE_BASE = {"qwen2": 1e6, "llama": 5e5, "olmoe": 1e4, "granitemoe": 1e4, "lfm2": 1e6,
             "granitehybrid": 1e4, "qwen3next": 1e7}
CONV_TAPS = 3
SCAN_HEAD, SCAN_STATE, SCAN_TAPS = 64, 128, 4
DELTA_HEAD = 128
LAST_NORM = {"lfm2": "token_embd_norm"}
FFN_NORM = {"qwen3next": "post_attention_norm"}
UNTIED = {"olmoe", "qwen3next"}  # an output matrix of their own


def feed_forward(shape):
    if not shape.hidden:
        return {}
    if not shape.n_experts:
        return {"ffn_gate": (shape.hidden, shape.width), "ffn_up": (shape.hidden, shape.width),
                "ffn_down": (shape.width, shape.hidden)}
    n = shape.n_experts
    shared = {"ffn_gate_shexp": (shape.hidden, shape.width), "ffn_up_shexp": (shape.hidden, shape.width),
              "ffn_down_shexp": (shape.width, shape.hidden),
              "ffn_gate_inp_shexp": (shape.width,)} if shape.arch == "qwen3next" else {}
    return {**shared, "ffn_gate_inp": (n, shape.width),
            "ffn_gate_exps": (n, shape.hidden, shape.width),
            "ffn_up_exps": (n, shape.hidden, shape.width),
            "ffn_down_exps": (n, shape.width, shape.hidden)}


def state_space(shape):
    """Mamba 2's, with one group of inputs and outputs."""
    inner = shape.n_scans * SCAN_HEAD
    convolved = inner + 2 * SCAN_STATE
    return {"ssm_in": (inner + convolved + shape.n_scans, shape.width),
            "ssm_conv1d": (convolved, SCAN_TAPS), "ssm_conv1d.bias": (convolved,),
            "ssm_dt.bias": (shape.n_scans,), "ssm_a": (shape.n_scans, 1),
            "ssm_d": (shape.n_scans, 1), "ssm_norm": (1, inner),
            "ssm_out": (shape.width, inner)}


def delta_rule(shape):
    """Qwen3-Next's, with keys for two heads of values each."""
    keys, values = shape.n_delta // 2 * DELTA_HEAD, shape.n_delta * DELTA_HEAD
    return {"attn_qkv": (2 * keys + values, shape.width), "attn_gate": (values, shape.width),
            "ssm_conv1d": (2 * keys + values, SCAN_TAPS), "ssm_dt.bias": (shape.n_delta,),
            "ssm_a": (shape.n_delta,), "ssm_ba": (2 * shape.n_delta, shape.width),
            "ssm_norm": (DELTA_HEAD,), "ssm_out": (shape.width, values)}


def mixer(shape, i):
    width, q, kv = shape.width, shape.n_heads * shape.head, shape.n_kv * shape.head
    if not shape.has_attention(i) and shape.n_scans:
        return state_space(shape)
    if not shape.has_attention(i) and shape.n_delta:
        return delta_rule(shape)
    if not shape.has_attention(i):
        return {"shortconv.in_proj": (3 * width, width), "shortconv.conv": (width, CONV_TAPS),
                "shortconv.out_proj": (width, width)}
    norms = {"olmoe": {"attn_q_norm": (q,), "attn_k_norm": (kv,)},
             "lfm2": {"attn_q_norm": (shape.head,), "attn_k_norm": (shape.head,)},
             "qwen3next": {"attn_q_norm": (shape.head,), "attn_k_norm": (shape.head,)}}
    gated = 2 if shape.arch == "qwen3next" else 1  # the gates of results beside the queries
    return {"attn_q": (gated * q, width), "attn_k": (kv, width), "attn_v": (kv, width),
            "attn_output": (width, q), **norms.get(shape.arch, {})}


def tensors(shape):
    """(name, shape) of every tensor."""
    yield "token_embd.weight", (shape.n_vocab, shape.width)
    if shape.arch in UNTIED:
        yield "output.weight", (shape.n_vocab, shape.width)
    yield LAST_NORM.get(shape.arch, "output_norm") + ".weight", (shape.width,)
    if shape.arch == "llama":
        yield "rope_freqs.weight", (shape.head // 2,)
    for i in range(shape.n_layers):
        block = {"attn_norm": (shape.width,), **mixer(shape, i), **feed_forward(shape)}
        if shape.hidden:
            block[FFN_NORM.get(shape.arch, "ffn_norm")] = (shape.width,)
        for name, dims in block.items():
            whole = name.endswith(".bias") or name in ("ssm_a", "ssm_d")
            yield f"blk.{i}.{name}{'' if whole else '.weight'}", dims
        if shape.arch == "qwen2":
            for name in ("attn_q", "attn_k", "attn_v"):
                yield f"blk.{i}.{name}.bias", block[name][:1]


def is_small(name):
    """Matrices that stay in float32, in files of any type."""
    return any(part in name for part in ("ffn_gate_inp", "shortconv.conv", "ssm_conv1d.weight"))


def random_matrix(name, dims):
    """A small matrix of its own numbers, so that layers choose other experts."""
    seed = zlib.crc32(name.encode())
    x = np.random.default_rng(seed).standard_normal(dims, dtype=np.float32)
    return x * np.float32(0.7 / dims[-1] ** 0.5)


def constant(name, dims):
    """Norms are ones, biases zeros; states decay at rates that differ by head."""
    if name.endswith("ssm_a"):
        return -np.linspace(1.0, 16.0, dims[0], dtype=np.float32).reshape(dims)
    if name.endswith("ssm_dt.bias"):
        return np.linspace(-6.0, -2.0, dims[0], dtype=np.float32)
    one = any(part in name for part in ("norm", "freqs", "ssm_d"))
    return np.full(dims, 1.0 if one else 0.0, dtype=np.float32)


class F16Block:
    """Random F16 matrices, scaled as a trained model's are."""

    def __init__(self):
        self.block = np.random.default_rng(1).standard_normal(BLOCK, dtype=np.float32)

    def add(self, writer, name, dims):
        scale = np.float32(0.7 / dims[-1] ** 0.5)
        x = np.resize((self.block * scale).astype(np.float16), math.prod(dims))
        writer.add_tensor(name, x.reshape(dims))


def add_shape(w, shape, kind):
    """The metadata of a model whose matrices are of a file type such as f16 or q4_k_m."""
    w.add_file_type(gguf.LlamaFileType[f"MOSTLY_{kind.upper()}"])
    w.add_context_length(CONTEXT)
    w.add_embedding_length(shape.width)
    w.add_block_count(shape.n_layers)
    w.add_feed_forward_length(shape.hidden)
    w.add_head_count(shape.n_heads)
    # Qwen3-Next's files say which layers attend by their interval.
    by_layer = shape.attention and not shape.n_delta
    w.add_head_count_kv([shape.n_kv if i in shape.attention else 0 for i in range(shape.n_layers)]
                        if by_layer else shape.n_kv)
    if shape.head:
        w.add_rope_dimension_count(shape.head // 4 if shape.n_delta else shape.head)
        w.add_rope_freq_base(ROPE_BASE[shape.arch])
    w.add_layer_norm_rms_eps(1e-6 if shape.arch == "qwen2" else 1e-5)
    w.add_vocab_size(shape.n_vocab)
    if shape.n_experts:
        w.add_expert_count(shape.n_experts)
        w.add_expert_used_count(shape.n_used)
    if shape.n_delta:
        w.add_key_length(shape.head)
        w.add_value_length(shape.head)
        w.add_expert_feed_forward_length(shape.hidden)
        w.add_expert_shared_feed_forward_length(shape.hidden)
        w.add_uint32(f"{shape.arch}.full_attention_interval", shape.attention[0] + 1)
        w.add_ssm_conv_kernel(SCAN_TAPS)
        w.add_ssm_inner_size(shape.n_delta * DELTA_HEAD)
        w.add_ssm_state_size(DELTA_HEAD)
        w.add_ssm_time_step_rank(shape.n_delta)
        w.add_ssm_group_count(shape.n_delta // 2)
    if shape.n_scans:
        w.add_ssm_conv_kernel(SCAN_TAPS)
        w.add_ssm_inner_size(shape.n_scans * SCAN_HEAD)
        w.add_ssm_state_size(SCAN_STATE)
        w.add_ssm_time_step_rank(shape.n_scans)
        w.add_ssm_group_count(1)
    if shape.arch in ("granitemoe", "granitehybrid"):
        w.add_embedding_scale(12.0)
        w.add_residual_scale(0.22)
        w.add_attention_scale(0.015625)
        w.add_logit_scale(6.0)
    if shape.arch == "lfm2":
        w.add_shortconv_l_cache(CONV_TAPS)


def write(path, shape, kind, name, add_metadata, add_matrix):
    """A whole file, under a temporary name until it is complete. add_metadata(writer) adds the
    tokenizer and what stands before the other tensors; add_matrix(writer, name, dims) is asked for
    every matrix; the rest is constant."""
    part = path.with_suffix(".part")
    w = gguf.GGUFWriter(part, shape.arch)
    w.add_name(name)
    add_shape(w, shape, kind)
    add_metadata(w)
    for tensor, dims in tensors(shape):
        if is_small(tensor):
            w.add_tensor(tensor, random_matrix(tensor, dims))
        elif min(dims) > 1 and len(dims) > 1:
            add_matrix(w, tensor, dims)
        else:
            w.add_tensor(tensor, constant(tensor, dims))
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
