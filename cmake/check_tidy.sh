#!/usr/bin/env bash
# Fails with clang-tidy's findings in our sources (.clang-tidy says which checks). Reads the batches that a configured build directory compiles, so
# that headers are read once for many sources. The built-in rules are one literal of 0.7 MB: longer than the standard asks of a compiler, not than ours take.
# Usage: cmake/check_tidy.sh BUILD_DIRECTORY [JOBS]
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
jobs=${2:-$(nproc)}
sed -n 's/^ *"file": "\(.*\/Unity\/unity_[0-9]*_cxx\.cxx\)",*$/\1/p' "$build/compile_commands.json" | grep -v '/tests/' | sort | tr '\n' '\0' |
  xargs -0 -n 1 -P "$jobs" clang-tidy-16 -p "$build" --quiet --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-overlength-strings
