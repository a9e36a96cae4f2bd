#!/usr/bin/env bash
# Tests how docker/image.sh gets an image, with an engine and a debootstrap that only log their commands. $1 is keyturn;
# the harness lies beside it.
set -u
harness=$(dirname "$(readlink -f "${1:?usage: test_image-ways.sh PROGRAM}")")/keyturn-harness
source=$(readlink -f "$(dirname "$0")/../..")
base=$(mktemp -d "${TMPDIR:-/tmp}/keyturn-ways-XXXXXX")
trap 'rm -rf "$base"' EXIT
failed=0
mkdir "$base/bin" "$base/own"
cp "$harness" "$base/own/keyturn-harness"
export PATH=$base/bin:$PATH XDG_CACHE_HOME=$base/cache NOTES=$base/notes

# Its images are files in $base/images; a registry answers if a file `registry` exists.
cat >"$base/bin/podman" <<TXT
#!/bin/sh
[ "\$1" = --runtime=runc ] && shift
echo "podman \$1 \$2" >>"\$NOTES"
case "\$1" in
info) exit 0 ;;
image) [ "\$2" != prune ] || exit 0
    for name; do :; done
    case "\$4" in *Labels*) cat "$base/label" 2>/dev/null; exit ;; esac
    test -f "$base/images/\$(echo "\$name" | tr / _)" ;;
pull) test -f "$base/registry" ;;
import) mkdir -p "$base/images" && touch "$base/images/\$(echo "\$3" | tr / _)" ;;
build) for word; do case "\$word" in keyturn.checksum=*) echo "\${word#*=}" >"$base/built" ;; esac; done
    test ! -f "$base/no-build" || ! rm "$base/no-build" ;;
run) echo '{"type":"ready"}' ;;
esac
TXT
cat >"$base/bin/debootstrap" <<TXT
#!/bin/sh
echo "debootstrap \$*" >>"\$NOTES"
[ ! -f "$base/no-packages" ] || { echo "E: no mirror answers"; exit 1; }
for root; do case "\$root" in */root) mkdir -p "\$root/etc" ;; esac; done
TXT
cat >"$base/bin/id" <<'TXT'
#!/bin/sh
[ "$1" = -u ] && echo 0 || exec /usr/bin/id "$@"
TXT
chmod +x "$base"/bin/*

image() { # builds; output in `said`, commands in $NOTES
    : >"$NOTES"
    said=$("$source/docker/image.sh" --engine podman --name x --harness "$base/own/keyturn-harness" --mirror http://mirror/ 2>&1)
    status=$?
}
expect() { # what, pattern, text
    grep -q -- "$2" <<<"$3" && return
    failed=$((failed + 1))
    printf 'FAIL %s: no %s in:\n%s\n' "$1" "$2" "$3"
}
expect_not() {
    grep -q -- "$2" <<<"$3" || return 0
    failed=$((failed + 1))
    printf 'FAIL %s: %s in:\n%s\n' "$1" "$2" "$3"
}

touch "$base/registry"
image
expect "a registry" "building x from debian:bookworm-slim" "$said"
expect "what has no name is removed" "podman image prune" "$(cat "$NOTES")"
expect_not "a registry" debootstrap "$(cat "$NOTES")"

cp "$base/built" "$base/label"
image
expect "nothing changed" "^image: x is up to date$" "$said"
expect_not "nothing changed" "building\|ready\|asking" "$said"
expect_not "nothing changed" "pull\|build\|run" "$(cat "$NOTES")"
rm "$base/label"

rm "$base/registry"
image
expect "no registry" "building x from localhost/keyturn-base:bookworm-" "$said"
expect "no registry" "built on a base made by debootstrap" "$said"
expect "no registry" "debootstrap --variant=minbase --include=gcc,.*python3,tzdata bookworm .*/root http://mirror/" "$(cat "$NOTES")"
expect "the base is kept" "base-bookworm-.*\.tar" "$(ls "$base/cache/keyturn")"

image
expect "again" "built on a base made by debootstrap" "$said"
expect_not "again" "debootstrap\|import" "$(cat "$NOTES")"
rm -r "$base/images"
image
expect "the engine has forgotten it" "podman import" "$(cat "$NOTES")"
expect_not "the engine has forgotten it" "debootstrap " "$(cat "$NOTES")"

rm -r "$base/images" "$base/cache"
touch "$base/no-packages"
image
expect "no packages either" "debootstrap bookworm from http://mirror/: E: no mirror answers" "$said"
expect "no packages either" "no base image available; building from this machine's files" "$said"
expect "no packages either" "building x of this machine's files" "$said"
expect "nothing is left behind" "^$" "$(ls "$base/cache/keyturn")"
[ "$status" -eq 0 ] || { echo "FAIL status $status"; failed=$((failed + 1)); }

echo "$failed failed"
[ "$failed" -eq 0 ]
