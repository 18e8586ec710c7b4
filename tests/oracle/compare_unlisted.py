#!/usr/bin/env python3
"""Our logits on tiny random models of families that transformers does not have, with configurations
that are odd but legal, against mlx-lm's, or llama.cpp's where that does not have them either.

    compare_unlisted.py --count 20 --seed 1 --mlx-python ~/mlx/bin/python
    compare_unlisted.py --family minicpm --count 50 --peer
    compare_unlisted.py --write-goldens                remakes their files in tests/golden/families

Δ is the largest difference over the standard deviation of the logits. Keys and values are half floats
here and floats in mlx, so Δ may be 0.02; an error in a key gives 0.1 and more. Exit code 1: a case
differs from its reference or is not computed. --peer prints what llama.cpp makes of exported files.
Needs numpy, mlx-lm (with the CPU form of mlx), llama-cpp-python and, for families that are known from
GGUF files alone, gguf.
"""
import argparse
import collections
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np

from families import goldens, weights
from families.engine import Engine

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BOUND, PEER_BOUND = 0.02, 0.05  # llama.cpp rounds more
LENGTHS = (1, 7, 33)
GOLDENS = 10
REFERENCE = """
import importlib, json, pathlib, sys
import mlx.core as mx
from mlx.utils import tree_flatten
folder, prompts = pathlib.Path(sys.argv[1]), json.loads(sys.argv[2])
config = json.loads((folder / "config.json").read_text())
module = importlib.import_module("mlx_lm.models." + config["model_type"])
model = module.Model(module.ModelArgs.from_dict(config))
stored = {}
for file in sorted(folder.glob("*.safetensors")):
    stored |= mx.load(str(file))
if hasattr(model, "sanitize"):
    stored = model.sanitize(stored)
if config.get("tie_word_embeddings"):
    stored.pop("lm_head.weight", None)
model.load_weights(list(stored.items()), strict=True)
print(json.dumps([model(mx.array([ids]))[0].astype(mx.float32).tolist() for ids in prompts]))
"""


class Draw(random.Random):
    def heads(self):
        n = self.choice((1, 2, 3, 4, 6))
        return n, self.choice([i for i in range(1, n + 1) if n % i == 0]), self.choice((4, 8, 10, 16))

    def sizes(self, eps):
        n, n_kv, width = self.heads()
        return {"vocab_size": self.choice((61, 64, 97)), "hidden_size": n * width,
                "intermediate_size": self.choice((7, 16, 33)), "num_hidden_layers": self.choice((1, 2, 3)),
                "num_attention_heads": n, "num_key_value_heads": n_kv,
                "max_position_embeddings": self.choice((64, 128, 512)),
                "rms_norm_eps": self.choice((1e-5, 1e-2, eps)),
                "rope_theta": self.choice((10000.0, 500.0, 600000))}


def scaling_of(d, n_rotated):
    kind = d.choice((None, None, "linear", "llama3"))
    if kind == "linear":
        return {"type": "linear", "factor": d.choice((2.0, 4.0))}
    if kind == "llama3":
        return {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                "original_max_position_embeddings": d.choice((32, 64))}
    return kind


def llama_shapes(c, names):
    n, n_kv = c["num_attention_heads"], c["num_key_value_heads"]
    hidden, inner = c["hidden_size"], c["intermediate_size"]
    width = hidden // n
    shapes = {names["embeddings"]: (c["vocab_size"], hidden), "model.norm.weight": (hidden,),
              "lm_head.weight": (c["vocab_size"], hidden)}
    for i in range(c["num_hidden_layers"]):
        at = f"model.layers.{i}."
        shapes |= {at + "input_layernorm.weight": (hidden,),
                   at + "post_attention_layernorm.weight": (hidden,)}
        shapes |= {at + f"mlp.{part}_proj.weight": (inner, hidden) for part in ("gate", "up")}
        shapes[at + "mlp.down_proj.weight"] = (hidden, inner)
        if names["fused"]:
            rows = (n + 2 * n_kv) * width
            shapes |= {at + "attention.query_key_value.weight": (rows, hidden),
                       at + "attention.dense.weight": (hidden, n * width)}
            continue
        shapes |= {at + "self_attn.q_proj.weight": (n * width, hidden),
                   at + "self_attn.k_proj.weight": (n_kv * width, hidden),
                   at + "self_attn.v_proj.weight": (n_kv * width, hidden),
                   at + "self_attn.o_proj.weight": (hidden, n * width)}
    return shapes


