#!/bin/sh
# require_packages.sh PACKAGE...: makes sure that these Debian packages are installed. Installs what is missing when it may
# (root, or sudo without a password), else prints the command and fails. Touches no network when nothing is missing.
set -eu

if ! command -v dpkg-query >/dev/null 2>&1; then
  echo "This is no Debian system, so packages cannot be checked. Needed, by their Debian names: $*" >&2
  exit 0  # CMake says what it does not find
fi

missing=
for package in "$@"; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

install="apt-get install -y --no-install-recommends$missing"
if [ "$(id -u)" -eq 0 ]; then
  as_root="env DEBIAN_FRONTEND=noninteractive"
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
  as_root="sudo -n env DEBIAN_FRONTEND=noninteractive"
else
  echo "Debian packages are missing. Install them as root, then try again:" >&2
  echo "  apt-get update && $install" >&2
  exit 1
fi

echo "Installing Debian packages:$missing"
# shellcheck disable=SC2086  # both are lists of words
$as_root apt-get update -q && $as_root $install
