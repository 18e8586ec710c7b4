"""What a table is: parts to measure, each by each side in turn, and rows of what they gave. The
modules in goals/ hold one each.
"""
import statistics
from dataclasses import dataclass, field
from typing import Callable


@dataclass
class Setting:
    """What all parts of a run share."""
    model: str
    n_vocab: int
    threads: int
    long: int  # tokens of the long prompt
    kv_bytes: int  # of one token, as f16
    binary: str


@dataclass
class Goal:
    """`parts` names what is measured; `measure(side, part, setting)` is a coroutine that starts the
    side's server and returns numbers; `rows` makes the table of {(part, side): [numbers of a
    round]}. `sides` limits who takes part: not every server has everything."""
    title: str
    parts: Callable  # setting -> {name: parameters}
    measure: Callable
    head: list
    rows: Callable  # (found, sides) -> list of rows
    notes: str = ""
    sides: Callable = field(default=lambda part, side: True)


def middle(runs, key):
    """Median of one number over the rounds; None where no round has it."""
    values = [r[key] for r in runs or () if r.get(key) is not None]
    return statistics.median(values) if values else None


def ratio(a, b):
    return a / b if a is not None and b else None


def shown(value, form="{:.1f}"):
    return "" if value is None else form.format(value)


def times(value):
    return shown(value, "×{:.2f}" if value is None or value < 10 else "×{:.0f}")


def percentile(values, share):
    """The value that `share` of the values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None


def verdict(value, bound, at_least=True):
    if value is None:
        return ""
    return "yes" if (value >= bound if at_least else value <= bound) else "no"
