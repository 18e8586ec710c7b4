#!/usr/bin/env python3
"""tests/golden/heads/heads.json: logits of drafting heads (multi-token prediction) of tiny random
models, for draft_head_test.cpp. The head's layer is the one that the class of transformers has after
the model's own, with keys and values rounded to half floats as pages hold them; the rest of the head
is computed here. Needs torch and transformers."""
import argparse
import contextlib
import json
import pathlib
import random
import sys
import tempfile

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "oracle"))
from families import choices, reference, weights  # noqa: E402

TOKENS = 12      # logits kept of a row
LENGTHS = (2, 17, 40)


def glm(r):
    heads, groups = r.choice(((4, 2), (3, 1), (6, 3))), r.choice((1, 2))
    return {"model_type": "glm4_moe", "architectures": ["Glm4MoeForCausalLM"], "vocab_size": 61,
            "hidden_size": r.choice((12, 20, 33)), "head_dim": r.choice((16, 24)),
            "intermediate_size": 19, "num_hidden_layers": r.choice((2, 3)),
            "num_attention_heads": heads[0], "num_key_value_heads": heads[1],
            "max_position_embeddings": 100, "n_routed_experts": 6,
            "num_experts_per_tok": r.choice((1, 2)), "moe_intermediate_size": r.choice((7, 10)),
            "n_group": groups, "topk_group": 1, "n_shared_experts": r.choice((1, 2)),
            "first_k_dense_replace": 1, "rms_norm_eps": r.choice((1e-5, 1e-2)),
            "partial_rotary_factor": 0.5, "rope_theta": 123.5, "attention_bias": r.random() < 0.5,
            "use_qk_norm": r.random() < 0.5, "norm_topk_prob": True, "routed_scaling_factor": 1.5,
            "tie_word_embeddings": False, "num_nextn_predict_layers": 1}


def deepseek(r):
    return {"model_type": "deepseek_v3", "architectures": ["DeepseekV3ForCausalLM"],
            "vocab_size": 61, "hidden_size": r.choice((24, 40)), "intermediate_size": 21,
            "num_hidden_layers": r.choice((2, 3)), "num_attention_heads": 3,
            "num_key_value_heads": 3, "max_position_embeddings": 100, "n_routed_experts": 6,
            "num_experts_per_tok": 3, "moe_intermediate_size": 7, "n_group": 2, "topk_group": 1,
            "n_shared_experts": 1, "first_k_dense_replace": 1,
            "q_lora_rank": r.choice((None, 10)), "kv_lora_rank": r.choice((5, 12)),
            "qk_nope_head_dim": r.choice((8, 16)), "qk_rope_head_dim": r.choice((4, 8)),
            "v_head_dim": r.choice((5, 8)), "rope_theta": 1000.0, "rope_scaling": None,
            "attention_bias": r.random() < 0.5, "norm_topk_prob": True,
            "routed_scaling_factor": 0.7, "rms_norm_eps": 1e-5, "tie_word_embeddings": False,
            "num_nextn_predict_layers": 1}


def indexed(r):
    return {**deepseek(r), "model_type": "deepseek_v32",
            "architectures": ["DeepseekV32ForCausalLM"], "q_lora_rank": 10, "index_n_heads": 3,
            "index_head_dim": 9, "index_topk": r.choice((4, 7))}


def sharing(r):
    """The model's last layer has no index of its own; the head has one."""
    config = {**indexed(r), "model_type": "glm_moe_dsa",
              "architectures": ["GlmMoeDsaForCausalLM"], "num_hidden_layers": 2}
    return {**config, "indexer_types": ["full", "shared"]}


