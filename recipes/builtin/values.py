"""Values of fields and arguments: names, dates, paths, codes, long and rare texts.

`value(draw, kind)` is what a kind of slot holds. A kind is the name of a maker below, of a list of
words, `int:LOW:HIGH`, or `enum:A,B,C`. Rare values (`rare`) have no pattern that could be learned:
a model has to copy them.
"""

import math

from draws import all_lists

_ONSETS = "b br c ch d dr f fl g gr h j k l m n p pr r s sh st t th tr v w z".split()
_ONSETS_HELD = "bl cl cr dw gl h kl kr l m n pl q r s sk sl sm sn sp sw t tw v y".split()
_RIMES = "a an ar e el en er i in is o on or u un us ia ea ai ola ina eth".split()
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_MONTHS = (
    "January February March April May June July August September October November " "December"
).split()
_CAPITALS = "ABCDEFGHJKLMNPQRSTUVWXYZ"
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_HEX = "0123456789abcdef"
DAYS = _DAYS


def made_word(draw, low=1, high=3):
    onsets = _ONSETS_HELD if draw.held else _ONSETS
    return "".join(draw.one(onsets) + draw.one(_RIMES) for _ in range(draw.num(low, high)))


def made_name(draw):
    return made_word(draw, 2, 3).capitalize()


def first(draw):
    return made_name(draw) if draw.chance(0.25) else draw.pick("first")


def last(draw):
    return made_name(draw) if draw.chance(0.3) else draw.pick("last")


def full(draw):
    return first(draw) + " " + last(draw)


def city(draw):
    return made_name(draw) if draw.chance(0.25 + draw.strange) else draw.pick("city")


def company(draw):
    name = draw.pick("company_a") if draw.chance(0.6) else made_name(draw)
    return name + " " + draw.pick("company_b")


def email(draw):
    user = first(draw).lower()
    if draw.chance(0.5):
        user += draw.one([".", "_", ""]) + last(draw).lower()
    if draw.chance(0.2):
        user += str(draw.num(1, 99))
    return user + "@" + draw.pick("mailhost")


def phone(draw):
    pattern = draw.one(["555-%04d", "+1-555-%04d", "020 7946 %04d", "(555) 01%04d"])
    return pattern % draw.num(0, 9999)


def characters(draw, alphabet, count):
    return "".join(draw.one(alphabet) for _ in range(count))


def code(draw):
    return (
        characters(draw, _CAPITALS, draw.num(2, 3))
        + draw.one(["-", ""])
        + str(draw.num(100, 99999))
    )


def iso(draw):
    return "%04d-%02d-%02d" % (draw.num(2019, 2031), draw.num(1, 12), draw.num(1, 28))


def date_words(draw):
    return "%s %d" % (draw.one(_MONTHS), draw.num(1, 28))


def clock(draw):
    return "%02d:%02d" % (draw.num(6, 22), draw.one([0, 5, 10, 15, 20, 30, 40, 45, 50]))


def price(draw):
    return round(draw.num(1, 400) + draw.one([0, 0.5, 0.25, 0.99, 0.95, 0.49]), 2)


def folder(draw):
    return "/".join(draw.picks("dir", draw.num(1, 2)))


def file(draw):
    stem = made_word(draw, 2, 3) if draw.chance(0.25) else draw.pick("filestem")
    return stem + draw.pick("ext")


def path(draw):
    return folder(draw) + "/" + file(draw)


def title(draw):
    return draw.pick("adj").capitalize() + " " + draw.pick("thing").capitalize()


def made_title(draw):
    return title(draw) if draw.chance(0.6) else made_name(draw)


def host(draw):
    return made_word(draw, 2, 3) + draw.one([".example", ".test", ".example.org"])


def url(draw):
    return "https://" + host(draw) + "/" + draw.pick("filestem")


def room(draw):
    return draw.one(["room %d", "Room %d", "hall %d"]) % draw.num(1, 420)


def version(draw):
    return "%d.%d.%d" % (draw.num(0, 9), draw.num(0, 20), draw.num(0, 9))


def seat(draw):
    return str(draw.num(1, 40)) + draw.one("ABCDEF")


def street(draw):
    return "%d %s %s" % (
        draw.num(1, 250),
        last(draw),
        draw.one(["Street", "Road", "Lane", "Avenue"]),
    )


def chore(draw):
    return draw.pick("chore") + " the " + draw.pick("thing")


def expr(draw):
    a, b, c = draw.num(1, 999), draw.num(1, 99), draw.num(1, 50)
    pattern = draw.one(
        [
            "{a} + {b}",
            "{b} * {c}",
            "{a} - {b}",
            "({a} + {b}) * {c}",
            "{a} / {c}",
            "{c} * ({a} - {b})",
            "{a} + {b} * {c}",
            "sqrt({a})",
            "{a} % {c}",
        ]
    )
    return pattern.format(a=a, b=b, c=c)


