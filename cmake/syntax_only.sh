#!/bin/sh
# syntax_only.sh COMPILER ARGUMENT...: a compiler launcher that checks one source without generating code. It leaves an empty object file, so
# that Ninja checks the source again when it or a header of it has changed.
set -eu
"$@" -w -fsyntax-only -include-pch alone.pch
while [ "$1" != -o ]; do shift; done
: > "$2"
