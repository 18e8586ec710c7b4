#!/usr/bin/env python3
"""Scores a model on the held-out sets, through `ruvllm serve`, and writes the table of the docs.

  scores.py run --binary ruvllm --data FOLDER --out scores.json [--model FILE] [--limit 100]
  scores.py table --of scores.json [--beside other.json] --write docs/builtin-model.md

`run` asks for greedy answers, once as the model gives them and, where a form fits, once held to it:
calls by `tool_choice`, extraction by its schema, tasks by a schema or a list of agents. FOLDER is
what generate.py wrote. `table` writes between the marks of a page; with --beside a second column.
"""

import argparse
import concurrent.futures
import functools
import json
import operator
import pathlib
import re
import subprocess
import sys
import time

import cases
import roles
from generate import EVAL
from records import read_records
from served import ServedModel, TooLong

# Sets: the cases that came with the provisional model, and the splits of generate.py.
SETS = ("first", "known", "unseen")
SET_NAMES = {
    "first": "first unseen words",
    "known": "known words and tools",
    "unseen": "unseen words and tools",
}
_TEXTS = ("qa", "format", "arith", "talk", "facts", "copy")
ROWS = {
    "calls exact": "tool call: whole call equal",
    "calls names": "tool call: function names right",
    "calls valid": "tool call: can be read",
    "tool texts exact": "answer after a tool result, or no tool fits: text equal",
    "extract exact": "extraction: JSON equal",
    "routing agent": "routing: agent right",
    "routing exact": "routing: whole answer equal",
    "qa exact": "question on a text: answer equal",
    "format exact": "lists and formats: answer equal",
    "arith exact": "arithmetic and dates: answer equal",
    "talk exact": "small talk: answer equal",
    "facts exact": "facts: answer equal",
    "copy exact": "copying: answer equal",
}


def _has_calls(message):
    return bool(message.get("tool_calls"))


def _has_none(message):
    return not message.get("tool_calls")


