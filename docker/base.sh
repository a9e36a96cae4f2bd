#!/usr/bin/env bash
# base.sh SUITE MIRROR FILE PACKAGE… makes a Debian to build in, with these packages, as an archive: what a registry would
# have had. It takes root, as debootstrap does. FILE is there afterwards, or nothing is.
set -euo pipefail
suite=$1 mirror=$2 file=$3
shift 3
fail() { echo "base.sh: $*" >&2; exit 1; }

[ "$(id -u)" -eq 0 ] || fail "debootstrap needs root"
command -v debootstrap >/dev/null || fail "debootstrap is not installed"
mkdir -p "$(dirname "$file")"
work=$(mktemp -d "$file.XXXXXX")

# Whatever a failed attempt left mounted is no part of what is removed.
clean() {
    local place
    while read -r place; do
        umount -l "$place" || true
    done < <(awk -v below="$work/" 'index($2, below) == 1 { print $2 }' /proc/mounts)
    rm -rf --one-file-system "$work"
}
trap clean EXIT

packages=$(IFS=,; echo "$*")
debootstrap --variant=minbase --include="$packages" "$suite" "$work/root" ${mirror:+"$mirror"} >"$work/log" 2>&1 ||
    fail "debootstrap $suite${mirror:+ from $mirror}: $(grep -m 1 '^[EW]:' "$work/log" || tail -n 1 "$work/log")"
rm -rf "$work/root/var/cache/apt/archives" "$work/root/var/lib/apt/lists"
mkdir -p "$work/root"/var/{cache/apt/archives/partial,lib/apt/lists/partial}
tar -C "$work/root" --one-file-system --numeric-owner --exclude='./dev/*' --exclude='./proc/*' -cf "$work/tar" .
mv "$work/tar" "$file"
