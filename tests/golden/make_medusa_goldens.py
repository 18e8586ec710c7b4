#!/usr/bin/env python3
"""tests/golden/heads/medusa.json: logits of Medusa heads (arXiv 2401.10774) of files of their own, for
tiny random models, for medusa_head_test.cpp. The model is the class of transformers; the heads are
computed here from the paper, in float64, of the state that the model's output matrix reads. Needs torch
and transformers."""
import argparse
import json
import pathlib
import random
import sys
import tempfile

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "oracle"))
from families import reference, weights  # noqa: E402

TOKENS = 12
LENGTHS = (2, 17, 40)


def target(kind, width, **more):
    """The config of a model."""
    names = {"llama": "Llama", "qwen3": "Qwen3", "granite": "Granite", "gemma2": "Gemma2"}
    return {"model_type": kind, "architectures": [names[kind] + "ForCausalLM"], "vocab_size": 61,
            "hidden_size": width, "intermediate_size": 19, "num_hidden_layers": 3,
            "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 16,
            "max_position_embeddings": 100, "rms_norm_eps": 1e-5, "rope_theta": 123.5,
            "tie_word_embeddings": False, **more}


def scan(width):
    """The config of a model without attention."""
    return {"model_type": "mamba", "architectures": ["MambaForCausalLM"], "vocab_size": 61,
            "hidden_size": width, "num_hidden_layers": 2, "state_size": 8, "expand": 2,
            "conv_kernel": 4, "time_step_rank": 3, "layer_norm_epsilon": 1e-5,
            "tie_word_embeddings": False}


def heads(n, n_blocks, **more):
    """The config of heads as their authors write it."""
    return {"medusa_num_heads": n, "medusa_num_layers": n_blocks,
            "base_model_name_or_path": "none", **more}


def of_class(n, n_blocks, width, **more):
    """The config of heads that name a class."""
    return {"architectures": ["MedusaModel"], "model_type": "medusa", "num_heads": n,
            "num_hidden_layers": n_blocks, "hidden_size": width, "vocab_size": 61, **more}


# Name, model, heads, and the file's name.
OWN = "medusa_lm_head.safetensors"
CASES = [
    ("own_outputs", target("llama", 20), heads(3, 1), OWN),
    ("two_blocks", target("qwen3", 24), heads(2, 2, hidden_size=24, vocab_size=61, version="2"),
     "model.safetensors"),
    ("model_outputs", target("granite", 16, embedding_multiplier=3.0, logits_scaling=2.0,
                             residual_multiplier=0.7, attention_multiplier=0.2,
                             tie_word_embeddings=True), heads(4, 1), OWN),
    ("without_attention", scan(16), heads(5, 1), OWN),
    ("some_tokens", target("gemma2", 24, final_logit_softcapping=9.0, query_pre_attn_scalar=16,
                           hidden_activation="gelu_pytorch_tanh", sliding_window=16),
     of_class(3, 2, 24, truncated_vocab_size=23, medusa_fc_bias=True), "model.safetensors"),
    ("one_output", target("llama", 20), of_class(2, 1, 20, truncated_vocab_size=40,
                                                 original_lm_head=True), "model.safetensors"),
]


def names(c):
    """Names of the tensors of block (head, i) and of a head's output."""
    if "architectures" in c:
        return (lambda head, i: f"blocks.{head}.layers.{i}"), (lambda head: f"lm_heads.{head}.weight")
    return ((lambda head, i: f"{head}.{i}.linear"),
            (lambda head: f"{head}.{c['medusa_num_layers']}.weight"))


def count(c, what):
    return c.get("medusa_num_" + what[0], c.get("num_" + what[1]))


