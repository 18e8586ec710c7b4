#!/usr/bin/env python3
"""Compares our templates with Jinja2 on random programs and random contexts.

Programs are drawn from a grammar of everything that chat templates use. Jinja2 is set up as
transformers' apply_chat_template does. Each program is rendered by both: the bytes must be equal,
or both must refuse it. The test ChatTemplates.OracleCases of chat_tests renders ours.

  compare_templates.py --tests build/release/src/chat/chat_tests --programs 100000
  compare_templates.py --tests … --render "{{ 'a' * 3 }}" --context '{}'
  compare_templates.py --sample tests/cases/template/random.json

The sample is rendered by the test ChatTemplates.RandomSampleEqualsJinja wherever Python is not.
"""
import argparse
import datetime
import json
import os
import random
import signal
import subprocess
import sys
import tempfile

import jinja2
import jinja2.ext
import jinja2.nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

NOW = datetime.datetime(2025, 3, 14, 15, 9, 26)
# What Python prints of things that are no data: addresses and class names are not ours to copy.
UNPRINTABLE = (" at 0x", "<built-in", "<bound method", "<class ", "<jinja2.", "<function ", "<Cycler",
               "<Joiner", "Joiner object", "Cycler object", "<Namespace")
# What we refuse by design; each names its limit in the message.
BY_DESIGN = ("does not fit", "complex numbers are not supported", "is not supported",
             "nested deeper", "is refused", "slice indices must be integers", "max_steps", "max_output_bytes", "limited to")


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_run"), [], [], body).set_lineno(line)

    def _run(self, caller):
        return caller()


class SafeNamespace(jinja2.utils.Namespace):
    def __init__(*args, **kwargs):
        self, values = args[0], dict(*args[1:], **kwargs)
        for name in values:
            SafeNamespace.check(name)
        jinja2.utils.Namespace.__init__(self, values)

    def __setitem__(self, name, value):
        SafeNamespace.check(name)
        jinja2.utils.Namespace.__setitem__(self, name, value)

    @staticmethod
    def check(name):
        if isinstance(name, str) and name.startswith("_"):
            raise jinja2.exceptions.SecurityError(name)


class DictMaker:
    def __call__(self, *args, **kwargs):
        return dict(*args, **kwargs)

    def fromkeys(self, *args, **kwargs):
        return dict.fromkeys(*args, **kwargs)


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators,
                      sort_keys=sort_keys)


def make_environment():
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True,
                                        extensions=[Generation, jinja2.ext.loopcontrols],
                                        cache_size=0)
    env.filters["tojson"] = tojson
    env.globals.update(raise_exception=raise_exception, dict=DictMaker(), namespace=SafeNamespace,
                       strftime_now=NOW.strftime)
    return env


class Slow(Exception):
    pass


def rendered(env, source, context):
    """{"output": …} or {"error": …}; nothing when the answer cannot be compared."""
    def stop(*_):
        raise Slow()
    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 2)
    try:
        out = env.from_string(source).render(**context, tools=context.get("tools"), documents=None,
                                             bos_token="<BOS>", eos_token="<EOS>") \
            if "tools" not in context else env.from_string(source).render(
                **context, documents=None, bos_token="<BOS>", eos_token="<EOS>")
        if any(mark in out for mark in UNPRINTABLE) or len(out) > 100_000:
            return None
        out.encode()
        return {"output": out}
    except (Slow, MemoryError, UnicodeEncodeError):
        return None
    except Exception as error:  # whatever Python raises is a refusal
        return {"error": f"{type(error).__name__}: {error}"[:300]}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


WORDS = ["hello", "Hello World", "  padded  ", "a,b,,c", "x=1", "UPPER", "tab\there", "line1\nline2\r\nline3",
         "", " ", "\n", "<think>deep</think>answer", "<|im_start|>", "it's", 'say "hi"', "both ' and \"",
         "<a href='x'>&amp;</a>", "5", "-7", "3.25", "1e3", "0x1f", " 42 ", "1_000", "é", "ß straße", "日本語",
         "😀 emoji", "Ωmega", "İstanbul", "ŉ", "ǅ", "naïve café", "\u00a0nbsp\u00a0", "\u2028", "tool_call",
         "function", "user", "assistant", "a\\b", "%s", "{}", "{0}", "back`tick", "aaa", "abcabc", "3 4",
         "true", "None", "x" * 30, "the quick brown fox jumps over the lazy dog", "one-two-three", "\x1b[0m",
         "a\u0301", "\u200b", "ﬀ", "१२", "²", "Ⅷ"]
KEYS = ["a", "b", "name", "role", "content", "type", "items", "keys", "x y", "é", "length", "get", "1"]


def random_text(rng):
    kind = rng.randrange(6)
    if kind < 4:
        return rng.choice(WORDS)
    if kind == 4:
        return rng.choice(WORDS) + rng.choice(WORDS)
    return "".join(rng.choice("ab \n\tA1.,-_'\"<>&{}%é日😀\\") for _ in range(rng.randrange(12)))