def minicpm(d):
    c = d.sizes(1e-6) | {
        "model_type": "minicpm", "architectures": ["MiniCPMForCausalLM"], "tie_word_embeddings": False,
        "scale_emb": d.choice((1, 12, 3.5)), "scale_depth": d.choice((1, 1.4, 0.5)),
        "dim_model_base": d.choice((4, 16, 256))}
    scaling = scaling_of(d, c["hidden_size"] // c["num_attention_heads"])
    if scaling:
        c["rope_scaling"] = scaling
    return c, llama_shapes(c, {"embeddings": "model.embed_tokens.weight", "fused": False})


def experts(c, shapes, first_dense):
    hidden, inner = c["hidden_size"], c["moe_intermediate_size"]
    for i in range(first_dense, c["num_hidden_layers"]):
        at = f"model.layers.{i}.mlp."
        for part in ("gate", "up", "down"):
            del shapes[f"{at}{part}_proj.weight"]
        shapes[at + "gate.weight"] = (c["num_experts"], hidden)
        shared = c["num_shared_experts"] * inner
        stems = [(f"{at}experts.{e}.", inner) for e in range(c["num_experts"])]
        stems += [(f"{at}shared_experts.", shared)] * (shared > 0)
        for stem, wide in stems:
            shapes |= {f"{stem}{part}_proj.weight": (wide, hidden) for part in ("gate", "up")}
            shapes[stem + "down_proj.weight"] = (hidden, wide)
    return shapes


def bailing(d):
    c = d.sizes(1e-5) | {
        "model_type": "bailing_moe", "architectures": ["BailingMoeForCausalLM"],
        "tie_word_embeddings": d.choice((True, False)), "moe_intermediate_size": d.choice((5, 8, 16)),
        "num_experts": d.choice((4, 6, 8)), "num_experts_per_tok": d.choice((2, 3)),
        "num_shared_experts": d.choice((0, 1, 2)), "norm_topk_prob": d.choice((True, False)),
        "use_bias": False, "use_qkv_bias": d.choice((True, False)), "norm_head": False,
        "norm_softmax": False}
    c["first_k_dense_replace"] = d.choice(range(c["num_hidden_layers"] + 1))
    shapes = llama_shapes(c, {"embeddings": "model.word_embeddings.weight", "fused": True})
    if c["use_qkv_bias"]:
        for i in range(c["num_hidden_layers"]):
            stem = f"model.layers.{i}.attention.query_key_value."
            shapes[stem + "bias"] = shapes[stem + "weight"][:1]
    return c, experts(c, shapes, c["first_k_dense_replace"])


def bailing2(d):
    c, shapes = bailing(d)
    c |= {"architectures": ["BailingMoeV2ForCausalLM"], "use_qk_norm": True,
          "partial_rotary_factor": d.choice((0.5, 1.0)), "score_function": "sigmoid",
          "routed_scaling_factor": d.choice((1.0, 2.5)), "n_group": 1, "topk_group": 1,
          "moe_router_enable_expert_bias": d.choice((True, False)), "num_experts": 8}
    if d.random() < 0.5:
        c |= {"n_group": 4, "topk_group": 2}
    c["num_experts_per_tok"] = 2
    width = c["hidden_size"] // c["num_attention_heads"]
    if width % 4:
        c["partial_rotary_factor"] = 1.0
    shapes = llama_shapes(c, {"embeddings": "model.word_embeddings.weight", "fused": True})
    for i in range(c["num_hidden_layers"]):
        at = f"model.layers.{i}."
        shapes |= {at + f"attention.{part}_layernorm.weight": (width,) for part in ("query", "key")}
        if c["use_qkv_bias"]:
            stem = at + "attention.query_key_value."
            shapes[stem + "bias"] = shapes[stem + "weight"][:1]
        if c["moe_router_enable_expert_bias"] and i >= c["first_k_dense_replace"]:
            shapes[at + "mlp.gate.expert_bias"] = (8,)
    return c, experts(c, shapes, c["first_k_dense_replace"])


def orion(d):
    c = d.sizes(1e-5)
    while c["hidden_size"] < 16:  # layer norms of few numbers amplify roundings
        c = d.sizes(1e-5)
    c |= {"model_type": "orion", "architectures": ["OrionForCausalLM"], "tie_word_embeddings": False}
    shapes = llama_shapes(c, {"embeddings": "model.embed_tokens.weight", "fused": False})
    norms = {name: shape for name, shape in shapes.items() if "norm" in name}
    return c, shapes | {name.replace(".weight", ".bias"): shape for name, shape in norms.items()}


def openelm(d):
    dim, n_layers, hidden, group = d.choice((4, 8, 10, 16)), d.choice((1, 2, 3)), 24, d.choice((1, 2, 3))
    kv_heads = [d.choice((1, 2, 3)) for _ in range(n_layers)]
    factors = [d.choice((0.5, 0.61, 1.0, 2.3, 4.0)) for _ in range(n_layers)]
    divisor = d.choice((4, 8, 16))
    c = {"model_type": "openelm", "architectures": ["OpenELMForCausalLM"],
         "vocab_size": d.choice((61, 64, 97)), "num_transformer_layers": n_layers, "model_dim": hidden,
         "head_dim": dim, "num_query_heads": [n * group for n in kv_heads], "num_kv_heads": kv_heads,
         "num_gqa_groups": group, "ffn_multipliers": factors, "ffn_dim_divisor": divisor,
         "max_context_length": d.choice((64, 128)), "rope_freq_constant": d.choice((10000, 500)),
         "normalize_qk_projections": d.choice((True, True, False)), "ffn_with_glu": True,
         "activation_fn_name": "swish", "share_input_output_layers": d.choice((True, False)),
         "normalization_layer_name": "rms_norm"}
    shapes = {"transformer.token_embeddings.weight": (c["vocab_size"], hidden),
              "transformer.norm.weight": (hidden,)}
    if not c["share_input_output_layers"]:
        shapes["lm_head.weight"] = (c["vocab_size"], hidden)
    for i, (n_kv, factor) in enumerate(zip(kv_heads, factors)):
        exact = factor * hidden
        inner = max(divisor, int(exact + divisor / 2) // divisor * divisor)
        inner += divisor * (inner < 0.9 * exact)
        at, n = f"transformer.layers.{i}.", n_kv * group
        shapes |= {at + "attn_norm.weight": (hidden,), at + "ffn_norm.weight": (hidden,),
                   at + "attn.qkv_proj.weight": ((n + 2 * n_kv) * dim, hidden),
                   at + "attn.out_proj.weight": (hidden, n * dim),
                   at + "ffn.proj_1.weight": (2 * inner, hidden),
                   at + "ffn.proj_2.weight": (hidden, inner)}
        if c["normalize_qk_projections"]:
            shapes |= {at + f"attn.{part}_norm.weight": (dim,) for part in "qk"}
    return c, shapes


FAMILIES = {"openelm": openelm, "minicpm": minicpm, "bailingmoe": bailing, "bailingmoe2": bailing2, "orion": orion}
BY_PEER = {"orion"}  # llama.cpp is the reference


def gguf_file(path, family, d):
    """A file of a family that is known from GGUF files alone, and the size of its vocabulary."""
    import gguf
    n, n_kv, width = d.heads()
    n_kv = n if family == "baichuan" else n_kv
    c = {"vocab": d.choice((61, 64, 97)), "hidden": n * width, "inner": d.choice((7, 16, 33)),
         "layers": d.choice((32, 40) if family == "baichuan" else (1, 2, 3))}
    out = gguf.GGUFWriter(str(path), family)
    out.add_context_length(128)
    out.add_vocab_size(c["vocab"])
    out.add_embedding_length(c["hidden"])
    out.add_block_count(c["layers"])
    out.add_feed_forward_length(c["inner"])
    out.add_head_count(n)
    out.add_head_count_kv(n_kv)
    out.add_rope_dimension_count(width)
    out.add_rope_freq_base(d.choice((10000.0, 500.0)))
    out.add_layer_norm_rms_eps(d.choice((1e-5, 1e-2)))
    shapes = {"token_embd": (c["vocab"], c["hidden"]), "output_norm": (c["hidden"],),
              "output": (c["vocab"], c["hidden"])}
    for i in range(c["layers"]):
        shapes |= {f"blk.{i}.attn_norm": (c["hidden"],), f"blk.{i}.attn_q": (n * width, c["hidden"]),
                   f"blk.{i}.attn_k": (n_kv * width, c["hidden"]),
                   f"blk.{i}.attn_v": (n_kv * width, c["hidden"]),
                   f"blk.{i}.attn_output": (c["hidden"], n * width),
                   f"blk.{i}.ffn_gate": (c["inner"], c["hidden"]),
                   f"blk.{i}.ffn_up": (c["inner"], c["hidden"]),
                   f"blk.{i}.ffn_down": (c["hidden"], c["inner"])}
        if family != "plamo":
            shapes[f"blk.{i}.ffn_norm"] = (c["hidden"],)
    seed, heat = d.getrandbits(32), d.choice((0.8, 1.2, 1.7))
    for name, shape in shapes.items():
        like = name.replace("token_embd", "embed_tokens").replace("attn_q", "q_proj").replace(
            "attn_k", "k_proj")
        spread = weights.role_of(like + ".weight", shape, "llama", heat)
        if "attn_output" in name or "ffn_down" in name:  # many layers would amplify roundings
            spread = spread[0], spread[1] / c["layers"] ** 0.5
        out.add_tensor(name + ".weight", weights.filled(name, shape, spread, seed))
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()
    return c["vocab"]


GGUF_ONLY = ("baichuan", "plamo")


def one_file(family, key, args):
    """(verdict, what to print) of a GGUF file, against llama.cpp."""
    from compare_peer import peer_rows, without_tokenizer
    d = Draw(key)
    with tempfile.TemporaryDirectory(prefix="unlisted-") as scratch:
        file = pathlib.Path(scratch) / "f32.gguf"
        n_vocab = gguf_file(file, family, d)
        prompts = [weights.ids(d.getrandbits(32), n, n_vocab) for n in (1, 7, 33)]
        answer = Engine(args.binary).logits(file, prompts)
        if answer.rows is None:
            return "not computed", answer.message or answer.fault
        without_tokenizer(file)
        want, why = peer_rows(file, prompts, "logits")
    if want is None:
        return "no reference", why
    delta = difference(answer.rows, want)
    return ("agree" if delta <= PEER_BOUND else "differ"), f"{delta:.1e}"


def reference_rows(python, folder, prompts):
    done = subprocess.run([python, "-c", REFERENCE, str(folder), json.dumps(prompts)],
                          capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise RuntimeError(done.stderr[-400:])
    return [np.array(rows) for rows in json.loads(done.stdout)]


def difference(rows, want):
    spread = np.std(np.concatenate([row.ravel() for row in want]))
    return max(float(np.abs(a - b).max()) for a, b in zip(rows, want)) / spread


def is_near_tie(rows, want):
    """Whether few rows differ: two experts of a router were nearly equal there. What follows such a
    row in its text attends to it."""
    spread = np.std(np.concatenate([row.ravel() for row in want]))
    gaps = np.concatenate([np.abs(a - b).max(axis=1) / spread for a, b in zip(rows, want)])
    return np.mean(gaps > BOUND) <= 0.1 and np.median(gaps) <= BOUND / 4


def drawn(family, key):
    """A case as families_test.cpp reads it, without answers."""
    d = Draw(key)
    config, shapes = FAMILIES[family](d)
    seed, heat = d.getrandbits(32), d.choice((0.8, 1.2, 1.7))
    if config.get("tie_word_embeddings"):
        shapes.pop("lm_head.weight")
    return {"name": key, "config": config, "dtype": "f32", "shards": 1, "seed": seed,
            "lengths": list(LENGTHS),
            "tensors": [[name, list(shape), *role(name, shape, heat)] for name, shape in shapes.items()]}


def answers(family, case, args):
    """(reference's logits, ours of the folder, of the exported file, llama.cpp's of that)"""
    prompts = [weights.ids(case["seed"], n, case["config"]["vocab_size"]) for n in LENGTHS]
    tensors = {name: weights.filled(name, shape, (centre, spread), case["seed"])
               for name, shape, centre, spread in case["tensors"]}
    engine = Engine(args.binary)
    with tempfile.TemporaryDirectory(prefix="unlisted-") as scratch:
        folder, file = pathlib.Path(scratch) / "model", pathlib.Path(scratch) / "f32.gguf"
        weights.write_folder(folder, case["config"], tensors, case)
        ours = engine.logits(folder, prompts)
        made = engine.quantize(folder, file, "f32")
        again = engine.logits(file, prompts) if not made.message else made
        for answer in (ours, again):
            if answer.rows is None:
                raise RuntimeError(answer.message or answer.fault)
        peers, why = None, ""
        if args.peer or family in BY_PEER:
            from compare_peer import peer_rows, without_tokenizer
            without_tokenizer(file)
            peers, why = peer_rows(file, prompts, "logits")
        want = peers if family in BY_PEER else reference_rows(args.mlx_python, folder, prompts)
    if want is None:
        raise RuntimeError(why)
    return want, ours.rows, again.rows, peers if peers is not None else why


def one(family, key, args):
    """(verdict, what to print)"""
    if family in GGUF_ONLY:
        return one_file(family, key, args)
    case = drawn(family, key)
    try:
        want, *forms, peers = answers(family, case, args)
    except RuntimeError as error:
        return "not computed", f"{error} {json.dumps(case['config'])}"
    deltas = [difference(rows, want) for rows in forms]
    shown = f"folder {deltas[0]:.1e}, GGUF {deltas[1]:.1e}"
    if args.peer:
        shown += f", llama.cpp {peers if isinstance(peers, str) else f'{difference(peers, want):.1e}'}"
    bound = PEER_BOUND if family in BY_PEER else BOUND
    if max(deltas) > bound and "num_experts" in case["config"] and is_near_tie(forms[0], want):
        return "near tie", shown
    return ("agree" if max(deltas) <= bound else "differ"), f"{shown} {json.dumps(case['config'])}"


def write_goldens(args):
    for family in args.family:
        lines = []
        for number in range(GOLDENS + 2 if family in FAMILIES else 0):
            case = drawn(family, f"goldens/{family}/{number}")
            want, *forms, _ = answers(family, case, args)
            deltas = [difference(rows, want) for rows in forms]
            if "num_experts" in case["config"] and is_near_tie(forms[0], want) and deltas[0] > BOUND:
                continue
            if max(deltas) > PEER_BOUND:
                sys.exit(f"{family} {number} differs by {max(deltas):.1e}")
            spread = float(np.std(np.concatenate([row.ravel() for row in want])))
            case["answers"] = [
                {"std": round(spread, 6), "positions": goldens.rows_of(len(rows)),
                 "logits": [[float(f"{x:.7g}") for x in rows[i][:goldens.TOKENS]]
                            for i in goldens.rows_of(len(rows))]} for rows in want]
            names = ("folder", "gguf")
            case["deltas"] = {name: float(f"{x:.2g}") for name, x in zip(names, deltas)}
            case["bounds"] = {name: round(max(4 * x, 5e-4), 6) for name, x in zip(names, deltas)}
            lines.append(json.dumps(case, separators=(",", ":")))
        if lines:
            path = SOURCE / f"tests/golden/families/{family}.json"
            path.write_text("[\n" + ",\n".join(lines) + "\n]\n")
            print(f"{family}: {len(lines)} cases, {path.stat().st_size} bytes")


def role(name, shape, heat):
    if name.endswith("expert_bias"):
        return 0.0, 0.2
    if name.endswith(("query_layernorm.weight", "key_layernorm.weight")):
        return heat, 0.4
    for embeddings in ("word_embeddings", "token_embeddings"):
        name = name.replace(embeddings, "embed_tokens")
    return weights.role_of(name, shape, "llama", heat)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--family", nargs="+", default=[*FAMILIES, *GGUF_ONLY],
                   choices=[*FAMILIES, *GGUF_ONLY])
    p.add_argument("--count", type=int, default=10, help="configurations of each family")
    p.add_argument("--seed", default="1")
    p.add_argument("--peer", action="store_true", help="ask llama.cpp, too")
    p.add_argument("--mlx-python", default=os.environ.get("RUV_MLX_PYTHON", sys.executable),
                   help="a Python that has mlx-lm")
    p.add_argument("--binary", type=pathlib.Path, default=SOURCE / "build/release/apps/ruvllm/ruvllm")
    p.add_argument("--write-goldens", action="store_true")
    args = p.parse_args()
    if args.write_goldens:
        return write_goldens(args)
    counts = collections.Counter()
    for family in args.family:
        for number in range(args.count):
            verdict, shown = one(family, f"{args.seed}/{family}/{number}", args)
            counts[family, verdict] += 1
            if verdict != "agree" or args.peer:
                print(f"{verdict}: {family} {number}: {shown}", flush=True)
    for (family, verdict), n in counts.items():
        print(f"{family}: {n} {verdict}")
    return int(any(verdict not in ("agree", "near tie") for _, verdict in counts))


if __name__ == "__main__":
    sys.exit(main())
