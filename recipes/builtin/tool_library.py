"""Tools and the requests that call for them: those of `data/tools*.txt`, and made-up ones.

A library tool teaches what tools usually are. A made-up tool has names, parameters and values
without meaning, so that the only way to a right call is to read the signature and to copy from the
request. An `Offer` is one concrete tool in a conversation; `Offer.use` draws a request for it.
"""

import dataclasses
import functools

import values
from draws import DATA


@dataclasses.dataclass
class Parameter:
    names: list
    kind: str
    descriptions: list
    optional: bool


@dataclasses.dataclass
class Tool:
    """A tool of the library; the first name of a parameter is its place in requests and answers."""

    names: list
    descriptions: list = dataclasses.field(default_factory=list)
    parameters: list = dataclasses.field(default_factory=list)
    asks: list = dataclasses.field(default_factory=list)
    held_asks: list = dataclasses.field(default_factory=list)
    results: list = dataclasses.field(default_factory=list)
    answers: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Use:
    """A request with the call that it wants, what the tool returns and what is then said."""

    ask: str
    arguments: dict
    result: dict
    answer: str


def _parts(text, mark):
    return [part.strip() for part in text.split(mark)]


def _parameter(text):
    names, rest = text.split(" = ", 1)
    kind, *descriptions = _parts(rest, " ; ")
    optional = names.endswith("?")
    return Parameter(_parts(names.rstrip("? "), "|"), kind, descriptions, optional)


def parse_tools(text):
    """The tools of a file whose head explains the form."""
    tools = []
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        if line.startswith("["):
            tools.append(Tool(_parts(line[1:-1], "|")))
            continue
        mark, rest, tool = line[0], line[2:], tools[-1]
        if mark == "-":
            tool.parameters.append(_parameter(rest))
        elif mark == ">":
            tool.results.append(tuple(_parts(rest, " = ")))
        else:
            {":": tool.descriptions, "?": tool.asks, "~": tool.held_asks, "!": tool.answers}[
                mark
            ].append(rest)
    return tools


@functools.lru_cache(maxsize=None)
def library(held):
    """The tools that training sees, or those that it never sees."""
    name = "tools_held_out.txt" if held else "tools.txt"
    return parse_tools((DATA / name).read_text(encoding="utf-8"))


def fill(template, words):
    for key, word in words.items():
        template = template.replace("{" + key + "}", str(word))
    return template


def _property(kind, description):
    entry = {"type": values.json_type(kind)}
    if description:
        entry["description"] = description
    if kind.startswith("enum:"):
        entry["enum"] = kind[5:].split(",")
    return entry


def signature(name, description, properties, required):
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {"type": "object", "properties": properties, "required": required},
        },
    }


class LibraryOffer:
    """A library tool under one of its names, with one name for each parameter."""

    def __init__(self, draw, tool):
        self.tool, self.renamed = tool, {}
        properties, required = {}, []
        described = draw.chance(0.8)
        for parameter in tool.parameters:
            name = parameter.names[0] if draw.chance(0.4) else draw.one(parameter.names)
            if name in properties:
                name = parameter.names[0]
            self.renamed[parameter.names[0]] = name
            text = (
                draw.one(parameter.descriptions) if described and parameter.descriptions else None
            )
            properties[name] = _property(parameter.kind, text)
            if not parameter.optional:
                required.append(name)
        self.name = tool.names[0] if draw.chance(0.35) else draw.one(tool.names)
        self.signature = signature(self.name, draw.one(tool.descriptions), properties, required)

    def use(self, draw):
        asks = self.tool.held_asks if draw.held and self.tool.held_asks else self.tool.asks
        while True:
            ask = draw.one(asks)
            words = {
                p.names[0]: values.value(draw, p.kind)
                for p in self.tool.parameters
                if "{" + p.names[0] + "}" in ask
            }
            if len(set(map(str, words.values()))) == len(words):
                break
        result = {key: values.value(draw, kind) for key, kind in self.tool.results}
        if self.tool.names[0] == "calculate":
            result["result"] = values.evaluated(words["expression"])
        elif self.tool.names[0] == "count_words":
            result["words"] = len(words["text"].split())
        arguments = {self.renamed[key]: word for key, word in words.items()}
        text = fill(ask, words)
        if draw.chance(0.85):
            text = text[0].upper() + text[1:]
        return Use(text, arguments, result, self._answer(draw, words, result))

    def _answer(self, draw, words, result):
        known = {**words, **result}
        fitting = [
            a
            for a in self.tool.answers
            if not any(
                "{" + p.names[0] + "}" in a and p.names[0] not in known
                for p in self.tool.parameters
            )
        ]
        return fill(draw.one(fitting), known) if fitting else "Done."


