"""The small faults that tools/mutate plants in C++ text, and where. Text is read token by token, as
clang-format leaves it: an operator with spaces around it has two operands, one without is part of a
type. Comments, strings, preprocessor lines, constant expressions, checks and messages are left
alone, and so is everything outside function bodies."""
import bisect
import dataclasses
import hashlib
import re

TOKEN = re.compile(r"""
  (?P<skip>\s+ | //[^\n]* | /\*.*?\*/ | ^[ \t]*\#(?:[^\n]*\\\n)*[^\n]*)
| (?P<text>(?:u8|u|U|L)?R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)" | (?:u8|u|U|L)?"(?:\\.|[^"\\\n])*"
    | '(?:\\.|[^'\\\n])+')
| (?P<number>\.?\d(?:[eEpP][+-]|[\w.'])*)
| (?P<name>[A-Za-z_]\w*)
| (?P<op><=> | <<= | >>= | \.\.\. | :: | -> | \+\+ | -- | <= | >= | == | != | && | \|\| | [-+*/%&|^]=
    | << | >> | .)
""", re.X | re.S | re.M)

OPENERS, CLOSERS = {"(": ")", "[": "]", "{": "}"}, {")": "(", "]": "[", "}": "{"}
ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}
# Where an operand ends: operators of lower precedence than the one it belongs to.
LOOSEST = {",", ";", "?", ":"} | ASSIGNMENTS
OR_ENDS = LOOSEST
AND_ENDS = OR_ENDS | {"||"}
EQUALITY_ENDS = AND_ENDS | {"&&", "&", "|", "^"}
RELATION_ENDS = EQUALITY_ENDS | {"==", "!="}
SHIFT_ENDS = RELATION_ENDS | {"<", ">", "<=", ">=", "<=>"}
SUM_ENDS = SHIFT_ENDS | {"<<", ">>"}
WORDS_BEFORE_VALUES = {"return", "case", "throw", "else", "do", "co_return", "co_yield"}
CONTROLS = {"if", "for", "while", "switch"}
NO_EXPRESSION = WORDS_BEFORE_VALUES | CONTROLS | {
    "break", "continue", "goto", "default", "using", "delete", "new", "auto", "const", "static",
    "constexpr", "struct", "class", "enum", "public", "private", "protected", "try", "catch",
    "typedef", "template", "friend", "operator", "sizeof", "inline", "namespace"}
# Calls whose arguments say something and decide nothing.
MESSAGES = {"CHECK", "DCHECK", "static_assert", "fail", "format", "note"}
# Calls that only save work.
ADVICE = {"reserve", "shrink_to_fit", "expect_headers", "expect_read", "prefetch"} | MESSAGES
SWAPPED_PAIRS = {("begin", "end"), ("first", "last"), ("from", "to"), ("a", "b"), ("left", "right"),
                 ("low", "high"), ("offset", "size"), ("row", "column"), ("tenant", "salt"),
                 ("n_rows", "n_cols"), ("rows", "cols"), ("parent", "child"), ("key", "value"),
                 ("min", "max"), ("source", "target"), ("now_ns", "start_ns"), ("start_ns", "now_ns")}


@dataclasses.dataclass(frozen=True)
class Mutant:
    path: str
    line: int
    last_line: int
    rule: str
    begin: int      # what is replaced: text[begin:end]
    end: int
    becomes: str    # on one line; of a removed statement ""
    label: str      # what is changed, for people

    @property
    def where(self):
        return f"{self.path}:{self.line}"


