"""Training speed beside PyTorch: tokens a second of the same model, batch and precision.

    python3 -P bench/train_speed.py --binary build/release/apps/ruvllm/ruvllm --folder MODEL \
      [--rank 0 8] [--write docs/training.md]

MODEL is a folder with config.json and safetensors that both read; with a rank above 0 an adapter (LoRA) of
all projections is trained, by PEFT on the other side. Both sides train in turn, in float32 with AdamW, on
the same random tokens, and each time the median step counts; the first two steps are left out. Prints a
table with both figures and the ratio of the rounds, or writes it between the marks of a page.
"""
import argparse
import csv
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[1]
PROJECTIONS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--binary", default="ruvllm")
    parser.add_argument("--folder", required=True)
    parser.add_argument("--rank", type=int, nargs="+", default=[0, 8],
                        help="a row for each; 0: all weights are trained")
    parser.add_argument("--rows", type=int, default=256, help="tokens of a sequence")
    parser.add_argument("--sequences", type=int, default=8, help="in a step")
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--write", type=pathlib.Path, help="a page with marks for the table")
    parser.add_argument("--torch-side", type=int, help=argparse.SUPPRESS)
    return parser.parse_args()


def random_ids(args):
    """Sequences of ids that every vocabulary has, from a small generator of its own."""
    state, sequences = 1, []
    for _ in range(args.sequences * args.steps):
        ids = []
        for _ in range(args.rows + 1):
            state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
            ids.append((state >> 33) % 2000)
        sequences.append(ids)
    return sequences


def torch_side(args, rank):
    """Prints the seconds of each step. Runs without this folder in the path."""
    import torch
    import transformers

    torch.set_num_threads(args.threads)
    model = transformers.AutoModelForCausalLM.from_pretrained(args.folder, dtype=torch.float32)
    if rank:
        import peft

        model = peft.get_peft_model(model, peft.LoraConfig(
            r=rank, lora_alpha=2 * rank, target_modules=PROJECTIONS))
    trained = [p for p in model.parameters() if p.requires_grad]
    optimiser = torch.optim.AdamW(trained, lr=1e-4, weight_decay=0.01)
    ids = torch.tensor(random_ids(args)).view(args.steps, args.sequences, args.rows + 1)
    seconds = []
    for batch in ids:
        start = time.perf_counter()
        logits = model(batch[:, :-1], use_cache=False).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1)
        optimiser.step()
        optimiser.zero_grad()
        seconds.append(time.perf_counter() - start)
    print(json.dumps(seconds))


def torch_seconds(rank):
    command = [sys.executable, "-P", __file__, *sys.argv[1:], "--torch-side", str(rank)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def our_seconds(args, rank, folder):
    """From the times of the log, which count from the first step."""
    lines = folder / "ids.jsonl"
    lines.write_text("".join(json.dumps({"ids": ids}) + "\n" for ids in random_ids(args)))
    log = folder / "log.csv"
    log.unlink(missing_ok=True)
    command = [args.binary, "train", "--model", args.folder, "--jsonl", lines, "--ctx", args.rows + 1,
               "--rows", args.rows * args.sequences, "--sequences", args.sequences, "--steps", args.steps,
               "--threads", args.threads, "--log", log,
               "--state", folder / "state", "--force"]
    if rank:
        command += ["--rank", rank]
    subprocess.run([str(c) for c in command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    ends = [float(row["seconds"]) for row in csv.DictReader(log.open())]
    return [end - before for before, end in zip([0.0, *ends], ends)]


def row(args, rank):
    """Both sides in turn."""
    tokens = args.rows * args.sequences
    ratios, best = [], {"ours": 0.0, "torch": 0.0}
    with tempfile.TemporaryDirectory() as name:
        for _ in range(args.rounds):
            ours = tokens / statistics.median(our_seconds(args, rank, pathlib.Path(name))[2:])
            torch = tokens / statistics.median(torch_seconds(rank)[2:])
            best = {"ours": max(best["ours"], ours), "torch": max(best["torch"], torch)}
            ratios.append(ours / torch)
            print(f"{ours:.0f} and {torch:.0f} tokens/s: x {ours / torch:.2f}", file=sys.stderr)
    what = f"LoRA of rank {rank}" if rank else "all weights"
    return (f"| {what}, {args.sequences} x {args.rows} tokens | {best['ours']:.0f} | {best['torch']:.0f} | "
            f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}) |")


def main():
    args = arguments()
    if args.torch_side is not None:
        return torch_side(args, args.torch_side)
    lines = ["| run | tokens/s | PyTorch's | ratio, median of the rounds |", "|---|---|---|---|"]
    text = "\n".join(lines + [row(args, rank) for rank in args.rank]) + "\n"
    if args.write:
        sys.path.insert(0, str(SOURCE / "bench"))
        from tables import put_into

        put_into(args.write, text, "training_speed")
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
