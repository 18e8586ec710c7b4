#!/usr/bin/env python3
"""Compares checkpoints that other tools have quantised with the numbers that they stand for.

Each case is a tiny llama or qwen2 whose matrices are in the layout of a tool. It agrees when `ruvllm
quantize --type f32` finds every number of every matrix exactly as the layout defines it, computed in
float32, and the logits are those of a float64 model with these numbers, within what the kernels'
rounding of activations may do (LOOSE where a format has a kernel of bytes, else TIGHT, of the logits'
standard deviation). Cases that must be refused name what is not supported.

  compare_foreign.py --binary build/release/apps/ruvllm/ruvllm [--only TEXT] [--write docs/weights.md]

Needs numpy, torch, safetensors, gguf, compressed-tensors, bitsandbytes and hqq."""
import argparse
import json
import pathlib
import re
import sys
import tempfile
import textwrap
import zlib

import numpy as np
import torch
from gguf import GGUFReader
from safetensors.torch import save_file

from families.engine import Engine
from foreign import cases as drawn
from foreign import tiny

TIGHT, LOOSE = 4e-3, 1.5e-1
OF_BYTES = {"q4_0", "q8_0", "mxfp4", "nvfp4", "e2m1", "a4", "a4_f32", "a8_f32"}
BEGIN, END = "<!-- formats read: begin -->", "<!-- formats read: end -->"
PROMPTS = [[1, 5, 9, 33, 2, 60, 17], [7]]


def arguments_of(case):
    """`kind` and `bits` of a scheme may differ from those of the case."""
    settings = {k: v for k, v in case.settings.items() if not k.endswith("_")}
    return {**settings, **{k[:-1]: v for k, v in case.settings.items() if k.endswith("_")}}


def write(folder, config, tensors):
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    save_file({name: t.contiguous() for name, t in tensors.items()}, folder / "model.safetensors")


def numbers_in(path):
    return {t.name: np.array(t.data) for t in GGUFReader(path).tensors}


def compare(engine, case, folder, numbers_only):
    """(verdict, detail)"""
    rng = np.random.default_rng(zlib.crc32(case.name.encode()))
    torch.manual_seed(zlib.crc32(case.name.encode()))
    config = tiny.config_of(case.kind, *case.sizes)
    matrices, plain = tiny.weights_of(config, rng)
    stored = {name: torch.tensor(t) for name, t in plain.items()}
    exact = dict(plain)
    for module, w in matrices.items():
        if case.keep and case.keep in module:
            stored[module + ".weight"], exact[module + ".weight"] = torch.tensor(w), w
            continue
        pieces, exact[module + ".weight"] = case.make(w, rng, **arguments_of(case))
        stored |= {f"{module}.{name}": t for name, t in pieces.items()}
    write(folder / "foreign", {**config, "quantization_config": case.config}, stored)
    if case.refused:
        _, message, _ = engine.call("quantize", "--model", folder / "foreign", "--out",
                                    folder / "no.gguf", "--type", "f32", "--requantize")
        named = case.refused.lower() in message.lower()
        return ("refused" if named else "NOT REFUSED"), message or "it was written"
    write(folder / "plain", config, {name: torch.tensor(t) for name, t in exact.items()})
    for name in ("foreign", "plain"):
        made = engine.call("quantize", "--model", folder / name, "--out", folder / f"{name}.gguf",
                           "--type", "f32", "--requantize", "--force")
        if made[1] or made[2]:
            return "FAILED", f"quantize: {made[1]}{made[2]}"
    ours, theirs = numbers_in(folder / "foreign.gguf"), numbers_in(folder / "plain.gguf")
    if ours.keys() != theirs.keys():
        return "DIFFERENT", f"other tensors: {ours.keys() ^ theirs.keys()}"
    wrong = [name for name in ours if not np.array_equal(ours[name], theirs[name])]
    if wrong:
        worst = max(float(np.abs(ours[n] - theirs[n]).max()) for n in wrong)
        return "DIFFERENT", f"{len(wrong)} tensors, as {wrong[0]}, by up to {worst:.3g}"
    info, _, _ = engine.call("info", "--tensors", "--json", "--model", folder / "foreign")
    types = {row["type"] for row in json.loads(info)["tensors"] if ".attn_q." in row["name"] or ".ffn_" in row["name"]}
    types = {t for t in types if t not in ("f32", "f16", "bf16")} or types
    name = " ".join(sorted(types))
    if numbers_only:
        return "agree", name
    answer = engine.logits(folder / "foreign", PROMPTS)
    if answer.rows is None:
        return "FAILED", answer.message or answer.fault
    delta = 0.0
    for ids, rows in zip(PROMPTS, answer.rows):
        reference = tiny.logits_of(config, exact, ids)
        delta = max(delta, float(np.abs(np.reshape(rows, reference.shape) - reference).max() / reference.std()))
    bound = LOOSE if types & OF_BYTES else TIGHT
    return ("agree" if delta <= bound else "DIFFERENT"), f"{name}, logits within {delta:.1e}"


def table_of(rows):
    """By tool: how many agree, and the blocks."""
    lines = ["| checkpoint | cases | agree | logits differ by at most | becomes |",
             "| --- | --- | --- | --- | --- |"]
    groups = {}
    for case, verdict, detail in rows:
        if case.refused is None:
            groups.setdefault(case.name.split(" ")[0], []).append((verdict, detail))
    for name, outcomes in groups.items():
        blocks = sorted({name for verdict, detail in outcomes if verdict == "agree"
                         for name in detail.split(",")[0].split()})
        agree = sum(verdict == "agree" for verdict, _ in outcomes)
        worst = max(float(detail.split()[-1]) for _, detail in outcomes)
        lines.append(f"| {name} | {len(outcomes)} | {agree} | {worst:.1e} | {', '.join(blocks)} |")
    names = ", ".join(case.name for case, verdict, _ in rows if verdict == "refused")
    return "\n".join(lines) + "\n\n" + textwrap.fill(f"Refused by name: {names}.", 110)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--numbers-only", action="store_true", help="no logits")
    parser.add_argument("--write", help="the page whose table between marks is replaced")
    options = parser.parse_args()
    engine = Engine(options.binary)
    rows = []
    for case in drawn.all_cases():
        if options.only not in case.name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            verdict, detail = compare(engine, case, pathlib.Path(folder), options.numbers_only)
        rows.append((case, verdict, detail))
        print(f"{verdict:12} {case.name:40} {detail}", flush=True)
    failed = sum(verdict not in ("agree", "refused") for _, verdict, _ in rows)
    counts = {verdict: sum(v == verdict for _, v, _ in rows) for verdict in sorted({v for _, v, _ in rows})}
    print(", ".join(f"{n} {verdict}" for verdict, n in counts.items()))
    if options.write and not options.only:
        page = pathlib.Path(options.write)
        text = page.read_text()
        page.write_text(re.sub(f"{BEGIN}.*{END}", lambda _: f"{BEGIN}\n{table_of(rows)}\n{END}", text, flags=re.S))
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
