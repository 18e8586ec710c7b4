#!/usr/bin/env python3
"""Our logits with adapters against transformers and PEFT, on the tiny random models of all families
(see compare_families.py), with adapters of random targets, ranks and scales: of projections, of the
embedding and the output, tied or not, with magnitudes (DoRA), biases and whole matrices.

    compare_adapters.py --seed 1 --count 3              3 of each family
    compare_adapters.py --family gemma2 --count 20
    compare_adapters.py --experts --count 10        of families with experts, their matrices as well

The adapter is saved by PEFT and read by us, with the model from its folder and from the GGUF file that
`ruvllm quantize` makes of it. Δ is the largest difference over the standard deviation of the logits;
it may be 5 times what the documented roundings do to the reference itself, or 5e-4; where these roundings
alone hide the adapter, nothing is said (too rough). With --experts the adapter is also written as older
versions do: with a module for each expert (transformers 4), and with inputs and outputs of the stacks
exchanged (PEFT before 0.20). Exit code 1: a
silent difference, an adapter without an effect, a crash, or a refusal that names no module. Needs
torch, transformers, peft, numpy.
"""
import argparse
import collections
import json
import pathlib
import random
import re
import sys
import tempfile

import numpy as np
import peft
import safetensors.torch
import torch
import transformers

from families import reference, verdicts, weights
from families.engine import Engine
from families.records import FAMILIES

SOURCE = pathlib.Path(__file__).resolve().parents[2]
KINDS = (torch.nn.Linear, transformers.pytorch_utils.Conv1D)
FAILING = ("different", "no effect", "unnamed", "crash")


def draw_config(model, draw, kinds_of_draw):
    """A LoraConfig for some kinds of projections, all of them in half of the draws, and for the
    model's ends, magnitudes and whole matrices in shares of them."""
    if kinds_of_draw["experts"]:
        return draw_experts(model, draw)
    names = [name for name, module in model.named_modules()
             if isinstance(module, KINDS) and re.search(r"\.\d+\.", f".{name}")]
    # PEFT puts adapters on all experts where it meets these.
    has_experts = any(".experts." in name for name, _ in model.named_parameters())
    ends = ("gate_proj", "up_proj", "down_proj") if has_experts else ()
    ends += ("dt_proj",)  # transformers multiplies by its weight, past what PEFT adds
    kinds = sorted({name.rsplit(".", 1)[1] for name in names} - set(ends))
    if not kinds:
        raise reference.Refused("no projections")
    chosen = kinds if draw.random() < 0.5 else draw.sample(kinds, draw.randint(1, len(kinds)))
    targets = [name for name in names if name.rsplit(".", 1)[1] in chosen]
    odd = draw.choice(targets)
    rank = draw.choice((1, 2, 3, 8, 17))
    config = {
        "r": rank, "lora_alpha": draw.choice((1, 5, 16)), "target_modules": targets,
        "use_rslora": draw.random() < 0.3, "rank_pattern": {odd: 5} if draw.random() < 0.5 else {},
        "alpha_pattern": {chosen[0]: 7} if draw.random() < 0.5 else {}}
    # transformers divides RWKV's weights, and not the lengths that PEFT took of them.
    may_have_magnitudes = getattr(model.config, "rescale_every", 0) == 0
    if draw.random() < kinds_of_draw["dora"] and may_have_magnitudes:
        config["use_dora"] = True
    if draw.random() < kinds_of_draw["biases"]:
        config["bias"] = "lora_only"
    ends = ends_of(model)
    if ends and draw.random() < kinds_of_draw["ends"]:
        config["target_modules"] = targets + draw.sample(ends, draw.randint(1, len(ends)))
        config["ensure_weight_tying"] = draw.random() < 0.3
    elif ends and draw.random() < kinds_of_draw["whole"]:
        config["modules_to_save"] = draw.sample(ends, draw.randint(1, len(ends)))
    return peft.LoraConfig(**config)


