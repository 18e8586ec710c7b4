#!/usr/bin/env python3
"""Makes tests/golden/embeddings: vectors of texts by golden models (make_model_goldens.py), with the
hidden states of transformers and the formulas of sentence-transformers in numpy.

    python tests/golden/make_embedding_goldens.py

Needs torch, transformers, safetensors and numpy. golden.json has for each model the ids of some
texts, what each kind of pooling makes of their states, and `sentence`: after mean pooling the
dense layer of dense.safetensors with tanh, the first 8 of its 16 numbers, scaled to a length of 1.
"""
import json
import pathlib

import numpy as np
import torch
from safetensors.numpy import save_file
from transformers import AutoModel

HERE = pathlib.Path(__file__).resolve().parent
TEXTS = [[3], [5, 17, 2, 40, 8, 61, 33], [(7 * i + 11) % 70 for i in range(45)]]
N_DENSE, N_DIMS = 16, 8


def pooled(states):
    """By sentence-transformers' names of the modes, without padding."""
    weights = np.arange(1, len(states) + 1, dtype=np.float64)[:, None]
    return {"mean": states.mean(axis=0), "cls": states[0], "last": states[-1],
            "weighted_mean": (states * weights).sum(axis=0) / weights.sum()}


def sentence(vector, weight, bias):
    out = np.tanh(weight @ vector + bias)[:N_DIMS]
    return out / np.linalg.norm(out)


def shown(vector):
    return [float(f"{x:.7g}") for x in vector]


def main():
    folder = HERE / "embeddings"
    folder.mkdir(exist_ok=True)
    random = np.random.default_rng(7)
    weight = (random.standard_normal((N_DENSE, 32)) / 6).astype(np.float32)
    bias = (random.standard_normal(N_DENSE) / 4).astype(np.float32)
    save_file({"linear.weight": weight, "linear.bias": bias}, folder / "dense.safetensors")
    golden = {}
    for name in ("qwen3", "gemma3"):
        model = AutoModel.from_pretrained(HERE / "models" / name, dtype=torch.float32,
                                          attn_implementation="eager").eval()
        cases = []
        for ids in TEXTS:
            with torch.no_grad():
                states = model(torch.tensor([ids])).last_hidden_state[0].double().numpy()
            vectors = pooled(states)
            cases.append({"ids": ids, **{mode: shown(v) for mode, v in vectors.items()},
                          "sentence": shown(sentence(vectors["mean"], weight, bias))})
        golden[name] = cases
    (folder / "golden.json").write_text(json.dumps(golden) + "\n")


if __name__ == "__main__":
    main()
