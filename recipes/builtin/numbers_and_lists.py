"""Arithmetic, units, weekdays and dates; lists and tables in another form."""

import csv
import datetime
import io
import json

import values
from values import DAYS

_UNITS = (
    ("km", "m", 1000),
    ("m", "cm", 100),
    ("cm", "mm", 10),
    ("kg", "g", 1000),
    ("l", "ml", 1000),
    ("hours", "minutes", 60),
    ("minutes", "seconds", 60),
    ("days", "hours", 24),
    ("weeks", "days", 7),
    ("years", "months", 12),
    ("feet", "inches", 12),
    ("GB", "MB", 1024),
    ("dozen", "pieces", 12),
    ("t", "kg", 1000),
)


def _pair_of_numbers(draw):
    size = draw.random()
    if size < 0.4:
        return draw.num(0, 20), draw.num(0, 20)
    return (
        (draw.num(2, 99), draw.num(2, 99))
        if size < 0.8
        else (draw.num(100, 999), draw.num(10, 999))
    )


def _sum(draw):
    sign = draw.one(["add", "sub", "mul", "divi"])
    a, b = _pair_of_numbers(draw)
    if sign == "sub":
        a, b = max(a, b), min(a, b)
    elif sign == "mul":
        a, b = draw.num(0, 12), draw.num(0, 12)
    elif sign == "divi":
        b = draw.num(1, 12)
        a = b * draw.num(0, 12)
    result = {"add": a + b, "sub": a - b, "mul": a * b, "divi": a // max(b, 1)}[sign]
    symbol = {"add": "+", "sub": "-", "mul": "*", "divi": "/"}[sign]
    return draw.pick("sum " + sign).format(a=a, b=b), "%d %s %d = %d" % (a, symbol, b, result)


def _units(draw):
    large, small, factor = draw.one(_UNITS)
    a = draw.num(1, 12) if factor % 10 else draw.num(1, 99)
    pattern = draw.pick("sum conv")
    if draw.chance(0.3):
        return pattern.format(a=a * factor, u=small, w=large), "%d %s = %d %s" % (
            a * factor,
            small,
            a,
            large,
        )
    return pattern.format(a=a, u=large, w=small), "%d %s = %d %s" % (a, large, a * factor, small)


def _word_problem(draw):
    a, b = draw.num(2, 40), draw.num(1, 30)
    words = {"n": values.first(draw), "t": draw.pick("thing")}
    if draw.chance(0.5):
        ask, sign, result = "sum storysum", "+", a + b
    else:
        a, b = max(a, b) + 1, min(a, b)
        ask, sign, result = "sum storysub", "-", a - b
    answer = "%d %s %d = %d. The answer is %d." % (a, sign, b, result, result)
    return draw.pick(ask).format(a=a, b=b, **words), answer


def _weekday(draw):
    day, n = draw.num(0, 6), draw.num(1, 6)
    if draw.chance(0.5):
        pattern = draw.one(
            [
                "What day is {n} days after {d}?",
                "{d} plus {n} days is which weekday?",
                "Today is {d}. Which day is it in {n} days?",
            ]
        )
        return pattern.format(n=n, d=DAYS[day]), DAYS[(day + n) % 7] + "."
    pattern = draw.one(
        ["What day is {n} days before {d}?", "Today is {d}. Which day was it {n} days ago?"]
    )
    return pattern.format(n=n, d=DAYS[day]), DAYS[(day - n) % 7] + "."


def _date(draw):
    day = datetime.date(draw.num(2020, 2030), draw.num(1, 12), draw.num(1, 28))
    n = draw.one([1, 2, 3, 4, 5, 6, 7, 10, 14])
    pattern = draw.one(
        [
            "Which date is {n} days after {d}?",
            "Add {n} days to {d}.",
            "{d} plus {n} days?",
            "What is the date {n} days after {d}?",
        ]
    )
    return pattern.format(n=n, d=day), str(day + datetime.timedelta(days=n))


def _larger(draw):
    a, b = draw.num(0, 200), draw.num(0, 200)
    b += a == b
    pattern = draw.one(
        [
            "Which is larger, {a} or {b}?",
            "Is {a} or {b} bigger?",
            "Give the larger number: {a}, {b}",
        ]
    )
    return pattern.format(a=a, b=b), str(max(a, b))


_SUMS = (_sum, _sum, _sum, _sum, _sum, _units, _word_problem, _weekday, _date, _larger)


def _talk(draw, makers, low, high):
    messages = []
    for _ in range(draw.num(low, high)):
        ask, answer = draw.one(makers)(draw)
        messages += [{"role": "user", "content": ask}, {"role": "assistant", "content": answer}]
    return {"messages": messages}


def arithmetic(draw):
    """{messages}: two to six sums, conversions or dates."""
    return _talk(draw, _SUMS, 2, 6)


_POOLS = ("food", "animal", "thing", "color", "city", "first", "job", "place", "adj", "hobby")
_CHANGES = {
    "upper": lambda words: ", ".join(words).upper(),
    "lower": lambda words: ", ".join(words).lower(),
    "sort": lambda words: ", ".join(sorted(words, key=str.lower)),
    "reverse": lambda words: ", ".join(words[::-1]),
    "count": lambda words: str(len(words)),
    "first": lambda words: words[0],
    "last": lambda words: words[-1],
    "bullets": lambda words: "\n".join("- " + word for word in words),
    "numbered": lambda words: "\n".join("%d. %s" % (i + 1, word) for i, word in enumerate(words)),
    "json": lambda words: json.dumps(words, ensure_ascii=False),
    "quoted": lambda words: ", ".join('"%s"' % word for word in words),
    "caps": lambda words: ", ".join(word.capitalize() for word in words),
}


def _words(draw, low=3, high=6):
    count = draw.num(low, high)
    if draw.chance(0.2):
        return [values.made_word(draw) for _ in range(count)]
    return draw.picks(draw.one(_POOLS), count)


def _change(draw):
    name = draw.one(list(_CHANGES))
    words = _words(draw)
    listed = ", ".join(words)
    ask = draw.pick("change " + name)
    loud = listed.upper() if draw.chance(0.5) else listed.title()
    return ask.replace("{x}", listed).replace("{X}", loud), _CHANGES[name](words)


def _numbers(draw):
    numbers = draw.some(range(100), draw.num(3, 6))
    listed = ", ".join(map(str, numbers))
    asks, answer = draw.one(
        [
            (
                ("Sort these numbers: {x}", "Put in ascending order: {x}"),
                ", ".join(map(str, sorted(numbers))),
            ),
            (
                ("Sort from large to small: {x}", "Descending order: {x}"),
                ", ".join(map(str, sorted(numbers)[::-1])),
            ),
            (("What is the largest number of {x}?", "Maximum of {x}?"), str(max(numbers))),
            (("What is the smallest number of {x}?", "Minimum of {x}?"), str(min(numbers))),
        ]
    )
    return draw.one(asks).format(x=listed), answer


def _as_csv(columns, rows):
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([columns] + rows)
    return text.getvalue().rstrip("\n")


def _as_markdown(columns, rows):
    lines = ["| " + " | ".join(map(str, row)) + " |" for row in [columns] + rows]
    return "\n".join([lines[0], "|" + "---|" * len(columns)] + lines[1:])


def _as_json(columns, rows):
    return json.dumps([dict(zip(columns, row)) for row in rows], ensure_ascii=False)


_FORMS = {"CSV": _as_csv, "JSON": _as_json, "a markdown table": _as_markdown}
_COLUMNS = {
    "name": "first",
    "age": "int:5:90",
    "city": "city",
    "color": "color",
    "fruit": "food",
    "count": "int:0:200",
    "animal": "animal",
    "price": "price",
    "job": "job",
}


def _table(draw):
    columns = draw.some(list(_COLUMNS), draw.num(2, 3))
    rows = [[values.value(draw, _COLUMNS[c]) for c in columns] for _ in range(draw.num(2, 4))]
    old, new = draw.some(list(_FORMS), 2)
    ask = draw.pick("reformat").format(a=old, b=new, x="{x}")
    return ask.replace("{x}", _FORMS[old](columns, rows)), _FORMS[new](columns, rows)


def _dashes(draw):
    words = _words(draw, 2, 4)
    pattern = draw.one(["Join these with a dash: {x}", "Put a dash between: {x}"])
    return pattern.format(x=", ".join(words)), "-".join(words)


_LISTS = (_change,) * 6 + (_numbers, _table, _table, _dashes)


def formats(draw):
    """{messages}: two to five lists or tables in another form."""
    return _talk(draw, _LISTS, 2, 5)