def random_number(rng):
    kind = rng.randrange(6)
    if kind == 0:
        return rng.choice([0, 1, -1, 2, 10, 255, -100, 2**31, 2**53 + 1, -2**40, 2**63 - 1, -2**63, 2**63,
                           2**64 - 1, 9007199254740995])
    if kind == 1:
        return rng.choice([0.0, 1.0, -0.5, 2.5, 3.14159, 1e16, 1e-7, 1.5e300, 0.1, -2.675, 100.0, 1e22])
    return rng.randrange(-5, 12)


def random_value(rng, depth=0):
    kind = rng.randrange(10 if depth < 3 else 6)
    if kind < 2:
        return random_text(rng)
    if kind < 4:
        return random_number(rng)
    if kind == 4:
        return rng.choice([True, False])
    if kind == 5:
        return None
    if kind < 8:
        same = rng.random() < 0.5
        make = rng.choice([random_text, random_number]) if same else None
        return [make(rng) if make else random_value(rng, depth + 1) for _ in range(rng.randrange(5))]
    return {rng.choice(KEYS): random_value(rng, depth + 1) for _ in range(rng.randrange(5))}


def random_context(rng):
    def message(role):
        out = {"role": role, "content": random_text(rng)}
        if rng.random() < 0.2:
            out["content"] = rng.choice([None, [{"type": "text", "text": random_text(rng)},
                                                {"type": "image"}]])
        if rng.random() < 0.3:
            out["tool_calls"] = [{"type": "function", "function": {
                "name": rng.choice(WORDS), "arguments": rng.choice([{"k": random_value(rng, 2)}, "{}"])}}]
        if rng.random() < 0.2:
            out["reasoning_content"] = random_text(rng)
        return out
    context = {
        "s": random_text(rng), "t": random_text(rng), "n": rng.randrange(-5, 12), "m": random_number(rng),
        "f": rng.choice([0.5, 2.0, -3.75, 1e20, 0.1]), "b": rng.choice([True, False]), "z": None,
        "l": [random_number(rng) for _ in range(rng.randrange(6))],
        "w": [random_text(rng) for _ in range(rng.randrange(6))],
        "v": [random_value(rng, 1) for _ in range(rng.randrange(5))],
        "d": {rng.choice(KEYS): random_value(rng, 1) for _ in range(rng.randrange(6))},
        "users": [{"name": random_text(rng), "age": rng.randrange(4), "ok": rng.choice([True, False])}
                  for _ in range(rng.randrange(4))],
        "messages": [message(rng.choice(["system", "user", "assistant", "tool"]))
                     for _ in range(rng.randrange(5))],
    }
    if rng.random() < 0.5:
        context["tools"] = rng.choice([None, [], [{"type": "function", "function": {
            "name": "f", "parameters": random_value(rng, 1)}}]])
    return context


def quoted(rng, text):
    quote = rng.choice("'\"")
    out = "".join({"\\": "\\\\", quote: "\\" + quote, "\n": "\\n", "\r": "\\r"}.get(c, c) for c in text)
    return quote + out + quote


TEXT_FILTERS = ["trim", "upper", "lower", "title", "capitalize", "string", "length", "wordcount", "e",
                "escape", "safe", "forceescape", "urlencode", "reverse", "first", "last", "list", "int",
                "float", "tojson", "default", "count", "wordwrap", "filesizeformat"]
LIST_FILTERS = ["length", "first", "last", "list", "join", "sort", "unique", "reverse", "sum", "min", "max",
                "tojson", "string", "items", "dictsort", "count"]
TESTS = ["defined", "undefined", "none", "string", "mapping", "iterable", "sequence", "number", "integer",
         "float", "boolean", "true", "false", "odd", "even", "callable", "lower", "upper", "escaped",
         "filter", "test"]
NUMBER_NAMES = ["real", "imag", "numerator", "denominator", "conjugate()", "bit_length()", "bit_count()",
                "is_integer()", "as_integer_ratio()", "nope"]
MACRO_NAMES = ["name", "arguments", "caller", "catch_kwargs", "catch_varargs", "explicit_caller", "defaults"]
BINARY_TESTS = ["eq", "equalto", "==", "ne", "lt", "lessthan", "le", "gt", "greaterthan", "ge", "in",
                "divisibleby"]
METHODS = ["strip", "lstrip", "rstrip", "upper", "lower", "title", "capitalize", "swapcase", "split", "rsplit",
           "splitlines", "isalpha", "isdigit", "isalnum", "isspace", "isupper", "islower", "casefold",
           "isascii", "isdecimal", "isnumeric", "istitle", "isprintable", "isidentifier", "expandtabs"]


