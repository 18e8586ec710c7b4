#!/usr/bin/env python3
"""The metrics of `ruvllm serve` as Prometheus and Grafana read them: promtool finds nothing wrong
with /metrics, and each query of the dashboard docs/grafana.json gives numbers from a Prometheus that
scrapes a server at work. Its programs are taken from PATH or from where tools/fetch_prometheus puts
them; without them those tests are skipped by name.

Usage: metrics_test.py --binary RUVLLM --source FOLDER [TestName]...
"""
import json
import math
import os
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

from server import Server, run_tests

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
DASHBOARD = os.path.join(ROOT, "docs", "grafana.json")
FETCHED = os.path.join(ROOT, "build", "prometheus", "usr", "bin")
WAIT_S = 180  # until all queries give numbers; it takes about 10
# What Grafana puts in the place of its variables.
VARIABLES = {"$__rate_interval": "20s", "$model": ".*", "$instance": ".*"}
# Names that other servers gave their metrics: all have a colon, which promtool finds wrong.
ALIAS = re.compile(r"(# (HELP|TYPE) )?(vllm|llamacpp):")
SCHEMA = {"type": "object", "properties": {"name": {"enum": ["ann", "bob"]}}, "required": ["name"],
          "additionalProperties": False}


def program(name):
    return shutil.which(name) or shutil.which(name, path=FETCHED)


def panels():
    with open(DASHBOARD, encoding="utf-8") as file:
        board = json.load(file)
    return board, [panel for panel in board["panels"] if panel["type"] != "row"]


def queries():
    """(title, query) of each panel's queries."""
    return [(panel["title"], target["expr"]) for panel in panels()[1] for target in panel["targets"]]


def with_values(query):
    for name, value in VARIABLES.items():
        query = query.replace(name, value)
    return query


def scraped(server):
    with urllib.request.urlopen(server.url + "/metrics", timeout=60) as answer:
        return answer.read().decode()


class Dashboard(unittest.TestCase):
    def test_it_is_as_grafana_wants_it(self):
        board, shown = panels()
        numbers = [panel["id"] for panel in board["panels"]]
        self.assertEqual(len(numbers), len(set(numbers)))
        taken = set()
        for panel in board["panels"]:
            at = panel["gridPos"]
            self.assertLessEqual(at["x"] + at["w"], 24, panel["title"])
            cells = {(x, y) for x in range(at["x"], at["x"] + at["w"])
                     for y in range(at["y"], at["y"] + at["h"])}
            self.assertFalse(cells & taken, f"{panel['title']} lies over another panel")
            taken |= cells
        known = {variable["name"] for variable in board["templating"]["list"]} | {"__rate_interval"}
        for panel in shown:
            self.assertTrue(panel["description"], panel["title"])
            self.assertEqual(panel["datasource"]["uid"], "${datasource}")
            for target in panel["targets"]:
                used = set(re.findall(r"\$(\w+)", target["expr"]))
                self.assertLessEqual(used, known, target["expr"])
                self.assertIn("instance", used, target["expr"])

    def test_its_metrics_are_there(self):
        with Server() as server:
            there = set(re.findall(r"(?m)^# TYPE (\S+)", scraped(server)))
        for title, query in queries():
            names = re.findall(r"\b(?:ruvllm|process)_\w+", query)
            self.assertTrue(names, query)
            for name in names:
                bare = re.sub(r"_(bucket|sum|count)$", "", name)
                self.assertTrue({name, bare} & there, f"{title}: there is no metric {name}")


