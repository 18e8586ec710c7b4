#!/usr/bin/env python3
"""`ruvllm convert` both ways on tiny random models: a folder becomes a GGUF file, and that a folder.

transformers loads the first folder and the last one. A case agrees when both have the same tensors,
bit for bit, and give the same logits, bit for bit, and when we give the same logits for both folders.
With YaRN and LongRoPE the logits may differ in their last bits: the factor of cos and sin is float32
in GGUF files. It is refused when either call names why it does not write. Everything else is a failure.

    compare_convert.py --seed 1 --count 8              8 of each family of FAMILIES
    compare_convert.py --family gemma2 --count 50
    compare_convert.py --count 8 --write docs/converting.md

Needs torch, transformers, numpy."""
import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile
import textwrap

import numpy as np
import torch
import transformers

from families import reference, verdicts, weights
from families.engine import Engine
from families.records import FAMILIES

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BEGIN, END = "<!-- folders written: begin -->", "<!-- folders written: end -->"
KINDS = ("agree", "last bits", "refused", "no reference", "differ")
LAST_BITS = 1e-5  # of the logits' standard deviation
# What does not change logits, or what only a tokenizer says.
WITHOUT_EFFECT = {
    "_name_or_path", "transformers_version", "dtype", "torch_dtype", "architectures", "use_cache",
    "bos_token_id", "eos_token_id", "pad_token_id", "initializer_range", "attention_dropout",
    "pretraining_tp", "output_router_logits", "router_aux_loss_coef", "is_decoder", "custom_note",
    "output_attentions", "chunk_size_feed_forward", "unk_token_id", "head_count", "hidden_act",
    "hidden_activation", "id2label", "label2id", "router_jitter_noise"}
# Which layers have a window may be said by numbers or by a list, and factors by others; where what
# they mean differs, the logits do.
KINDS_OF_LAYERS = {"max_window_layers", "use_sliding_window", "layer_types", "sliding_window",
                   "mlp_only_layers", "decoder_sparse_step", "original_max_position_embeddings",
                   "no_rope_layer_interval", "head_dim", "n_inner", "model_type",
                   "_sliding_window_pattern"}
MEANT_BY_LOGITS = ("original_max_position_embeddings", "low_freq_factor", "high_freq_factor")


def convert(binary, source, out):
    """Why it was not written; empty: it was."""
    done = subprocess.run([binary, "convert", source, out], capture_output=True, encoding="utf-8",
                          timeout=120, check=False)
    if done.returncode == 0:
        return ""
    if done.returncode != 1 or not done.stderr.strip():
        raise RuntimeError(f"exit code {done.returncode}: {done.stderr}")
    return done.stderr.strip().split("\n")[-1]


def loaded(folder):
    """The reference's model, with its numbers where the sums of products come out alike: those of a
    mapped file lie at any address."""
    model = reference.Model(folder)
    for parameter in model.model.parameters():
        parameter.data = parameter.data.clone()
    return model


# Settings of positions that mean the same: what is absent has its default.
ROPE_DEFAULTS = {"beta_fast": 32.0, "beta_slow": 1.0, "truncate": True, "partial_rotary_factor": 1.0}


def meant(name, value):
    """A config's value without what means nothing."""
    if name == "rope_parameters" and isinstance(value, dict):
        if all(isinstance(inner, dict) for inner in value.values()):
            return {kind: meant(name, inner) for kind, inner in value.items()}
        dropped = ("type", "mscale", "mscale_all_dim", "attention_factor", "factor", *MEANT_BY_LOGITS)
        return {key: item for key, item in value.items()
                if key not in dropped and ROPE_DEFAULTS.get(key) != item}
    return value


def same_tensors(before, after):
    """The first tensor that differs, or nothing. Weights of norms that 1 is added to count so."""
    first, last = before.state_dict(), after.state_dict()
    if first.keys() != last.keys():
        return f"tensors {sorted(first.keys() ^ last.keys())[:3]}"
    for name, tensor in first.items():
        other = last[name]
        if torch.equal(tensor, other):
            continue
        if "norm" in name and tensor.shape == other.shape and torch.equal(tensor + 1, other + 1):
            continue
        return f"tensor {name}"
    return ""


def same_config(before, after):
    """The first key that differs, or nothing."""
    first, last = before.config.to_dict(), after.config.to_dict()
    for name in first.keys() & last.keys():
        if name in WITHOUT_EFFECT or meant(name, first[name]) == meant(name, last[name]):
            continue
        if name not in KINDS_OF_LAYERS and "dropout" not in name and "pdrop" not in name:
            return f"config key {name}: {first[name]} and {last[name]}"
    return ""


def is_scaled(config):
    """Whether cos and sin have a factor, which a GGUF file has as float32."""
    return any(word in json.dumps(config) for word in ("yarn", "longrope"))


