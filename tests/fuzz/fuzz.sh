#!/usr/bin/env bash
# fuzz.sh BUILD SECONDS [TARGET...]: runs each target (all that are built, by default) for so many seconds, from the seeds and what
# BUILD/corpus has grown to, and prints what each has executed. An input that crashes, leaks, takes over 5 s
# (FUZZ_TIMEOUT, of the clock: say more on a loaded machine) or over 1 GiB stays in BUILD/findings; then the exit is 1. Keep it, once the fault is cured, as tests/fuzz/cases/TARGET/NAME.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$1 seconds=$2
shift 2
[ $# -gt 0 ] || set -- $(cd "$build" && ls -d fuzz_* 2>/dev/null | grep -v '\.' | sed 's/^fuzz_//')
[ $# -gt 0 ] || { echo "no targets are built in $build" >&2; exit 2; }

# Seeds beside tests/fuzz/seeds/TARGET: files that ship.
seeds_of() {
  case $1 in
    yaml | scenario) echo scenarios ;;
    cluster) echo topology/presets ;;
    profile) echo profiles/devices profiles/frameworks profiles/networks ;;
    tables | csv) echo tools/converters/points ;;
  esac
}
mkdir -p "$build/corpus" "$build/findings" "$build/log"
[ -d "$build/seeds" ] || [ ! -x "$build/write_seeds" ] || "$build/write_seeds" "$build/seeds"
# Every word that the formats know, as mutations may insert it.
cat docs/formats/*.md | grep -o '`[^`|\\]\{2,40\}`' | tr -d '`"' | LC_ALL=C grep -v '[^ -~]' | sort -u | sed 's/.*/"&"/' >"$build/words.dict"

export ASAN_OPTIONS=quarantine_size_mb=8:allocator_may_return_null=0:detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1
status=0
printf '%-16s %12s %10s %8s\n' target inputs per_s corpus
for target; do
  mkdir -p "$build/corpus/$target"
  dirs=
  for d in "tests/fuzz/seeds/$target" "tests/fuzz/cases/$target" "$build/seeds/$target" $(seeds_of "$target"); do [ ! -d "$d" ] || dirs="$dirs $d"; done
  # shellcheck disable=SC2086  # a list of folders
  "$build/fuzz_$target" -max_total_time="$seconds" -timeout="${FUZZ_TIMEOUT:-5}" -rss_limit_mb=1024 -malloc_limit_mb=1024 -max_len=4096 -reload=0 \
    -dict="$build/words.dict" -print_final_stats=1 -artifact_prefix="$build/findings/$target-" "$build/corpus/$target" $dirs \
    >"$build/log/$target" 2>&1 || { status=1; echo "$target: found an input, see $build/log/$target" >&2; }
  count() { sed -n "s/^stat::$1: *//p" "$build/log/$target"; }
  executed=$(count number_of_executed_units)
  printf '%-16s %12s %10s %8s\n' "$target" "${executed:-?}" "$(count average_exec_per_sec)" "$(find "$build/corpus/$target" -type f | wc -l)"
done
exit $status
