#!/usr/bin/env python3
"""Quantised files in both directions, for every type: what `ruvllm quantize` writes, read by llama.cpp,
and what llama.cpp's quantiser writes, read by us.

    compare_peer_files.py --data DATA [--models nano moe llama …] [--types q4_k_m …]
        [--write docs/quantising.md]

DATA/trained/nano and /moe are trained models; the others are drawn, with widths that fit blocks of 256
and widths that fit only blocks of 32. A type agrees when every tensor has the same format in both
files, and both programs give the same logits for each file. Three logits are compared for ours: of both
programs, and of float32 weights that hold exactly the file's numbers. Programs round activations to 8
bits in blocks of their own, so BOUND allows for that rounding.

Needs torch, transformers, numpy, gguf and llama-cpp-python.
"""
import argparse
import json
import pathlib
import sys
import tempfile
import textwrap

import gguf
import numpy as np

from compare_peer import peer_rows, without_tokenizer
from families import reference, verdicts, weights
from families.engine import Engine

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(SOURCE / "bench/quantize"))
from peer_quantizer import by_peer  # noqa: E402

BEGIN, END = "<!-- compare_peer_files.py: begin -->", "<!-- compare_peer_files.py: end -->"
BOUND = 0.1  # of distance() between the two programs
TYPES = ("f16", "q8_0", "q6_k", "q5_k_m", "q5_k_s", "q5_1", "q5_0", "q4_k_m", "q4_k_s", "q4_1", "q4_0", "iq4_nl",
         "iq4_xs", "q3_k_l", "q3_k_m", "q3_k_s", "iq3_m", "iq3_s", "iq3_xs", "iq3_xxs", "q2_k", "q2_k_s",
         "iq2_m", "iq2_s", "iq2_xs", "iq2_xxs", "iq1_m", "iq1_s", "tq2_0", "tq1_0", "mxfp4_moe")
PLAIN = {"f32", "f16", "bf16"}
SHARED = {"vocab_size": 256, "hidden_size": 256, "num_attention_heads": 8, "max_position_embeddings": 256,
          "tie_word_embeddings": False, "rms_norm_eps": 1e-5, "pad_token_id": 0}
DRAWN = {
    "llama": {"model_type": "llama", "num_key_value_heads": 2, "num_hidden_layers": 9,
              "intermediate_size": 256},
    "narrow": {"model_type": "llama", "num_key_value_heads": 4, "num_hidden_layers": 8,
               "intermediate_size": 288, "hidden_size": 96, "num_attention_heads": 4, "tie_word_embeddings": True},
    "phi3": {"model_type": "phi3", "num_key_value_heads": 4, "num_hidden_layers": 8,
             "intermediate_size": 256},
    "mixtral": {"model_type": "mixtral", "num_key_value_heads": 4, "num_hidden_layers": 3,
                "intermediate_size": 256, "num_local_experts": 8, "num_experts_per_tok": 2},
}


class Model:
    """An F16 file, the prompts, and an imatrix of them."""

    def __init__(self, name, args, folder):
        self.name, self.engine = name, Engine(args.binary)
        self.file, self.imatrix = folder / "f16.gguf", folder / "imatrix.gguf"
        if name in DRAWN:
            self.draw(folder)
        else:
            self.file.write_bytes(next((args.data / "trained" / name).glob("*-f16.gguf")).read_bytes())
            n_vocab = json.loads((args.data / "trained" / name / "config.json").read_text())["vocab_size"]
            self.set_prompts(n_vocab)
        ids = folder / "ids.jsonl"
        ids.write_text("".join(json.dumps({"ids": p}) + "\n" for p in self.prompts if len(p) > 1))
        self.call("imatrix", "-m", self.file, "--jsonl", ids, "--out", self.imatrix, "--ctx", 64)

    def draw(self, folder):
        config = SHARED | DRAWN[self.name]
        plain = {"dtype": "f32", "shards": 1, "prefix": True, "head": "own", "extras": []}
        case = {"config": config, "file": plain, "seed": 11, "heat": 1.2, "lengths": []}
        weights.write_folder(folder / "model", config, verdicts.tensors_of(case), plain)
        self.call("quantize", "--model", folder / "model", "--out", self.file, "--type", "f16")
        without_tokenizer(self.file)
        self.set_prompts(config["vocab_size"])

    def set_prompts(self, n_vocab):
        self.prompts = [weights.ids(3, n, n_vocab) for n in (1, 17, 40)]

    def call(self, *arguments):
        _, message, fault = self.engine.call(*arguments)
        if message or fault:
            raise SystemExit(f"{self.name}: {message}{fault}")

    def our_rows(self, file):
        answer = self.engine.logits(file, self.prompts)
        return answer.rows, (answer.message or answer.fault).strip()


def formats_in(file):
    return {t.name: t.tensor_type.name.lower() for t in gguf.GGUFReader(file).tensors}


