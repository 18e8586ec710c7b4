"""Weights from a seed, by arithmetic so simple that families_test.cpp repeats it bit for bit, and the
safetensors files that hold them.

A tensor is (centre, spread): element i is centre + spread * u, where u is uniform in [-1, 1) and
made of the upper 24 bits of splitmix64(fnv1a(name) ^ seed, i), rounded to float32 at the end.
"""
import json
import math
import struct

import numpy as np

MASK = (1 << 64) - 1
ROUTERS = (".mlp.gate.weight", ".block_sparse_moe.gate.weight", ".router.layer.weight",
           ".gate.wg.weight", ".feed_forward.gate.weight", ".mlp.router.weight",
           ".mlp.router.gate.weight", ".feed_forward.router.weight",
           ".block_sparse_moe.router.weight", ".router.proj.weight", ".mixer.gate.weight")


def fnv1a(name):
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = (value ^ byte) * 0x100000001B3 & MASK
    return value


def uniform(name, seed, n):
    """n numbers in [-1, 1), exact in float32."""
    with np.errstate(over="ignore"):
        state = np.uint64(fnv1a(name) ^ seed & MASK)
        x = state + np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ x >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ x >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
        x ^= x >> np.uint64(31)
    return ((x >> np.uint64(40)).astype(np.float64) - 2.0 ** 23) / 2.0 ** 23


def ids(seed, n, n_vocab):
    """The prompt of n tokens."""
    return ((uniform(f"ids {n}", seed, n) + 1) / 2 * n_vocab).astype(int).tolist()


def filled(name, shape, role, seed):
    centre, spread = role
    n = math.prod(shape)
    return (centre + spread * uniform(name, seed, n)).astype(np.float32).reshape(shape)


def role_of(name, shape, model_type, heat):
    """(centre, spread) of a tensor: every norm, bias and projection moves the logits; `heat` scales
    queries and keys, so that windows, caps and scales matter."""
    gemma = model_type.startswith(("gemma", "t5gemma")) and not model_type.startswith(("gemma4", "gemma3n"))
    sandwich = model_type in ("gemma2", "gemma3_text", "gemma3", "gemma4_text", "gemma4_unified_text",
                              "gemma3n_text", "t5gemma")
    less_one = gemma or model_type == "recurrent_gemma" or model_type == "nemotron" or (
        model_type.startswith(("qwen3_5", "qwen3_next")) and "linear_attn" not in name)
    shift = -1.0 if less_one and "norm" in name else 0.0
    if not shape:  # of an activation that learns
        return (-0.05, 0.04) if name.endswith("eps") else (0.5, 0.2)
    if len(shape) == 1 and name.endswith("weight"):
        if (name.endswith("norm.weight") and "layers" not in name and ".h." not in name
                and ".block." not in name and "encoder.layer." not in name
                and "embeddings" not in name or "ln_f" in name or "norm_f" in name):
            return shift, 1.7  # of both signs: else a tied head repeats the token it has read
        if any(part in name for part in ("q_norm", "k_norm", "q_layernorm", "k_layernorm",
                                         "layer_norm_q", "layer_norm_k")):
            return heat + shift, 0.4
        if sandwich and any(part in name for part in ("post_attention", "post_feedforward",
                                                      "post_self_attn", "post_cross_attn")):
            return 0.6 + shift, 0.3
        return 1.0 + shift, 0.4
    if name.endswith(("layer_scalar", "router.scale", "per_expert_scale", "correct_output_scale")):
        return 1.0, 0.4
    if name.endswith("modality_router.weight"):  # what it reads is divided by the width
        return 0.0, round(math.sqrt(3.0 * shape[1]), 6)
    if len(shape) == 1:
        return 0.0, 0.5
    if name.endswith(".A_log"):
        return 0.0, 1.0
    if "correction_bias" in name:
        return 0.0, 0.2
    if name.endswith(ROUTERS):
        return 0.0, round(2 * heat * math.sqrt(3.0 / shape[1]), 6)  # routes that differ
    if "time_mix_" in name:
        return 0.5, 0.5  # the share of the own row
    if any(part in name for part in ("embed_tokens", "wte", "wpe", "lm_head", "embed_in", "embed_out",
                                    "word_embeddings", "embed_positions", "rwkv.embeddings", "shared.weight",
                                    "backbone.embeddings", "model.embeddings")) or name == "head.weight":
        return 0.0, 0.35 if model_type == "gpt2" else 0.6
    gain = 1.0
    if model_type == "zamba2":  # else roundings of keys and values grow beyond all that is meant
        heat *= 0.5
        gain = 0.15 if name.endswith(".linear.weight") else 0.6 if "_adapter_list." in name else 1.0
    if any(part in name for part in ("q_proj", "k_proj", "qkv_proj", "c_attn", "query_key_value",
                                    "Wqkv", "q_b_proj", "self.query", "self.key", "q_lin",
                                    "k_lin", "attention.attn.q", "attention.attn.k")):
        gain = heat
    if "Attention.q" in name:  # of scores that are not divided by the size of a head
        gain = 0.3 * heat
    if "conv.conv" in name or "conv1d" in name:
        return 0.0, round(math.sqrt(3.0 / shape[-1]), 6)
    conv1d = model_type == "gpt2"
    return 0.0, round(gain * math.sqrt(3.0 / shape[0 if conv1d else -1]), 6)


def to_bf16(x):
    """Nearest bfloat16, ties to even, as its upper 16 bits."""
    bits = x.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def as_stored(x, dtype):
    """What a file of this dtype gives back, in float32."""
    if dtype == "f16":
        return x.astype(np.float16).astype(np.float32)
    if dtype == "bf16":
        return (to_bf16(x).astype(np.uint32) << 16).view(np.float32)
    return x


def write_safetensors(path, tensors, dtype):
    header, blocks, at = {}, [], 0
    for name, x in sorted(tensors.items()):
        data = {"f32": lambda a: a.astype("<f4"), "f16": lambda a: a.astype("<f2"),
                "bf16": to_bf16}[dtype](x).tobytes()
        header[name] = {"dtype": dtype.upper(), "shape": list(x.shape),
                        "data_offsets": [at, at + len(data)]}
        at += len(data)
        blocks.append(data)
    text = json.dumps({"__metadata__": {"format": "pt"}, **header}).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blocks))


def write_folder(folder, config, tensors, file):
    """config.json and one or several safetensors files with their index."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    if file["shards"] == 1:
        return write_safetensors(folder / "model.safetensors", tensors, file["dtype"])
    names, weight_map = sorted(tensors), {}
    for i in range(file["shards"]):
        shard = f"model-{i + 1:05}-of-{file['shards']:05}.safetensors"
        part = {name: tensors[name] for name in names[i::file["shards"]]}
        weight_map |= dict.fromkeys(part, shard)
        write_safetensors(folder / shard, part, file["dtype"])
    index = {"metadata": {}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
