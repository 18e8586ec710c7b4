#!/bin/bash
# From a clone to an answer: installs what is missing, builds the program, asks the built-in model.
#   ./run.sh                     asks what it can do
#   ./run.sh "my question"       asks that; more arguments go to `ruvllm run`
set -euo pipefail
cd "$(dirname "$0")"

tools/install_packages packages.txt
[ -f build/release/build.ninja ] ||
  cmake --preset release -DRUV_TESTS=OFF -DRUV_WERROR=OFF -DRUV_KERNELS=native -DRUV_BATCH=24 >/dev/null
if [ -x build/release/apps/ruvllm/ruvllm ]; then
  ninja -C build/release ruvllm | sed '/no work to do/d; /^ninja: Entering/d; /^-- /d' >&2
else
  ninja -C build/release ruvllm >&2
fi

[ $# -gt 0 ] || set -- "What can you do?"
exec build/release/apps/ruvllm/ruvllm run "$@"