class Grammar:
    def __init__(self, rng):
        self.rng = rng
        self.names = ["s", "t", "n", "m", "f", "b", "z", "l", "w", "v", "d", "users", "messages", "tools"]
        self.macros = []
        self.in_loop = 0

    def pick(self, *choices):
        return self.rng.choice(choices)()

    def maybe(self, p):
        return self.rng.random() < p

    def big(self):
        """A whole number about or beyond 64 bits."""
        rng = self.rng
        return rng.choice([
            "9223372036854775807", "9223372036854775808", "18446744073709551615", "(-9223372036854775808)",
            "12345678901234567890123", "(10**20)", "(2**64)", "(-(3**50))", "0xffff_ffff_ffff_ffff_f", "1e20",
            "(10**30 + 1)", "9007199254740993", f"(2**{rng.randrange(50, 130)})", f"(7**{rng.randrange(20, 400)})",
            f"(-{rng.randrange(10**30)})", f"'{rng.randrange(10**25)}'|int", "1e300", "1.5e19|int",
            f"'{rng.randrange(2**90):x}'|int(0, 16)", "(2**1024)", "1.797e308", "9223372036854775807.0"])

    def date_format(self):
        rng = self.rng
        out = ""
        for _ in range(rng.randrange(1, 4)):
            flags = "".join(rng.choice("-_0^#") for _ in range(rng.choice([0, 0, 0, 1, 1, 2])))
            width = rng.choice(["", "", "", "1", "5", "12", "03"])
            letter = rng.choice("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ%+:é ")
            out += "%" + flags + width + rng.choice(["", "", "", "", "E", "O"]) + letter + rng.choice(["", " ", "x"])
        return out + rng.choice(["", "", "", "%", "%-", "%5"])

    def number(self, depth):
        rng = self.rng
        if self.maybe(0.06):
            return self.big()
        if depth <= 0 or self.maybe(0.4):
            return rng.choice(["n", "m", "f", str(rng.randrange(10)), str(rng.randrange(100)), "2.5", "0", "1",
                               "1e3", "1_0", "loop.index0" if self.in_loop else "3",
                               "loop.length" if self.in_loop else "7"])
        a, b = self.number(depth - 1), self.number(depth - 1)
        if self.maybe(0.08):
            return f"({a} ** {rng.choice(['2', '3', '0', '0.5', '-1'])})"
        return rng.choice([
            f"({a} {rng.choice(['+', '-', '*', '/', '//', '%'])} {b})", f"-{a}", f"+{a}",
            f"{self.text(depth - 1)}|length", f"{self.listing(depth - 1)}|length", f"({a})|abs",
            f"({a})|round", f"({a})|round({rng.randrange(-1, 4)})",
            f"({self.big()} {rng.choice(['+', '-', '*', '/', '//', '%'])} {self.big()})",
            f"({a} {rng.choice(['+', '-', '*', '/', '//', '%'])} {self.big()})",
            f"({self.big()})|{rng.choice(['abs', 'int', 'float', 'round', 'round(-2)', 'round(-20)', 'round(3)'])}",
            f"({self.big()} ** {rng.choice(['2', '3', '0', '-1', '0.5'])})",
            f"({self.big()})|round({rng.randrange(-25, 4)}, '{rng.choice(['ceil', 'floor', 'common'])}')",
            f"({a})|round({rng.randrange(-3, 3)}, '{rng.choice(['ceil', 'floor'])}')",
            f"({a}).{rng.choice(NUMBER_NAMES)}", f"({self.big()}).{rng.choice(NUMBER_NAMES)}",
            f"range(1, 7, 2).{rng.choice(['start', 'stop', 'step', 'count(3)', 'index(5)'])}",
            f"({a})|round({rng.randrange(3)}, '{rng.choice(['ceil', 'floor', 'common'])}')",
            f"{self.text(depth - 1)}|int", f"{self.text(depth - 1)}|int({b}, {rng.choice([2, 8, 10, 16])})",
            f"{self.text(depth - 1)}|float({b})", f"({a})|int", f"({a})|float",
            f"{self.text(depth - 1)}.find({self.text(depth - 1)})",
            f"{self.text(depth - 1)}.count({self.text(depth - 1)})", f"l|sum", f"l|max", f"l|min",
            f"users|sum(attribute='age')", f"{self.listing(depth - 1)}.index({a})",
            f"{self.listing(depth - 1)}.count({a})", f"{self.text(depth - 1)}.rfind('a', {a}, {b})"])

    def text(self, depth):
        rng = self.rng
        if depth <= 0 or self.maybe(0.35):
            return rng.choice(["s", "t", quoted(rng, random_text(rng)), quoted(rng, rng.choice(WORDS)),
                               "'ab' 'cd'"])
        a, b = self.text(depth - 1), self.text(depth - 1)
        n = self.number(depth - 1)
        return rng.choice([
            f"({a} + {b})", f"({a} ~ {n})", f"({a} ~ {self.any(depth - 1)} ~ {b})", f"{a}|{rng.choice(TEXT_FILTERS)}",
            f"{a}.{rng.choice(METHODS)}()", f"{a}|{rng.choice(TEXT_FILTERS)}|string",
            f"{a}.split({b})[{n}]", f"{a}.split({b})[-1]", f"{a}.split({b}, 1)|first", f"{a}[{n}]",
            f"{a}[{self.bound(depth)}:{self.bound(depth)}]",
            f"{a}[{self.bound(depth)}:{self.bound(depth)}:{rng.choice(['', '1', '2', '-1', '-2'])}]",
            f"{a}.strip({b})", f"{a}.lstrip({b})", f"{a}.rstrip({b})", f"{a}.replace({b}, {self.text(depth - 1)})",
            f"{a}|replace({b}, {self.text(depth - 1)})", f"{a}|replace({b}, 'X', {rng.randrange(3)})",
            f"{a}.replace({b}, 'Y', {n})", f"{self.listing(depth - 1)}|join({b})",
            f"{b}.join(w)", f"{b}.join({self.listing(depth - 1)})", f"{a}|trim({b})", f"({a} * {rng.randrange(4)})",
            f"{a}|indent", f"{a}|indent({rng.randrange(5)}, {rng.choice(['true', 'false'])})",
            f"{a}|indent('> ', first=true, blank={rng.choice(['true', 'false'])})",
            f"{a}|truncate({rng.randrange(3, 15)})", f"{a}|truncate({rng.randrange(3, 15)}, true, '..', 0)",
            f"{a}|center({rng.randrange(20)})", f"{a}|tojson", f"{self.any(depth - 1)}|tojson",
            f"{self.any(depth - 1)}|tojson(indent={rng.randrange(5)})",
            f"{self.any(depth - 1)}|tojson(sort_keys=true, separators=(',', ':'))",
            f"{a}|tojson(ensure_ascii=true)", f"'%s|%r' % ({a}, {b})", f"'%d-%5.2f-%x' % ({n}, {n}, 255)",
            f"'%s'|format({a})", f"'{{}}-{{}}'.format({a}, {n})", f"'{{0}}{{1}}{{0}}'.format({a}, {n})",
            f"'{{x:>8}}|{{y:<5}}'.format(x={a}, y={n})", f"'{{:^9}}|{{!r}}'.format({a}, {b})",
            f"'%{rng.choice(['', '-', '0', '+', ' ', '#'])}{rng.choice(['', '5', '10', '.2', '8.3'])}"
            f"{rng.choice('dsfgexXoir')}' % {self.any(depth - 1)}",
            f"'{{:{rng.choice(['', '<', '>', '^', '*^', '0', '+', ',', '='])}{rng.choice(['', '5', '12'])}"
            f"{rng.choice(['', '.2', '.0'])}{rng.choice(['', 'd', 'f', 'g', 's', 'e', 'x', '%'])}}}'"
            f".format({self.any(depth - 1)})",
            f"{a}.ljust({rng.randrange(9)}, '.')", f"{a}.rjust({rng.randrange(9)})", f"{a}.zfill({rng.randrange(9)})",
            f"{a}.center({rng.randrange(12)}, '*')", f"{a}.partition({b})", f"{a}.rpartition({b})[{rng.randrange(4)}]",
            f"{a}.removeprefix({b})", f"{a}.removesuffix({b})", f"({a} if {self.truth(depth - 1)} else {b})",
            f"({a} or {b})", f"({a} and {b})", f"{a}|default({b})", f"missing|default({b})",
            f"{a}|default({b}, true)", f"d.get({b}, {a})", f"d[{a}]", f"d|string", f"messages[{n}].content",
            f"messages[{n}]['role']", f"users[0].name", f"strftime_now('%d %b %Y')", f"bos_token",
            f"strftime_now({quoted(rng, self.date_format())})", f"strftime_now({quoted(rng, self.date_format())})",
            f"({self.big()})|tojson", f"'%d|%x|%s|%o' % ({self.big()}, {self.big()}, {self.big()}, {n})",
            f"'{{:{rng.choice([',', 'x', '#b', 'o', '30', '+', 'e', '.3f', '%', 'd', '^40,'])}}}'.format({self.big()})",
            f"({self.big()})|filesizeformat", f"({self.big()})|string", f"{a}[:{self.big()}]", f"{a}[{self.big()}]", f"{a}|string|safe",
            f"{a}|wordwrap({rng.randrange(1, 20)})",
            f"{a}|wordwrap({rng.randrange(1, 12)}, {rng.choice(['true', 'false'])}, '|')",
            f"({n})|filesizeformat", f"({n} * 1e{rng.randrange(30)})|filesizeformat({rng.choice(['true', 'false'])})",
            f"d|xmlattr",
            f"{a}.expandtabs({rng.randrange(9)})", f"{self.any(depth - 1)}|urlencode"])

    def bound(self, depth):
        return self.rng.choice(["", "", str(self.rng.randrange(6)), f"-{self.rng.randrange(1, 5)}", "n",
                                "none"])

    def listing(self, depth):
        rng = self.rng
        if depth <= 0 or self.maybe(0.35):
            return rng.choice(["l", "w", "v", "users", "messages", "[]", "d.items()", "d.keys()", "d.values()",
                               f"range({rng.randrange(6)})", "d", "[1, 2, 3]", "['b', 'a']", "(1, 'x')"])
        a = self.listing(depth - 1)
        test = rng.choice(TESTS)
        binary = f"'{rng.choice(BINARY_TESTS)}', {self.any(depth - 1)}"
        return rng.choice([
            f"[{self.any(depth - 1)}, {self.any(depth - 1)}]", f"({self.any(depth - 1)},)",
            f"({a} + {self.listing(depth - 1)})", f"({a} * {rng.randrange(3)})", f"{self.text(depth - 1)}.split()",
            f"{self.text(depth - 1)}.split({self.text(depth - 1)})",
            f"{self.text(depth - 1)}.rsplit({self.text(depth - 1)}, {rng.randrange(3)})",
            f"{self.text(depth - 1)}.splitlines({rng.choice(['', 'true'])})", f"{self.text(depth - 1)}|list",
            f"{a}[{self.bound(depth)}:{self.bound(depth)}]", f"{a}[::-1]",
            f"{a}[{self.bound(depth)}:{self.bound(depth)}:{rng.choice(['2', '-1', '0', '-2'])}]",
            f"{a}|list", f"{a}|sort", f"{a}|sort(reverse=true)", f"{a}|sort(case_sensitive=true)",
            f"{a}|unique|list", f"{a}|reverse|list", f"{a}|select('{test}')|list", f"{a}|reject('{test}')|list",
            f"{a}|select({binary})|list", f"{a}|reject({binary})|list", f"{a}|map('{rng.choice(TEXT_FILTERS)}')|list",
            f"{a}|map('{rng.choice([f for f in LIST_FILTERS if f != 'items'])}')|list", f"{a}|map(attribute='{rng.choice(KEYS)}')|list",
            f"{a}|map(attribute='{rng.choice(KEYS)}', default='?')|list",
            f"{a}|selectattr('{rng.choice(KEYS)}')|list",
            f"{a}|selectattr('{rng.choice(KEYS)}', '{test}')|list",
            f"{a}|rejectattr('{rng.choice(KEYS)}', {binary})|list", f"users|sort(attribute='age,name')",
            f"users|groupby('age')", f"users|groupby('ok', default=1)|map('last')|list",
            f"users|groupby(attribute='name')|map(attribute='grouper')|list",
            f"users|sort(attribute='{rng.choice(['name', 'age', 'ok', 'x'])}')", f"users|map(attribute='name')|unique|list",
            f"{a}|batch({rng.randrange(1, 4)})|list", f"{a}|batch(2, {self.any(depth - 2)})|list",
            f"{a}|slice({rng.randrange(1, 4)})|list", f"{a}|slice(2, 'f')|list", f"d|dictsort",
            f"d|dictsort({rng.choice(['true', 'false'])}, '{rng.choice(['key', 'value'])}', {rng.choice(['true', 'false'])})",
            f"d|items|list", f"d.items()|list", f"d.keys()|list", f"d.values()|list", f"{a}|map('string')|list",
            f"range({rng.randrange(-2, 6)}, {rng.randrange(9)}, {rng.choice([1, 2, -1])})|list",
            f"dict(a={self.any(depth - 2)}).items()|list", f"({a} if {self.truth(depth - 1)} else [])",
            f"{a}|map('default', 'z')|map('upper')|list", f"{a}|map('int', 3)|list",
            f"{a}|map('join', '-')|list", f"{a}.copy()", f"dict.fromkeys(w, 1)|list",
            f"{a}|map('{rng.choice(['unique', 'batch', 'slice', 'items', 'map', 'select', 'reverse'])}')|list|length",
            f"{a}|map('{rng.choice(['unique', 'items', 'select', 'reverse'])}')|map('list')|list",
            f"{a}|{rng.choice(['unique', 'batch(2)', 'slice(2)', 'items', 'select', 'map'])}|first",
            f"{a}|map('{rng.choice(['abs', 'upper', 'first', 'sum'])}')|first",
            f"{a}|select('{test}')|map('upper')|unique|batch(2)|list", f"[{self.big()}, {self.big()}, 3, 1e20]|sort",
            f"{{{self.big()}: 1, {self.big()}: 2, 1e20: 3}}|list", f"cycler('a', {self.number(0)}).items|list"])

    def truth(self, depth):
        rng = self.rng
        if depth <= 0 or self.maybe(0.3):
            return rng.choice(["b", "true", "false", "True", "none", "s", "l", "n", "missing", "tools",
                               "messages", "loop.first" if self.in_loop else "d", "loop.last" if self.in_loop else "w"])
        a, b = self.any(depth - 1), self.any(depth - 1)
        return rng.choice([
            f"({a} == {b})", f"({a} != {b})", f"({a} {rng.choice(['<', '>', '<=', '>='])} {b})",
            f"({self.number(depth - 1)} {rng.choice(['<', '>', '<=', '>='])} {self.number(depth - 1)})",
            f"({self.number(depth - 1)} < {self.number(depth - 1)} <= {self.number(depth - 1)})",
            f"({self.text(depth - 1)} in {self.text(depth - 1)})", f"({a} in {self.listing(depth - 1)})",
            f"({self.big()} {rng.choice(['<', '>', '<=', '>=', '==', '!='])} {self.big()})",
            f"({self.big()} {rng.choice(['<', '>', '<=', '>=', '==', '!='])} {self.number(depth - 1)})",
            f"({self.big()} in [{self.big()}, {self.big()}, 1e20, 5])", f"({self.big()} is {rng.choice(TESTS)})",
            f"('{rng.choice(TEXT_FILTERS + ['pprint', 'urlize', 'nope'])}' is {rng.choice(['filter', 'test'])})",
            f"({a} not in {self.listing(depth - 1)})", f"(not {self.truth(depth - 1)})",
            f"({self.truth(depth - 1)} and {self.truth(depth - 1)})",
            f"({self.truth(depth - 1)} or {self.truth(depth - 1)})", f"({a} is {rng.choice(TESTS)})",
            f"({a} is not {rng.choice(TESTS)})", f"({a} is {rng.choice(BINARY_TESTS[:2] + BINARY_TESTS[3:])}({b}))",
            f"({a} is sameas({rng.choice(['true', 'false', 'none', 'b', 'z'])}))",
            f"({self.number(depth - 1)} is divisibleby {rng.randrange(4)})", f"('{rng.choice(KEYS)}' in d)",
            f"d.{rng.choice(KEYS[:6])} is defined", f"d['{rng.choice(KEYS)}'] is not none",
            f"messages[0].content is string", f"(messages[0]['tool_calls'] is defined)",
            f"{self.text(depth - 1)}.startswith({self.text(depth - 1)})",
            f"{self.text(depth - 1)}.endswith(({self.text(depth - 1)}, 'o'))",
            f"{self.text(depth - 1)}.{rng.choice(METHODS[11:])}()"])

    def mapping(self, depth):
        rng = self.rng
        if depth <= 0 or self.maybe(0.4):
            return rng.choice(["d", "{}", "{'a': 1}", "messages[0]", "users[0]", "dict(a=1, b='x')"])
        return rng.choice([
            f"{{'k': {self.any(depth - 1)}, {self.text(depth - 1)}: {self.any(depth - 1)}}}",
            f"{{{self.pick(lambda: self.text(0), lambda: self.number(1), lambda: self.truth(0))}: 1}}", f"dict({self.mapping(depth - 1)}, z={self.any(depth - 1)})",
            f"{{1: {self.any(depth - 1)}, none: 2, 2.5: 3, true: 4}}", f"dict(users|map('list')|list)",
            f"{self.mapping(depth - 1)}.copy()", f"dict(d.items())"])

    def any(self, depth):
        return self.pick(lambda: self.text(depth), lambda: self.text(depth), lambda: self.number(depth),
                         lambda: self.listing(depth), lambda: self.truth(depth), lambda: self.mapping(depth),
                         lambda: self.rng.choice(["none", "missing", "z", "d.nope", "true", "()"]))

    def filler(self):
        return self.rng.choice(["", "", " ", "\n", "\n\n", "  \n  ", "text", "a b\n", "\t", " x ", "é\n", "{ %", "}}"])

    def tag(self, inner):
        left = self.rng.choice(["{%", "{%", "{%-", "{%+"])
        right = self.rng.choice(["%}", "%}", "-%}", "+%}"])
        return f"{left} {inner} {right}"

    def output(self, inner):
        left, right = self.rng.choice(["{{", "{{", "{{-"]), self.rng.choice(["}}", "}}", "-}}"])
        return f"{left} {inner} {right}"

    def statement(self, depth):
        rng = self.rng
        if depth <= 0 or self.maybe(0.45):
            return self.output(self.any(rng.randrange(1, 3)))
        def body():
            return self.block(depth - 1)
        def if_block():
            out = self.tag(f"if {self.truth(2)}") + body()
            if self.maybe(0.3):
                out += self.tag(f"elif {self.truth(1)}") + body()
            if self.maybe(0.5):
                out += self.tag("else") + body()
            return out + self.tag("endif")
        def for_block():
            items = self.listing(2)
            target = "i"
            if self.maybe(0.25):
                items, target = rng.choice(["d.items()", "d|dictsort", "d|items", "users|groupby('age')",
                                            "[(1, 2), (3, 4)]", "[[1, 2]]"]), "k, i"
            head = f"for {target} in {items}"
            if self.maybe(0.15):
                head += f" if {rng.choice(['i', 'i is defined', 'i != 1', 'n > 2', 'loop.index'])}"
            recursive = self.maybe(0.1)
            if recursive:
                head += " recursive"
            self.in_loop += 1
            self.names.append("i")
            inner = body() + self.output(rng.choice(
                ["i", "loop.index", "loop.revindex0", "loop.last", "loop.first", "loop.previtem", "loop.nextitem",
                 "loop.cycle('a', 'b')", "loop.changed(i)", "loop.depth", "loop.length", "loop.revindex", "i.name",
                 "i['role']", "i|string", "loop.nextitem.role if loop.nextitem is defined else 'none'"]))
            if recursive:
                inner += self.tag("if loop.depth < 3") + self.output("loop([1])") + self.tag("endif")
            if self.maybe(0.2):
                inner += self.tag(f"if {rng.choice(['loop.index > 1', self.truth(1)])}") + \
                    self.tag(rng.choice(["break", "continue"])) + self.tag("endif") + self.filler()
            self.in_loop -= 1
            out = self.tag(head) + inner
            if self.maybe(0.25):
                out += self.tag("else") + body()
            return out + self.tag("endfor")
        def set_block():
            name = rng.choice(["x", "y", "s", "n", "l"])
            if self.maybe(0.15):
                return self.tag(f"set {name}, y = {self.any(1)}, {self.any(1)}") + self.output(f"{name}")
            if self.maybe(0.25):
                pipe = rng.choice(["", " | trim", " | upper | trim", " | replace('a', 'b')"])
                return self.tag(f"set {name}{pipe}") + body() + self.tag("endset") + self.output(name)
            return self.tag(f"set {name} = {self.any(2)}") + self.output(name)
        def macro_block():
            name = rng.choice(["ma", "mb"])
            params = rng.choice(["", "a", "a, caller=none", "a, kwargs=1", "varargs", "a, a", "caller", "a, b=2", "a='q', b=none", "a, b, c=[]"])
            extra = rng.choice(["", "", self.output("varargs"), self.output("kwargs"), self.output("caller()"),
                                self.output("caller is defined"), self.output("caller.arguments"), self.output("self"),
                                self.output(f"{name}.caller"), self.output("kwargs.caller")])
            out = self.tag(f"macro {name}({params})") + body() + \
                (self.output("a") if "a" in params else "") + (self.output("b") if "b" in params else "") + extra + \
                self.tag("endmacro")
            given = ", ".join(self.any(1) for _ in range(rng.randrange(3)))
            given += rng.choice(["", "", ", b=1" if given else "b=1", ", *l" if given else "*l", ", **d" if given else "**d"])
            if "caller()" in extra and self.maybe(0.7):
                signature = rng.choice(["", "", "(q)"])
                return out + self.tag(f"call{signature} {name}({given})") + body() + self.tag("endcall")
            if self.maybe(0.25):
                return out + self.output(f"{name}.{rng.choice(MACRO_NAMES)}")
            return out + self.output(f"{name}({given})" + rng.choice(["", "|trim", " ~ 'z'", "|length"]))
        def namespace_block():
            return (self.tag(f"set ns = namespace(a={self.any(1)}, c=0)") +
                    self.tag(f"for i in {self.listing(1)}") + self.tag("set ns.a = " + rng.choice(
                        ["i", "loop.index", "[ns.a, i]", "ns.a ~ i", "ns.c + 1"])) + self.tag("set ns.c = ns.c + 1") +
                    self.tag("endfor") + self.output("ns.a") + self.output("ns.c") + self.output("ns.nope"))
        def filter_block():
            return self.tag("filter " + rng.choice(["upper", "trim", "replace('a', 'b')", "length", "upper|lower",
                                                    "indent(2)", "tojson", "default('x')"])) + body() + \
                self.tag("endfilter")
        def with_block():
            return self.tag(rng.choice(["with", f"with x = {self.any(1)}", f"with x = 1, y = {self.any(1)}"])) + body() + \
                self.output("x") + self.tag("endwith")
        def comment():
            return rng.choice(["{# note #}", "{#- note -#}", "{#+ note +#}", "{# a\nb #}\n", "  {# x #}\n"])
        def raw():
            return self.tag("raw") + rng.choice(["{{ x }}", "{% if %}", " text\n", "{# c #}"]) + self.tag("endraw")
        def generation():
            return self.tag("generation") + body() + self.tag("endgeneration")
        def raise_block():
            return self.tag(f"if {self.truth(1)}") + self.output("raise_exception('no ' ~ n)") + self.tag("endif")
        return self.pick(if_block, if_block, for_block, for_block, for_block, set_block, set_block, macro_block,
                         namespace_block, filter_block, with_block, comment, raw, generation, raise_block, self.self_block)

    def self_block(self):
        return self.rng.choice(["{{ self }}", "{% set self = 1 %}{{ self }}", "{{ self.x }}{% set self = 2 %}{{ self }}",
                                "{% for self in l %}{{ self }}{% endfor %}", "{{ self is defined }}"])

    def block(self, depth):
        out = self.filler()
        for _ in range(self.rng.randrange(1, 3)):
            out += self.statement(depth) + self.filler()
        return out

    def program(self):
        kind = self.rng.random()
        if kind < 0.45:
            return " ".join("{{ " + self.any(self.rng.randrange(1, 4)) + " }}" for _ in range(self.rng.randrange(1, 3)))
        return self.block(self.rng.randrange(1, 4))


