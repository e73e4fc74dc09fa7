#!/bin/sh
# run.sh BUILD JOBS: runs every suite of a build and ends with one line, "tests: N passed, N failed, N skipped", which counts test cases, not
# suites. Skipped are slow cases, which only --no-skip runs, cases that need measurements from outside the repository (tests/shared_data.hpp),
# where these are not there, and suites for which this machine lacks a program. The exit is that of ctest.
ctest --test-dir "$1" -j "$2" --output-on-failure
status=$?
awk '
  # doctest prints its summary last; a test that forks may have others before it. A suite without one counts as a single case.
  /^ *[0-9]+\/[0-9]+ Test: / { suite = $3; summary = lacks = broken = 0 }
  /^\[doctest\] test cases:/ { gsub(/[^0-9]+/, " "); passed = $2; failed = $3; skipped = $4; summary = 1 }
  /^skipped: / { lacks = 1 }
  /^Test Fail/ { broken = 1 }
  /^".*" end time: / {
    if (!summary) { failed = broken; skipped = lacks && !broken; passed = !failed && !skipped }
    else if (broken && failed == 0) failed = 1
    p += passed; f += failed; s += skipped
    if (skipped) without = without " " suite
  }
  END {
    if (s) print "skipped (slow cases, which --no-skip runs, or for want of ../shared/data or a program) in:" without
    print "tests: " p + 0 " passed, " f + 0 " failed, " s + 0 " skipped"
  }
' "$1/Testing/Temporary/LastTest.log"
exit $status
