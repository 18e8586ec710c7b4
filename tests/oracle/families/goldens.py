"""tests/golden/families/<family>.json: cases that families_test.cpp answers without torch. Configs,
tensors as (shape, centre, spread) and a seed, and of each prompt a few logits of the reference."""
import concurrent.futures
import json
import multiprocessing
import sys

from families import known, reference, verdicts
from families.engine import Engine
from families.records import FAMILIES

SEED = "goldens"
POSITIONS = 3        # rows of each prompt
TOKENS = 12          # logits of each row
LONGEST = 140        # ids of a prompt
MAX_BYTES = 6 << 20


def against_the_list(case, outcome):
    """Why the outcome of a known case is not the one that was decided, or nothing."""
    expect = case.get("expect", "either")
    ours_ran = bool(outcome.deltas) or "we run it" in outcome.detail
    if expect == "logits" and outcome.verdict != "agree":
        return f"must give the reference's logits: {outcome.verdict} ({outcome.detail})"
    if expect == "refused" and ours_ran:
        return "must be refused"
    return ""


def rows_of(prompt_length):
    """Positions kept, the last one always."""
    step = max(1, prompt_length // POSITIONS)
    return list(range(prompt_length - 1, -1, -step))[:POSITIONS]


def golden(name, case, engine):
    """(golden, outcome); the golden is None where the case proves nothing."""
    trial = verdicts.Trial(case, engine)
    outcome = trial.verdict(f16=False)
    out = {"name": name, "config": case["config"], "dtype": case["file"]["dtype"],
           "shards": case["file"]["shards"], "seed": case["seed"], "lengths": case["lengths"],
           **({trial.gives: True} if trial.gives != "logits" else {}),
           **({"second": trial.second} if trial.second else {}),
           **({"source": trial.source} if trial.source else {}),
           **({"unplaced": case["unplaced"]} if "unplaced" in case else {}),
           "tensors": [[stored, *([filler] if filler != stored else []), list(shape), *role]
                       for stored, (filler, shape, role) in trial.layout.items()]}
    if outcome.verdict == "agree":
        noise = outcome.noise
        out["answers"] = [
            {"std": round(float(verdicts.scale_of(want)), 6),
             "positions": rows_of(len(want)),
             "logits": [[float(f"{x:.7g}") for x in want[i][:TOKENS]] for i in rows_of(len(want))]}
            for n, want in zip(case["lengths"], trial.want)]
        out["deltas"] = {form.split()[0]: float(f"{max(found.values()):.2g}")
                         for form, found in outcome.deltas.items()}
        out["bounds"] = {form.split()[0]: round(verdicts.bound_of(x), 7)
                         for form, x in noise.items()}
        return out, outcome
    if outcome.verdict == "gguf refused" or not trial.message:
        return None, outcome
    if outcome.verdict in ("refused", "no reference"):
        out["refused_by"] = trial.named
        return (out if trial.named else None), outcome
    return None, outcome


def cases(families):
    """(name, case) of the goldens of these families: the known ones, and a seeded draw."""
    for case in known.KNOWN:
        if case["family"] in families:
            yield f"{case['family']}_{case['name']}", case
    for family in families:
        record = FAMILIES[family]
        for number in range(record.goldens):
            yield f"{family}_{number}", record.draw(f"{SEED}/{family}/{number}")


def made_of(job):
    """(family, golden or None, what is wrong or nothing)."""
    name, case, binary = job
    source = case.get("source", 0)
    lengths = [n for n in case["lengths"] if n <= LONGEST + source] or [7 + source]
    case = {**case, "lengths": lengths}
    made, outcome = golden(name, case, Engine(binary))
    why = against_the_list(case, outcome)
    if outcome.failed or why:
        return case["family"], None, f"{name}: {outcome.verdict}: {why or outcome.detail}"
    loosest = FAMILIES[case["family"]].loosest
    if loosest and made and max(made.get("bounds", {"": 0}).values()) > loosest:
        made = None
    return case["family"], made, ""


def write(folder, args):
    """Remakes the files of args.family, or of all families."""
    folder.mkdir(parents=True, exist_ok=True)
    by_family, wrong = {name: [] for name in args.family or FAMILIES}, []
    reference.load_classes(known.BASES[name] for name in by_family if name in known.BASES)
    context = multiprocessing.get_context("fork")
    with concurrent.futures.ProcessPoolExecutor(args.jobs, mp_context=context) as pool:
        jobs = [(name, case, args.binary) for name, case in cases(by_family)]
        for done, (family, made, why) in enumerate(pool.map(made_of, jobs), 1):
            if why:
                wrong.append(why)
            elif made is not None:
                by_family[family].append(made)
            if done % 50 == 0:
                print(f"{done} of {len(jobs)}", flush=True)
    for family, goldens in by_family.items():
        lines = ",\n".join(json.dumps(made, separators=(",", ":")) for made in goldens)
        text = f"[\n{lines}\n]\n"
        (folder / f"{family}.json").write_text(text)
        refused = sum("refused_by" in made for made in goldens)
        print(f"{family:12} {len(goldens):3} cases, {refused} of them refused, {len(text)} bytes")
    total = sum(path.stat().st_size for path in folder.glob("*.json"))
    print(f"{total} bytes in all")
    for line in wrong:
        print(f"not written: {line}", file=sys.stderr)
    return bool(wrong) or total > MAX_BYTES