def qwen(r):
    return {"vocab_size": 61, "hidden_size": r.choice((16, 28)), "head_dim": r.choice((16, 32)),
            "intermediate_size": 19, "num_hidden_layers": 4, "num_attention_heads": 4,
            "num_key_value_heads": r.choice((1, 2)), "max_position_embeddings": 100,
            "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 8,
            "linear_value_head_dim": 8, "linear_conv_kernel_dim": 3, "rms_norm_eps": 1e-5,
            "attention_bias": r.random() < 0.5, "tie_word_embeddings": r.random() < 0.5,
            "rope_parameters": {"rope_type": "default", "rope_theta": 1000.0,
                                "partial_rotary_factor": 0.5}}


def qwen3_next(r):
    return {"model_type": "qwen3_next", "architectures": ["Qwen3NextForCausalLM"], **qwen(r),
            "num_experts": 5, "num_experts_per_tok": 2, "moe_intermediate_size": 7,
            "shared_expert_intermediate_size": 8, "norm_topk_prob": r.random() < 0.5}


def qwen3_5(r):
    return {"model_type": "qwen3_5_text", "architectures": ["Qwen3_5ForCausalLM"], **qwen(r),
            "mtp_num_hidden_layers": 1}


KINDS = {"glm4_moe": glm, "deepseek_v3": deepseek, "deepseek_v32": indexed,
         "glm_moe_dsa": sharing, "qwen3_next": qwen3_next, "qwen3_5": qwen3_5}
IN_MODULE = {"eh_proj": "fc", "enorm": "pre_fc_norm_embedding", "hnorm": "pre_fc_norm_hidden",
             "shared_head.norm": "norm", "embed_tokens": "embed_tokens"}


def stored_name(name, n, config):
    """What a checkpoint calls a tensor of layer n."""
    start = f"model.layers.{n}."
    if not name.startswith(start) or not config["model_type"].startswith("qwen"):
        return name
    rest = name.removeprefix(start).removesuffix(".weight")
    return f"mtp.{IN_MODULE[rest]}.weight" if rest in IN_MODULE else name.replace(
        start, "mtp.layers.0.")


@contextlib.contextmanager
def rounded(model, latent):
    """Keys and values in half floats; of latent attention the short row and the rotated part, and
    the keys of an index."""
    if not latent:
        with reference.half_keys_and_values(model):
            yield
        return
    module = sys.modules[type(model).__module__]
    plain, n_rope = module.eager_attention_forward, model.config.qk_rope_head_dim

    def part(self, query, key, value, *args, **kwargs):
        key = torch.cat([key[..., :-n_rope], key[..., -n_rope:].half().float()], -1)
        return plain(self, query, key, value, *args, **kwargs)

    hooks = [m.register_forward_hook(lambda _, args, out: out.half().float())
             for name, m in model.named_modules() if name.endswith("kv_a_layernorm")]
    module.eager_attention_forward = part
    try:
        with choices.halves():
            yield
    finally:
        module.eager_attention_forward = plain
        for hook in hooks:
            hook.remove()


class Head:
    """The head of a model of n + 1 layers, of which the last one is the head's."""

    def __init__(self, model, tensors, n):
        self.base, self.n = model.model, n
        prefix = f"model.layers.{n}."
        own = {k.removeprefix(prefix): torch.tensor(v) for k, v in tensors.items()
               if k.startswith(prefix)}
        self.own = own
        self.shift = 1.0 if model.config.model_type.startswith("qwen") else 0.0
        self.eps = model.config.rms_norm_eps
        self.table = own.get("embed_tokens.weight", model.model.embed_tokens.weight)
        self.output = own.get("shared_head.head.weight", model.lm_head.weight)
        self.layer_args = None
        self.base.layers[n].register_forward_pre_hook(self.note, with_kwargs=True)

    def note(self, _, args, kwargs):
        self.layer_args = self.layer_args or (args, kwargs)

    def norm(self, x, name):
        weight = self.own[f"{name}.weight"] + self.shift
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * weight

    def join(self, token, state):
        both = [self.norm(self.table[token], "enorm"), self.norm(state, "hnorm")]
        return torch.cat(both, -1) @ self.own["eh_proj.weight"].T

    def run(self, x):
        args, kwargs = self.layer_args
        out = self.base.layers[self.n](x[None], *args[1:], **kwargs)
        state = self.norm((out[0] if isinstance(out, tuple) else out)[0], "shared_head.norm")
        return state, state @ self.output.T

    def answers(self, ids, drafted):
        """Logits after each known token but the last, and one draft further."""
        self.layer_args = None
        self.base(torch.tensor([ids]), use_cache=False)
        state = self.base.norm(self.layer_args[0][0] if self.layer_args[0]
                               else self.layer_args[1]["hidden_states"])[0]
        x = torch.zeros_like(state)
        for i in range(len(ids) - 1):
            x[i] = self.join(ids[i + 1], state[i])
        own, logits = self.run(x)
        x[-1] = self.join(drafted, own[-2])
        return torch.cat([logits[:-1], self.run(x)[1][-1:]])