def distance(a, b):
    """Root mean square of a row's difference, of the standard deviation of b; the median of all rows, as
    roundings decide near ties of experts, which moves single rows far."""
    a, b = np.concatenate([np.asarray(rows, np.float64) for rows in a]), np.concatenate(b)
    return float(np.median(np.sqrt(np.mean((a - b) ** 2, axis=1))) / b.std())


def other_formats(ours, theirs):
    """Tensors that one side quantises and the other side not so. What neither makes blocks of may be
    f16 on one side."""
    return [f"{name}: {ours[name]}, not {theirs[name]}" for name in sorted(ours)
            if ours[name] != theirs[name] and not {ours[name], theirs[name]} <= PLAIN]


def compare_file(model, file, exact=None):
    """({what: distance}, why there is none)"""
    mine, why = model.our_rows(file)
    if mine is None:
        return {}, f"not read here: {why}"
    peers, why = peer_rows(file, model.prompts, "logits")
    if peers is None:
        return {}, f"not read by llama.cpp: {why}"
    found = {"apart": distance(mine, peers)}
    if exact:
        right, _ = model.our_rows(exact)
        found |= {"ours": distance(mine, right), "theirs": distance(peers, right)}
    return found, ""


def compare(model, kind, folder):
    """What is found of a type: formats, "written" (our file), "read" (theirs), problems."""
    row = {"model": model.name, "type": kind, "problems": []}
    mine, peers, exact = folder / "ours.gguf", folder / "theirs.gguf", folder / "exact.gguf"
    model.call("quantize", "--model", model.file, "--out", mine, "--type", kind, "--imatrix", model.imatrix,
               "--force")
    model.call("quantize", "--model", mine, "--out", exact, "--type", "f32", "--requantize", "--force")
    row["written"], why = compare_file(model, mine, exact)
    row["problems"] += [why] * bool(why)
    made, why = by_peer(model.file, peers, kind, model.imatrix)
    if made is None:
        row["problems"].append(f"llama.cpp writes none: {why}")
        return row
    ours, theirs = formats_in(mine), formats_in(peers)
    row["n_tensors"] = len(ours)
    row["formats"] = sorted({f for f in ours.values() if f not in PLAIN})
    row["other"] = other_formats(ours, theirs)
    row["read"], why = compare_file(model, peers)
    row["problems"] += [why] * bool(why)
    far = {part: row[part].get("apart", 0) for part in ("written", "read")}
    row["problems"] += [f"{part}: logits apart by {x:.2g}" for part, x in far.items() if x > BOUND]
    return row


def worst(rows, part, what):
    found = [row[part][what] for row in rows if what in row.get(part, {})]
    return f"{max(found):.1e}" if found else ""


def table_of(rows, models):
    lines = ["| type | formats | tensors of equal format | our file | float32: here | float32: llama.cpp | its file |",
             "| --- | --- | ---: | ---: | ---: | ---: | ---: |"]
    for kind in dict.fromkeys(row["type"] for row in rows):
        some = [row for row in rows if row["type"] == kind]
        n = sum(row.get("n_tensors", 0) for row in some)
        other = sum(len(row.get("other", [])) for row in some)
        formats = sorted({f for row in some for f in row.get("formats", [])})
        lines.append(f"| {kind} | {', '.join(formats)} | {n - other} of {n} | {worst(some, 'written', 'apart')} | "
                     f"{worst(some, 'written', 'ours')} | {worst(some, 'written', 'theirs')} | "
                     f"{worst(some, 'read', 'apart')} |")
    notes = [f"{row['model']}, {row['type']}: {text}" for row in rows for text in row["problems"]]
    notes += [f"{row['model']}, {row['type']}: {len(row['other'])} tensors of other formats, as {row['other'][0]}"
              for row in rows if row.get("other")]
    text = f"Models: {', '.join(models)}. " + ("Not so: " + "; ".join(notes) + "." if notes else
                                               "No exceptions.")
    return "\n".join(lines) + "\n\n" + textwrap.fill(text, 118)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--data", type=pathlib.Path, required=True)
    p.add_argument("--models", nargs="+", default=["nano", "moe", *DRAWN])
    p.add_argument("--types", nargs="+", default=TYPES)
    p.add_argument("--binary", type=pathlib.Path, default=SOURCE / "build/release/apps/ruvllm/ruvllm")
    p.add_argument("--write", type=pathlib.Path, help="a page with the table between marks")
    args = p.parse_args()
    rows = []
    for name in args.models:
        with tempfile.TemporaryDirectory(prefix="peer-files-") as folder:
            model = Model(name, args, pathlib.Path(folder))
            for kind in args.types:
                rows.append(compare(model, kind, pathlib.Path(folder)))
                print(json.dumps(rows[-1]), flush=True)
    text = table_of(rows, args.models)
    print(text)
    if args.write:
        page = args.write.read_text()
        head, rest = page.split(BEGIN)
        args.write.write_text(f"{head}{BEGIN}\n\n{text}\n\n{END}{rest.split(END)[1]}")
    sys.exit(1 if any(row["problems"] or row.get("other") for row in rows) else 0)


if __name__ == "__main__":
    main()