def read_cases(folder, name, limit):
    """{group: [Case]} of a set; a group without a file is left out."""
    groups = {"calls": ("tools", _has_calls, limit), "tool texts": ("tools", _has_none, limit // 3)}
    for category in ("extract", "routing") + _TEXTS:
        groups[category] = (
            category,
            None,
            limit if category in ("extract", "routing") else limit // 2,
        )
    found = {}
    for group, (category, wanted, count) in groups.items():
        if name == "first":
            path, read = EVAL / (category + ".jsonl"), cases.cases_of_eval
        else:
            path, read = folder / ("%s_%s.jsonl" % (name, category)), cases.cases_of_records
        if path.exists():
            found[group] = read(path, category, count, wanted)
    return found


def _judged(group, case, message):
    """{row: whether the answer is right in that respect}"""
    text = message.get("content") or ""
    if group == "calls":
        calls = cases.spoken_calls(message)
        names = [call["name"] for call in calls or []]
        return {
            "calls exact": calls == case.calls,
            "calls names": names == [call["name"] for call in case.calls],
            "calls valid": bool(calls),
        }
    if group == "routing":
        agent = cases.agent_in(text) == cases.agent_in(case.expected)
        return {"routing agent": agent, "routing exact": _same_json(text, case.expected)}
    if group == "extract":
        return {"extract exact": _same_json(text, case.expected)}
    return {group + " exact": text == case.expected and not message.get("tool_calls")}


def _same_json(text, expected):
    return text == expected or (
        cases.as_json(expected) is not None and cases.as_json(text) == cases.as_json(expected)
    )


class Scores:
    """Counts of right answers by set, form and row, and some wrong answers for a reader."""

    def __init__(self):
        self.counts, self.misses, self.n_too_long = {}, [], 0

    def add(self, name, held, group, case, answer):
        """`answer`: a future message; one that the context does not hold counts nowhere."""
        try:
            message = answer.result()
        except TooLong:
            self.n_too_long += 1
            return
        for row, right in _judged(group, case, message).items():
            key = "/".join((name, "held" if held else "free", row))
            n_right, n_all = self.counts.get(key, (0, 0))
            self.counts[key] = n_right + bool(right), n_all + 1
            if not right and row.endswith("exact") and len(self.misses) < 60:
                said = message.get("tool_calls") or message.get("content")
                self.misses.append({"case": key, "expected": case.expected, "said": said})


def measure(binary, model, folder, limit):
    """Scores and seconds of a model on all sets."""
    began, scores = time.monotonic(), Scores()
    work = []
    for name in SETS:
        for group, listed in read_cases(folder, name, limit).items():
            for case in listed:
                work.append((name, False, group, case))
                if case.can_be_held():
                    work.append((name, True, group, case))
    with ServedModel(binary, model) as server:
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            answers = [pool.submit(server.chat, **w[3].request(w[1])) for w in work]
            for number, (one, answer) in enumerate(zip(work, answers)):
                scores.add(*one, answer)
                if number % 200 == 0:
                    seconds = time.monotonic() - began
                    print(
                        "%d of %d answers, %.0f s" % (number, len(work), seconds), file=sys.stderr
                    )
    return {
        "scores": {key: list(counts) for key, counts in scores.counts.items()},
        "answers": len(work),
        "too_long": scores.n_too_long,
        "seconds": round(time.monotonic() - began),
        "misses": scores.misses,  # for a reader; `table` needs none
    }


def measure_adapters(server, seed, limit):
    """{role: {answers, base, adapter}}: how many held-out tasks have the right answer without and
    with the adapter of the role, which `server` has under the role's name.
    """
    result = {}
    for role in roles.ROLES:
        tasks = roles.tasks(role, limit, seed, held=True)
        counts = dict.fromkeys(("base", "adapter"), 0)
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            for column, model in (("base", "model"), ("adapter", role)):
                ask = functools.partial(server.chat, model=model, max_tokens=120)
                messages = [[{"role": "user", "content": request}] for request, _ in tasks]
                answers = pool.map(lambda one: ask(messages=one)["content"], messages)
                right = (said == wanted for said, (_, wanted) in zip(answers, tasks))
                counts[column] = sum(right)
        result[role] = {"answers": len(tasks), **counts}
    return result


def measure_draft(binary, model, draft, folder, limit):
    """{answers, same, tokens, alone_s, drafted_s}: greedy stories without and with a draft model,
    one at a time. The answers of both must be the same.
    """
    asked = cases.cases_of_records(folder / "known_stories.jsonl", "stories", limit)
    texts, seconds, n_tokens = [], [], 0
    for arguments in ((), ("--draft-model", str(draft))):
        with ServedModel(binary, model, *arguments) as server:
            began, said = time.monotonic(), []
            for case in asked:
                body = {"model": "model", "temperature": 0, **case.request(False)}
                answer = server.post("/v1/chat/completions", body)
                said.append(answer["choices"][0]["message"]["content"])
                n_tokens += answer["usage"]["completion_tokens"]
            seconds.append(time.monotonic() - began)
            texts.append(said)
    return {
        "answers": len(asked),
        "same": sum(one == other for one, other in zip(*texts)),
        "tokens": n_tokens // 2,
        "alone_s": round(seconds[0], 3),
        "drafted_s": round(seconds[1], 3),
    }


def _dot(one, other):
    return sum(map(operator.mul, one, other))


def measure_embeddings(binary, model, path):
    """{triplets, nearer}: how many anchors are nearer to their positive than to their negative, by
    the cosine of the vectors that `ruvllm embed` gives.
    """
    triplets = [
        [line[key] for key in ("anchor", "positive", "negative")] for line in read_records(path)
    ]
    command = [binary, "embed", "--json"] + (["--model", str(model)] if model else [])
    texts = "".join(text + "\n" for triplet in triplets for text in triplet)
    done = subprocess.run(command, input=texts, capture_output=True, text=True, check=True)
    vectors = [json.loads(line)["embedding"] for line in done.stdout.splitlines()]
    nearer = 0
    for number in range(len(triplets)):
        anchor, positive, negative = vectors[3 * number : 3 * number + 3]
        nearer += _dot(anchor, positive) > _dot(anchor, negative)
    return {"triplets": len(triplets), "nearer": nearer}


def draft_line(result):
    """What `measure_draft` gives as a sentence."""
    speeds = (result["tokens"] / result[key] for key in ("alone_s", "drafted_s"))
    return "Stories with pico as draft: %d of %d answers are the same, %.0f and %.0f tokens/s." % (
        result["same"],
        result["answers"],
        *speeds,
    )


def adapter_table(result):
    """Markdown of what `measure_adapters` gives."""
    lines = ["| adapter | held-out tasks right without | with |", "|---|---|---|"]
    for role, counts in result.items():
        shares = (100 * counts[column] / counts["answers"] for column in ("base", "adapter"))
        lines.append("| %s | %.1f %% | %.1f %% |" % (role, *shares))
    return "\n".join(lines)


def _share(scores, name, form, row):
    counts = scores["scores"].get("/".join((name, form, row)))
    return "%.1f %%" % (100 * counts[0] / counts[1]) if counts else "-"


def table(scores, beside=None):
    """Markdown; a cell is free / held, with `beside` in columns of its own."""
    columns = [(label, one) for label, one in (("before", beside), ("now", scores)) if one]
    heads = [
        SET_NAMES[name] + (", " + label if beside else "") for name in SETS for label, _ in columns
    ]
    lines = ["| task | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
    for row, title in ROWS.items():
        cells = []
        for name in SETS:
            for _, one in columns:
                free, held = (_share(one, name, form, row) for form in ("free", "held"))
                cells.append(free if held == "-" else free + " / " + held)
        lines.append("| " + title + " | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def report(folder, beside=None):
    """Markdown of all that build.py measured in its folder."""
    read = {path.stem: json.loads(path.read_text()) for path in folder.glob("*.json")}
    parts = [
        table(read["scores"], beside),
        adapter_table(read["adapters"]),
        draft_line(read["draft"]),
    ]
    for name, counts in read["embeddings"].items():
        share = 100 * counts["nearer"] / counts["triplets"]
        parts.append("Held-out triplets in order, %s: %.1f %%." % (name, share))
    return "\n\n".join(parts)


def write_between_marks(page, text):
    """Replaces what a page has between its two marks."""
    begin, end = "<!-- scores: begin -->", "<!-- scores: end -->"
    old = page.read_text(encoding="utf-8")
    if begin not in old or end not in old:
        raise SystemExit("%s: has no marks %s and %s" % (page, begin, end))
    marked = begin + "\n" + text + "\n" + end
    new = re.sub(re.escape(begin) + ".*" + re.escape(end), lambda _: marked, old, flags=re.S)
    page.write_text(new, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="score a model")
    run.add_argument("--binary", required=True)
    run.add_argument("--model", help="the built-in model when absent")
    run.add_argument("--data", type=pathlib.Path, required=True)
    run.add_argument("--limit", type=int, default=100, help="cases of a task of a set")
    run.add_argument("--out", type=pathlib.Path, required=True)
    show = commands.add_parser("table", help="write the table")
    show.add_argument(
        "--of", type=pathlib.Path, required=True, help="scores, or a folder of build.py"
    )
    show.add_argument("--beside", type=pathlib.Path)
    show.add_argument("--write", type=pathlib.Path, help="a page with marks; printed when absent")
    options = parser.parse_args()
    if options.command == "run":
        result = measure(options.binary, options.model, options.data, options.limit)
        options.out.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n")
        print(table(result))
        return
    beside = json.loads(options.beside.read_text()) if options.beside else None
    if options.of.is_dir():
        text = report(options.of, beside)
    else:
        text = table(json.loads(options.of.read_text()), beside)
    if options.write:
        write_between_marks(options.write, text)
    else:
        print(text)


if __name__ == "__main__":
    main()
