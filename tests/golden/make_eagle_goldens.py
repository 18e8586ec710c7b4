#!/usr/bin/env python3
"""tests/golden/heads/eagle.json: logits of EAGLE-3 heads (arXiv 2503.01840) of files of their own, for
tiny random models, for eagle_head_test.cpp. The model is the class of transformers; the head, of which
transformers has no class, is computed here from what the paper and the published configs say, in
float64. Keys and values of both are rounded to half floats as pages hold them. Needs torch and
transformers."""
import argparse
import json
import math
import pathlib
import random
import sys
import tempfile

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "oracle"))
from families import reference, weights  # noqa: E402

TOKENS = 12
LENGTHS = (2, 17, 40)
IDS = "eagle_aux_hidden_state_layer_ids"


def target(kind, width, n_layers, **more):
    """The config of a model."""
    names = {"llama": "Llama", "qwen3": "Qwen3", "granite": "Granite"}
    return {"model_type": kind, "architectures": [names[kind] + "ForCausalLM"], "vocab_size": 61,
            "hidden_size": width, "intermediate_size": 19, "num_hidden_layers": n_layers,
            "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 16,
            "max_position_embeddings": 100, "rms_norm_eps": 1e-5, "rope_theta": 123.5,
            "tie_word_embeddings": False, **more}


def head(width, **more):
    """The config of a head."""
    return {"model_type": "llama", "architectures": ["LlamaForCausalLMEagle3"], "vocab_size": 61,
            "hidden_size": width, "intermediate_size": 23, "num_hidden_layers": 1,
            "num_attention_heads": 3, "num_key_value_heads": 1, "head_dim": 16,
            "max_position_embeddings": 64, "rms_norm_eps": 1e-4, "hidden_act": "silu",
            "tie_word_embeddings": False, **more}


LLAMA3 = {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 3.0,
          "original_max_position_embeddings": 32}
# Name, model, head, and of the head: its layer's name in the file, and whether it has embeddings.
CASES = [
    ("usual_places", target("llama", 20, 8), head(20, draft_vocab_size=23), "midlayer", False),
    ("biases", target("qwen3", 24, 4), head(
        24, attention_bias=True, mlp_bias=True, norm_before_residual=True, rope_theta=700.0,
        rope_scaling=LLAMA3, num_attention_heads=4, num_key_value_heads=2, head_dim=32,
        draft_vocab_size=61, eagle_config={IDS: [0, 1, 3], "use_aux_hidden_state": True}),
     "layers.0", True),
    ("shared_output", target("llama", 20, 5, tie_word_embeddings=True), head(
        20, num_attention_heads=2, head_dim=None, num_key_value_heads=2, target_hidden_size=20,
        eagle_config={IDS: [0, 2, 4]}), "midlayer", False),
    ("own_embeddings", target("granite", 16, 4, embedding_multiplier=3.0, logits_scaling=2.0,
                              residual_multiplier=0.7, attention_multiplier=0.2),
     head(16, draft_vocab_size=40, head_dim=24, rope_scaling={"type": "linear", "factor": 2.5},
          eagle_config={IDS: [0, 1, 2]}), "midlayer", True),
]


def head_shapes(c, layer, embeds):
    """Names and shapes of the tensors of a head's file, but d2t."""
    n, n_ff, dim = c["hidden_size"], c["intermediate_size"], head_dim(c)
    n_q, n_kv = c["num_attention_heads"] * dim, c["num_key_value_heads"] * dim
    shapes = {"fc.weight": (n, 3 * n), "norm.weight": (n,)}
    matrices = {"self_attn.q_proj": (n_q, 2 * n), "self_attn.k_proj": (n_kv, 2 * n),
                "self_attn.v_proj": (n_kv, 2 * n), "self_attn.o_proj": (n, n_q),
                "mlp.gate_proj": (n_ff, n), "mlp.up_proj": (n_ff, n), "mlp.down_proj": (n, n_ff)}
    for name, shape in matrices.items():
        shapes[f"{layer}.{name}.weight"] = shape
        if c.get("attention_bias" if "attn" in name else "mlp_bias"):
            shapes[f"{layer}.{name}.bias"] = shape[:1]
    for norm in ("input_layernorm", "hidden_norm", "post_attention_layernorm"):
        shapes[f"{layer}.{norm}.weight"] = (n,)
    if embeds:
        shapes["embed_tokens.weight"] = (c["vocab_size"], n)
    if "draft_vocab_size" in c:
        shapes["lm_head.weight"] = (c["draft_vocab_size"], n)
    return shapes