class Source:
    """One file as tokens with matched brackets."""

    def __init__(self, path, text):
        self.path, self.text = path, text
        self.kinds, self.words, self.begins, self.ends = [], [], [], []
        for match in TOKEN.finditer(text):
            if match.lastgroup == "skip" or match.group("skip") is not None:
                continue
            kind = next(k for k in ("text", "number", "name", "op") if match.group(k) is not None)
            self.kinds.append(kind)
            self.words.append(match.group())
            self.begins.append(match.start())
            self.ends.append(match.end())
        self.line_begins = [0] + [m.end() for m in re.finditer("\n", text)]
        self.match = self._match_brackets()
        self.in_function = self._find_functions()
        self.quiet = self._find_quiet()

    def __len__(self):
        return len(self.words)

    def line_of(self, at):
        return bisect.bisect_right(self.line_begins, at)

    def line_text(self, line):
        return self.text.split("\n")[line - 1].strip()

    def word(self, i):
        return self.words[i] if 0 <= i < len(self.words) else ""

    def spaced(self, i):
        before, after = self.text[self.begins[i] - 1], self.text[self.ends[i]:self.ends[i] + 1]
        return before.isspace() and after.isspace()

    def joined(self, first, last):
        """Tokens first to last on one line, without comments."""
        out = []
        for i in range(first, last + 1):
            apart = i > first and self.begins[i] > self.ends[i - 1]
            out.append((" " if apart else "") + self.words[i])
        return "".join(out)

    def _match_brackets(self):
        match, open_ = {}, []
        for i, (kind, word) in enumerate(zip(self.kinds, self.words)):
            if kind != "op":
                continue
            if word in OPENERS:
                open_.append(i)
            elif word in CLOSERS and open_:
                match[i] = open_.pop()
                match[match[i]] = i
        return match

    def _opens_body(self, i):
        """Whether the brace i, in a namespace or class, begins a function's body."""
        before = i - 1
        while before >= 0 and self.word(before) not in ("{", "}", ";"):
            if self.word(before) == ")" and before in self.match:
                before = self.match[before]
            before -= 1
        head = self.words[before + 1:i]
        if any(w in head for w in ("namespace", "enum", "union")):
            return False
        if any(w in head for w in ("class", "struct")) and "(" not in head:
            return False
        return "(" in head and self.word(i - 1) != "="

    def _find_functions(self):
        inside = [False] * len(self)
        i = 0
        while i < len(self):
            if self.words[i] == "{" and self.kinds[i] == "op" and i in self.match and \
                    self._opens_body(i):
                for k in range(i + 1, self.match[i]):
                    inside[k] = True
                i = self.match[i]
            i += 1
        return inside

    def _find_quiet(self):
        """Tokens in messages, checks, advice and constant expressions."""
        quiet = [False] * len(self)
        for i, word in enumerate(self.words):
            if self.kinds[i] != "name":
                continue
            last = i
            if word in ADVICE and self.word(i + 1) == "(":
                last = self.match.get(i + 1, i)
            elif word == "consistent" and self.word(i + 1) == "(":  # it only checks
                last = self.match.get(i + 1, i)
                last += self.word(last + 1) == "const"
                last = self.match.get(last + 1, i) if self.word(last + 1) == "{" else i
            elif word in ("constexpr", "static_assert", "template", "noexcept", "alignas"):
                while self.word(last) not in (";", "{", ""):
                    last += 1
            else:
                continue
            for k in range(i, min(last + 1, len(self))):
                quiet[k] = True
        return quiet

    # Operands: the first and the last token of what stands left and right of the operator i.
    def left(self, i, stops):
        k = i - 1
        while k >= 0:
            word = self.words[k]
            if self.kinds[k] == "text":
                k -= 1
                continue
            if word in OPENERS or word == "}" or word in WORDS_BEFORE_VALUES:
                break
            if word in CLOSERS:
                opener = self.match.get(k)
                if opener is None or (word == ")" and self.word(opener - 1) in CONTROLS):
                    break
                k = opener - 1
                continue
            if word in stops and (word in ",;?:" or self.spaced(k)):
                break
            k -= 1
        return k + 1

    def right(self, i, stops):
        k = i + 1
        while k < len(self):
            word = self.words[k]
            if self.kinds[k] != "text":
                if word in CLOSERS:
                    break
                if word in OPENERS:
                    k = self.match.get(k, k) + 1
                    continue
                if word in stops and (word in ",;?:" or self.spaced(k)):
                    break
            k += 1
        return k - 1

    def mutant(self, rule, first, last, becomes, label):
        return Mutant(self.path, self.line_of(self.begins[first]), self.line_of(self.ends[last]),
                      rule, self.begins[first], self.ends[last], becomes, label)


def operator_rule(swaps, left_stops, right_stops):
    def find(source, rule):
        for i, word in enumerate(source.words):
            if word not in swaps or source.kinds[i] != "op" or not source.spaced(i):
                continue
            first, last = source.left(i, left_stops), source.right(i, right_stops)
            if first >= i or last <= i:
                continue
            becomes = (f"({source.joined(first, i - 1)}) {swaps[word]} "
                       f"({source.joined(i + 1, last)})")
            yield source.mutant(rule, first, last, becomes, f"{word} to {swaps[word]}")
    return find