_KINDS = (
    "made_title",
    "code",
    "full",
    "iso",
    "int:1:99",
    "int:100:99999",
    "city",
    "color",
    "email",
    "price",
    "clock",
    "genre",
    "language",
    "topic",
    "path",
    "sentence",
    "rare",
    "rare",
    "made",
    "bool",
    "product",
    "enum:low,medium,high",
    "enum:pdf,csv,json,html",
    "enum:small,medium,large",
    "url",
    "company",
    "phone",
    "enum:sales,support,finance,design",
)


def _spelled(draw, words):
    """Words as an identifier: snake_case, camelCase, kebab-case or run together."""
    parts = [part for word in words for part in word.replace("_", " ").split()]
    style = draw.num(0, 9)
    if style <= 5:
        return "_".join(parts)
    if style <= 7:
        return parts[0] + "".join(part.capitalize() for part in parts[1:])
    return "-".join(parts) if style == 8 else "".join(parts)


def _made_kind(draw):
    """A kind for a made-up parameter; some are lists of words that only this signature has."""
    if draw.chance(0.12):
        return "enum:" + ",".join(
            dict.fromkeys(values.made_word(draw, 1, 2) for _ in range(draw.num(2, 4)))
        )
    return draw.one(_KINDS)


class MadeOffer:
    """A tool of a verb, an object and parameters; a quarter have names that mean nothing at all."""

    def __init__(self, draw):
        self.verb = draw.pick("verb")
        self.object = values.made_word(draw, 1, 3) if draw.chance(0.3) else draw.pick("object")
        nonsense = draw.chance(0.25)
        self.kinds = self._parameters(draw, nonsense)
        if nonsense:
            words = [values.made_word(draw) for _ in range(draw.num(1, 2))] + [str(draw.num(0, 99))]
            self.name = _spelled(draw, words if draw.chance(0.3) else words[:-1])
        else:
            words = [self.verb, self.object]
            self.name = _spelled(draw, words if draw.chance(0.7) else words[::-1])
        self.signature = self._signature(draw)

    def _parameters(self, draw, nonsense):
        kinds = {}
        for _ in range(draw.one([1, 1, 2, 2, 2, 3, 3, 4])):
            name = (
                values.made_word(draw, 1, 3)
                if nonsense or draw.chance(0.3)
                else draw.pick("property")
            )
            if draw.chance(0.15):
                name = _spelled(draw, [self.object, name])
            kinds.setdefault(name, _made_kind(draw))
        return kinds

    def _signature(self, draw):
        described = draw.chance(0.6)
        properties = {}
        for name, kind in self.kinds.items():
            text = "The %s of the %s" % (name.replace("_", " "), self.object) if described else None
            properties[name] = _property(kind, text)
        text = "%s %s %s." % (self.verb.capitalize(), draw.one(["a", "the", "one"]), self.object)
        return signature(self.name, text, properties, list(self.kinds))

    def use(self, draw):
        arguments = {name: values.value(draw, kind) for name, kind in self.kinds.items()}
        pattern = draw.one(
            [
                "{n} {v}",
                "{n} {v}",
                "{n}: {v}",
                "{n} = {v}",
                '{n} "{v}"',
                "{v} as {n}",
                "the {n} {v}",
                "{n} is {v}",
            ]
        )
        said = [
            pattern.format(
                n=name.replace("_", " ") if draw.chance(0.5) else name, v=self._said(word)
            )
            for name, word in arguments.items()
        ]
        told = (
            said[0]
            if len(said) == 1
            else ", ".join(said[:-1]) + draw.one([" and ", ", "]) + said[-1]
        )
        ask = fill(
            draw.pick("made ask"),
            {"V": self.verb.capitalize(), "v": self.verb, "o": self.object, "t": told},
        )
        state = draw.one(["ok", "done", "success"])
        answer = "Done, the %s request for the %s returned %s." % (self.verb, self.object, state)
        return Use(ask[0].upper() + ask[1:], arguments, {"status": state}, answer)

    @staticmethod
    def _said(word):
        return {True: "true", False: "false"}[word] if isinstance(word, bool) else word


def offer(draw, made_share=0.45, unseen_library=False):
    """A tool for a conversation. `unseen_library` takes library tools from those that training
    never sees.
    """
    if draw.chance(made_share):
        return MadeOffer(draw)
    return LibraryOffer(draw, draw.one(library(unseen_library)))
