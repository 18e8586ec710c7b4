"""The smallest case that still fails in the same way: keys dropped, numbers made smaller."""
import copy

from families import reference, verdicts

MAX_STEPS = 250
SMALL = {"num_hidden_layers": (1, 2, 6), "n_layer": (1, 2), "vocab_size": (8, 61),
         "intermediate_size": (4, 8), "n_inner": (4,)}


def smaller(case):
    """Cases that are one step simpler, the boldest first."""
    for n in case["lengths"]:
        if len(case["lengths"]) > 1:
            yield {**case, "lengths": [n]}
    for name, plain in {"dtype": "f32", "shards": 1, "prefix": True, "head": "own",
                        "extras": []}.items():
        if case["file"][name] != plain:
            yield {**case, "file": {**case["file"], name: plain}}
    config = case["config"]
    for key in config:
        if key != "model_type":
            yield with_config(case, {k: v for k, v in config.items() if k != key})
    for key, value in config.items():
        if isinstance(value, dict):
            for inner in value:
                less = {k: v for k, v in value.items() if k != inner}
                yield with_config(case, {**config, key: less})
    yield from smaller_sizes(case)


def smaller_sizes(case):
    config = case["config"]
    for key, values in SMALL.items():
        for value in values:
            if isinstance(config.get(key), int) and value < config[key]:
                changes = {key: value}
                if key == "num_hidden_layers" and config.get("layer_types"):
                    changes["layer_types"] = config["layer_types"][:value]
                yield with_config(case, {**config, **changes})
    heads = "n_head" if "n_head" in config else "num_attention_heads"
    width = "n_embd" if "n_embd" in config else "hidden_size"
    n = config.get(heads) or 1
    if n > 1 and isinstance(config.get(width), int):
        one = {heads: 1, width: config[width] // n}
        if config.get("num_key_value_heads"):
            one["num_key_value_heads"] = 1
        yield with_config(case, {**config, **one})
    if config.get("head_dim"):
        yield with_config(case, {**config, width: 8})


def with_config(case, config):
    return {**case, "config": config}


def shrink(case, verdict, engine):
    """Greedy: the first simpler case with the same verdict is taken, until none is left."""
    case, steps, tried = copy.deepcopy(case), 0, set()
    progress = True
    while progress and steps < MAX_STEPS:
        progress = False
        for other in smaller(case):
            key = repr(other)
            if key in tried:
                continue
            tried.add(key)
            steps += 1
            if steps > MAX_STEPS:
                break
            if fails_alike(other, verdict, engine):
                case, progress = other, True
                break
    return case


def fails_alike(case, verdict, engine):
    try:
        return verdicts.judge(case, engine).verdict == verdict
    except (reference.Refused, KeyError, StopIteration, ZeroDivisionError, TypeError):
        return False
