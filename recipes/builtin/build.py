#!/usr/bin/env python3
"""Makes the built-in model, its draft model, five adapters and an embedding model, and scores them.

  build.py --binary ruvllm --out FOLDER [--short] [--from scratch|present] [--threads N]

One command makes all. Killed at any point and started again, it continues where it was, and the
files are those of a run that was not interrupted: each file is written beside its name and renamed
when it is complete, and the trainer resumes from its state. `--until STEP` ends after a step of
`STEPS`. A folder belongs to one recipe; with another one it is refused.
"""

import argparse
import csv
import dataclasses
import hashlib
import json
import pathlib
import shutil
import subprocess
import sys
import time

import first_weights
import gguf_file
import pack
import roles
import scores
from records import read_records
from served import ServedModel
from stages import RECIPES

HERE = pathlib.Path(__file__).resolve().parent
BUILT_IN = HERE.parents[1] / "models/ruvltra-nano-q8_0.gguf"
# Tokens that the trainer computes at once: more is faster and takes more memory (about 1 GB).
ROWS = 4096
POOLING_MEAN = 1  # a value of GGUF's pooling_type
STEPS = ("data", "weights", "nano", "pico", "export", "adapters", "embeddings", "scores")


def say(text):
    print(time.strftime("%H:%M:%S ") + text, file=sys.stderr, flush=True)


