"""Tasks for the five adapters: what a coder, a researcher, a security reviewer, an architect and a
code reviewer answer, in a form that the model itself does not know.
"""

import functools

import values
from draws import DATA, Draw

ROLES = ("coder", "researcher", "security", "architect", "reviewer")


@functools.lru_cache(maxsize=None)
def patterns(role):
    """[(request, answer)] with placeholders."""
    found, inside = [], False
    for line in (DATA / "roles.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            inside = line == "[role %s]" % role
        elif inside and " | " in line and not line.startswith("#"):
            found.append(tuple(line.replace("\\n", "\n").split(" | ", 1)))
    return found


def _name(draw):
    parts = [values.made_word(draw) for _ in range(draw.num(1, 2))]
    return "_".join(parts) if draw.chance(0.7) else "".join(part.capitalize() for part in parts)


def task(draw, role):
    """(a request, its answer)"""
    request, answer = draw.one(patterns(role))
    words = {
        "n": _name(draw),
        "m": _name(draw),
        "f": values.file(draw),
        "c": values.component(draw),
        "k": draw.num(1, 400),
        "w": draw.pick("topic") if draw.chance(0.5) else values.made_word(draw, 2, 3),
    }
    for key, word in words.items():
        request = request.replace("{" + key + "}", str(word))
        answer = answer.replace("{" + key + "}", str(word))
    return request, answer


def tasks(role, count, seed, held):
    """`count` different tasks; with `held` of words that training never uses."""
    draw = Draw("%s/role/%s/%s" % (seed, role, held), held)
    found = {}
    while len(found) < count:
        request, answer = task(draw, role)
        found.setdefault(request, answer)
    return list(found.items())
