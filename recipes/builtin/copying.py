"""Drills in which the answer is in the prompt, letter by letter.

Values without a pattern teach the model to look back instead of to guess. Tool calls and extraction
need the same skill with more around it.
"""

import json

import values

_KINDS = (
    "rare",
    "rare",
    "rare",
    "made_title",
    "sentence",
    "full",
    "email",
    "path",
    "code",
    "made",
    "url",
    "int:1:999999",
)


def _text(draw):
    if draw.chance(0.5):
        return str(values.rare(draw))
    return " ".join(str(values.value(draw, draw.one(_KINDS))) for _ in range(draw.num(1, 4)))


def _repeat(draw):
    text = _text(draw)
    return draw.pick("copy ask").replace("{x}", text), text


def _fields(draw):
    fields = {}
    for _ in range(draw.num(2, 6)):
        key = values.made_word(draw, 1, 3) if draw.chance(0.5) else draw.pick("property")
        fields[key] = values.value(draw, draw.one(_KINDS))
    return fields


def _field(draw):
    fields = _fields(draw)
    pattern, link = draw.one(
        [("{k}: {v}", "\n"), ("{k} = {v}", "\n"), ("{k} {v}", ", "), ("{k} is {v}", "; ")]
    )
    told = link.join(pattern.format(k=k, v=v) for k, v in fields.items())
    key = draw.one(list(fields))
    return draw.pick("copy field ask").replace("{t}", told).replace("{k}", key), str(fields[key])


def _object(draw):
    fields = _fields(draw)
    pattern = draw.one(["{k} {v}", "{k}: {v}", "{k} = {v}", "{k} is {v}"])
    told = ", ".join(pattern.format(k=k, v=v) for k, v in fields.items())
    return draw.pick("copy object ask").replace("{t}", told), json.dumps(fields, ensure_ascii=False)


def copying(draw):
    """{messages}: one to four drills."""
    messages = []
    for _ in range(draw.num(1, 4)):
        ask, answer = draw.one([_repeat, _field, _object])(draw)
        messages += [{"role": "user", "content": ask}, {"role": "assistant", "content": answer}]
    return {"messages": messages}
