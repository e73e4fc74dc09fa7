#!/bin/sh
# build.sh FOLDER: builds the page with npm into FOLDER/dist/index.html; nothing is written beside its sources. Ends with 77, and says why, where
# Node.js 18 or npm is missing or the packages that package-lock.json names cannot be had. They are asked for only when that file has changed.
set -eu
cannot() {
  echo "skipped: $1"
  exit 77
}
source=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1" && cd "$1"
command -v npm >/dev/null && command -v node >/dev/null || cannot "npm is not here (Debian packages nodejs and npm)"
[ "$(node -p 'parseInt(process.versions.node)')" -ge 18 ] || cannot "Node.js is $(node --version), and 18 is needed"

cp "$source/package.json" "$source/package-lock.json" .
if ! cmp -s package-lock.json installed.json; then
  # Scripts of packages are not run: none of these needs one.
  npm ci --ignore-scripts --no-audit --no-fund --loglevel=error || cannot "npm ci failed"
  cp package-lock.json installed.json
fi
rm -rf src dist
cp -R "$source/src" "$source/index.html" "$source/tsconfig.json" "$source/vite.config.js" .
node node_modules/typescript/bin/tsc --noEmit
node node_modules/vite/bin/vite.js build --logLevel warn
