#!/usr/bin/env bash
# check_alone.sh [JOBS]: compiles every source and every test by itself, so that none depends on what stands before it in a batch (unity build).
# Prints the sources that fail, with the compiler's messages. Only what has changed since the last run is compiled again.
#
# Clang reads a precompiled header of the system's headers, which are most of what a source includes: all sources take 25 minutes of CPU time on a
# busy machine, half again as much by g++ without. The price: an #include <...> that is missing is not noticed where many other sources have it.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${1:-$(nproc)}
build=build-alone
clang=$(command -v clang++-16 || command -v clang++-19 || command -v clang++)

mkdir -p $build
cmake -S . -B $build -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_COMPILER="$clang" -DCMAKE_CXX_COMPILER_LAUNCHER="$PWD/cmake/syntax_only.sh" \
  -DCMAKE_CXX_LINKER_LAUNCHER=true \
  -DCMAKE_UNITY_BUILD=OFF -DFORESHARD_TESTS=ON >$build/log || { cat $build/log >&2; exit 1; }
git grep -h -o '^#include <[^>]*>' -- '*.cpp' '*.hpp' | sort | uniq -c | sed -n 's/^ *[0-9]\{2,\} //p' >$build/headers.hpp.new
if ! cmp -s $build/headers.hpp.new $build/headers.hpp || [ ! -e $build/alone.pch ]; then
  mv $build/headers.hpp.new $build/headers.hpp
  "$clang" -std=c++20 -DFMT_SHARED -w -x c++-header $build/headers.hpp -o $build/alone.pch
fi
# Objects only: without code nothing can be linked. Those of tests that run the program wait for its link, which does nothing.
objects=$(ninja -C $build -t targets all | sed -n 's/\.\(cpp\|cc\)\.o: .*/.\1.o/p')
echo "Compiling $(wc -w <<<"$objects") sources, each by itself"
if ! xargs ninja -C $build -j "$jobs" -k 0 <<<"$objects" >$build/log; then
  grep -v '^\[' $build/log >&2
  echo "These do not compile by themselves:" >&2
  sed -n 's/^FAILED: .*\.dir\/\(.*\)\.o *$/  \1/p' $build/log >&2
  exit 1
fi
