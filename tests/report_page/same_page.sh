#!/bin/sh
# same_page.sh FOLDER: builds the page of reports anew in FOLDER and compares it with the one that is committed.
set -eu
reports/html/page/build.sh "$1"
cmp "$1/dist/index.html" reports/html/built_page.html || {
  echo "reports/html/built_page.html is not what its sources make: \`make page\` builds it anew"
  exit 1
}
