#!/bin/bash
# From a clone to tested: installs what is missing, builds everything, runs the quick tests.
# Arguments go to ctest, for example: ./test.sh -R tokenizer
set -euo pipefail
cd "$(dirname "$0")"

tools/install_packages packages.txt
[ -f build/release/build.ninja ] || cmake --preset release >/dev/null
ninja -C build/release
ctest --preset quick -j"$(nproc)" "$@"