def mangled(rng, source):
    """A program with a small wound: a byte lost, doubled or changed."""
    if not source:
        return source
    at = rng.randrange(len(source))
    return rng.choice([source[:at] + source[at + 1:], source[:at] + source[at] + source[at:],
                       source[:at] + rng.choice("{}%-|.()[]'\" \n,:=~ai1") + source[at + 1:]])


def make_cases(env, rng, n):
    skipped = 0
    while n > 0:
        context = random_context(rng)
        for _ in range(4):
            source = Grammar(rng).program()
            if rng.random() < 0.08:
                source = mangled(rng, source)
            answer = rendered(env, source, context)
            n -= 1
            if answer is None:
                skipped += 1
            else:
                yield {"template": source, "context": context, **answer}
    print(f"{skipped} programs print what cannot be compared", file=sys.stderr)


def write_sample(env, rng, path, n_contexts=16, n_cases=1600):
    """Short programs over few contexts with what Jinja2 renders, null where it refuses."""
    contexts = [random_context(rng) for _ in range(n_contexts)]
    cases = []
    while len(cases) < n_cases:
        at = rng.randrange(n_contexts)
        source = Grammar(rng).program()
        answer = rendered(env, source, contexts[at])
        if answer is None or len(source) + len(answer.get("output", "")) > 160:
            continue
        refused = "output" not in answer
        # Few of them: a refusal says little.
        if refused and (rng.random() < 0.7 or "NameError" in answer["error"]):
            continue
        cases.append([at, source, answer.get("output")])
    with open(path, "w", encoding="utf-8") as out:
        def lines(items):
            return ",\n".join("  " + json.dumps(item, ensure_ascii=False) for item in items)
        out.write('{\n "about": "Random programs by tests/oracle/compare_templates.py --sample: context, template, '
                  f'what Jinja2 {jinja2.__version__} renders (null: it refuses).",\n "contexts": [\n{lines(contexts)}\n ],\n'
                  f' "cases": [\n{lines(cases)}\n ]\n}}\n')


