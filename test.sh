#!/bin/bash
# From a clone to tested: installs what is missing, builds everything, runs the quick tests.
# Arguments go to ctest, for example: ./test.sh -R tokenizer
set -euo pipefail
cd "$(dirname "$0")"

tools/install_packages packages.txt packages-test.txt
# run.sh configures the same folder without tests.
grep -qs RUV_TESTS:BOOL=ON build/release/CMakeCache.txt || cmake --preset release >/dev/null
ninja -C build/release
ctest --preset quick -j"$(nproc)" "$@"
