#!/usr/bin/env python3
"""How much quality our weights formats cost, beside llama-cpp-python on the same GGUF files and the
same token ids: perplexity, and the divergence from the F32 model in nats a token.

    build/venv/bin/python bench/perplexity.py path/to/ruvltra-nano-f16.gguf
    build/venv/bin/python bench/perplexity.py nano/ruvltra-nano-f16.gguf --hf nano --talks eval

Quantises the given F16 file with our own quantiser to the types of --types and runs both engines on
each. The ids: bench/data/known_words.jsonl, 109 conversations made of words and patterns of the
model's training (20,211 predicted tokens, 3,918 of them said by the assistant; made by the
generator that trained the model, CC0), scored once by what the assistant says and once by all
tokens; and the conversations of --talks (lines {"messages", "tools", "expected"}), all tokens.
With --hf, the model's HuggingFace folder, the reference is transformers (and torch) in float32:
KL(reference || engine) and how often the likeliest token is another.
Exit code 1 when a perplexity differs by more than the bound of its type.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

from compare import ROOT
from sides import HERE, call_json

TYPES = ["f16", "bf16", "q8_0", "q6_k", "q5_k_m", "q4_k_m", "q4_0", "iq4_xs"]
# Largest |ours / peer - 1| of the perplexity.
BOUNDS = {"f16": 0.001, "f32": 0.001, "bf16": 0.001}
BOUND_QUANTISED = 0.005


def write_lines(path, lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def known_words(path):
    return [json.loads(line) for line in path.open()]


def talks(args):
    """Conversations as ids, with what the assistant was expected to say next."""
    from transformers import AutoTokenizer
    tokenizer = AutoTokenizer.from_pretrained(args.hf)
    lines = []
    for path in sorted(args.talks.glob("*.jsonl")):
        for line in path.read_text().splitlines()[:args.per_file]:
            talk = json.loads(line)
            text = talk.get("text") or tokenizer.apply_chat_template(
                talk["messages"], tools=talk["tools"], tokenize=False,
                add_generation_prompt=True) + talk["expected"]
            ids = tokenizer(text, add_special_tokens=False)["input_ids"]
            lines.append({"ids": ids[:args.longest]})
    return lines


def log_softmax(rows):
    rows = rows.astype(np.float64)
    rows -= rows.max(axis=1, keepdims=True)
    return rows - np.log(np.exp(rows).sum(axis=1, keepdims=True))


def reference_logits(folder, lines, out):
    """Logits of every token but the first by transformers in float32, as the engines write them."""
    import torch
    from transformers import AutoModelForCausalLM
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    with out.open("wb") as f, torch.no_grad():
        for line in lines:
            rows = model(torch.tensor([line["ids"]])).logits[0, :-1]
            rows.numpy().astype(np.float32).tofile(f)
    return out


def rows_of(path, n):
    return np.memmap(path, np.float32, "r").reshape(n, -1)


def figures(path, targets, reference=None, chunk=2048):
    """Of every token: its negative log-likelihood and, with a reference, KL(reference || engine)
    and whether the likeliest token is another."""
    n = len(targets)
    parts = []
    for i in range(0, n, chunk):
        q = log_softmax(rows_of(path, n)[i:i + chunk])
        part = [-q[np.arange(len(q)), targets[i:i + chunk]]]
        if reference:
            p = log_softmax(rows_of(reference, n)[i:i + chunk])
            part += [(np.exp(p) * (p - q)).sum(axis=1), p.argmax(axis=1) != q.argmax(axis=1)]
        parts.append(np.stack(part))
    return np.concatenate(parts, axis=1)


def quantised(args, kind, folder):
    if kind == "f16":
        return args.model
    path = folder / f"{kind}.gguf"
    subprocess.run([args.binary, "quantize", "--model", args.model, "--type", kind, "--out", path],
                   check=True, capture_output=True)
    return path


def both(args, model, file, targets, reference, folder):
    """Figures of (ours, peer) on one set of ids."""
    logits = [folder / f"{side}.logits" for side in ("ours", "peer")]
    call_json(args.binary, "perplexity", "--model", model, "--jsonl", file, "-t", args.threads,
              "--kv", "f16", "--json", "--logits", logits[0], "--force")
    call_json(sys.executable, HERE / "peer.py", "nll", model, args.threads, file, logits[1])
    return [figures(path, targets, reference) for path in logits]


def row(kind, name, mine, peer, bound):
    """One line of the table and whether the perplexities are within the bound."""
    ours, theirs = (np.exp(x[0].mean()) for x in (mine, peer))
    off = ours / theirs - 1
    cells = [kind, name, str(mine.shape[1]), f"{ours:.4f}", f"{theirs:.4f}", f"{100 * off:+.3f} %",
             f"{100 * bound:.1f} %"]
    if len(mine) > 1:
        error = 1000 * (mine[1] - peer[1]).std() / mine.shape[1]**0.5
        cells += [f"{1000 * mine[1].mean():.3f}", f"{1000 * peer[1].mean():.3f}",
                  f"{1000 * (mine[1] - peer[1]).mean():+.3f} ± {error:.3f}",
                  f"{mine[1].mean() / peer[1].mean():.3f}",
                  f"{100 * mine[2].mean():.2f} %", f"{100 * peer[2].mean():.2f} %"]
    return "| " + " | ".join(cells) + " |", abs(off) <= bound


def sets(args):
    yield "known words", known_words(args.ids)
    if args.talks:
        yield args.talks.name, talks(args)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("model", type=pathlib.Path)
    p.add_argument("--binary", type=pathlib.Path, default=ROOT / "build/release/apps/ruvllm/ruvllm")
    p.add_argument("--ids", type=pathlib.Path, default=HERE / "data/known_words.jsonl")
    p.add_argument("--types", nargs="+", default=TYPES)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--hf", type=pathlib.Path, help="HuggingFace folder: the F32 reference")
    p.add_argument("--talks", type=pathlib.Path, help="folder of conversations; needs --hf")
    p.add_argument("--per-file", type=int, default=12, help="conversations of each file of --talks")
    p.add_argument("--longest", type=int, default=1024, help="tokens of a conversation")
    args = p.parse_args()
    if args.talks and not args.hf:
        p.error("--talks needs --hf")
    heads = ["weights", "scored", "tokens", "ours", "peer", "difference", "bound"]
    if args.hf:
        heads += ["KL ours, 1/1000 nat", "KL peer", "difference", "ratio",
                  "other best token, ours", "peer"]
    print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        models = {kind: quantised(args, kind, folder) for kind in args.types}
        for name, lines in sets(args):
            file = write_lines(folder / "ids.jsonl", [{"ids": line["ids"]} for line in lines])
            targets = np.concatenate([line["ids"][1:] for line in lines])
            said = np.concatenate([line.get("score", line["ids"])[1:] for line in lines]) == 1
            reference = args.hf and reference_logits(args.hf, lines, folder / "reference.logits")
            for kind, model in models.items():
                mine, peer = both(args, model, file, targets, reference, folder)
                bound = BOUNDS.get(kind, BOUND_QUANTISED)
                parts = {"all": slice(None)} | ({"said": said} if "score" in lines[0] else {})
                for part, marked in parts.items():
                    line, ok = row(kind, f"{name}, {part}", mine[:, marked], peer[:, marked], bound)
                    print(line, flush=True)
                    wrong += not ok
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
