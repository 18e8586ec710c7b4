#!/usr/bin/env python3
"""The matrix of frameworks: each asks the real server in all its ways for typed answers and calls.

Usage: matrix.py --binary RUVLLM --source FOLDER --packages FOLDER [FRAMEWORK]...
--packages is where tests/e2e/frameworks/install has put them; what is not there is skipped by name.
Prints each cell with its seconds. It fails if a cell does, and if docs/frameworks.md does not have
the cells that ran; RUV_UPDATE=1 writes them there.
"""
import argparse
import concurrent.futures
import filecmp
import json
import os
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from server import Server, find_model  # noqa: E402

SKIP = 77
CELL = "CELL "
COLUMNS = ("typed answers", "tools", "streams", "loops")
BEGIN, END = "<!-- frameworks:begin -->\n", "<!-- frameworks:end -->\n"
LIMIT_S = 240
PINS = {"openai3": "requirements.txt", "openai2": "requirements_openai2.txt",
        "node": "package.json"}


class Framework:
    """A package and the file of its cells."""

    def __init__(self, title, environment, package, script):
        self.title, self.environment, self.package = title, environment, package
        self.script = script
        self.version = pinned_version(PINS[environment], package)

    @property
    def name(self):
        return f"{self.title} {self.version}"

    def command(self, packages, url):
        """Modules are found beside the script, so those of JavaScript are copied."""
        if self.environment == "node":
            return [shutil.which("node"), os.path.join(packages, "node", self.script),
                    "--url", url]
        return [os.path.join(packages, self.environment, "bin", "python"),
                os.path.join(HERE, self.script), "--url", url]

    def is_installed(self, packages):
        """Whether the versions that are pinned now were installed, not others."""
        copy = "pins.json" if self.environment == "node" else "pins.txt"
        installed = os.path.join(packages, self.environment, copy)
        return os.path.exists(installed) and filecmp.cmp(
            installed, os.path.join(HERE, PINS[self.environment]), shallow=False)


def pinned_version(file, package):
    with open(os.path.join(HERE, file)) as pins:
        text = pins.read()
    if file.endswith(".json"):
        return json.loads(text)["dependencies"][package]
    return re.search(rf"^{re.escape(package)}==(.+)$", text, re.M).group(1)


def all_frameworks():
    return [
        Framework("openai", "openai3", "openai", "openai_cells.py"),
        Framework("openai", "openai2", "openai", "openai_cells.py"),
        Framework("openai (JavaScript)", "node", "openai", "openai_cells.mjs"),
        Framework("langchain-openai", "openai3", "langchain-openai", "langchain_cells.py"),
        Framework("@langchain/openai", "node", "@langchain/openai", "langchain_cells.mjs"),
        Framework("llama-index-llms-openai-like", "openai2", "llama-index-llms-openai-like",
                  "llama_index_cells.py"),
        Framework("litellm", "openai2", "litellm", "litellm_cells.py"),
        Framework("instructor", "openai2", "instructor", "instructor_cells.py"),
        Framework("pydantic-ai", "openai3", "pydantic-ai-slim", "pydantic_ai_cells.py"),
        Framework("AI SDK (ai)", "node", "ai", "ai_sdk_compatible_cells.mjs"),
        Framework("AI SDK (@ai-sdk/anthropic)", "node", "@ai-sdk/anthropic",
                  "ai_sdk_anthropic_cells.mjs"),
        Framework("anthropic (JavaScript)", "node", "@anthropic-ai/sdk", "anthropic_cells.mjs"),
        Framework("ollama (JavaScript)", "node", "ollama", "ollama_cells.mjs"),
        Framework("openai-agents", "openai3", "openai-agents", "agents_cells.py"),
        Framework("haystack-ai", "openai3", "haystack-ai", "haystack_cells.py"),
        Framework("smolagents", "openai3", "smolagents", "smolagents_cells.py"),
        Framework("autogen-ext", "openai2", "autogen-ext", "autogen_cells.py"),
        Framework("llm", "openai3", "llm", "llm_cells.py"),
    ]