def head_dim(c):
    return c.get("head_dim") or c["hidden_size"] // c["num_attention_heads"]


def frequencies(c):
    """Angles of pairs of a head for one position."""
    dim, scaling = head_dim(c), c.get("rope_scaling") or {}
    plain = [c.get("rope_theta", 10000.0) ** (-2 * i / dim) for i in range(dim // 2)]
    kind = scaling.get("rope_type") or scaling.get("type")
    if kind == "linear":
        return [f / scaling["factor"] for f in plain]
    if kind is None:
        return plain
    assert kind == "llama3"
    low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
    scaled = []
    for f in plain:
        turns = scaling["original_max_position_embeddings"] * f / (2 * math.pi)
        kept = min(1.0, max(0.0, (turns - low) / (high - low)))
        scaled.append(kept * f + (1 - kept) * f / scaling["factor"])
    return scaled


class Head:
    def __init__(self, config, tensors, layer, model):
        self.c, self.layer = config, layer
        self.w = {name: torch.tensor(x, dtype=torch.float64) for name, x in tensors.items()}
        self.table = self.w.get("embed_tokens.weight",
                                model.get_input_embeddings().weight.double())
        self.output = self.w.get("lm_head.weight", model.get_output_embeddings().weight.double())
        self.keys, self.values = [], []

    def norm(self, x, name):
        return x * torch.rsqrt((x * x).mean() + self.c["rms_norm_eps"]) * self.w[name + ".weight"]

    def multiply(self, name, x):
        y = self.w[f"{self.layer}.{name}.weight"] @ x
        bias = self.w.get(f"{self.layer}.{name}.bias")
        return y if bias is None else y + bias

    def turned(self, x, place):
        """A head's numbers, of which i and i + dim / 2 are a pair."""
        a, b = x.chunk(2)
        angles = torch.tensor(frequencies(self.c), dtype=torch.float64) * place
        cos, sin = angles.cos(), angles.sin()
        return torch.cat([a * cos - b * sin, b * cos + a * sin])

    def attention(self, x, place):
        dim, n_heads, n_kv = head_dim(self.c), self.c["num_attention_heads"], self.c[
            "num_key_value_heads"]
        q, k, v = (self.multiply(f"self_attn.{name}_proj", x).split(dim) for name in "qkv")
        self.keys.append([self.turned(one, place).half().double() for one in k])
        self.values.append([one.half().double() for one in v])
        out = []
        for i, one in enumerate(q):
            kv = i * n_kv // n_heads
            one = self.turned(one, place)
            scores = torch.stack([one @ key[kv] for key in self.keys]) / math.sqrt(dim)
            shares = scores.softmax(0)
            out.append(sum(s * value[kv] for s, value in zip(shares, self.values)))
        return self.multiply("self_attn.o_proj", torch.cat(out))

    def read(self, state, token, place):
        """The stream after the layer, which further drafts go on from, and the logits."""
        normed = self.norm(state, f"{self.layer}.hidden_norm")
        embedding = self.norm(self.table[token], f"{self.layer}.input_layernorm")
        x = normed if self.c.get("norm_before_residual") else state
        x = x + self.attention(torch.cat([embedding, normed]), place)
        h = self.norm(x, f"{self.layer}.post_attention_layernorm")
        gate, up = self.multiply("mlp.gate_proj", h), self.multiply("mlp.up_proj", h)
        x = x + self.multiply("mlp.down_proj", gate * gate.sigmoid() * up)
        return x, self.output @ self.norm(x, "norm")


def places(config, head_config):
    """How many layers are before each place that the head reads."""
    ids = head_config.get("eagle_config", {}).get(IDS)
    n = config["num_hidden_layers"]
    return [i + 1 for i in ids] if ids else [2, n // 2, n - 3]


def answers(model, head, at, ids, drafted):
    """Logits after each known token but the last, and one draft further."""
    kept, hooks = {}, []
    for i, layer in enumerate(model.model.layers):
        def keep(_, args, out, i=i):
            kept[i + 1] = (out[0] if isinstance(out, tuple) else out)[0].double()
        hooks.append(layer.register_forward_hook(keep))
    model.model(torch.tensor([ids]), use_cache=False)
    for hook in hooks:
        hook.remove()
    rows = torch.cat([kept[n] for n in at], -1) @ head.w["fc.weight"].T
    logits = []
    for i in range(len(ids) - 1):
        state, row = head.read(rows[i], ids[i + 1], i)
        logits.append(row)
    logits.append(head.read(state, drafted, len(ids) - 1)[1])
    return torch.stack(logits)


def layout_of(shapes):
    return {name: (shape, weights.role_of(name, shape, "llama", 1.0))
            for name, shape in shapes.items()}


def golden(name, config, head_config, layer, embeds):
    r = random.Random(f"eagle {name}")
    seed = r.getrandbits(32)
    shapes = reference.shapes_of(config)
    if config["tie_word_embeddings"]:
        shapes.pop("lm_head.weight", None)
    layout, own = layout_of(shapes), layout_of(head_shapes(head_config, layer, embeds))
    tensors = {n: weights.filled(n, *part, seed) for n, part in layout.items()}
    own_tensors = {n: weights.filled(n, *part, seed) for n, part in own.items()}
    n_draft = head_config.get("draft_vocab_size", config["vocab_size"])
    meant = sorted(r.sample(range(config["vocab_size"]), n_draft))
    made = {"name": name, "config": config, "dtype": "f32", "shards": 1, "seed": seed,
            "tensors": [[n, list(shape), *role] for n, (shape, role) in layout.items()],
            "head": {"config": head_config, "dtype": "f32", "shards": 1, "seed": seed,
                     "tensors": [[n, list(shape), *role] for n, (shape, role) in own.items()]},
            "answers": []}
    if n_draft < config["vocab_size"]:
        made["head"]["d2t"] = [token - i for i, token in enumerate(meant)]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        weights.write_folder(folder, config, tensors, {"dtype": "f32", "shards": 1})
        model = reference.Model(folder).model
        with torch.no_grad(), reference.half_keys_and_values(model):
            for length in LENGTHS:
                ids = weights.ids(seed, length, config["vocab_size"])
                drafted = (ids[-1] * 7 + 3) % config["vocab_size"]
                drafter = Head(head_config, own_tensors, layer, model)
                rows = answers(model, drafter, places(config, head_config), ids, drafted)
                kept = sorted({0, length // 2, length - 2, length - 1})
                made["answers"].append({
                    "length": length, "drafted": drafted, "std": round(float(rows.std()), 6),
                    "positions": kept,
                    "logits": [[float(f"{x:.7g}") for x in rows[i][:TOKENS]] for i in kept]})
    return made


def main():
    argparse.ArgumentParser(description=__doc__).parse_args()
    made = [golden(*case) for case in CASES]
    text = ",\n".join(json.dumps(one, separators=(",", ":")) for one in made)
    path = pathlib.Path(__file__).parent / "heads" / "eagle.json"
    path.write_text(f"[\n{text}\n]\n")
    print(f"{len(made)} heads, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
