"""A tiny llama or qwen2: its config, its weights, and its logits in float64 from any matrices."""
import numpy as np

N_VOCAB = 61


def config_of(kind, hidden, inner, n_heads, n_kv):
    return {
        "architectures": ["LlamaForCausalLM" if kind == "llama" else "Qwen2ForCausalLM"],
        "model_type": kind, "hidden_size": hidden, "intermediate_size": inner,
        "num_hidden_layers": 2, "num_attention_heads": n_heads, "num_key_value_heads": n_kv,
        "vocab_size": N_VOCAB, "max_position_embeddings": 128, "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0, "hidden_act": "silu", "tie_word_embeddings": False,
        "bos_token_id": 1, "eos_token_id": 2}


def weights_of(config, rng):
    """(matrices by module, other tensors by name), float32."""
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    head = hidden // config["num_attention_heads"]
    kv = head * config["num_key_value_heads"]
    matrices, plain = {}, {}
    for layer in range(config["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        for name, n_out, n_in in (("self_attn.q_proj", hidden, hidden), ("self_attn.k_proj", kv, hidden),
                                  ("self_attn.v_proj", kv, hidden), ("self_attn.o_proj", hidden, hidden),
                                  ("mlp.gate_proj", inner, hidden), ("mlp.up_proj", inner, hidden),
                                  ("mlp.down_proj", hidden, inner)):
            matrices[at + name] = (rng.standard_normal((n_out, n_in)) * 1.5 / n_in**0.5).astype("f4")
        for name in ("input_layernorm", "post_attention_layernorm"):
            plain[at + name + ".weight"] = (1 + 0.1 * rng.standard_normal(hidden)).astype("f4")
        if config["model_type"] == "qwen2":
            for name, n in (("q_proj", hidden), ("k_proj", kv), ("v_proj", kv)):
                plain[f"{at}self_attn.{name}.bias"] = (0.1 * rng.standard_normal(n)).astype("f4")
    plain["model.norm.weight"] = (1 + 0.1 * rng.standard_normal(hidden)).astype("f4")
    plain["model.embed_tokens.weight"] = rng.standard_normal((N_VOCAB, hidden)).astype("f4")
    plain["lm_head.weight"] = (rng.standard_normal((N_VOCAB, hidden)) / hidden**0.5).astype("f4")
    return matrices, plain


def _norm(x, weight, eps):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps) * weight


def _rotate(x, base):
    n, _, width = x.shape
    angles = np.arange(n)[:, None] * base ** (-np.arange(0, width, 2) / width)
    cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
    low, high = x[..., :width // 2], x[..., width // 2:]
    return np.concatenate([low * cos - high * sin, high * cos + low * sin], axis=-1)


def logits_of(config, tensors, ids):
    """tensors: all by name, matrices as "module.weight". (positions, vocabulary)"""
    get = {name: np.asarray(t, dtype=np.float64) for name, t in tensors.items()}
    eps, n_heads, n_kv = config["rms_norm_eps"], config["num_attention_heads"], config["num_key_value_heads"]
    x = get["model.embed_tokens.weight"][ids]
    n = len(ids)
    for layer in range(config["num_hidden_layers"]):
        at = f"model.layers.{layer}."

        def linear(name, y):
            return y @ get[at + name + ".weight"].T + get.get(at + name + ".bias", 0)

        y = _norm(x, get[at + "input_layernorm.weight"], eps)
        q = _rotate(linear("self_attn.q_proj", y).reshape(n, n_heads, -1), config["rope_theta"])
        k = _rotate(linear("self_attn.k_proj", y).reshape(n, n_kv, -1), config["rope_theta"])
        v = linear("self_attn.v_proj", y).reshape(n, n_kv, -1)
        k, v = (np.repeat(t, n_heads // n_kv, axis=1) for t in (k, v))
        scores = np.einsum("qhd,khd->hqk", q, k) / q.shape[-1] ** 0.5
        scores = np.where(np.tril(np.ones((n, n)))[None] > 0, scores, -np.inf)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        mixed = np.einsum("hqk,khd->qhd", weights, v).reshape(n, -1)
        x = x + linear("self_attn.o_proj", mixed)
        y = _norm(x, get[at + "post_attention_layernorm.weight"], eps)
        gate = linear("mlp.gate_proj", y)
        x = x + linear("mlp.down_proj", gate / (1 + np.exp(-gate)) * linear("mlp.up_proj", y))
    return _norm(x, get["model.norm.weight"], eps) @ get["lm_head.weight"].T
