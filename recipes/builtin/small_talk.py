"""Small talk, questions that the model does not know, facts, and stories."""

import values
from draws import all_lists

UNKNOWN = "I am a small demonstration model and do not know that."
CANNOT = "I am a small demonstration model and cannot do that."
_MATERIALS = ("wood", "glass", "iron", "wool", "stone", "paper", "clay", "leather")


def _words(draw):
    """{placeholder: word} for the phrases of this file."""
    food = draw.pick("food")
    return {
        "N": values.first(draw),
        "L": values.last(draw),
        "f": food,
        "F": food.capitalize(),
        "n": draw.pick("animal"),
        "a": draw.pick("adj"),
        "C": values.city(draw),
        "y": draw.num(1700, 2025),
        "s": draw.pick("hobby"),
        "T": draw.pick("company_a"),
        "t": draw.pick("topic"),
        "S": draw.pick("song"),
        "j": draw.pick("job"),
        "p": draw.pick("product"),
        "G": draw.pick("language"),
        "c": draw.pick("component"),
        "w": values.made_word(draw),
        "x": values.made_word(draw),
    }


def small_talk(draw):
    """{messages}: one to four short exchanges, some of which ask too much."""
    greetings = [name for name in all_lists() if name.startswith("talk ")]
    messages = []
    for _ in range(draw.num(1, 4)):
        words, kind = _words(draw), draw.random()
        if kind < 0.1:
            ask, answer = draw.pick("too much"), CANNOT
            words["T"] = draw.pick("tech")
        elif kind < 0.17:
            ask, answer = draw.pick("nonsense"), UNKNOWN
        elif kind < 0.4:
            ask, answer = draw.pick("hard"), UNKNOWN
        else:
            lines = all_lists()[draw.one(greetings)].seen
            ask = draw.one([line for line in lines if not line.startswith("= ")])
            answer = draw.one([line[2:] for line in lines if line.startswith("= ")])
        messages.append({"role": "user", "content": ask.format(**words)})
        messages.append({"role": "assistant", "content": answer.format(**words)})
    return {"messages": messages}


def _paragraph(draw):
    return draw.pick("para").format(
        t=draw.pick("thing"),
        a=draw.pick("adj"),
        m=draw.one(_MATERIALS),
        c=draw.pick("color"),
        p=draw.pick("place"),
        k=draw.num(2, 900),
        C=values.city(draw),
        D=values.city(draw),
        j=draw.pick("job"),
        f=draw.pick("food"),
        g=draw.pick("food"),
        n=draw.pick("animal"),
        h=draw.num(2, 14),
        N=values.first(draw),
        L=values.last(draw),
        y=draw.num(1800, 2020),
        T=draw.pick("topic").capitalize(),
    )


def facts(draw):
    """{text} of made-up descriptions, or {messages} with one to four common facts."""
    if draw.chance(0.33):
        return {"text": "\n\n".join(_paragraph(draw) for _ in range(draw.num(2, 4)))}
    messages = []
    for _ in range(draw.num(1, 4)):
        if draw.chance(0.4):
            country, capital = draw.pick("capital").split(" | ")
            ask = draw.one(
                [
                    "What is the capital of {c}?",
                    "Which city is the capital of {c}?",
                    "Capital of {c}?",
                    "Name the capital of {c}.",
                ]
            ).format(c=country)
            answer = "The capital of %s is %s." % (country, capital)
        else:
            answer, ask = draw.pick("fact").split(" | ")
        messages += [{"role": "user", "content": ask}, {"role": "assistant", "content": answer}]
    return {"messages": messages}


def _story(draw):
    """(a story, its words)"""
    words = {
        "a": draw.pick("adj"),
        "b": draw.pick("adj"),
        "d": draw.pick("adj"),
        "n": draw.pick("animal"),
        "m": draw.pick("animal"),
        "p": draw.pick("place"),
        "q": draw.pick("place"),
        "N": values.first(draw),
        "M": values.first(draw),
        "t": draw.pick("thing"),
        "u": draw.pick("thing"),
        "f": draw.pick("food"),
        "c": draw.pick("color"),
    }
    parts = [draw.pick("story open")]
    for name, low, high in (
        ("like", 1, 2),
        ("trouble", 1, 2),
        ("act", 2, 4),
        ("solve", 1, 2),
        ("end", 1, 2),
    ):
        parts += draw.picks("story " + name, draw.num(low, high))
    text = " ".join(parts).format(**words)
    for vowel in "aeiou":
        text = text.replace(" a " + vowel, " an " + vowel).replace("A " + vowel, "An " + vowel)
    return text, words


def stories(draw):
    """{text} of a story, or {messages} that ask for one or two."""
    if draw.chance(0.45):
        return {"text": _story(draw)[0]}
    messages = []
    for _ in range(draw.num(1, 2)):
        text, words = _story(draw)
        messages.append({"role": "user", "content": draw.pick("story storyask").format(**words)})
        messages.append({"role": "assistant", "content": text})
    return {"messages": messages}
