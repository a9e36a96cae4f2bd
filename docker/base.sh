#!/usr/bin/env bash
# base.sh SUITE MIRROR FILE PACKAGE… makes an archive of a Debian with these packages, to build the image in when no registry
# has the base. Needs root, as debootstrap does. FILE is written whole or not at all.
set -euo pipefail
suite=$1 mirror=$2 file=$3
shift 3
fail() { echo "base.sh: $*" >&2; exit 1; }

[ "$(id -u)" -eq 0 ] || fail "debootstrap needs root"
command -v debootstrap >/dev/null || fail "debootstrap is not installed"
mkdir -p "$(dirname "$file")"
work=$(mktemp -d "$file.XXXXXX")

# Unmount first: removing the folder must not reach what a failed attempt left mounted.
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
