#!/usr/bin/env python3
"""Our logits with control vectors against transformers, whose layers have hooks that add the same
directions to what they return, on the tiny random models of all families (see compare_families.py).

    compare_control_vectors.py --seed 1 --count 3           3 of each family
    compare_control_vectors.py --family gemma2 --count 20

The vector is a GGUF file as llama.cpp has them, of random layers and a random scale; each direction is
about as large as the stream that it is added to. It is read beside the model's folder and beside the
GGUF file that `ruvllm quantize` makes of it. Δ and its bound are those of compare_adapters.py. Exit
code 1: a silent difference, a vector without an effect, a crash, or a refusal that names no direction.
Needs torch, transformers, numpy.
"""
import argparse
import collections
import pathlib
import random
import re
import sys
import tempfile

import numpy as np
import torch

from families import reference, verdicts, weights
from families.engine import Engine
from families.records import FAMILIES

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests/e2e"))
from peft_files import write_control_vector  # noqa: E402

FAILING = ("different", "no effect", "unnamed", "crash")


def layers_of(model):
    """The modules that a pass computes one after another."""
    config = model.config
    n_layers = next((getattr(config, name) for name in
                     ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
                     if getattr(config, name, None)), 0)
    lists = [(name, module) for name, module in model.named_modules()
             if isinstance(module, torch.nn.ModuleList) and len(module) == n_layers]
    if not lists:
        raise reference.Refused("no list of layers")
    return min(lists, key=lambda pair: pair[0].count("."))[1]


def stream_in(returned):
    return returned if isinstance(returned, torch.Tensor) else returned[0]


def stream_sizes(model, layers, prompt):
    """The stream's standard deviation and width after each layer."""
    found = {}

    def note(layer):
        def hook(_module, _inputs, returned):
            stream = stream_in(returned)
            found[layer] = (float(stream.std()), stream.shape[-1])
        return hook

    hooks = [module.register_forward_hook(note(i)) for i, module in enumerate(layers)]
    model.logits([prompt])
    for hook in hooks:
        hook.remove()
    return found


def add_after(module, numbers):
    def hook(_module, _inputs, returned):
        moved = stream_in(returned) + torch.from_numpy(numbers)
        return moved if isinstance(returned, torch.Tensor) else (moved, *returned[1:])

    module.register_forward_hook(hook)


def steer(model, draw, prompt, path):
    """Adds hooks to the model and writes the file of what they add; the scale that it needs."""
    layers = layers_of(model.model)
    sizes = stream_sizes(model, layers, prompt)
    if len(layers) < 2:
        raise reference.Refused("one layer")
    chosen = sorted(draw.sample(range(1, len(layers)), draw.randint(1, len(layers) - 1)))
    if any(layer not in sizes for layer in chosen):
        raise reference.Refused("layers that are not computed")
    if any(sizes[layer][1] < 3 for layer in chosen):
        raise reference.Refused("a stream of two numbers, which layer norm makes 1 and -1")
    scale = draw.choice((1.0, -0.5, 2.0, 0.3))
    generator = np.random.default_rng(draw.randrange(1 << 30))
    every = getattr(model.model.config, "rescale_every", 0)
    directions = {}
    for layer in chosen:
        size, width = sizes[layer]
        directions[layer] = (generator.standard_normal(width) * size * 0.7).astype(np.float32)
        # RWKV of transformers halves the stream past the layer that the hook belongs to.
        is_halved = every > 0 and (layer + 1) % every == 0
        add_after(layers[layer], directions[layer] * np.float32(scale * (2 if is_halved else 1)))
    hint = getattr(model.model.config, "model_type", "") if draw.random() < 0.5 else ""
    write_control_vector(path, directions, hint)
    return scale


def one_case(case, seed, engine):
    """(verdict, detail) of one model and one control vector."""
    draw = random.Random(seed)
    prompts = verdicts.prompts_of(case)[:2]
    gives, second, source = (reference.gives(case["config"]), case.get("second", 0),
                             case.get("source", 0))
    with tempfile.TemporaryDirectory(prefix="control-vectors-") as scratch:
        root = pathlib.Path(scratch)
        folder, vector, gguf = root / "model", root / "vector.gguf", root / "model.gguf"
        tensors = verdicts.filled(verdicts.layout_of(case), case["seed"])
        weights.write_folder(folder, case["config"], tensors, case["file"])
        plain = engine.logits(folder, prompts, gives, second, source)
        if plain.rows is None:
            return "base refused", plain.message or plain.fault
        model = reference.Model(folder)
        model.second, model.source = second, source
        scale = steer(model, draw, prompts[0], vector)
        want = model.logits(prompts)
        bf16 = ["activations"] * (case["file"]["dtype"] == "bf16")
        rough = model.rounded(prompts, **dict.fromkeys(bf16, True))
        std = np.concatenate([rows.ravel() for rows in want]).std() or 1
        noise = max(np.abs(a - b).max() for a, b in zip(rough, want)) / std
        bound = verdicts.bound_of(noise)
        moved = max(np.abs(a - b).max() for a, b in zip(plain.rows, want)) / std
        paths = [("folder", folder)]
        if engine.quantize(folder, gguf, "f32").message == "":
            paths.append(("gguf", gguf))
        deltas = []
        for form, path in paths:
            answer = engine.logits(path, prompts, gives, second, source,
                                   adapters=[f"{vector}={scale}"])
            if answer.fault:
                return "crash", f"{form}: {answer.fault}"
            if answer.rows is None:
                named = re.search(r"direction \d+|adapters of it", answer.message)
                return "refused" if named else "unnamed", f"{form}: {answer.message}"
            delta = max(np.abs(a - b).max() for a, b in zip(answer.rows, want)) / std
            deltas.append(f"{form} {delta:.1e}")
            if delta > bound:
                return "different", f"{form}: {delta:.2e} of {bound:.2e}, base {moved:.2e}"
        verdict = "agree" if moved > bound else "too rough" if noise > 0.01 else "no effect"
        return verdict, ", ".join([*deltas, f"base {moved:.1e} of {bound:.1e}"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", type=pathlib.Path, default=SOURCE / "build/release/apps/ruvllm/ruvllm")
    parser.add_argument("--family", action="append", choices=sorted(FAMILIES))
    parser.add_argument("--seed", default="1")
    parser.add_argument("--count", type=int, default=2, help="of each family")
    args = parser.parse_args()
    engine, totals = Engine(args.binary), collections.Counter()
    for family in args.family or sorted(FAMILIES):
        counts, details = collections.Counter(), {}
        for number in range(args.count):
            seed = f"{args.seed}/{family}/{number}"
            try:
                verdict, detail = one_case(FAMILIES[family].draw(seed), seed, engine)
            except reference.Refused as refused:
                verdict, detail = "no reference", str(refused)
            counts[verdict] += 1
            details.setdefault(verdict, detail)
        totals += counts
        print(family, ", ".join(f"{n} {verdict} ({details[verdict][:150]})"
                                for verdict, n in counts.items()), flush=True)
    print("all:", ", ".join(f"{n} {verdict}" for verdict, n in totals.most_common()))
    return 1 if any(totals[verdict] for verdict in FAILING) else 0


if __name__ == "__main__":
    sys.exit(main())
