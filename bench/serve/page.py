"""The tables of a log, and their place in a document."""
import json
import pathlib
import sys

from tables import as_line

BEGIN, END = "<!-- serve:begin -->", "<!-- serve:end -->"


def newest(log):
    """{(goal, file, part): its last line}."""
    found = {}
    if not log.exists():
        return found
    for line in map(json.loads, log.read_text().splitlines()):
        found[line["goal"], line["file"], line["part"]] = line
    return found


def heads(goal, sides):
    """Column heads; `*sides: x` stands for one column per server, `*peers: x` without ours."""
    for head in goal.head:
        if head.startswith("*sides"):
            yield from (s + head.removeprefix("*sides") for s in sides)
        elif head.startswith("*peers"):
            yield from (s + head.removeprefix("*peers") for s in sides if s != "ours")
        else:
            yield head


def circumstances_of(lines):
    """One sentence: where, and against whom."""
    last = lines[-1]
    versions = {name: v for line in lines for name, v in line["versions"].items()}
    against = ", ".join(f"{name} {v}" for name, v in versions.items())
    return (f"{last['machine']['cores']} cores of {last['machine']['cpu']}, {last['compiler']}"
            f"{', against ' + against if against else ''}. Medians of interleaved rounds.")


def of_file(lines):
    """One sentence: the model, our commit, how often."""
    commits = ", ".join(dict.fromkeys(line["commit"] + (" and changes" if line["dirty"] else "")
                                      for line in lines))
    rounds = " or ".join(map(str, sorted({line["rounds"] for line in lines})))
    return (f"`{lines[-1]['file'].removesuffix('.gguf')}`, {lines[-1]['threads']} threads, commit "
            f"{commits}, rounds: {rounds}.")


def table_of_file(goal, lines):
    sides = list(dict.fromkeys(s for line in lines for s in line["sides"]))
    found = {(line["part"], side): [r for r in runs if "failed" not in r]
             for line in lines for side, runs in line["sides"].items()}
    found = {key: runs for key, runs in found.items() if runs}
    columns = list(heads(goal, sides))
    return [as_line(columns), "|" + "---|" * len(columns),
            *(as_line(row) for row in goal.rows(found, sides))]


def whole(goals, newest_lines):
    """The tables of {name: goal} that the log has lines of."""
    text = [circumstances_of(list(newest_lines.values())), ""] if newest_lines else []
    return "\n".join(text + [whole_table(name, goal, newest_lines) for name, goal in goals.items()])


def whole_table(name, goal, newest_lines):
    """All files measured for a goal, each with its table."""
    of_goal = [line for (g, _, _), line in newest_lines.items() if g == name]
    if not of_goal:
        return f"### {goal.title}\n\nNot measured.\n"
    text = [f"### {goal.title}", ""]
    for file in dict.fromkeys(line["file"] for line in of_goal):
        lines = [line for line in of_goal if line["file"] == file]
        text += [of_file(lines), "", *table_of_file(goal, lines), ""]
    return "\n".join(text + ([goal.notes, ""] if goal.notes else []))


def into_page(path: pathlib.Path, text):
    page = path.read_text()
    if BEGIN not in page or END not in page:
        sys.exit(f"{path} has no {BEGIN} … {END}")
    before, rest = page.split(BEGIN, 1)
    path.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.split(END, 1)[1]}")
