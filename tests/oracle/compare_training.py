#!/usr/bin/env python3
"""Our training against PyTorch, PEFT, TRL and torchao, step by step from the same weights and tokens.

    compare_training.py --binary RUVLLM --model FOLDER       all runs
    compare_training.py … --run lora --run dpo --steps 20    some, shorter

FOLDER is a small model with safetensors and a tokenizer, in any float format: both sides compute in
float32 on the CPU. A step learns all examples, so that their order means nothing. What is compared
is the loss of each step and the norm of its gradient before clipping:

    lora     PEFT's adapter, from the numbers that `ruvllm train --rate 0` writes, and AdamW
    weights  all weights, with PyTorch's AdamW
    states8  all weights, with moments of 8 bits as torchao's AdamW8bit has them
    dpo      TRL's DPOTrainer, as it is
    grpo     the loss of TRL's GRPOTrainer on answers that are given, with PyTorch's AdamW

The table that it prints is the one of docs/training.md. Exit code 1: a loss differs by more than
1e-4, or a norm by more than 1e-3 of the greatest. 77: there is no FOLDER, or a package is missing,
which is named.
"""
import argparse
import csv
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import warnings

MOST_LOSS, MOST_NORM = 1e-4, 1e-3
CLIP, RANK = 1.0, 4
RATES = {"lora": 1e-3, "weights": 1e-4, "states8": 1e-4, "dpo": 1e-5, "grpo": 1e-5}
PEOPLE = ("sailor", "baker", "teacher", "farmer", "painter", "doctor")
THINGS = ("boat", "loaf of bread", "book", "field", "picture", "clinic")
try:
    import peft
    import torch
    import torchao.optim
    import transformers
    import trl
except ImportError as missing:
    print(f"{missing.name} is not installed")
    sys.exit(77)


def examples(tokenizer):
    """Prompts with a better and a worse answer, as ids; answers end as TRL ends them."""
    found = []
    for who, what in zip(PEOPLE, THINGS):
        prompt = f"The {who} said:"
        answers = [f" I look after my {what} each day.", f" No {what} here, go away now, please."]
        ids = tokenizer(prompt)["input_ids"]
        whole = [tokenizer(prompt + answer + tokenizer.eos_token)["input_ids"]
                 for answer in answers]
        assert all(x[:len(ids)] == ids for x in whole)
        found.append({"prompt": prompt, "chosen": answers[0], "rejected": answers[1], "ids": ids,
                      "answers": [x[len(ids):] for x in whole]})
    return found


class Ours:
    """The program, in a folder of its own."""

    def __init__(self, binary, model, folder):
        self.binary, self.model, self.folder = binary, model, folder

    def run(self, name, lines, steps, *more, rate=None):
        """Loss and norm of each step."""
        texts = self.folder / f"{name}.jsonl"
        texts.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        log = self.folder / f"{name}.csv"
        rate = RATES[name] if rate is None else rate
        call = [self.binary, "train", "-m", self.model, "--jsonl", texts, "--ctx", 64, "--rows",
                512, "--sequences", len(lines), "--steps", steps, "--schedule", "constant",
                "--rate", rate, "--clip", CLIP, "--log", log, "--quiet", "--force", *more]
        if "--out" not in more:
            call += ["--state", self.folder / f"{name}.state"]
        env = {key: value for key, value in os.environ.items() if not key.startswith("RUVLLM_")}
        subprocess.run([str(x) for x in call], check=True, env=env, stdout=subprocess.DEVNULL)
        with open(log, encoding="utf-8") as file:
            return [(float(row["loss"]), float(row["gradient_norm"]))
                    for row in csv.DictReader(file)]


def load(path):
    return transformers.AutoModelForCausalLM.from_pretrained(
        path, dtype=torch.float32, attn_implementation="eager")


def optimiser_of(model, rate, kind):
    """AdamW, of PyTorch or `kind`, that does not decay vectors, as transformers' Trainer has it."""
    trained = [p for p in model.parameters() if p.requires_grad]
    groups = [{"params": [p for p in trained if p.dim() > 1], "weight_decay": 0.01},
              {"params": [p for p in trained if p.dim() == 1], "weight_decay": 0.0}]
    return kind(groups, lr=rate, betas=(0.9, 0.999), eps=1e-8)


