#!/usr/bin/env python3
"""Our logits against transformers' on tiny random models of all families, with configurations that
are odd but legal.

    compare_families.py --seed 1 --count 500            every family in turn
    compare_families.py --family gemma2 --count 50 --shrink
    compare_families.py --case build/families/gemma2-17/case.json
    compare_families.py --report --count 8              8 of each family, and docs/odd-configurations.md
    compare_families.py --write-goldens --family gemma2 remakes its file in tests/golden/families,
                                                        without --family those of all

Each model is asked for the logits of every position of several prompts, from its folder and from the
GGUF file that `ruvllm quantize` makes of it. Δ is the largest difference over the standard deviation
of the logits; it may be 5 times what the documented roundings do to the reference itself, or 5e-4.
Exit code 1: a silent difference, a crash, a refusal that names nothing the user has, or a file that
quantize wrote and nothing can load. Needs torch, transformers, numpy.
"""
import argparse
import collections
import concurrent.futures
import json
import multiprocessing
import pathlib
import sys
import time

from families import goldens, known, knobs, reference, report, shrink, verdicts
from families.engine import Engine
from families.records import FAMILIES

SOURCE = pathlib.Path(__file__).resolve().parents[2]
KINDS = ("agree", "near tie", "gguf refused", "refused", "no reference", *verdicts.FAILING)


def one_case(family, number, args):
    """(family, number, case, outcome, knobs) of one draw, or of a known case by its place."""
    if family == "known":
        case = known.KNOWN[number]
        half, family, number = True, case["family"], case["name"]
    else:
        case, half = FAMILIES[family].draw(f"{args.seed}/{family}/{number}"), number % 4 == 0
    try:
        trial = verdicts.Trial(case, Engine(args.binary))
        outcome = trial.verdict(f16=half)
        why = goldens.against_the_list(case, outcome)
        if why and not outcome.failed:
            outcome.verdict, outcome.detail = "decided otherwise", why
        moved = knobs.sample(trial, args.knobs) if trial.want is not None else {}
    except reference.Refused as refused:
        return family, number, case, verdicts.Outcome("no reference", str(refused)), {}
    return family, number, case, outcome, moved


def report_failure(family, number, case, outcome, args):
    print(f"\n{outcome.verdict.upper()} {family} {number}: {outcome.detail}", flush=True)
    engine = Engine(args.binary)
    if args.shrink:
        case = shrink.shrink(case, outcome.verdict, engine)
    keep = args.keep / f"{family}-{number}"
    outcome = verdicts.judge(case, engine, keep=keep)
    print(json.dumps(case["config"]))
    print(f"  file {case['file']}")
    for form, deltas in outcome.deltas.items():
        shown = "  ".join(f"{n}: {delta:.1e}" for n, delta in deltas.items())
        print(f"  Δ {form} (noise {outcome.noise[form]:.1e})  {shown}")
    if outcome.detail:
        print(f"  {outcome.detail}")
    print(f"  repeat: {sys.argv[0]} --case {keep / 'case.json'}", flush=True)


def table(counts):
    kinds = [kind for kind in KINDS if any(row[kind] for row in counts.values())]
    print("\n" + f"{'family':12}" + "".join(f"{kind:>14}" for kind in kinds))
    for family, row in counts.items():
        print(f"{family:12}" + "".join(f"{row[kind]:14}" for kind in kinds))
    total = {kind: sum(row[kind] for row in counts.values()) for kind in kinds}
    print(f"{'all':12}" + "".join(f"{total[kind]:14}" for kind in kinds))


def reasons(title, found):
    if found:
        print(f"\n{title}")
    for reason, n in sorted(found.items(), key=lambda item: -item[1]):
        print(f"{n:5}  {reason}")


def without_paths(text):
    """A message without what differs from case to case."""
    return " ".join("…" if "/" in word else word for word in text.split())[:170]


def results(jobs, args):
    """The outcomes of all jobs in order, several at a time."""
    if args.jobs == 1:
        yield from (one_case(*job, args) for job in jobs)
        return
    reference.load_classes(known.BASES.values())
    context = multiprocessing.get_context("fork")
    with concurrent.futures.ProcessPoolExecutor(args.jobs, mp_context=context) as pool:
        futures = [pool.submit(one_case, *job, args) for job in jobs]
        yield from (future.result() for future in futures)


