#!/usr/bin/env python3
"""Tests of what the program says of its options: help, the page docs/cli.md, manual pages,
completions, and settings that come from the environment and from the configuration file.

RUV_UPDATE=1 writes docs/cli.md anew.

Usage: help_cli_test.py --binary RUVLLM --source FOLDER [TestName]...
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from program import Program, call, environment

WHERE_OPTIONS_ARE = ("run", "chat", "serve", "quantize", "info", "bench", "config")


def commands():
    listed = re.findall(r"(?m)^  ([a-z-]+) ", call("help").stdout)
    return [name for name in listed if name not in ("help", "version")]


class Help(unittest.TestCase):
    def test_lines_fit_the_window(self):
        for width in (50, 80, 110):
            for name in commands():
                shown = call("help", name, env={"COLUMNS": str(width)}).stdout
                for line in shown.splitlines():
                    is_call = line.startswith(("Usage:", "  ruvllm ", "  cat "))
                    self.assertTrue(len(line) <= width or is_call, (name, width, line))

    def test_all_have_examples_and_groups(self):
        for name in WHERE_OPTIONS_ARE:
            shown = call("help", name).stdout
            self.assertIn("\nExamples:\n  ", shown, name)
            self.assertIn("\nThe program:\n", shown, name)

    def test_defaults_are_shown(self):
        shown = " ".join(call("help", "serve", env={"COLUMNS": "120"}).stdout.split())
        for default in ("[8080]", "[127.0.0.1]", "[8]", "[8192]", "[0.8]", "[text]"):
            self.assertIn(default, shown)
        self.assertRegex(" ".join(call("help", "bench").stdout.split()),
                         r"Runs of each, besides one to warm up \[\d+\]")

    def test_names_of_other_programs(self):
        for option, says in (("-n", "here it is --max-tokens"), ("--top_k", "here it is --top-k"),
                             ("--ctx-size", "here it is --ctx"),
                             ("--control-vector", "here it is --lora with PATH or PATH=SCALE"),
                             ("--flash-attn", "attention is always computed block by block")):
            done = call("run", "hi", option, "5")
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"there is no option '{option}'; {says}", done.stderr)
        self.assertIn("here it is `ruvllm info`", call("show", "x").stderr)

    def test_a_seed_that_is_drawn(self):
        done = call("run", "--model", Program.model, "Hi", "--seed", "-1", "--max-tokens", "1")
        self.assertEqual(done.returncode, 0, done.stderr)


class Pages(unittest.TestCase):
    def test_the_reference_page_is_current(self):
        page = call("reference").stdout
        path = os.path.join(Program.source, "docs", "cli.md")
        if os.environ.get("RUV_UPDATE") == "1":
            with open(path, "w", encoding="utf-8") as file:
                file.write(page)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), page, "RUV_UPDATE=1 writes it anew")

    def test_manuals(self):
        checked = 0
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(call("man", "--all", folder).returncode, 0)
            self.assertEqual(sorted(os.listdir(folder)),
                             sorted([f"ruvllm-{name}.1" for name in commands()] + ["ruvllm.1"]))
            for name in sorted(os.listdir(folder)):
                path = os.path.join(folder, name)
                checked += self.check_manual(path)
        print(f"{checked} checks of manual pages", file=sys.stderr)

    def check_manual(self, path):
        """How many programs have read it."""
        n = 0
        if shutil.which("mandoc"):
            done = subprocess.run(["mandoc", "-Tlint", "-W", "warning", path], capture_output=True, text=True)
            lines = [line for line in done.stdout.splitlines() if "missing date" not in line]
            self.assertEqual(lines, [])
            n += 1
        if shutil.which("groff"):
            done = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-Kutf8", path],
                                  capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("SEE ALSO", re.sub(r"\x1b\[[0-9;]*m|.\x08", "", done.stdout))
            n += 1
        return n

    def test_unknown_pages(self):
        self.assertEqual(call("man", "nothing").returncode, 2)
        self.assertEqual(call("completion", "tcsh").returncode, 2)


class Completion(unittest.TestCase):
    def shell(self, name):
        if shutil.which(name) is None:
            self.skipTest(f"{name} is not installed")
        file = tempfile.NamedTemporaryFile("w", suffix=f".{name}")
        self.addCleanup(file.close)
        file.write(call("completion", name).stdout)
        file.flush()
        return file.name

    def bash(self, *words):
        script = self.shell("bash")
        code = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _ruvllm; '
                'printf "%s\\n" "${COMPREPLY[@]}"')
        done = subprocess.run(["bash", "-c", code, "bash", script, *words], capture_output=True,
                              text=True, check=True)
        return done.stdout.split()

    def test_bash(self):
        self.assertEqual(self.bash("ruvllm", "ser"), ["serve"])
        self.assertEqual(self.bash("ruvllm", "run", "--temp"), ["--temperature"])
        self.assertEqual(self.bash("ruvllm", "run", "--kv", "int"), ["int8", "int4", "int2"])
        self.assertEqual(self.bash("ruvllm", "sessions", ""), ["list", "show", "delete"])
        self.assertEqual(self.bash("ruvllm", "help", "qua"), ["quantize"])
        self.assertIn("serve", self.bash("ruvllm", "config", ""))
        self.assertEqual(self.bash("ruvllm", "run", "-m", "x"), [])  # names of files

    def test_fish(self):
        script = self.shell("fish")

        def complete(line):
            done = subprocess.run(["fish", "-c", f"source {script}; complete -C '{line}'"],
                                  capture_output=True, text=True, check=True,
                                  env=environment(HOME="/nonexistent"))
            return [line.split("\t")[0] for line in done.stdout.splitlines()]
        self.assertEqual(complete("ruvllm ser"), ["serve"])
        self.assertEqual(complete("ruvllm run --temp"), ["--temperature"])
        self.assertEqual(sorted(complete("ruvllm run --kv int")), ["int2", "int4", "int8"])

    def test_zsh(self):
        script = self.shell("zsh")
        done = subprocess.run(["zsh", "-f", "-c", f"autoload -Uz compinit; compinit -D; "
                               f"source {script}; print $_comps[ruvllm]"],
                              capture_output=True, text=True, check=True)
        self.assertEqual((done.stdout, done.stderr), ("_ruvllm\n", ""))


class Settings(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def config(self, text):
        path = os.path.join(self.folder.name, "ruvllm", "config.toml")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def value(self, option, command="run", *arguments, **env):
        shown = call("config", command, *arguments, env=env).stdout
        return re.search(rf"(?m)^  {option} +(.*)$", shown).group(1).split()

    def n_tokens(self, *arguments, **env):
        done = call("run", "--model", Program.model, "Tell me a story", "--temperature", "0",
                    *arguments, env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        return int(re.search(r"answer (\d+) tokens", done.stderr).group(1))

    def test_the_nearest_place_counts(self):
        path = self.config("max-tokens = 5\n[run]\nmax_tokens = 4\n")
        self.assertEqual(self.n_tokens("--config", path), 4)
        self.assertEqual(self.n_tokens("--config", path, RUVLLM_MAX_TOKENS="3"), 3)
        self.assertEqual(self.n_tokens("--config", path, "--max-tokens", "2",
                                       RUVLLM_MAX_TOKENS="3"), 2)
        self.assertEqual(self.n_tokens(RUVLLM_CONFIG=path), 4)
        self.assertEqual(self.value("max-tokens", "run", "--config", path), ["4", f"{path}:3:",
                                                                          "max_tokens"])
        self.assertEqual(self.value("max-tokens", "chat", "--config", path)[0], "5")
        self.assertEqual(self.value("max-tokens", RUVLLM_MAX_TOKENS="3"), ["3",
                                                                        "RUVLLM_MAX_TOKENS"])
        self.assertEqual(self.value("max-tokens"), ["-1", "default"])

    def test_the_usual_file(self):
        self.config("ctx = 77")
        env = {"XDG_CONFIG_HOME": self.folder.name, "RUVLLM_CONFIG": ""}
        self.assertEqual(self.value("ctx", **env)[0], "77")
        self.assertEqual(self.value("ctx", "run", "--config", "off", **env), ["0", "default"])

    def test_texts_lists_and_flags(self):
        path = self.config('# all\n[serve]\nallow-host = ["a b", # one\n  \'c\',]\n'
                           'alias = "\\u00e9\\"x"\nlenient = true\nlog-prompts = false\n')
        self.assertEqual(self.value("allow-host", "serve", "--config", path)[:3], ["a", "b,", "c"])
        self.assertEqual(self.value("alias", "serve", "--config", path)[0], 'é"x')
        self.assertEqual(self.value("lenient", "serve", "--config", path)[0], "true")

    def test_wrong_files(self):
        for text, says in (("modle = 1", ":1: ruvllm has no option 'modle'; did you mean 'model'?"),
                           ("[sevre]\nport = 1", ":2: there is no command 'sevre'"),
                           ("[serve]\n\nmax-tokens = 1", ":3: serve has no option 'max-tokens'"),
                           ("ctx = 1\nctx = 2", "line 2: 'ctx' is given twice"),
                           ("ctx = 1 2", "line 1: nothing may follow the value"),
                           ("ctx = abc", "line 1: 'abc': a value is a text in quotes"),
                           ('model = "abc', "line 1: the text does not end in its line"),
                           ('model = "\\q"', "line 1: '\\q' is not an escape"),
                           ("ctx = [1, 2", "line 1: ',' or ']' is needed in a list"),
                           ("a.b = 1", "line 1: '=' is needed after 'a'"),
                           ("ctx = [1, 2]", "ctx: one value is needed, not a list"),
                           ("ctx = -1", ":1: ctx: -1 is not within"),
                           ("json = 3", ":1: json: neither true nor false")):
            done = call("run", "hi", "--config", self.config(text))
            self.assertEqual(done.returncode, 2, (text, done.stderr))
            self.assertIn(says, done.stderr)
        done = call("run", "hi", "--config", "/no/such/file")
        self.assertEqual((done.returncode, "/no/such/file" in done.stderr), (1, True))

    def test_wrong_variables(self):
        done = call("run", "hi", env={"RUVLLM_THREADS": "x"})
        self.assertEqual(done.returncode, 2)
        self.assertIn("RUVLLM_THREADS: 'x' is not within", done.stderr)
        done = call("config", env={"RUVLLM_MODLE": "x"})
        self.assertIn("RUVLLM_MODLE is set, but no option has this name", done.stderr)

    def test_what_is_said_here_outdoes_its_alternatives(self):
        done = call("info", Program.model, env={"RUVLLM_MODEL": "/no/such/model"})
        self.assertEqual(done.returncode, 0, done.stderr)
        done = call("run", "--prompt", "Hi", "--model", Program.model, "--max-tokens", "1",
                    "--json-object", env={"RUVLLM_SCHEMA": "/no/such/schema"})
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_keys_are_not_shown(self):
        done = call("config", "serve", env={"RUVLLM_API_KEY": "hidden"})
        self.assertNotIn("hidden", done.stdout)
        self.assertIn("RUVLLM_API_KEY", done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    Program.binary = os.path.abspath(arguments.binary)
    Program.source = arguments.source
    Program.model = Program.find_model()
    if not Program.model:
        print("skipped: neither the built-in model nor RUV_DATA_DIR/trained/nano is here")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *arguments.names], verbosity=2)


if __name__ == "__main__":
    main()
