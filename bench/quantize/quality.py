#!/usr/bin/env python3
"""What quantising costs, by type, with and without importance, and with formats chosen for a size:
the divergence KL(F16 || quantised) of the next token, in nats a token, and the largest part of it.

    bench/quantize/quality.py --binary build/release/apps/ruvllm/ruvllm --data DATA \\
        --write docs/quantising.md

DATA/trained/nano and /moe hold the models; their eval/ folder the texts. The texts that importance
is measured on are other ones than those that are scored: conversations of even lines against odd
ones of the same sets, and the two halves of the held-out prose. --peer also quantises with the
llama.cpp of llama-cpp-python, in the same run; --ik PATH with the llama-quantize of ik_llama.cpp.
With --tensors each matrix alone is quantised, for the sensitivities of src/format/quant_budget.cpp.
"""
import argparse
import json
import os
import pathlib
import subprocess
import tempfile

import numpy as np

BEGIN, END = "<!-- quality.py: begin -->", "<!-- quality.py: end -->"
SETS = ("tools", "extract", "qa", "format", "stories", "talk")
TYPES = ("q2_k", "q3_k_s", "q3_k_m", "iq4_xs", "q4_0", "q4_k_s", "q4_k_m", "q5_k_m", "q6_k", "q8_0")


def say(text):
    print(text, flush=True)