def find_numbers(step):
    def find(source, rule):
        for i, word in enumerate(source.words):
            if source.kinds[i] != "number" or source.word(i - 1) in ("case", "<"):
                continue
            real = "." in word or (not word.startswith("0x") and re.search("[eE]", word))
            if step == "half":
                number = re.match(r"\d+", word)
                if not real and (not number or int(number.group()) < 4):
                    continue
                becomes = f"{word} / 2"
            elif real or (step < 0 and word.rstrip("uUlL") == "0"):
                continue
            else:
                becomes = f"{word} {'+' if step > 0 else '-'} 1"
            yield source.mutant(rule, i, i, becomes, f"{word} to {becomes}")
    return find


def find_truths(source, rule):
    for i, word in enumerate(source.words):
        if source.kinds[i] == "name" and word in ("true", "false"):
            other = "false" if word == "true" else "true"
            yield source.mutant(rule, i, i, other, f"{word} to {other}")


def find_conditions(source, rule):
    for i, word in enumerate(source.words):
        if word != "if" or source.word(i + 1) != "(":
            continue
        first, last = i + 2, source.match[i + 1] - 1
        for k in range(first, last):
            if source.words[k] == ";" and source.kinds[k] == "op":
                first = k + 1
        if any(source.words[k] == "=" and source.kinds[k] == "op" for k in range(first, last)):
            continue  # a declaration
        text = source.joined(first, last)
        yield source.mutant(rule, first, last, f"!({text})", "condition negated")


def find_negations(source, rule):
    for i, word in enumerate(source.words):
        if word != "!" or source.kinds[i] != "op" or source.word(i - 1) == "operator":
            continue
        if source.word(i - 1) == "(" and source.word(i - 2) == "if":
            continue  # as a whole it is a condition
        last = end_of_postfix(source, i + 1)
        if last is not None:
            yield source.mutant(rule, i, last, f"!!({source.joined(i + 1, last)})", "! dropped")


def end_of_postfix(source, i):
    """The last token of a name with its members, calls and indexes; None: i begins none."""
    if source.word(i) in ("++", "--", "*"):
        i += 1
    if i >= len(source) or source.kinds[i] != "name" or source.words[i] in NO_EXPRESSION:
        return None
    while True:
        after = source.word(i + 1)
        if after in ("(", "["):
            i = source.match.get(i + 1, i + 1)
        elif after in (".", "->", "::"):
            i += 2
        else:
            return i


def statements(source):
    """First and last token (its semicolon) of each statement that is one expression."""
    for i in range(1, len(source)):
        before = source.words[i - 1]
        begins = before in (";", "{", "}", "else") or (
            before == ")" and source.word(source.match.get(i - 1, 0) - 1) in CONTROLS)
        if not begins or not source.in_function[i]:
            continue
        last = i
        while last < len(source) and source.words[last] not in (";", ")", "}"):
            last = source.match.get(last, last) if source.words[last] in OPENERS else last
            if source.words[last] == "}" and source.word(last + 1) not in (";", ")", ","):
                break
            last += 1
        if last < len(source) and source.words[last] == ";":
            yield i, last


def find_statements(source, rule):
    for first, last in statements(source):
        end = end_of_postfix(source, first)
        if end is None or source.words[end] in ADVICE:
            continue
        names = [source.words[k] for k in range(first, end + 1) if source.kinds[k] == "name"]
        if ADVICE & set(names):
            continue
        after = source.word(end + 1)
        counts = source.words[first] in ("++", "--") or after in ("++", "--")
        called = end + 1 == last and source.words[end] == ")"
        if not (counts or called or (after in ASSIGNMENTS and source.spaced(end + 1))):
            continue
        yield source.mutant(rule, first, last, "", f"without {source.joined(first, last)[:60]}")


def find_exits(source, rule):
    for i, word in enumerate(source.words):
        if word not in ("return", "continue", "break") or not source.in_function[i]:
            continue
        before = source.word(i - 1)
        opener = source.match.get(i - 1) if before == ")" else None
        if before == "{" and source.word(i - 2) == ")":
            opener = source.match.get(i - 2)
        if opener is None or source.word(opener - 1) != "if":
            continue
        last = source.right(i, {";"}) + 1
        if source.word(last) == ";":
            yield source.mutant(rule, i, last, "", f"without {source.joined(i, last)[:60]}")


