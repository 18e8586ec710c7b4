#!/usr/bin/env python3
"""Merged adapters of `ruvllm lora merge` against those of PEFT, module by module.

    compare_merges.py --binary build/release/apps/ruvllm/ruvllm --seed 1

Three adapters of random ranks and numbers for a small random model are merged by both with the same
weights: the sum exactly and to a lower rank, the largest numbers, and TIES. PEFT merges the changes
B·A too in its variants with "svd" in their name. What PEFT drops by chance (DARE) cannot be equal: of it
the mean over many seeds is compared with the sum that it estimates. Prints a table in Markdown with the
length of the difference over that of the change, the largest of all modules. Exit code 1: above 1e-5, or
above 0.2 for the mean. Needs torch, transformers, peft, safetensors.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import peft
import torch
import transformers
from safetensors.torch import load_file

MOST = 1e-5
MOST_OF_MEAN = 0.2
SEEDS = 60
NAMES = ("first", "second", "third")
TARGETS = ["q_proj", "v_proj", "down_proj"]
WEIGHTS = [1.0, 0.5, -0.75]
FULL = 64  # the smaller dimension of every module: nothing is cut off


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--binary", default="ruvllm")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def adapted_model(seed, folder):
    """A model with three adapters, which are saved in folders of their names."""
    torch.manual_seed(seed)
    config = transformers.LlamaConfig(hidden_size=64, intermediate_size=96, num_hidden_layers=2, vocab_size=100,
                                      num_attention_heads=4, num_key_value_heads=4)
    model = transformers.LlamaForCausalLM(config)
    adapted = None
    for name, rank in zip(NAMES, (3, 8, 5)):
        lora = peft.LoraConfig(r=rank, lora_alpha=2 * rank + 1, target_modules=TARGETS, init_lora_weights=False)
        if adapted is None:
            adapted = peft.get_peft_model(model, lora, adapter_name=name)
        else:
            adapted.add_adapter(name, lora)
    for name in NAMES:
        adapted.save_pretrained(folder, selected_adapters=[name])
    return adapted


def modules_of(adapted):
    return {name: module for name, module in adapted.named_modules() if isinstance(module, peft.tuners.lora.Linear)}


def theirs(adapted, kind, **options):
    adapted.add_weighted_adapter(list(NAMES), WEIGHTS, "merged", combination_type=kind, **options)
    changes = {name: module.get_delta_weight("merged").double() for name, module in modules_of(adapted).items()}
    adapted.delete_adapter("merged")
    return changes


def ours(args, folder, *options):
    out = folder / "ours"
    command = [args.binary, "lora", "merge", "--out", out, "--force", "--quiet", "--weights",
               ",".join(str(weight) for weight in WEIGHTS), *options, *(folder / name for name in NAMES)]
    out.mkdir(exist_ok=True)
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)
    numbers = load_file(out / "adapter_model.safetensors")
    config = peft.LoraConfig.from_pretrained(out)
    changes = {}
    for key, a in numbers.items():
        if key.endswith(".lora_A.weight"):
            name = key.removesuffix(".lora_A.weight")
            b = numbers[f"{name}.lora_B.weight"].double()
            rank = config.rank_pattern.get(name.removeprefix("base_model.model."), config.r)
            alpha = config.alpha_pattern.get(name.removeprefix("base_model.model."), config.lora_alpha)
            changes[name] = alpha / rank * (b @ a.double())
    return changes


def largest(found, wanted):
    assert found.keys() == wanted.keys(), "other modules"
    return max(float((found[name] - wanted[name]).norm() / wanted[name].norm()) for name in wanted)


def rows(args, adapted, folder):
    """(name of the merge, PEFT's name, difference, bound)."""
    yield ("linear", "cat", largest(ours(args, folder, "--strategy", "linear"), theirs(adapted, "cat")), MOST)
    yield ("cat", "cat", largest(ours(args, folder, "--strategy", "cat"), theirs(adapted, "cat")), MOST)
    yield ("linear, rank 6", "svd, rank 6", largest(ours(args, folder, "--rank", 6),
                                                    theirs(adapted, "svd", svd_rank=6)), MOST)
    for density in (0.2, 0.7):
        for mine, kind in (("prune", "magnitude_prune_svd"), ("ties", "ties_svd")):
            found = ours(args, folder, "--strategy", mine, "--density", density, "--rank", FULL)
            wanted = theirs(adapted, kind, svd_rank=FULL, density=density)
            yield (f"{mine}, density {density}", kind, largest(found, wanted), MOST)
    found = [ours(args, folder, "--strategy", "dare", "--density", 0.5, "--rank", FULL, "--seed", seed)
             for seed in range(SEEDS)]
    mean = {name: sum(one[name] for one in found) / SEEDS for name in found[0]}
    spread = largest(found[0], theirs(adapted, "cat"))
    assert spread > 2 * MOST_OF_MEAN, "nothing was dropped"
    yield (f"dare, density 0.5, mean of {SEEDS} seeds", "cat", largest(mean, theirs(adapted, "cat")), MOST_OF_MEAN)


def main():
    args = arguments()
    print("| strategy | PEFT's combination | largest difference |\n|---|---|---|")
    good = True
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        adapted = adapted_model(args.seed, folder)
        for mine, kind, difference, most in rows(args, adapted, folder):
            print(f"| {mine} | `{kind}` | {difference:.1e} |", flush=True)
            good &= difference <= most
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
