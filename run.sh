#!/bin/bash
# From a clone to an answer: installs what is missing, builds the program, asks the built-in model.
#   ./run.sh                     asks what it can do
#   ./run.sh "my question"       asks that; more arguments go to `ruvllm run`
set -euo pipefail
cd "$(dirname "$0")"

tools/install_packages packages.txt
[ -f build/release/build.ninja ] || cmake --preset release >/dev/null
# The first build shows its progress; later ones speak only when something is wrong.
quiet=()
[ ! -x build/release/apps/ruvllm/ruvllm ] || quiet=(--quiet)
ninja -C build/release "${quiet[@]}" ruvllm >&2

[ $# -gt 0 ] || set -- "What can you do?"
exec build/release/apps/ruvllm/ruvllm run "$@"