def find_extremes(source, rule):
    for i, word in enumerate(source.words):
        if word not in ("min", "max") or source.words[i - 2:i] != ["std", "::"]:
            continue
        opener = i + 1
        while source.word(opener) not in ("(", ";", ""):
            opener += 1
        if source.word(opener) != "(" or opener not in source.match:
            continue
        last = source.match[opener]
        other = "max" if word == "min" else "min"
        becomes = f"std::{other}" + source.joined(i + 1, last)
        yield source.mutant(rule, i - 2, last, becomes, f"{word} to {other}")


def find_swaps(source, rule):
    for i in range(1, len(source) - 3):
        pair = (source.words[i], source.words[i + 2])
        if source.words[i + 1] != "," or source.word(i - 1) not in ("(", ",") or \
                source.word(i + 3) not in (")", ","):
            continue
        if pair not in SWAPPED_PAIRS or source.kinds[i] != "name":
            continue
        opener = i - 1
        while opener > 0 and source.words[opener] != "(":
            opener = source.match[opener] - 1 if source.words[opener] in CLOSERS else opener - 1
        first, last = opener, source.match.get(opener, opener)
        while first > 0 and (source.kinds[first - 1] == "name" or
                             source.words[first - 1] in (".", "->", "::")):
            first -= 1
        if first == opener or source.words[first] in CONTROLS or last == opener:
            continue
        becomes = (source.joined(first, i - 1) + f"{pair[1]}, {pair[0]}" +
                   source.joined(i + 3, last))
        yield source.mutant(rule, first, last, becomes, f"{pair[0]} and {pair[1]} swapped")


# name, why people make this fault, where it can be planted
RULES = [
    ("boundary", "one too many or too few at a limit",
     operator_rule({"<": "<=", "<=": "<", ">": ">=", ">=": ">"}, RELATION_ENDS, SHIFT_ENDS)),
    ("reversed", "compared the wrong way round",
     operator_rule({"<": ">", ">": "<"}, RELATION_ENDS, SHIFT_ENDS)),
    ("equality", "the opposite of what is meant",
     operator_rule({"==": "!=", "!=": "=="}, EQUALITY_ENDS, RELATION_ENDS)),
    ("logic", "two conditions joined wrongly",
     operator_rule({"&&": "||", "||": "&&"}, AND_ENDS, AND_ENDS | {"&&"})),
    ("sum", "added what is to be taken away", operator_rule({"+": "-", "-": "+"}, SUM_ENDS,
                                                            SUM_ENDS | {"+", "-"})),
    ("more", "a count, size or index one too large", find_numbers(1)),
    ("less", "a count, size or index one too small", find_numbers(-1)),
    ("half", "a limit or weight of another size", find_numbers("half")),
    ("truth", "the other of two", find_truths),
    ("condition", "the branches mixed up", find_conditions),
    ("negation", "a forgotten not", find_negations),
    ("statement", "a forgotten call, count or assignment", find_statements),
    ("exit", "a case that is not left early", find_exits),
    ("extreme", "a bound from the wrong side", find_extremes),
    ("swap", "two arguments in the wrong order", find_swaps),
]


def mutants_of(path, text):
    """All mutants of a file, in order."""
    source = Source(path, text)
    found = []
    for rule, _, find in RULES:
        for mutant in find(source, rule):
            token = bisect.bisect_right(source.begins, mutant.begin) - 1
            if source.in_function[token] and not source.quiet[token]:
                found.append(mutant)
    return sorted(found, key=lambda m: (m.begin, m.rule, m.label))


def keys_of(text, mutants):
    """The key of each mutant in tools/mutate_equivalent.txt: a hash of the line (.2 for the second
    such line of the file), the rule, and which of its kind on that line."""
    hashes, n_of_line, n_on_line, keys = [], {}, {}, []
    for line in text.split("\n"):
        line_hash = hashlib.sha1(line.strip().encode()).hexdigest()[:8]
        n_of_line[line_hash] = n = n_of_line.get(line_hash, 0) + 1
        hashes.append(line_hash if n == 1 else f"{line_hash}.{n}")
    for mutant in mutants:
        line_hash = hashes[mutant.line - 1]
        kind = (mutant.line, mutant.rule)
        n_on_line[kind] = n_on_line.get(kind, 0) + 1
        keys.append(f"{mutant.path}:{line_hash}: {mutant.rule}{n_on_line[kind]}")
    return keys
