"""Proof that a draw can fail: a key that matters is changed, and the reference's logits must move by
more than a difference that would pass."""
import pathlib
import random
import tempfile

from families import reference, verdicts, weights
from families.base import INERT

MAX_DRAWS, MAX_TRIES = 1000, 40
NAMES = {"model_type", "architectures", "rope_type", "type", "vocab_size"}


def changed(key, value):
    """Another legal value, or None."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value * 3 if value else 1
    if key == "feed_forward_proj":
        return "gated-" * value.startswith("gated-") + ("relu" if value.endswith("silu") else "silu")
    if key == "feed_forward_type":
        return {"geglu": "reglu"}.get(value, "geglu")
    if isinstance(value, str):
        return {"silu": "relu"}.get(value, "silu") if "act" in key else value + "x"
    if isinstance(value, list) and value and isinstance(value[0], str):
        kinds = ["full_attention", next(
            (kind for kind in ("conv", "linear_attention") if kind in value), "sliding_attention")]
        return [kinds[kind == kinds[0]] for kind in value]
    if isinstance(value, list) and value and all(isinstance(x, int) for x in value):
        return [x + 1 for x in value]
    if key == "attention_types":
        kinds = {"global": "local", "local": "global"}
        return [[[kinds[kind] for kind in some], often] for some, often in value]
    if isinstance(value, list) and value:
        return [1.7 * x if isinstance(x, (int, float)) else x for x in value]
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
            model.second, model.source = trial.second, trial.source
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


def is_inert(record, path):
    inert = INERT - record.moving | record.inert
    return path in inert or any(part in inert for part in path.split("."))


def wrongly_inert(seen, records):
    """Settings said to be inert that moved the logits."""
    return [f"{family}: {path}" for (family, path), results in sorted(seen.items())
            if is_inert(records[family], path) and any(results)]


def unproved(seen, records):
    """(family, path) of settings that may matter and have not moved a logit so far."""
    return [place for place, results in sorted(seen.items())
            if not is_inert(records[place[0]], place[1]) and not any(results)]


def prove(record, path, seed):
    """Whether a case is found, among new ones that have the setting, where it moves the logits."""
    tries = 0
    for number in range(MAX_DRAWS):
        case = record.draw(f"{seed}/{record.name}/knob/{number}")
        config = dict(settings_of(case["config"])).get(path)
        if config is None:
            continue
        try:
            trial = verdicts.Trial(case, None)
        except reference.Refused:
            continue
        if trial.reference_alone():
            continue
        prompts, want = trial.prompts[-3:], trial.want[-3:]
        bound = verdicts.bound_of(verdicts.difference(trial.model.rounded(prompts), want))
        if moves(trial, config, prompts, want, bound):
            return True
        tries += 1
        if tries == MAX_TRIES:
            break
    return False
