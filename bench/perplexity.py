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
With --hf, the model's HuggingFace folder, the reference is transformers in float32, which is
neither engine: KL(reference || engine) and how often the likeliest token is another.
Exit code 1 when a perplexity differs by more than the bound of its type.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

from compare import HERE, ROOT, call_json

TYPES = ["f16", "bf16", "q8_0", "q6_k", "q5_k_m", "q4_k_m", "q4_0", "iq4_xs"]
# Largest |ours / peer - 1| of the perplexity.
BOUNDS = {"f16": 0.001, "f32": 0.001, "bf16": 0.001}
BOUND_QUANTISED = 0.005


def write_lines(path, lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def known_words(path, folder):
    """The same ids scored in two ways, as files both engines read."""
    lines = [json.loads(line) for line in path.open()]
    yield "known words, said", write_lines(folder / "said.jsonl", lines)
    yield "known words, all", write_lines(folder / "all.jsonl", [{"ids": x["ids"]} for x in lines])


def talks(args, folder):
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
    yield args.talks.name, write_lines(folder / "talks.jsonl", lines)


def rows_of(path, n_scored):
    return np.fromfile(path, np.float32).reshape(n_scored, -1)


def log_softmax(rows):
    rows = rows.astype(np.float64)
    rows -= rows.max(axis=1, keepdims=True)
    return rows - np.log(np.exp(rows).sum(axis=1, keepdims=True))


def reference_logits(folder, file, out):
    """Logits of every scored token by transformers in float32, written as the engines write them."""
    import torch
    from transformers import AutoModelForCausalLM
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    with out.open("wb") as f, torch.no_grad():
        for line in map(json.loads, file.open()):
            rows = model(torch.tensor([line["ids"]])).logits[0, :-1].numpy()
            marked = np.array(line.get("score", [1] * len(line["ids"]))[1:], dtype=bool)
            rows[marked].astype(np.float32).tofile(f)
    return out


def divergence(reference, engine, n_scored, chunk=2048):
    """Mean KL(reference || engine), its standard error, share of tokens with another best token."""
    a, b = rows_of(reference, n_scored), rows_of(engine, n_scored)
    kl, other = [], 0
    for i in range(0, n_scored, chunk):
        p, q = log_softmax(a[i:i + chunk]), log_softmax(b[i:i + chunk])
        kl.append((np.exp(p) * (p - q)).sum(axis=1))
        other += int((p.argmax(axis=1) != q.argmax(axis=1)).sum())
    kl = np.concatenate(kl)
    return {"kl": kl.mean(), "error": kl.std() / n_scored**0.5, "other_best": other / n_scored}


def quantised(args, kind, folder):
    if kind == "f16":
        return args.model
    path = folder / f"{kind}.gguf"
    subprocess.run([args.binary, "quantize", "--model", args.model, "--type", kind, "--out", path],
                   check=True, capture_output=True)
    return path


def compare_on(args, model, file, reference, folder):
    """(ours, peer) on one set of ids."""
    logits = [folder / f"{side}.logits" for side in ("ours", "peer")] if reference else []
    mine = call_json(args.binary, "perplexity", "--model", model, "--jsonl", file, "-t",
                     args.threads, "--json", *(["--logits", logits[0]] if logits else []))
    peer = call_json(sys.executable, HERE / "peer.py", "nll", model, args.threads, file, *logits[1:])
    assert mine["n_scored"] == peer["n_scored"], (mine, peer)
    for side, path in zip((mine, peer), logits):
        side |= divergence(reference, path, side["n_scored"])
    return mine, peer


def row(kind, name, mine, peer, bound):
    off = mine["perplexity"] / peer["perplexity"] - 1
    cells = [kind, name, str(mine["n_scored"]), f"{mine['perplexity']:.4f}",
             f"{peer['perplexity']:.4f}", f"{100 * off:+.3f} %", f"{100 * bound:.1f} %"]
    if "kl" in mine:
        cells += [f"{1000 * x['kl']:.3f} ± {1000 * x['error']:.3f}" for x in (mine, peer)]
        cells += [f"{mine['kl'] / peer['kl']:.3f}"]
        cells += [f"{100 * x['other_best']:.2f} %" for x in (mine, peer)]
    return "| " + " | ".join(cells) + " |"


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
    wrong = 0
    heads = ["weights", "scored", "tokens", "ours", "peer", "difference", "bound"]
    if args.hf:
        heads += ["KL ours, 1/1000 nat", "KL peer", "ratio", "other best token, ours", "peer"]
    print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        sets = list(known_words(args.ids, folder)) + (list(talks(args, folder)) if args.talks else [])
        models = {kind: quantised(args, kind, folder) for kind in args.types}
        for name, file in sets:
            reference = args.hf and reference_logits(args.hf, file, folder / "reference.logits")
            for kind, model in models.items():
                mine, peer = compare_on(args, model, file, reference, folder)
                bound = BOUNDS.get(kind, BOUND_QUANTISED)
                wrong += abs(mine["perplexity"] / peer["perplexity"] - 1) > bound
                print(row(kind, name, mine, peer, bound), flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
