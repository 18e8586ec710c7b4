#!/usr/bin/env python3
"""What quantising costs, by type, with and without importance, and with formats chosen for a size:
the divergence KL(F16 || quantised) of the next token, in nats a token, and the largest part of it.

    bench/quantize/quality.py --binary build/release/apps/ruvllm/ruvllm --data DATA \\
        --write docs/quantising.md

DATA/trained/nano and /moe hold the models; their eval/ folder the texts. The texts that importance
is measured on are other ones than those that are scored: conversations of even lines against odd
ones of the same sets, and the two halves of the held-out prose. --peer also quantises with the
llama.cpp of llama-cpp-python, with the same importance but for a tied embedding, whose columns its
own tool does not measure; all files are scored by the same program. --ik PATH: with the
llama-quantize of ik_llama.cpp.
With --tensors each matrix alone is quantised, for the sensitivities of src/format/quant_budget.cpp.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
from tables import as_line  # noqa: E402

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

    def needs_importance(self, source, kind):
        command = [self.binary, "quantize", "-m", str(source), "--type", kind, "--dry-run"]
        done = subprocess.run(command, capture_output=True, text=True)
        return "needs to know which columns matter" in done.stderr

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


def peer_measure(source, out, judge, kind, imatrix, threads):
    """(bytes, divergence) of llama.cpp's file; nothing where it refuses."""
    from peer_quantizer import by_peer
    made, why = by_peer(source, out, kind, imatrix, threads)
    if made is None:
        say(f"llama.cpp writes no {kind}: {why}")
        return {}
    return {"bytes": os.path.getsize(out), "divergence": judge.divergence(out)}


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
    for kind in args.types:
        row = {"model": name, "type": kind}
        blind = program.needs_importance(source, kind)
        if not blind:
            row["bytes"], row["plain"] = ours("--type", kind)
        row["imatrix_bytes"], row["imatrix"] = ours("--type", kind, "--imatrix", imatrix)
        if args.peer:
            for key, given in (("peer_imatrix", imatrix), ("peer", None)):
                row[key] = {} if blind and given is None else peer_measure(
                    source, out, judge, kind, given, args.threads)
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


def table(rows, peer):
    """Of types that are refused without importance, nothing is in the plain columns."""
    other = ["llama.cpp"] if peer else []
    head = ["model", "type", "bytes", "plain", *other, "`--imatrix`", *other,
            "`--target-size` of these bytes"]
    lines = [as_line(head), "|---|---|" + "---:|" * (len(head) - 2)]

    def figure(x):
        return "" if x is None else f"{x:.4f}"

    for row in rows:
        plain, weighted = ([figure(row[key].get("divergence"))] if peer else []
                           for key in ("peer", "peer_imatrix"))
        lines.append(as_line([row["model"], row["type"], f"{row['imatrix_bytes']:,}",
                              figure(row.get("plain")), *plain, figure(row["imatrix"]), *weighted,
                              figure(row["chosen"])]))
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
    text = table(rows, args.peer)
    say(text)
    if args.write:
        page = args.write.read_text()
        head, rest = page.split(BEGIN)
        args.write.write_text(head + BEGIN + "\n\n" + text + "\n\n" + END + rest.split(END)[1])


if __name__ == "__main__":
    main()