def golden(name, kind, number):
    r = random.Random(f"ahead {name} {number}")
    config = kind(r)
    n, seed = config["num_hidden_layers"], r.getrandbits(32)
    more = {**config, "num_hidden_layers": n + 1}
    if name.startswith("qwen"):
        types = ["linear_attention"] * 3 + ["full_attention"] * 2
        more["layer_types"] = types
    if "indexer_types" in config:
        more["indexer_types"] = [*config["indexer_types"], "full"]
    shapes = reference.shapes_of(more)
    width, prefix = config["hidden_size"], f"model.layers.{n}."
    shapes |= {prefix + "eh_proj.weight": (width, 2 * width)}
    shapes |= {f"{prefix}{norm}.weight": (width,) for norm in ("enorm", "hnorm",
                                                               "shared_head.norm")}
    if not name.startswith("qwen") and number % 2 == 0:
        shapes |= {prefix + part + ".weight": (config["vocab_size"], width)
                   for part in ("embed_tokens", "shared_head.head")}
    if config["tie_word_embeddings"]:
        shapes.pop("lm_head.weight", None)
    layout = {}
    for tensor, shape in shapes.items():
        stored = stored_name(tensor, n, config)
        role = weights.role_of(stored, shape, config["model_type"], 1.0)
        layout[tensor] = (stored, shape, role)
    tensors = {tensor: weights.filled(stored, shape, role, seed)
               for tensor, (stored, shape, role) in layout.items()}
    answers = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "config.json").write_text(json.dumps(more))
        from safetensors.numpy import save_file
        save_file(tensors, folder / "model.safetensors")
        loaded = reference.Model(folder)
        assert set(loaded.missing) <= {"lm_head.weight"}, loaded.missing
        model = loaded.model
        head = Head(model, tensors, n)
        with torch.no_grad(), rounded(model, "kv_lora_rank" in config):
            for length in LENGTHS:
                ids = weights.ids(seed, length, config["vocab_size"])
                drafted = (ids[-1] * 7 + 3) % config["vocab_size"]
                rows = head.answers(ids, drafted)
                kept = sorted({0, length // 2, length - 2, length - 1})
                answers.append({
                    "length": length, "drafted": drafted, "std": round(float(rows.std()), 6),
                    "positions": kept,
                    "logits": [[float(f"{x:.7g}") for x in rows[i][:TOKENS]] for i in kept]})
    return {"name": f"{name}_{number}", "config": config, "dtype": "f32", "shards": 1, "seed": seed,
            "tensors": [[stored, list(shape), *role] for stored, shape, role in layout.values()],
            "answers": answers}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=4, help="models of each class")
    args = parser.parse_args()
    made = [golden(name, kind, number) for name, kind in KINDS.items()
            for number in range(args.each)]
    text = ",\n".join(json.dumps(one, separators=(",", ":")) for one in made)
    path = pathlib.Path(__file__).parent / "heads" / "heads.json"
    path.write_text(f"[\n{text}\n]\n")
    print(f"{len(made)} models, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
