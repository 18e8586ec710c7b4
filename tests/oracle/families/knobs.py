"""Proof that a draw can fail: a key that matters is changed, and the reference's logits must move by
more than a difference that would pass."""
import pathlib
import random
import tempfile

from families import reference, verdicts, weights

NAMES = {"model_type", "architectures", "rope_type", "type", "vocab_size"}


def changed(key, value):
    """Another legal value, or None."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value * 3 if value else 1
    if isinstance(value, str):
        return {"silu": "relu"}.get(value, "silu") if "act" in key else value + "x"
    if isinstance(value, list) and value and isinstance(value[0], str):
        kinds = ["full_attention", "sliding_attention"]
        return [kinds[kind == kinds[0]] for kind in value]
    if isinstance(value, list) and value:
        return [1.7 * x for x in value]
    return None


def settings_of(config):
    """(path, changed config) for every value of it."""
    for key, value in config.items():
        if isinstance(value, dict):
            for path, inner in settings_of(value):
                yield f"{key}.{path}", {**config, key: inner}
        elif key not in NAMES:
            other = changed(key, value)
            if other is not None:
                yield key, {**config, key: other}


def moves(trial, config, prompts, want, bound):
    """Whether the reference's logits move enough, or None where it refuses the change."""
    with tempfile.TemporaryDirectory(prefix="families-") as scratch:
        folder = pathlib.Path(scratch)
        weights.write_folder(folder, config, trial.tensors, trial.case["file"])
        try:
            model = reference.Model(folder)
            if model.missing:
                return None
            return verdicts.difference(model.logits(prompts), want) > bound
        except reference.Refused:
            return None


def sample(trial, n):
    """{path: moved} for n settings of a trial that the reference ran, drawn."""
    settings = list(settings_of(trial.case["config"]))
    rng = random.Random(trial.case["seed"] + 1)
    prompts, want = trial.prompts[-3:], trial.want[-3:]
    bound = verdicts.bound_of(verdicts.difference(trial.model.rounded(prompts), want))
    chosen = rng.sample(settings, min(n, len(settings)))
    results = {path: moves(trial, config, prompts, want, bound) for path, config in chosen}
    return {path: moved for path, moved in results.items() if moved is not None}


def dead(seen, records):
    """(family, key) that was changed several times, may matter, and never moved a logit; and those
    said to be inert that did."""
    faults = []
    for (family, path), results in sorted(seen.items()):
        key = path.rsplit(".", 1)[-1]
        inert = key in records[family].inert or key in records_inert()
        if inert and any(results):
            faults.append(f"{family}: {path} is listed as inert and moves the logits")
        if not inert and len(results) >= 6 and not any(results):
            faults.append(f"{family}: {path} moved no logit in {len(results)} changes")
    return faults


def records_inert():
    from families.records import INERT
    return INERT