def differences(tests, cases_path):
    failures = cases_path + ".failures"
    environment = {**os.environ, "RUV_TEMPLATE_CASES": cases_path}
    done = subprocess.run([tests, "--gtest_filter=ChatTemplates.OracleCases"], env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if not os.path.exists(failures):
        sys.exit(f"{tests} did not answer (code {done.returncode}):\n{done.stdout[-3000:]}")
    with open(failures, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tests", help="the binary chat_tests")
    parser.add_argument("--sample", help="write a sample of programs to this file and end")
    parser.add_argument("--programs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=20, help="differences to print")
    parser.add_argument("--render", help="one template instead of random ones")
    parser.add_argument("--context", default="{}", help="its context, as JSON")
    arguments = parser.parse_args()
    env = make_environment()
    rng = random.Random(arguments.seed)
    if arguments.sample:
        return write_sample(env, rng, arguments.sample)
    if not arguments.tests:
        parser.error("--tests or --sample is needed")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "cases.jsonl")
        counts = {"output": 0, "error": 0}
        with open(path, "w", encoding="utf-8") as out:
            if arguments.render is not None:
                context = json.loads(arguments.context)
                cases = [{"template": arguments.render, "context": context,
                          **(rendered(env, arguments.render, context) or {"error": "not comparable"})}]
                print(cases[0])
            else:
                cases = make_cases(env, rng, arguments.programs)
            for case in cases:
                counts["output" if "output" in case else "error"] += 1
                out.write(json.dumps(case) + "\n")
        found = differences(arguments.tests, path)
    by_design = [d for d in found if any(mark in d["ours"].get("error", "") for mark in BY_DESIGN)]
    real = [d for d in found if d not in by_design]
    for one in real[:arguments.show]:
        print(json.dumps({k: one[k] for k in ("template", "theirs", "ours")}, ensure_ascii=False))
        if arguments.programs <= 100:
            print("  context", json.dumps(one["context"], ensure_ascii=False))
    print(f"{sum(counts.values())} programs compared: {counts['output']} rendered by Jinja2, {counts['error']} "
          f"refused; {len(by_design)} refused by us by design; {len(real)} differences")
    return 1 if real else 0


if __name__ == "__main__":
    sys.exit(main())
