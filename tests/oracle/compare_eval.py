#!/usr/bin/env python3
"""Scores of `ruvllm eval --exact` against lm-evaluation-harness with transformers, sample by sample.

    compare_eval.py --binary build/release/apps/ruvllm/ruvllm --data ../shared/data --count 40

For each model of `trained/` in the data folder: questions of MMLU with four choices, last words of LAMBADA
and stretches of wikitext, drawn from --seed. The harness's own HFLM gives the log-likelihoods, in
float32 but for the softmax, whose rounding would add up over the tokens of a text.
Prints a table in Markdown: the largest difference of a log-likelihood, and how many samples have another
choice or another greedy flag. Exit code 1: a difference above 0.001, a choice or a flag that is another.
Needs lm_eval, torch, transformers.
"""
import argparse
import csv
import json
import pathlib
import random
import subprocess
import sys
import tempfile

from lm_eval.api.instance import Instance
from lm_eval.models.huggingface import HFLM

MOST = 1e-3
LETTERS = "ABCD"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--binary", default="ruvllm")
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--models", nargs="*", default=["nano", "pico", "moe"])
    parser.add_argument("--count", type=int, default=40, help="samples of each kind")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def mmlu(folder, draw, count):
    """Lines of our form: a question, and its choices' letters."""
    files = sorted((folder / "eval/mmlu/test").glob("*.csv"))
    samples = []
    while len(samples) < count:
        row = draw.choice(list(csv.DictReader(draw.choice(files).open(encoding="utf-8"))))
        choices = [f"{letter}. {row[f'choice{i}']}" for i, letter in enumerate(LETTERS)]
        lines = [row["question"].strip(), *choices, "Answer:"]
        context = "\n".join(lines)
        if len(context) < 2000:
            samples.append({"context": context, "choices": list(LETTERS), "answer": int(row["answer"])})
    return samples


def lambada(folder, draw, count):
    lines = (folder / "eval/lambada_openai_test.jsonl").read_text(encoding="utf-8").splitlines()
    samples = []
    for line in draw.sample(lines, count):
        context, word = json.loads(line)["text"].rsplit(" ", 1)
        samples.append({"context": context, "continuation": f" {word}"})
    return samples


def wikitext(folder, draw, count):
    """Texts longer than a context among them, which are scored in windows."""
    text = (folder / "eval/wikitext-2/valid.tokens.txt").read_text(encoding="utf-8")
    samples = []
    for _ in range(max(2, count // 8)):
        begin = draw.randrange(len(text) - 9000)
        samples.append({"text": text[begin:begin + draw.choice((200, 1500, 9000))].strip()})
    return samples


def theirs(model, samples):
    """[(log-likelihood, is greedy)] of each sample's choices, continuation or text."""
    def ask(kind, pairs):
        requests = [Instance(kind, {}, pair, i) for i, pair in enumerate(pairs)]
        return getattr(model, kind)(requests, disable_tqdm=True)

    if "text" in samples[0]:
        return [[(float(total), None)] for total in ask("loglikelihood_rolling", [(s["text"],) for s in samples])]
    pairs, sizes = [], []
    for sample in samples:
        ends = [f" {choice}" for choice in sample["choices"]] if "choices" in sample else [sample["continuation"]]
        pairs += [(sample["context"], end) for end in ends]
        sizes.append(len(ends))
    answers = iter(ask("loglikelihood", pairs))
    return [[next(answers) for _ in range(size)] for size in sizes]


def ours(args, folder, samples):
    with tempfile.TemporaryDirectory() as name:
        task, out = pathlib.Path(name) / "task.jsonl", pathlib.Path(name) / "scores.json"
        task.write_text("".join(json.dumps(sample) + "\n" for sample in samples), encoding="utf-8")
        subprocess.run([args.binary, "eval", "--model", folder, "--task", task, "--exact", "--quiet", "--out", out],
                       check=True, stdout=subprocess.DEVNULL)
        scores = json.loads(out.read_text())["samples"]
    if "text" in samples[0]:
        return [[(score["log_likelihood"], None)] for score in scores]
    return [[(one["log_likelihood"], one["is_greedy"]) for one in score["likelihoods"]] for score in scores]


def choice_of(likelihoods):
    return max(range(len(likelihoods)), key=lambda i: likelihoods[i][0])


def compare(args, name, kind, model, samples):
    """Prints a row; whether it is as it should be."""
    wanted, found = theirs(model, samples), ours(args, args.data / "trained" / name, samples)
    pairs = [(a, b) for one, other in zip(wanted, found, strict=True) for a, b in zip(one, other, strict=True)]
    most = max(abs(a[0] - b[0]) for a, b in pairs)
    flags = sum(a[1] != b[1] for a, b in pairs)
    choices = sum(choice_of(one) != choice_of(other) for one, other in zip(wanted, found))
    print(f"| {name} | {kind} | {len(samples)} | {most:.1e} | {choices} | {flags} |", flush=True)
    return most <= MOST and not flags and not choices


def main():
    args = arguments()
    print("| model | task | samples | largest Δ | other choice | other greedy flag |\n|---|---|---|---|---|---|")
    good = True
    for name in args.models:
        model = HFLM(pretrained=str(args.data / "trained" / name), device="cpu", dtype="float32", batch_size=1,
                     softmax_dtype="float64")
        for kind, make in (("MMLU", mmlu), ("LAMBADA", lambada), ("wikitext", wikitext)):
            good &= compare(args, name, kind, model, make(args.data, random.Random(args.seed), args.count))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
