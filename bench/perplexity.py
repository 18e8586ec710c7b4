#!/usr/bin/env python3
"""Our perplexity beside llama-cpp-python's on the same GGUF files and the same token ids.

    build/venv/bin/python bench/perplexity.py path/to/ruvltra-nano-f16.gguf

Quantises the given F16 file with our own quantiser to the types of --types and runs both engines on
each. The ids: bench/data/known_words.jsonl, 109 conversations made of words and patterns of the
model's training (20,211 predicted tokens, 3,918 of them said by the assistant; made by the
generator that trained the model, CC0), scored once by what the assistant says and once by all tokens.
Exit code 1 when a difference is above the bound of its type.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

from compare import HERE, ROOT, call_json

# Largest |ours / peer - 1| of the perplexity.
BOUNDS = {"f16": 0.001, "f32": 0.001, "bf16": 0.001}
BOUND_QUANTISED = 0.005


def variants(lines, folder):
    """The same ids scored in two ways, as files both engines read."""
    for name in ("said", "all"):
        path = pathlib.Path(folder) / f"{name}.jsonl"
        with path.open("w") as f:
            for line in lines:
                score = line["score"] if name == "said" else [1] * len(line["ids"])
                f.write(json.dumps({"ids": line["ids"], "score": score}) + "\n")
        yield name, path


def quantised(args, kind, folder):
    if kind == "f16":
        return args.model
    path = pathlib.Path(folder) / f"{kind}.gguf"
    subprocess.run([args.binary, "quantize", "--model", args.model, "--type", kind, "--out", path],
                   check=True, capture_output=True)
    return path


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("model", type=pathlib.Path)
    p.add_argument("--binary", type=pathlib.Path, default=ROOT / "build/release/apps/ruvllm/ruvllm")
    p.add_argument("--ids", type=pathlib.Path, default=HERE / "data/known_words.jsonl")
    p.add_argument("--types", nargs="+", default=["f16", "q8_0", "q4_0", "q4_k_m"])
    p.add_argument("--threads", type=int, default=2)
    args = p.parse_args()
    lines = [json.loads(line) for line in args.ids.open()]
    wrong = 0
    print("| weights | scored | tokens | ours | peer | difference | bound |\n|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        files = list(variants(lines, folder))
        for kind in args.types:
            model = quantised(args, kind, folder)
            bound = BOUNDS.get(kind, BOUND_QUANTISED)
            for name, file in files:
                mine = call_json(args.binary, "perplexity", "--model", model, "--jsonl", file,
                                 "-t", args.threads, "--json")
                peer = call_json(sys.executable, HERE / "peer.py", "nll", model, args.threads, file)
                assert mine["n_scored"] == peer["n_scored"], (mine, peer)
                off = mine["perplexity"] / peer["perplexity"] - 1
                wrong += abs(off) > bound
                print(f"| {kind} | {name} | {mine['n_scored']} | {mine['perplexity']:.4f} | "
                      f"{peer['perplexity']:.4f} | {100 * off:+.3f} % | {100 * bound:.1f} % |",
                      flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
