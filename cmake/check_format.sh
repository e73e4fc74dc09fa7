#!/bin/sh
# Fails when a C++ source is not formatted as .clang-format says, and names the command that formats it.
set -eu
cd "$(dirname "$0")/.."
unformatted=$(git ls-files '*.cpp' '*.hpp' | xargs clang-format-16 --dry-run 2>&1 | sed -n 's/^\([^:]*\):.*warning.*/\1/p' | sort -u)
[ -z "$unformatted" ] && exit 0
echo "Not formatted (clang-format-16 -i FILE):" >&2
echo "$unformatted" >&2
exit 1