def compare(case, binary, root):
    """(verdict, detail)"""
    case["config"].pop("reorder_and_upcast_attn", None)  # the order of a product
    tensors = verdicts.filled(verdicts.layout_of(case), case["seed"])
    weights.write_folder(root / "first", case["config"], tensors, case["file"])
    for source, out in (("first", "model.gguf"), ("model.gguf", "last")):
        why = convert(binary, root / source, root / out)
        if why and any(root.glob(f"{out}*")):
            return "differ", f"refused, but there is {out}: {why}"
        if why:
            return "refused", why
    try:
        before = loaded(root / "first")
        prompts = verdicts.prompts_of(case)
        if before.missing:
            return "no reference", f"makes up {', '.join(before.missing)[:80]}"
        want = before.logits(prompts)
    except reference.Refused as refused:
        return "no reference", str(refused)
    try:
        after = loaded(root / "last")
        got = after.logits(prompts)
    except reference.Refused as refused:
        return "differ", f"is not loaded: {refused}"
    if after.missing:
        return "differ", f"lacks {', '.join(after.missing)[:80]}"
    for why in (same_tensors(before.model, after.model), same_config(before.model, after.model)):
        if why:
            return "differ", why
    exact = all(np.array_equal(a, b) for a, b in zip(want, got))
    if not exact and not (is_scaled(case["config"]) and verdicts.difference(got, want) < LAST_BITS):
        return "differ", f"other logits, by {verdicts.difference(got, want):.1e}"
    ours = [Engine(binary).logits(root / name, prompts) for name in ("first", "last")]
    if ours[1].rows is None:
        return "differ", f"we do not load it: {ours[1].message}{ours[1].fault}"
    if ours[0].rows is not None and verdicts.difference(
            ours[1].rows, ours[0].rows) > (0 if exact else LAST_BITS):
        return "differ", "our logits are others"
    return ("agree" if exact else "last bits"), ""


def without_paths(text):
    return " ".join("…" if "/" in word else word for word in text.split())[:150]


def table(counts):
    kinds = KINDS
    rows = ["| family | " + " | ".join(kinds) + " |", "|---|" + "---|" * len(kinds)]
    rows += [f"| {name} | " + " | ".join(str(row[kind]) for kind in kinds) + " |"
             for name, row in counts.items()]
    total = sum(counts.values(), collections.Counter())
    return "\n".join([*rows, "| all | " + " | ".join(str(total[kind]) for kind in kinds) + " |"])


def write_table(page, counts, args):
    """Families of which no folder is written are counted alone."""
    text = page.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    shown = {name: row for name, row in counts.items() if row["agree"] or row["differ"]}
    n_others = len(counts) - len(shown)
    others = f" All models of {n_others} other families were refused." if n_others else ""
    made = (f"Seed {args.seed}, {args.count} drawn models of each family, transformers "
            f"{transformers.__version__}.{others}")
    body = f"\n\n{textwrap.fill(made, 120)}\n\n{table(shown)}\n\n"
    page.write_text(head + BEGIN + body + END + rest.split(END)[1], encoding="utf-8")


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--count", type=int, default=8, help="of each family")
    p.add_argument("--family", action="append", choices=sorted(FAMILIES))
    p.add_argument("--keep", type=pathlib.Path, help="folder for cases that differ")
    p.add_argument("--write", type=pathlib.Path, help="a page that gets the table")
    p.add_argument("--verbose", action="store_true", help="say why each was refused")
    p.add_argument("--binary", type=pathlib.Path,
                   default=SOURCE / "build/release/apps/ruvllm/ruvllm")
    args = p.parse_args()
    counts, reasons = {}, collections.Counter()
    for family in args.family or list(FAMILIES):
        counts[family] = collections.Counter()
        for number in range(args.count):
            case = FAMILIES[family].draw(f"{args.seed}/{family}/{number}")
            with tempfile.TemporaryDirectory(prefix="convert-") as scratch:
                root = pathlib.Path(scratch)
                if args.keep:
                    root = args.keep / f"{family}-{number}"
                    root.mkdir(parents=True)
                try:
                    verdict, detail = compare(case, args.binary, root)
                except reference.Refused as refused:
                    verdict, detail = "no reference", str(refused)
            counts[family][verdict] += 1
            if verdict == "differ":
                print(f"differ: {family} {number}: {without_paths(detail)}", flush=True)
                if args.keep:
                    (root / "case.json").write_text(json.dumps(case))
            elif verdict == "refused":
                reasons[f"{family}: {without_paths(detail)}"] += 1
        print(f"{family:20}", *(f"{kind} {counts[family][kind]:3}" for kind in KINDS), flush=True)
    if args.verbose:
        for reason, n in sorted(reasons.items(), key=lambda item: -item[1]):
            print(f"{n:5}  {reason}")
    print(table(counts))
    if args.write:
        write_table(args.write, counts, args)
    return any(row["differ"] for row in counts.values())


if __name__ == "__main__":
    sys.exit(main())