def draw_experts(model, draw):
    """A LoraConfig for stacks of experts, or modules of single ones, and for routers; and for some of
    the other projections."""
    stacks, routers = [], []
    for name, values in model.named_parameters():
        if not re.search(r"\.\d+\.", f".{name}"):
            continue
        if values.dim() == 3 and re.search(r"experts\.(gate_up|up|down)_proj$|_linear\.weight$", name):
            stacks.append(name)
        elif values.dim() == 2 and re.search(r"\.(gate|router)\.weight$", name):
            routers.append(name)
    linear = [name for name, module in model.named_modules()
              if isinstance(module, KINDS) and re.search(r"\.\d+\.", f".{name}")]
    single = [name for name in linear if re.search(r"\.experts\.\d+\.", name)]
    if not stacks and not single:
        raise reference.Refused("no experts")
    routers = [name for name in routers if name.removesuffix(".weight") not in linear]
    kinds = sorted({name.rsplit(".", 2)[-2] + name.rsplit(".", 2)[-1] for name in stacks})
    kept = kinds if draw.random() < 0.6 else [draw.choice(kinds)] if kinds else []
    parameters = [name for name in stacks if "".join(name.rsplit(".", 2)[-2:]) in kept]
    if parameters and draw.random() < 0.3:
        layer = draw.choice(parameters).rsplit(".", 2)[0]
        parameters = [name for name in parameters if name.startswith(layer + ".")]
    if draw.random() < 0.4:
        parameters += routers
    # PEFT takes the names of these for those of experts.
    taken = ("gate_proj", "up_proj", "down_proj", "w1", "w2", "w3", "gate", "dt_proj",
             "linear_fc1", "linear_fc2")
    others = [name for name in linear if name not in single and name.rsplit(".", 1)[1] not in taken]
    modules = draw.sample(single, draw.randint(1, len(single))) if single else []
    if others and draw.random() < 0.5:
        modules += draw.sample(others, draw.randint(1, len(others)))
    return peft.LoraConfig(r=draw.choice((1, 2, 3, 8)), lora_alpha=draw.choice((1, 5, 16)),
                           use_rslora=draw.random() < 0.3, target_modules=modules,
                           target_parameters=parameters)


def other_forms(adapted, lora, root, checkpoint):
    """The stacks of a saved adapter as older versions write them, by what the form is called: with a
    module for each expert, where the checkpoint has one, and with inputs and outputs exchanged."""
    config = json.loads((lora / "adapter_config.json").read_text())
    tensors = safetensors.torch.load_file(lora / "adapter_model.safetensors")
    single, turned, n_single = dict(tensors), dict(tensors), 0
    wrappers = [(name, module) for name, module in adapted.named_modules()
                if isinstance(module, peft.tuners.lora.layer.ParamWrapper) and module.num_experts > 1]
    for name, module in wrappers:
        keys = [f"{name}.lora_{half}.weight" for half in "AB"]
        a, b = (tensors[key] for key in keys)
        a = a.reshape(module.num_experts, -1, a.shape[-1])
        b = b.reshape(b.shape[0], -1, module.num_experts).permute(2, 0, 1)
        turned[keys[0]] = b.transpose(1, 2).reshape(-1, b.shape[1]).contiguous()
        turned[keys[1]] = a.permute(2, 1, 0).reshape(a.shape[2], -1).contiguous()
        layer = re.search(r"\.(\d+)\.", f".{name}")[1]
        roles = {"gate_up_proj": (("gate_proj", "w1"), ("up_proj", "w3")), "up_proj": (("up_proj",),),
                 "down_proj": (("down_proj", "w2"),)}.get(module.parameter_name, ())
        for part, words in zip(torch.chunk(b, max(len(roles), 1), dim=1), roles):
            for expert in range(module.num_experts):
                word = rf"(.*\.{layer}\..*experts\.{expert}\.({'|'.join(words)}))\.weight"
                target = next((found[1] for found in map(re.compile(word).fullmatch, checkpoint) if found),
                              None)
                if target is None:
                    continue
                n_single += 1
                for key in keys:
                    single.pop(key, None)
                single[f"base_model.model.{target}.lora_A.weight"] = a[expert].clone()
                single[f"base_model.model.{target}.lora_B.weight"] = part[expert].clone()
    forms = {"single": single} if n_single > 0 else {}
    if wrappers:
        forms["turned"] = turned
    for form, saved in forms.items():
        (root / form).mkdir()
        safetensors.torch.save_file(saved, root / form / "adapter_model.safetensors")
        plain = dict(config, peft_version="0.18.0")
        if form == "single" and not any(".experts.lora_" in key for key in saved):
            plain["target_parameters"] = None
        (root / form / "adapter_config.json").write_text(json.dumps(plain))
    return {form: root / form for form in forms}


def ends_of(model):
    """The names of the embedding and the output, where the class knows them."""
    try:
        modules = (model.get_input_embeddings(), model.get_output_embeddings())
    except (NotImplementedError, AttributeError):
        return []
    return [name for name, module in model.named_modules()
            if any(module is end for end in modules) and isinstance(module, KINDS + (torch.nn.Embedding,))]


def fill(adapted, seed):
    """Numbers for A and B that move the logits by something like their own size."""
    generator = torch.Generator().manual_seed(seed)
    own_biases = adapted.peft_config["default"].bias != "none"
    for name, values in sorted(adapted.named_parameters()):
        if name.endswith("base_layer.bias") and own_biases:
            values.data += torch.randn(values.shape, generator=generator) * 0.3
        elif "lora_magnitude_vector" in name:
            values.data *= torch.rand(values.shape, generator=generator) + 0.5
        elif "modules_to_save" in name:
            values.data += torch.randn(values.shape, generator=generator) * values.data.std() * 0.3
        elif "lora_embedding_A" in name:
            values.data = torch.randn(values.shape, generator=generator) * 0.3
        elif "lora_" in name:
            values.data = torch.randn(values.shape, generator=generator) * 0.8 / values.shape[1]**0.5