class Prometheus:
    """A Prometheus on a free port that scrapes a server every second. Use it in a with statement."""

    def __init__(self, server, folder):
        config = os.path.join(folder, "prometheus.yml")
        with open(config, "w", encoding="utf-8") as file:
            json.dump({"global": {"scrape_interval": "1s", "scrape_timeout": "1s"},
                       "scrape_configs": [{"job_name": "ruvllm", "static_configs": [
                           {"targets": [f"127.0.0.1:{server.port}"]}]}]}, file)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.url = f"http://127.0.0.1:{free.getsockname()[1]}"
        self.log = open(os.path.join(folder, "log"), "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            [program("prometheus"), f"--config.file={config}", f"--storage.tsdb.path={folder}/data",
             f"--web.listen-address={self.url.removeprefix('http://')}", "--log.level=warn"],
            stdout=self.log, stderr=self.log)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=60)
        self.log.close()

    def ask(self, path, **query):
        """The data of an answer; None while it does not answer."""
        if self.process.poll() is not None:
            self.log.seek(0)
            raise RuntimeError("Prometheus ended: " + self.log.read())
        try:
            url = f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(query)}"
            with urllib.request.urlopen(url, timeout=60) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            with error:
                raise RuntimeError(f"{query}: {error.read().decode()}") from error
        except OSError:
            return None

    def gives_numbers(self, query):
        """Whether a query has a result with a finite number."""
        found = self.ask("query", query=query)
        return found is not None and any(math.isfinite(float(series["value"][1]))
                                         for series in found["result"])

    def labels(self, metric, label):
        return self.ask(f"label/{label}/values", **{"match[]": metric})


class Work:
    """Requests of every kind that the dashboard shows, one after the other, until it is left."""

    def __init__(self, server):
        self.server = server
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        chat = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 24, "user": "ann"}
        letters = {"prompt": "one two three four one two three four one two three", "max_tokens": 24,
                   "temperature": 0}
        while not self.is_over.is_set():
            self.server.post("/v1/chat/completions", chat)
            self.server.post("/v1/chat/completions", {**chat, "json_schema": SCHEMA})
            self.server.post("/v1/completions", letters)
            self.server.post("/v1/completions", {"prompt": "a", "unknown": 1})
            self.is_over.wait(0.1)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.thread.join()


class Lint(unittest.TestCase):
    @unittest.skipUnless(program("promtool"), "promtool is missing: tools/fetch_prometheus gets it")
    def test_promtool_finds_nothing_wrong(self):
        with Server() as server, Work(server):
            while 'ruvllm_user_tokens_total{user="ann"' not in scraped(server):
                time.sleep(0.05)
            text = scraped(server)
        own = [line for line in text.splitlines(keepends=True) if not ALIAS.match(line)]
        self.assertLess(len(own), len(text.splitlines()))
        done = subprocess.run([program("promtool"), "check", "metrics"], input="".join(own), text=True,
                              capture_output=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        # The others can be read, too: what is wrong with them are their names.
        done = subprocess.run([program("promtool"), "check", "metrics"], input=text, text=True,
                              capture_output=True, timeout=60, check=False)
        for line in done.stderr.splitlines():
            self.assertRegex(line, "^(vllm|llamacpp):")


class Queries(unittest.TestCase):
    @unittest.skipUnless(program("prometheus"), "prometheus is missing: tools/fetch_prometheus gets it")
    def test_each_query_gives_numbers(self):
        with tempfile.TemporaryDirectory() as folder, Server() as server, \
                Prometheus(server, folder) as prometheus, Work(server):
            left = {with_values(query): title for title, query in queries()}
            self.assertGreater(len(left), 30)
            end = time.monotonic() + WAIT_S
            while left and time.monotonic() < end:
                time.sleep(0.5)
                left = {query: title for query, title in left.items()
                        if not prometheus.gives_numbers(query)}
            self.assertEqual(left, {}, "these give no numbers")
            variables = [variable for variable in panels()[0]["templating"]["list"]
                         if variable["type"] == "query"]
            self.assertTrue(variables)
            for variable in variables:
                metric, label = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"]).groups()
                self.assertTrue(prometheus.labels(with_values(metric), label), variable["query"])


if __name__ == "__main__":
    run_tests()