class Program:
    def __init__(self, binary, folder, threads):
        self.binary, self.folder, self.threads = str(binary), pathlib.Path(folder), str(threads)

    def call(self, *arguments):
        done = subprocess.run([self.binary, *map(str, arguments)], capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(map(str, arguments))}: {done.stderr.strip()}")
        return done.stdout

    def json(self, *arguments):
        return json.loads(self.call(*arguments, "--json"))

    def lines(self, *arguments, text):
        done = subprocess.run([self.binary, *map(str, arguments)], capture_output=True, text=True,
                              input="".join(json.dumps(line) + "\n" for line in text), check=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def logits(self, model, lines):
        path = self.folder / "logits"
        self.call("perplexity", "-m", model, "--jsonl", lines, "--logits", path, "--force",
                  "--kv", "f16", "--packed-cache", "off", "--portable", "--threads", self.threads)
        return np.fromfile(path, dtype=np.float32)


def log_softmax(rows):
    rows = rows.astype(np.float64)
    rows -= rows.max(axis=1, keepdims=True)
    return rows - np.log(np.exp(rows).sum(axis=1, keepdims=True))


class Judge:
    """Scores models against the one that was not quantised."""

    def __init__(self, program, base, lines, n_vocab):
        self.program, self.lines, self.n_vocab = program, lines, n_vocab
        self.base = log_softmax(program.logits(base, lines).reshape(-1, n_vocab))
        self.probability = np.exp(self.base)

    def divergence(self, model):
        other = log_softmax(self.program.logits(model, self.lines).reshape(-1, self.n_vocab))
        return float((self.probability * (self.base - other)).sum(axis=1).mean())


def texts(program, model, data, folder, n_lines, longest):
    """Ids of conversations: those that are measured, and those that are scored."""
    parts = ([], [])
    for name in SETS:
        rows = (data / "trained/eval" / f"{name}.jsonl").read_text().splitlines()[:2 * n_lines]
        for i, row in enumerate(rows):
            talk = json.loads(row)
            text = talk.get("text") or "\n".join(
                [m["content"] if isinstance(m["content"], str) else "" for m in talk["messages"]] +
                [talk.get("expected", "")])
            parts[i % 2].append(text)
    prose = (data / "trained/eval/heldout_text.txt").read_text()
    for half, part in enumerate(parts):
        start = half * len(prose) // 2
        part += [prose[start + i * 1500:start + (i + 1) * 1500] for i in range(n_lines // 2)]
    paths = []
    for half, part in enumerate(parts):
        path = folder / f"ids{half}.jsonl"
        with path.open("w") as out:
            for line in program.lines("tokenize", "--model", model, "--jsonl",
                                      text=[{"text": text} for text in part]):
                if len(line["ids"]) > 8:
                    out.write(json.dumps({"ids": line["ids"][:longest]}) + "\n")
        paths.append(path)
    return paths


class Peer:
    """llama.cpp's quantiser, through llama-cpp-python."""

    def __init__(self):
        import ctypes
        import llama_cpp
        self.ctypes, self.lib = ctypes, llama_cpp
        self.quiet = llama_cpp.llama_log_callback(lambda level, text, user: None)
        llama_cpp.llama_log_set(self.quiet, ctypes.c_void_p(0))

    def quantize(self, source, out, kind):
        names = {"q8_0": "Q8_0", "q6_k": "Q6_K", "q4_0": "Q4_0", "iq4_xs": "IQ4_XS", "q2_k": "Q2_K"}
        name = names.get(kind, kind.upper())
        params = self.lib.llama_model_quantize_default_params()
        params.ftype = getattr(self.lib, "LLAMA_FTYPE_MOSTLY_" + name)
        if self.lib.llama_model_quantize(str(source).encode(), str(out).encode(), params) != 0:
            raise SystemExit(f"llama.cpp does not write {kind}")


def measure(program, args, name):
    source = next((args.data / "trained" / name).glob("*-f16.gguf"))
    folder = program.folder
    calibration, scored = texts(program, source, args.data, folder, args.lines, 256)
    n_vocab = json.loads((source.parent / "config.json").read_text())["vocab_size"]
    judge = Judge(program, source, scored, n_vocab)
    imatrix = folder / "imatrix.gguf"
    program.call("imatrix", "-m", source, "--jsonl", calibration, "--out", imatrix, "--force",
                 "--ctx", 256, "--sensitivity", "--threads", program.threads)
    out = folder / "out.gguf"
    rows = []

    def ours(*arguments):
        program.call("quantize", source, "--out", out, *arguments, "--force",
                     "--threads", program.threads)
        return os.path.getsize(out), judge.divergence(out)

    if args.tensors:
        return single_tensors(program, args, source, imatrix, judge, out)
    peer = Peer() if args.peer else None
    for kind in args.types:
        row = {"model": name, "type": kind}
        row["bytes"], row["plain"] = ours("--type", kind)
        row["imatrix_bytes"], row["imatrix"] = ours("--type", kind, "--imatrix", imatrix)
        if peer:
            peer.quantize(source, out, kind)
            row["peer_bytes"], row["peer"] = os.path.getsize(out), judge.divergence(out)
        if args.ik:
            for key, more in (("ik", ()), ("ik_imatrix", ("--imatrix", str(imatrix)))):
                subprocess.run([args.ik, *more, str(source), str(out), kind.upper()], check=True,
                               capture_output=True)
                row[key] = judge.divergence(out)
        row["chosen_bytes"], row["chosen"] = ours("--target-size", row["imatrix_bytes"],
                                                  "--imatrix", imatrix)
        say(json.dumps(row))
        rows.append(row)
    return rows


def single_tensors(program, args, source, imatrix, judge, out):
    """The divergence when one matrix alone is quantised, beside its weighted error."""
    rows = []
    names = [t["tensor"] for t in program.json("quantize", source, "--out", out, "--type", "q4_0",
                                               "--force")["tensors"]]
    for name in names:
        for kind in args.types:
            made = program.json("quantize", source, "--out", out, "--type", "f16", "--tensor",
                                f"{name}={kind}", "--imatrix", imatrix, "--force")
            (loss,) = made["tensors"]
            rows.append({"tensor": name, "type": kind, "error": loss["weighted_error"],
                         "kl": judge.divergence(out)})
            say(json.dumps(rows[-1]))
    return rows


def table(rows, args):
    peer = args.peer and " llama.cpp |" or ""
    lines = [f"| model | type | bytes | plain |{peer} bytes | `--imatrix` | `--target-size` of these |",
             "|---|---|---|---|" + ("---|" if peer else "") + "---|---|---|"]
    for row in rows:
        other = f" {row['peer']:.4f} |" if peer else ""
        lines.append(f"| {row['model']} | {row['type']} | {row['bytes']:,} | {row['plain']:.4f} |"
                     f"{other} {row['imatrix_bytes']:,} | {row['imatrix']:.4f} | {row['chosen']:.4f} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=pathlib.Path, required=True)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--models", nargs="+", default=["nano", "moe"])
    parser.add_argument("--types", nargs="+", default=TYPES)
    parser.add_argument("--lines", type=int, default=20, help="of each set, for each half")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--peer", action="store_true")
    parser.add_argument("--ik")
    parser.add_argument("--tensors", action="store_true")
    parser.add_argument("--write", type=pathlib.Path, help="a page with the table between marks")
    args = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        program = Program(args.binary, folder, args.threads)
        for name in args.models:
            rows += measure(program, args, name)
    if args.tensors:
        return
    text = table(rows, args)
    say(text)
    if args.write:
        page = args.write.read_text()
        head, rest = page.split(BEGIN)
        args.write.write_text(head + BEGIN + "\n\n" + text + "\n\n" + END + rest.split(END)[1])


if __name__ == "__main__":
    main()