def divide_as_rwkv(adapted, every):
    """RWKV of transformers divides the last weights of deep layers, to answer, and not what PEFT adds
    to them."""
    for name, values in adapted.named_parameters():
        found = re.search(r"blocks\.(\d+)\.(attention\.output|feed_forward\.value)\.lora_B", name)
        if found and every > 0:
            values.data /= 2 ** (int(found[1]) // every)


def one_case(case, seed, engine, kinds_of_draw):
    """(verdict, detail) of one model and one adapter."""
    draw = random.Random(seed)
    if kinds_of_draw["experts"] and case["file"]["dtype"] == "bf16":
        case["file"]["dtype"] = "f16"  # rounded activations send some rows to other experts (ADR 28)
    prompts = verdicts.prompts_of(case)[:2]
    gives, second, source = (reference.gives(case["config"]), case.get("second", 0),
                             case.get("source", 0))
    with tempfile.TemporaryDirectory(prefix="adapters-") as scratch:
        root = pathlib.Path(scratch)
        folder, lora, gguf = root / "model", root / "lora", root / "model.gguf"
        tensors = verdicts.filled(verdicts.layout_of(case), case["seed"])
        weights.write_folder(folder, case["config"], tensors, case["file"])
        plain = engine.logits(folder, prompts, gives, second, source)
        if plain.rows is None:
            return "base refused", plain.message or plain.fault
        model = reference.Model(folder)
        model.second, model.source = second, source
        try:
            adapted = peft.get_peft_model(model.model, draw_config(model.model, draw, kinds_of_draw))
        except ValueError as error:
            raise reference.Refused(reference.one_line(error)) from error
        adapted.eval()
        fill(adapted, draw.randrange(1 << 30))
        adapted.save_pretrained(lora)
        divide_as_rwkv(adapted, getattr(model.model.config, "rescale_every", 0))
        want = model.logits(prompts)
        bf16 = ["activations"] * (case["file"]["dtype"] == "bf16")
        rough = model.rounded(prompts, **dict.fromkeys(bf16, True))
        std = np.concatenate([rows.ravel() for rows in want]).std() or 1
        noise = max(np.abs(a - b).max() for a, b in zip(rough, want)) / std
        bound = verdicts.bound_of(noise)
        moved = max(np.abs(a - b).max() for a, b in zip(plain.rows, want)) / std
        paths = [("folder", folder, lora)]
        if engine.quantize(folder, gguf, "f32").message == "":
            paths.append(("gguf", gguf, lora))
        if kinds_of_draw["experts"]:
            others = other_forms(adapted, lora, root, tensors)
            paths += [(form, folder, path) for form, path in others.items()]
        deltas = []
        for form, path, adapter in paths:
            answer = engine.logits(path, prompts, gives, second, source, adapters=[adapter])
            if answer.fault:
                return "crash", f"{form}: {answer.fault}"
            if answer.rows is None:
                named = re.search(r"'[\w.]+'|layer \d+, \w+|adapters of it", answer.message)
                if not named or not deltas:
                    return "refused" if named else "unnamed", f"{form}: {answer.message}"
                deltas.append(f"{form} refused")
                if kinds_of_draw["experts"]:
                    deltas[-1] += ": " + answer.message[-90:]
                continue
            delta = max(np.abs(a - b).max() for a, b in zip(answer.rows, want)) / std
            deltas.append(f"{form} {delta:.1e}")
            if delta > bound:
                return "different", f"{form}: {delta:.2e} of {bound:.2e}, base {moved:.2e}"
        verdict = "agree" if moved > bound else "too rough" if noise > 0.01 else "no effect"
        return verdict, ", ".join(deltas)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", type=pathlib.Path, default=SOURCE / "build/release/apps/ruvllm/ruvllm")
    parser.add_argument("--family", action="append", choices=sorted(FAMILIES))
    parser.add_argument("--seed", default="1")
    parser.add_argument("--count", type=int, default=2, help="of each family")
    parser.add_argument("--ends", type=float, default=0.3, help="share with adapters of them")
    parser.add_argument("--dora", type=float, default=0.3, help="share with magnitudes")
    parser.add_argument("--biases", type=float, default=0.2, help="share with biases")
    parser.add_argument("--whole", type=float, default=0.2, help="share with whole matrices")
    parser.add_argument("--experts", action="store_true", help="adapters of experts alone")
    args = parser.parse_args()
    kinds_of_draw = {"ends": args.ends, "dora": args.dora, "whole": args.whole,
                     "biases": args.biases, "experts": args.experts}
    engine, totals = Engine(args.binary), collections.Counter()
    for family in args.family or sorted(FAMILIES):
        counts, details = collections.Counter(), {}
        for number in range(args.count):
            seed = f"{args.seed}/{family}/{number}"
            try:
                verdict, detail = one_case(FAMILIES[family].draw(seed), seed, engine, kinds_of_draw)
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
