#!/usr/bin/env python3
"""The document /openapi.json against the server that it describes, asked by Schemathesis.

Usage: schema_test.py --binary RUVLLM --source FOLDER [--examples N] [--seed N]
Schemathesis makes requests of the document, right ones and wrong ones, and looks whether the answers
have the statuses, types and forms that the document says. It must find nothing. --examples is how
many random requests each endpoint gets besides those that cover each field's limits.
"""
import argparse
import os
import subprocess
import sys
import tempfile

from server import SKIP, Server, find_model, need_package

KEY = "sesame"
LIMIT_S = 3600
# Checks that do not hold, and are not meant to.
NOT_MEANT = {
    # Where a field takes a text, the document does not say which: the names of models, the forms of
    # messages, tools and grammars, and how fields go together are in docs/http.md.
    "positive_data_acceptance",
    # The names of models and sessions may have slashes: /v1/models/load is also the model "load",
    # which GET shows. The header Allow says so.
    "allow_header_conformance",
}


def command(server, arguments):
    program = os.path.join(os.path.dirname(sys.executable), "schemathesis")
    return [program, "run", server.url + "/openapi.json", "--header", f"Authorization: Bearer {KEY}",
            "--seed", str(arguments.seed), "--max-examples", str(arguments.examples),
            "--checks", "all", "--exclude-checks", ",".join(sorted(NOT_MEANT)),
            "--continue-on-failure", "--max-failures", "1000", "--workers", "1",
            "--request-timeout", "120", "--generation-database", "none", "--warnings", "off",
            "--no-color"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--examples", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    need_package("schemathesis")
    Server.binary, Server.model = os.path.abspath(arguments.binary), find_model(arguments.source)
    if not Server.model:
        print("skipped: there is no model; models/ruvltra-nano-q8_0.gguf is missing")
        sys.exit(SKIP)
    # It writes a folder of its own where it runs.
    with tempfile.TemporaryDirectory() as folder, \
            Server("--api-key", KEY, "--cache-dir", os.path.join(folder, "cache")) as server:
        code = subprocess.run(command(server, arguments), cwd=folder, timeout=LIMIT_S,
                              check=False).returncode
    sys.exit(1 if code else 0)


if __name__ == "__main__":
    main()