def head_shapes(c, width, has_outputs):
    """Names and shapes of the tensors of a file, but token_map."""
    block_name, output_name = names(c)
    n, n_blocks = count(c, ("heads", "heads")), count(c, ("layers", "hidden_layers"))
    has_bias = c.get("medusa_fc_bias", "architectures" not in c)
    # The matrix of all tokens in one file, of some of them in the other.
    n_out = c["truncated_vocab_size"] if c.get("original_lm_head") else 61
    shapes = {}
    for head in range(n):
        for i in range(n_blocks):
            shapes[block_name(head, i) + ".weight"] = (width, width)
            if has_bias:
                shapes[block_name(head, i) + ".bias"] = (width,)
        if has_outputs and (head == 0 or not c.get("original_lm_head")):
            shapes[output_name(head)] = (n_out, width)
    return shapes


def answers(c, tensors, meant, state, output):
    """Logits of each head for rows of the state."""
    block_name, output_name = names(c)
    w = {name: torch.tensor(x, dtype=torch.float64) for name, x in tensors.items()}
    found = []
    for head in range(count(c, ("heads", "heads"))):
        x = state
        for i in range(count(c, ("layers", "hidden_layers"))):
            y = x @ w[block_name(head, i) + ".weight"].T
            bias = w.get(block_name(head, i) + ".bias")
            y = y if bias is None else y + bias
            x = x + y * y.sigmoid()
        matrix = w.get(output_name(0 if c.get("original_lm_head") else head), output)
        if meant and len(matrix) > len(meant):
            matrix = matrix[meant]
        found.append(x @ matrix.T)
    return torch.stack(found)


def states(model, ids):
    """What the output matrix reads."""
    kept = []
    hook = model.get_output_embeddings().register_forward_pre_hook(
        lambda _, args: kept.append(args[0][0].double()))
    model(torch.tensor([ids]), use_cache=False)
    hook.remove()
    return kept[0]


def layout_of(shapes, kind):
    return {name: (shape, weights.role_of(name, shape, kind, 1.0)) for name, shape in shapes.items()}


def golden(name, config, head_config, file):
    r = random.Random(f"medusa {name}")
    seed = r.getrandbits(32)
    shapes = reference.shapes_of(config)
    if config["tie_word_embeddings"]:
        shapes.pop("lm_head.weight", None)
    layout = layout_of(shapes, config["model_type"])
    own = layout_of(head_shapes(head_config, config["hidden_size"], name != "model_outputs"), "llama")
    tensors = {n: weights.filled(n, *part, seed) for n, part in layout.items()}
    own_tensors = {n: weights.filled(n, *part, seed) for n, part in own.items()}
    n_draft = head_config.get("truncated_vocab_size", 61)
    # In no order, as those who choose them leave them.
    meant = r.sample(range(61), n_draft) if n_draft < 61 else []
    made = {"name": name, "config": config, "dtype": "f32", "shards": 1, "seed": seed,
            "tensors": [[n, list(shape), *role] for n, (shape, role) in layout.items()],
            "head": {"config": head_config, "file": file, "dtype": "f32", "shards": 1, "seed": seed,
                     "tensors": [[n, list(shape), *role] for n, (shape, role) in own.items()]},
            "answers": []}
    if meant:
        made["head"]["token_map"] = meant
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        weights.write_folder(folder, config, tensors, {"dtype": "f32", "shards": 1})
        model = reference.Model(folder).model
        with torch.no_grad(), reference.half_keys_and_values(model):
            for length in LENGTHS:
                ids = weights.ids(seed, length, config["vocab_size"])
                state = states(model, ids)
                rows = answers(head_config, own_tensors, meant, state,
                               model.get_output_embeddings().weight.double())
                kept = sorted({0, length // 2, length - 2, length - 1})
                made["answers"].append({
                    "length": length, "std": round(float(rows.std()), 6), "positions": kept,
                    "logits": [[[float(f"{x:.7g}") for x in one[i][:TOKENS]] for i in kept]
                               for one in rows]})
    return made


def main():
    argparse.ArgumentParser(description=__doc__).parse_args()
    made = [golden(*case) for case in CASES]
    text = ",\n".join(json.dumps(one, separators=(",", ":")) for one in made)
    path = pathlib.Path(__file__).parent / "heads" / "medusa.json"
    path.write_text(f"[\n{text}\n]\n")
    print(f"{len(made)} heads, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
