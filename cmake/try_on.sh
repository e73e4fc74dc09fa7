#!/bin/sh
# try_on.sh RELEASE [TARGET...]: tries the README's commands on another release of Debian (bookworm, trixie). Makes a minimal system of it, puts a
# clean clone of HEAD into it, runs `make TARGET` there (demo, then test, where none is named; build is the quickest), and prints the closing
# lines of each and the time it took. Ends with the status of the first that failed.
#
# Needs root (chroot, mounts) and mmdebstrap; packages come from the mirror that this system's apt uses. The systems and the packages stay in
# TRY_FOLDER (build-try), so that another run needs no network; remove it to begin anew. TRY_JOBS: how many jobs make uses (all processors).
set -eu
cd "$(dirname "$0")/.."
[ $# -ge 1 ] || { sed -n '2,7s/^# //p' "$0" >&2; exit 2; }
release=$1
shift
[ $# -gt 0 ] || set -- demo test
[ "$(id -u)" -eq 0 ] || { echo "try_on.sh needs root, for chroot and mounts: sudo $0 $release" >&2; exit 1; }
cmake/require_packages.sh mmdebstrap git util-linux

mkdir -p "${TRY_FOLDER:=build-try}"
folder=$(cd "$TRY_FOLDER" && pwd)
base=$folder/$release.tar
root=$folder/$release

# The first address of Debian's archive among apt's sources, of either form (one line, or "URIs:").
mirror=$(apt-get indextargets --format '$(SITE) $(RELEASE)' 'Created-By: Packages' 'Label: Debian' 2>/dev/null | sed -n '1s/ .*//p')
[ -n "$mirror" ] || { echo "apt's sources name no archive of Debian" >&2; exit 1; }

if [ ! -e "$base" ]; then
  echo "Making a system of $release"
  # mmdebstrap makes a tar file, and no folder, because of the name's ending.
  mmdebstrap --quiet --variant=minbase --include=ca-certificates,make,git "$release" "$folder/$release.new.tar" \
    "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $release main"
  mv "$folder/$release.new.tar" "$base"
fi

# A system that has the packages of an earlier run keeps them; the clone is new.
[ -e "$root/usr/bin/make" ] || { mkdir -p "$root" && tar -xf "$base" -C "$root"; }
rm -rf "$root/foreshard"
git clone -q --no-hardlinks . "$root/foreshard"
cp -L /etc/resolv.conf "$root/etc/resolv.conf"

# Runs a command in the system. Mounts live in a namespace of their own, so that they go with it, however it ends.
inside() {
  unshare --mount --propagation private sh -eu -c '
    root=$1
    shift
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 HOME=/root DEBIAN_FRONTEND=noninteractive "$@"' sh "$root" "$@"
}

for target in "$@"; do
  log=$folder/$release-$target.log
  began=$(date +%s)
  status=0
  inside make -C /foreshard "$target" JOBS="${TRY_JOBS:-$(nproc)}" >"$log" 2>&1 || status=$?
  tail -n 12 "$log"
  echo "$release: make $target ended with $status after $(($(date +%s) - began)) s; $log has all of it"
  [ $status -eq 0 ] || exit $status
done