def sources_digest():
    """Of all files that decide what is made."""
    digest = hashlib.sha256()
    for path in sorted(HERE.glob("*.py")) + sorted(HERE.glob("data/*")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


class Build:
    """The steps on a folder."""

    def __init__(self, options):
        self.recipe = RECIPES["short" if options.short else "full"]
        self.binary, self.out, self.threads = options.binary, options.out, options.threads
        self.start = options.start
        self.out.mkdir(parents=True, exist_ok=True)
        self._claim({"recipe": dataclasses.asdict(self.recipe), "from": self.start})

    def _claim(self, recipe):
        recipe["sources"] = sources_digest()
        recipe["pattern"] = hashlib.sha256(BUILT_IN.read_bytes()).hexdigest()
        text, path = json.dumps(recipe, indent=1) + "\n", self.out / "recipe.json"
        if not path.exists():
            path.write_text(text)
        elif path.read_text() != text:
            raise SystemExit("%s: made by another recipe; choose another folder" % self.out)

    def run_program(self, *arguments):
        """Runs ruvllm; what it says goes to the terminal. A failure ends the build."""
        command = [self.binary, *map(str, arguments)]
        code = subprocess.run(command, stdout=subprocess.DEVNULL).returncode
        if code:
            raise SystemExit("failed with %d: %s" % (code, " ".join(map(str, command))))

    def make(self, path, write):
        """Makes a file or folder with `write(temporary path)`, unless it is there."""
        if path.exists():
            return
        partial = path.with_name("partial-" + path.name)
        if partial.is_dir():
            shutil.rmtree(partial)
        elif partial.exists():
            partial.unlink()
        say("making " + path.name)
        write(partial)
        partial.rename(path)

    def data(self):
        recipe = self.recipe

        def generate(partial):
            command = [
                sys.executable,
                HERE / "generate.py",
                "--out",
                partial,
                "--seed",
                recipe.seed,
            ]
            command += ["--megabytes", recipe.megabytes, "--eval-records", recipe.eval_records]
            command += ["--triplets", recipe.triplets]
            subprocess.run(list(map(str, command)), check=True)

        self.make(self.out / "data", generate)
        for stage in recipe.nano + recipe.pico:
            self.make(self.out / (stage.name + ".jsonl"), lambda path, s=stage: self._pack(path, s))

    def _pack(self, partial, stage):
        recipe = self.recipe
        train = self.out / "data/train.jsonl"
        counts = pack.write_stage(
            self.binary, BUILT_IN, train, partial, stage, recipe.context, recipe.seed
        )
        (self.out / (stage.name + ".counts.json")).write_text(json.dumps(counts) + "\n")

    def weights(self):
        recipe = self.recipe
        if self.start == "scratch":
            self._first("first-nano.gguf", "ruvltra-nano", recipe.nano_layers)
        self._first("first-pico.gguf", "ruvltra-pico", recipe.pico_layers)

    def _first(self, file, name, n_layers):
        def write(partial):
            first_weights.write_first_weights(partial, BUILT_IN, name, n_layers, self.recipe.seed)

        self.make(self.out / file, write)

    def nano(self):
        first = self.out / "first-nano.gguf" if self.start == "scratch" else BUILT_IN
        self._train(self.recipe.nano, first)

    def pico(self):
        self._train(self.recipe.pico, self.out / "first-pico.gguf")

    def _train(self, stages, model):
        for stage in stages:
            path = self.out / (stage.name + ".gguf")
            self.make(path, lambda partial, s=stage, m=model: self._learn(partial, s, m))
            model = path

    def n_steps(self, stage):
        """Steps in which about stage.tokens are learned."""
        counts = json.loads((self.out / (stage.name + ".counts.json")).read_text())
        mean = counts["tokens"] / counts["sequences"]
        return max(1, round(stage.tokens / (mean * stage.sequences)))

    def _learn(self, partial, stage, model):
        arguments = ["--steps", self.n_steps(stage), "--sequences", stage.sequences]
        arguments += ["--ctx", self.recipe.context, *stage.flags]
        if stage.has_teacher:
            teacher = self.out / (self.recipe.nano[-1].name + ".gguf")
            arguments += ["--objective", "distill", "--teacher", teacher]
        self._run_trainer(partial, stage.name, model, arguments)

    def _run_trainer(self, partial, name, model, arguments):
        """Trains on NAME.jsonl, with NAME.state to resume from and NAME.csv as its log."""
        state, recipe = self.out / (name + ".state"), self.recipe
        files = ["--model", model, "--jsonl", self.out / (name + ".jsonl"), "--out", partial]
        files += ["--state", state, "--save-every", recipe.save_every]
        files += ["--log", self.out / (name + ".csv"), "--force"]
        if state.exists():
            say("resuming " + name)
            files.append("--resume")
        limits = ["--rows", ROWS, "--seed", recipe.seed, "--threads", self.threads]
        self.run_program("train", *files, *limits, *arguments)

    def export(self):
        for name, stages in (("nano", self.recipe.nano), ("pico", self.recipe.pico)):
            self._quantize(name, self.out / (stages[-1].name + ".gguf"))

    def _quantize(self, name, trained):
        def write(partial):
            self.run_program("quantize", "--model", trained, "--type", "q8_0", "--out", partial)

        self.make(self.out / ("ruvltra-%s-q8_0.gguf" % name), write)

    def adapters(self):
        for role in roles.ROLES:
            self.make(self.out / ("adapter-" + role), lambda path, r=role: self._adapt(path, r))

    def _adapt(self, partial, role):
        recipe = self.recipe
        lines = self.out / ("adapter-%s.jsonl" % role)
        with open(lines, "w", encoding="utf-8") as file:
            for request, answer in roles.tasks(role, recipe.adapter_records, recipe.seed, False):
                messages = [{"role": "user", "content": request}]
                file.write(json.dumps({"messages": messages, "answer": answer}) + "\n")
        partial.mkdir()
        arguments = ["train", "--model", self.out / "ruvltra-nano-q8_0.gguf", "--jsonl", lines]
        arguments += ["--rank", 8, "--out", partial, "--steps", recipe.adapter_steps]
        arguments += ["--sequences", 16, "--ctx", 256, "--rows", 1024, "--seed", recipe.seed]
        arguments += ["--rate", "2e-3", "--schedule", "cosine", "--warmup", 1]
        self.run_program(*arguments, "--threads", self.threads)

    def embeddings(self):
        """A sibling that gives vectors of tasks: pico, trained by contrast on the triplets."""
        first, lines = self.out / "first-embed.gguf", self.out / "embed.jsonl"
        changes = {"general.name": gguf_file.text("ruvltra-embed")}
        changes["qwen2.pooling_type"] = gguf_file.uint32(POOLING_MEAN)
        pico = self.out / (self.recipe.pico[-1].name + ".gguf")
        self.make(first, lambda partial: gguf_file.write_with(partial, pico, changes))
        self.make(lines, self._pack_triplets)
        arguments = ["--steps", self.recipe.embedding_steps, "--sequences", 32, "--ctx", 128]
        arguments += ["--objective", "infonce", "--pooling", "mean", "--rate", "1e-3"]
        arguments += ["--schedule", "linear", "--warmup", 1]
        trained = self.out / "embed.gguf"
        self.make(trained, lambda partial: self._run_trainer(partial, "embed", first, arguments))
        self._quantize("embed", trained)

    def _pack_triplets(self, partial):
        with open(partial, "w", encoding="utf-8") as lines:
            for record in read_records(self.out / "data/triplets.jsonl"):
                kept = {key: record[key] for key in ("anchor", "positive", "negative")}
                lines.write(json.dumps(kept) + "\n")

    def scores(self):
        self.make(self.out / "scores.json", self._score)
        self.make(self.out / "adapters.json", self._score_adapters)
        self.make(self.out / "draft.json", self._score_draft)
        self.make(self.out / "embeddings.json", self._score_embeddings)
        print(scores.report(self.out))

    def _score(self, partial):
        model = self.out / "ruvltra-nano-q8_0.gguf"
        result = scores.measure(self.binary, model, self.out / "data", self.recipe.score_limit)
        partial.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n")

    def _score_adapters(self, partial):
        model, limit = self.out / "ruvltra-nano-q8_0.gguf", max(3, self.recipe.score_limit // 3)
        modules = []
        for role in roles.ROLES:
            modules += ["--lora-modules", "%s=%s" % (role, self.out / ("adapter-" + role))]
        with ServedModel(self.binary, model, *modules) as server:
            result = scores.measure_adapters(server, self.recipe.seed, limit)
        partial.write_text(json.dumps(result, indent=1) + "\n")

    def _score_draft(self, partial):
        models = (self.out / ("ruvltra-%s-q8_0.gguf" % name) for name in ("nano", "pico"))
        limit = max(3, self.recipe.score_limit // 10)
        result = scores.measure_draft(self.binary, *models, self.out / "data", limit)
        partial.write_text(json.dumps(result, indent=1) + "\n")

    def _score_embeddings(self, partial):
        held_out, result = self.out / "data/triplets_unseen.jsonl", {}
        for name in ("ruvltra-embed-q8_0.gguf", "ruvltra-nano-q8_0.gguf"):
            result[name] = scores.measure_embeddings(self.binary, self.out / name, held_out)
        partial.write_text(json.dumps(result, indent=1) + "\n")

    def tell_speed(self):
        """How fast stages went, from their logs."""
        for stage in self.recipe.nano + self.recipe.pico:
            path = self.out / (stage.name + ".csv")
            rows = list(csv.DictReader(open(path))) if path.exists() else []
            if rows:
                loss = float(rows[0]["loss"]), float(rows[-1]["loss"])
                say("%s: %d steps, loss %.3f to %.3f" % (stage.name, len(rows), *loss))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--binary", required=True, help="the program ruvllm")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="a folder for all files")
    parser.add_argument("--short", action="store_true", help="the variant that tests run")
    parser.add_argument("--from", dest="start", default="scratch")
    parser.add_argument("--threads", type=int, default=0, help="0: one per core")
    parser.add_argument("--until", choices=STEPS, default=STEPS[-1])
    options = parser.parse_args()
    if options.start not in ("scratch", "present"):
        parser.error("--from is scratch or present")
    build = Build(options)
    for number, step in enumerate(STEPS[: STEPS.index(options.until) + 1]):
        say("step %d of %d: %s" % (number + 1, len(STEPS), step))
        getattr(build, step)()
    build.tell_speed()


if __name__ == "__main__":
    main()