def learn(model, loss_of, steps, rate, kind=torch.optim.AdamW):
    """PyTorch's steps: loss and norm of each."""
    optimiser, found = optimiser_of(model, rate, kind), []
    for _ in range(steps):
        optimiser.zero_grad()
        loss = loss_of(model)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(
            [p for p in model.parameters() if p.requires_grad], CLIP)
        optimiser.step()
        found.append((loss.item(), float(norm)))
    return found


def padded(sequences, filler=0):
    width = max(map(len, sequences))
    return torch.tensor([x + [filler] * (width - len(x)) for x in sequences])


def answer_loss(data):
    """The mean over all tokens of the chosen answers."""
    ids = padded([x["ids"] + x["answers"][0] for x in data])
    labels = padded([[-100] * len(x["ids"]) + x["answers"][0] for x in data], -100)

    def loss_of(model):
        logits = model(input_ids=ids).logits[:, :-1]
        return torch.nn.functional.cross_entropy(
            logits.reshape(-1, logits.shape[-1]), labels[:, 1:].reshape(-1), ignore_index=-100)
    return loss_of


def answer_lines(data):
    return [{"ids": x["ids"] + x["answers"][0],
             "score": [0] * len(x["ids"]) + [1] * len(x["answers"][0])} for x in data]


def compare_lora(ours, data, steps):
    adapter = ours.folder / "adapter"
    adapter.mkdir()
    lora = ["--rank", RANK, "--alpha", 2 * RANK, "--seed", 7]
    ours.run("start", answer_lines(data), 1, *lora, "--out", adapter, rate=0)
    model = peft.PeftModel.from_pretrained(load(ours.model), adapter, is_trainable=True)
    return (ours.run("lora", answer_lines(data), steps, *lora),
            learn(model, answer_loss(data), steps, RATES["lora"]))


def compare_weights(ours, data, steps):
    return (ours.run("weights", answer_lines(data), steps),
            learn(load(ours.model), answer_loss(data), steps, RATES["weights"]))


def compare_states8(ours, data, steps):
    return (ours.run("states8", answer_lines(data), steps, "--states", "8bit"),
            learn(load(ours.model), answer_loss(data), steps, RATES["states8"],
                  torchao.optim.AdamW8bit))


def trainer_options(folder, n, steps):
    """What both of TRL's trainers are given."""
    return {"output_dir": str(folder / "trl"), "per_device_train_batch_size": n,
            "max_steps": steps, "learning_rate": RATES["dpo"], "lr_scheduler_type": "constant",
            "weight_decay": 0.01, "max_grad_norm": CLIP, "logging_steps": 1, "report_to": [],
            "use_cpu": True, "bf16": False, "fp16": False, "gradient_checkpointing": False,
            "save_strategy": "no", "optim": "adamw_torch", "disable_tqdm": True, "seed": 1}


def compare_dpo(ours, data, steps):
    import datasets
    tokenizer = transformers.AutoTokenizer.from_pretrained(ours.model)
    rows = datasets.Dataset.from_list(
        [{key: x[key] for key in ("prompt", "chosen", "rejected")} for x in data])
    config = trl.DPOConfig(beta=0.3, **trainer_options(ours.folder, len(data), steps))
    trainer = trl.DPOTrainer(model=load(ours.model), args=config, train_dataset=rows,
                             processing_class=tokenizer)
    trainer.remove_callback(transformers.PrinterCallback)
    trainer.train()
    theirs = [(row["loss"], row["grad_norm"]) for row in trainer.state.log_history
              if "grad_norm" in row]
    lines = [{"ids": x["ids"], "chosen": x["answers"][0], "rejected": x["answers"][1]}
             for x in data]
    return ours.run("dpo", lines, steps, "--objective", "dpo", "--beta", 0.3), theirs