def evaluated(expression):
    """The number that an expression of `expr` has."""
    return round(eval(expression, {"__builtins__": {}, "sqrt": math.sqrt}), 3)


def sentence(draw):
    """A short statement; one in six is a chain of made words, which has to be copied letter by
    letter.
    """
    if draw.chance(0.16):
        return " ".join(made_word(draw) for _ in range(draw.num(2, 6)))
    return draw.pick("sentence").format(
        A=first(draw),
        B=first(draw),
        C=city(draw),
        t=draw.pick("thing"),
        a=draw.pick("adj"),
        c=clock(draw),
        d=draw.one(_DAYS),
        f=draw.pick("food"),
        p=draw.pick("place"),
        n=draw.pick("animal"),
        k=draw.num(2, 400),
        x=code(draw),
    )


def command(draw):
    return draw.pick("command").format(
        n=draw.num(1, 50),
        dir=draw.pick("dir"),
        w=made_word(draw),
        file=draw.pick("filestem") + ".py",
        path=path(draw),
    )


def component(draw):
    """A part of a software system; most are put together, so that their words tell nothing about a
    task.
    """
    shape = draw.num(0, 4)
    if shape == 0:
        return draw.pick("component")
    if shape == 1:
        return made_word(draw, 2, 3) + " " + draw.pick("part")
    if shape == 2:
        return draw.pick("matter") + " " + draw.pick("part")
    if shape == 3:
        return made_name(draw) + " " + draw.pick("matter") + " " + draw.pick("part")
    return draw.pick("adj") + " " + draw.pick("matter") + " " + draw.pick("part")


def rare(draw):
    """A text without a pattern, 6 to 40 characters."""
    shape = draw.num(0, 7)
    if shape == 0:
        return "-".join(characters(draw, _HEX, n) for n in (8, 4, 4, 4, 12))
    if shape == 1:
        return characters(draw, _HEX, draw.num(7, 32))
    if shape == 2:
        return (
            "https://"
            + made_word(draw)
            + ".example/"
            + "/".join(made_word(draw) for _ in range(draw.num(1, 3)))
            + "?id="
            + str(draw.num(1, 99999))
        )
    if shape == 3:
        return ".".join(str(draw.num(0, 255)) for _ in range(4)) + ":" + str(draw.num(80, 9999))
    if shape == 4:
        return "_".join(made_word(draw) for _ in range(draw.num(2, 4))) + str(draw.num(0, 99))
    if shape == 5:
        return characters(draw, _CAPITALS + _LETTERS + "0123456789", draw.num(6, 24))
    if shape == 6:
        return "".join(made_name(draw) for _ in range(draw.num(2, 3)))
    return " ".join(made_name(draw) for _ in range(draw.num(2, 5)))


def agent(draw):
    return draw.one(AGENTS)


AGENTS = (
    "coder",
    "researcher",
    "reviewer",
    "tester",
    "architect",
    "security-architect",
    "debugger",
    "documenter",
    "refactorer",
    "optimizer",
    "devops",
    "api-docs",
    "planner",
)

_MAKERS = {
    f.__name__: f
    for f in (
        first,
        last,
        full,
        city,
        company,
        email,
        phone,
        code,
        iso,
        clock,
        price,
        path,
        file,
        title,
        made_title,
        room,
        version,
        seat,
        street,
        chore,
        expr,
        sentence,
        command,
        component,
        rare,
        agent,
    )
}
_MAKERS.update(url=url, host=host, made=made_word, dir=folder, bool=lambda draw: draw.chance(0.5))


# Lists of which any text could be another entry.
_OPEN_LISTS = frozenset(
    "song topic subject product food thing color language hobby job role genre place animal "
    "currency stock weather stem".split()
)


def _strange(draw, kind):
    """A made-up value in place of one of a list, shaped like one."""
    if kind in ("currency", "stock"):
        return characters(draw, _CAPITALS, draw.num(3, 4))
    words = [made_word(draw) for _ in range(draw.one([1, 1, 2, 2, 3]))]
    if draw.chance(0.3):
        words[0] = draw.pick("adj")
    return " ".join(word.capitalize() if kind == "song" else word for word in words)


def value(draw, kind):
    """A value of `kind`: str, int, float or bool."""
    if draw.strange and kind in _OPEN_LISTS and draw.chance(draw.strange):
        return _strange(draw, kind)
    if kind.startswith("int:"):
        low, high = kind[4:].split(":")
        return draw.num(int(low), int(high))
    if kind.startswith("enum:"):
        return draw.one(kind[5:].split(","))
    if kind in _MAKERS:
        return _MAKERS[kind](draw)
    name = {"stem": "filestem"}.get(kind, kind)
    if name not in all_lists():
        raise KeyError("no kind of value is called " + kind)
    return draw.pick(name)


def json_type(kind):
    """The type that a JSON schema gives to values of `kind`."""
    head = kind.split(":")[0]
    return {"int": "integer", "price": "number", "bool": "boolean"}.get(head, "string")