def run_cells(framework, packages, url):
    """(cells that ran, what was said). A process that dies has a cell that failed."""
    environment = {**os.environ, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    try:
        done = subprocess.run(framework.command(packages, url), capture_output=True, text=True,
                              timeout=LIMIT_S, env=environment, stdin=subprocess.DEVNULL)
        code, out, said = done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired as error:
        code, out, said = "time limit", (error.stdout or b"").decode(), ""
    ran = [json.loads(line[len(CELL):]) for line in out.splitlines() if line.startswith(CELL)]
    if code != 0 or not ran:
        ran.append({"column": COLUMNS[0], "cell": "end of the process", "ok": False, "seconds": 0,
                    "error": f"{code}: {said[-1500:]}"})
    return ran


def report(framework, ran):
    for one in ran:
        words = "ok" if one["ok"] else "FAILED: " + one["error"]
        if one.get("end"):
            words += f" ({one['end']})"
        print(f"{framework.name}: {one['column']}: {one['cell']}: {words} {one['seconds']} s",
              flush=True)


def row_of(framework, ran):
    columns = [", ".join(one["cell"] for one in ran if one["column"] == column)
               for column in COLUMNS]
    return f"| {framework.name} | " + " | ".join(columns) + " |"


def check_page(path, rows, is_whole):
    """Whether the page has these rows; with RUV_UPDATE=1 it gets them."""
    with open(path) as file:
        page = file.read()
    before, rest = page.split(BEGIN)
    table, after = rest.split(END)
    if os.environ.get("RUV_UPDATE") == "1":
        if not is_whole:
            sys.exit("RUV_UPDATE=1 needs all frameworks")
        head = f"| framework | {' | '.join(COLUMNS)} |\n|{'---|' * (len(COLUMNS) + 1)}\n"
        with open(path, "w") as file:
            file.write(before + BEGIN + head + "\n".join(rows) + "\n" + END + after)
        return True
    written = table.splitlines()
    missing = [row for row in rows if row not in written]
    gone = written[2:] if is_whole else []
    gone = [row for row in gone if row not in rows]
    for row in missing:
        print(f"{path} lacks: {row}")
    for row in gone:
        print(f"{path} has, but it did not run: {row}")
    return not missing and not gone


def copy_scripts(packages):
    for name in os.listdir(HERE):
        if name.endswith(".mjs") and os.path.isdir(os.path.join(packages, "node")):
            shutil.copy(os.path.join(HERE, name), os.path.join(packages, "node", name))


def chosen_frameworks(arguments):
    chosen = []
    for framework in all_frameworks():
        if arguments.names and framework.title not in arguments.names:
            continue
        if framework.is_installed(arguments.packages):
            chosen.append(framework)
        else:
            print(f"skipped: {framework.name} is not in {arguments.packages}")
    return chosen


def main():
    parser = argparse.ArgumentParser()
    for name in ("binary", "source", "packages"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    arguments.packages = os.path.abspath(arguments.packages)
    Server.binary, Server.model = os.path.abspath(arguments.binary), find_model(arguments.source)
    chosen = chosen_frameworks(arguments)
    if not chosen or not Server.model:
        print("skipped: neither frameworks nor a model" if chosen else "skipped: no framework")
        sys.exit(SKIP)
    copy_scripts(arguments.packages)
    started = time.monotonic()
    results = []
    with Server("--parallel", 4) as server, concurrent.futures.ThreadPoolExecutor(2) as pool:
        def run_one(framework):
            return run_cells(framework, arguments.packages, server.url + "/v1")
        for framework, ran in zip(chosen, pool.map(run_one, chosen)):
            report(framework, ran)
            results.append((framework, ran))
    failed = sum(not one["ok"] for _, ran in results for one in ran)
    n_cells = sum(len(ran) for _, ran in results)
    page = os.path.join(arguments.source, "docs", "frameworks.md")
    is_right = check_page(page, [row_of(*one) for one in results],
                          len(results) == len(all_frameworks()))
    print(f"{n_cells - failed} of {n_cells} cells of {len(results)} frameworks passed "
          f"({time.monotonic() - started:.0f} s)")
    sys.exit(1 if failed or not is_right else 0)


main()