def compare_grpo(ours, data, steps):
    import datasets
    draw = random.Random(3)
    tokenizer = transformers.AutoTokenizer.from_pretrained(ours.model)
    groups = [{"ids": x["ids"], "answers": [*x["answers"], x["answers"][0][:4]],
               "rewards": [draw.random() for _ in range(3)]} for x in data]
    options = trainer_options(ours.folder, 3 * len(data), steps)
    config = trl.GRPOConfig(loss_type="grpo", beta=0.05, epsilon=0.2, num_generations=3,
                            scale_rewards="group", use_bias_correction_kl=False, **options)
    rows = datasets.Dataset.from_list([{"prompt": x["prompt"]} for x in data])
    model = load(ours.model)
    trainer = trl.GRPOTrainer(model=model, reward_funcs=lambda completions, **_: [0.0],
                              args=config, train_dataset=rows, processing_class=tokenizer)
    trainer.current_gradient_accumulation_steps = 1
    model.train()
    answers = [answer for group in groups for answer in group["answers"]]
    rewards = torch.tensor([group["rewards"] for group in groups])
    advantages = (rewards - rewards.mean(1, keepdim=True)) / (rewards.std(1, keepdim=True) + 1e-4)
    prompts = [group["ids"] for group in groups for _ in group["answers"]]
    width = max(map(len, prompts))
    inputs = {  # prompts are filled up on the left, as TRL has them
        "prompt_ids": torch.tensor([[0] * (width - len(x)) + x for x in prompts]),
        "prompt_mask": torch.tensor([[0] * (width - len(x)) + [1] * len(x) for x in prompts]),
        "completion_ids": padded(answers),
        "completion_mask": padded([[1] * len(x) for x in answers]),
        "advantages": advantages.flatten()}
    with torch.no_grad():
        logs = trainer._get_per_token_logps_and_entropies(
            model, torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], 1),
            torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], 1),
            inputs["completion_ids"].shape[1])[0]
    inputs["old_per_token_logps"] = inputs["ref_per_token_logps"] = logs
    theirs = learn(model, lambda m: trainer._compute_loss(m, inputs), steps, RATES["grpo"])
    return ours.run("grpo", groups, steps, "--objective", "grpo", "--kl", 0.05), theirs


RUNS = {"lora": ("a LoRA adapter, PEFT and PyTorch", 100, compare_lora),
        "weights": ("all weights, PyTorch", 20, compare_weights),
        "states8": ("all weights, moments of 8 bits, torchao", 20, compare_states8),
        "dpo": ("DPO, TRL's DPOTrainer", 10, compare_dpo),
        "grpo": ("GRPO, the loss of TRL's GRPOTrainer", 10, compare_grpo)}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--run", action="append", choices=RUNS)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--write", type=pathlib.Path, help="a page with marks for the table")
    arguments = parser.parse_args()
    if not os.path.exists(os.path.join(arguments.model, "config.json")):
        print(f"{arguments.model}: no model to train")
        sys.exit(77)
    torch.manual_seed(0)
    warnings.simplefilter("ignore")
    data = examples(transformers.AutoTokenizer.from_pretrained(arguments.model))
    wrong = 0
    lines = ["| run | steps | loss, first and last | greatest difference of a loss | of a norm |",
             "|---|---|---|---|---|"]
    print(*lines, sep="\n")
    for name in arguments.run or RUNS:
        what, n, compare = RUNS[name]
        n = arguments.steps or n
        with tempfile.TemporaryDirectory() as folder:
            ours, theirs = compare(Ours(arguments.binary, arguments.model, pathlib.Path(folder)),
                                   data, n)
        assert len(ours) == len(theirs) == n, (len(ours), len(theirs))
        loss = max(abs(a[0] - b[0]) for a, b in zip(ours, theirs))
        norm = max(abs(a[1] - b[1]) for a, b in zip(ours, theirs)) / max(b[1] for b in theirs)
        wrong += loss > MOST_LOSS or norm > MOST_NORM
        lines.append(f"| {what} | {n} | {ours[0][0]:.4f}, {ours[-1][0]:.4f} | {loss:.1e} | {norm:.1e} |")
        print(lines[-1], flush=True)
    if arguments.write and not wrong:
        sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
        from tables import put_into

        put_into(arguments.write, "\n".join(lines) + "\n", "training")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