def campaign(args):
    names = args.family or list(FAMILIES)
    jobs = [("known", i) for i, case in enumerate(known.KNOWN) if case["family"] in names]
    jobs += [(names[i % len(names)], i // len(names)) for i in range(args.count)]
    counts = {name: collections.Counter() for name in names}
    refusals, absent, seen = collections.Counter(), collections.Counter(), {}
    bounds, failures, started = [], [], time.monotonic()
    for done, (family, number, case, outcome, moved) in enumerate(results(jobs, args), 1):
        counts[family][outcome.verdict] += 1
        for path, is_moved in moved.items():
            seen.setdefault((family, path), []).append(is_moved)
        if outcome.failed:
            failures.append((family, number, case, outcome))
            print(f"{outcome.verdict}: {family} {number}: {without_paths(outcome.detail)}",
                  flush=True)
        elif outcome.verdict == "agree":
            bounds.append(verdicts.bound_of(min(outcome.noise.values())))
        elif outcome.verdict == "near tie":
            print(f"near tie: {family} {number}: {outcome.detail}", flush=True)
        else:
            (absent if outcome.verdict == "no reference" else refusals)[
                f"{family}: {without_paths(outcome.detail)}"] += 1
        if done % 50 == 0:
            print(f"{done} of {len(jobs)}, {time.monotonic() - started:.0f} s", flush=True)
    for failure in failures[:args.show]:
        report_failure(*failure, args)
    reasons("Refused by us", refusals)
    if args.verbose:
        reasons("Not run by the reference", absent)
    table(counts)
    told = sorted(bounds)[len(bounds) // 2] if bounds else 0
    print(f"\nseed {args.seed}, {len(jobs)} configurations, {time.monotonic() - started:.0f} s; "
          f"median bound {told:.1e}, above 0.1 in {sum(bound > 0.1 for bound in bounds)}")
    return bool(failures) | (args.knobs > 0 and not knobs_proved(seen, args))


def knobs_proved(seen, args):
    """Whether every setting that was drawn moves the reference's logits in some case, unless its
    family's record says that it never does."""
    inert = knobs.wrongly_inert(seen, FAMILIES)
    reasons("Listed as inert, but moves the logits", dict.fromkeys(inert, 1))
    places = knobs.unproved(seen, FAMILIES)
    print(f"{len(seen)} settings changed, {len(places)} to be proved by further draws", flush=True)
    dead = [f"{family}: {path}" for family, path in places
            if not knobs.prove(FAMILIES[family], path, args.seed)]
    reasons("Drawn, and moves no logit", dict.fromkeys(dead, 1))
    return not inert and not dead


def write_report(args):
    """Draws --count configurations of each family, prints those that differ, and writes the page."""
    args.knobs, names = 0, args.family or list(FAMILIES)
    jobs = [(name, i) for name in names for i in range(args.count)]
    counts = {name: collections.Counter() for name in names}
    for done, (family, number, _, outcome, _) in enumerate(results(jobs, args), 1):
        counts[family][outcome.verdict] += 1
        if outcome.failed:
            print(f"{outcome.verdict}: {family} {number}: {without_paths(outcome.detail)}",
                  flush=True)
        if done % 50 == 0:
            print(f"{done} of {len(jobs)}", flush=True)
    table(counts)
    text = report.page(counts, reference.transformers.__version__, args)
    (SOURCE / report.PAGE).write_text(text, encoding="utf-8")
    return any(row[kind] for row in counts.values() for kind in verdicts.FAILING)


def repeat(args):
    case = json.loads(args.case.read_text())
    outcome = verdicts.judge(case, Engine(args.binary), keep=args.case.parent, f16=True)
    print(f"{outcome.verdict}: {outcome.detail}")
    for form, deltas in outcome.deltas.items():
        print(f"Δ {form} (noise {outcome.noise[form]:.1e})",
              "  ".join(f"{n}: {delta:.1e}" for n, delta in deltas.items()))
    return outcome.failed


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--count", type=int, default=100, help="configurations over all families")
    p.add_argument("--family", action="append", choices=sorted(FAMILIES))
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--knobs", type=int, default=2, help="settings changed for each model")
    p.add_argument("--shrink", action="store_true", help="shrink failures")
    p.add_argument("--show", type=int, default=20, help="failures described at the end")
    p.add_argument("--keep", type=pathlib.Path, default=SOURCE / "build/families",
                   help="folder for failing models")
    p.add_argument("--case", type=pathlib.Path, help="repeat one case")
    p.add_argument("--write-goldens", action="store_true")
    p.add_argument("--report", action="store_true", help="--count of each family, to " + report.PAGE)
    p.add_argument("--verbose", action="store_true")
    p.add_argument("--binary", type=pathlib.Path,
                   default=SOURCE / "build/release/apps/ruvllm/ruvllm")
    args = p.parse_args()
    if args.write_goldens:
        return goldens.write(SOURCE / "tests/golden/families", args)
    if args.report:
        return write_report(args)
    return repeat(args) if args.case else campaign(args)


if __name__ == "__main__":
    sys.exit(main())
