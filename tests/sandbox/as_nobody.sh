#!/usr/bin/env bash
# Tests of programs and their files once more as nobody: to root no file is shut, and a sandbox that root may make is not
# one that everybody may. as_nobody.sh LAUNCHER TEST...
set -euo pipefail
[ "$(id -u)" -eq 0 ] || {
    echo "not root: the tests themselves run as somebody"
    exit 77
}
setpriv --reuid=65534 --regid=65534 --clear-groups bwrap --ro-bind / / true 2>/dev/null || {
    echo "nobody may not make a sandbox here"
    exit 77
}
# Nobody may not get to the build folder, so everything is brought to where it can.
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
chmod 755 "$place"
mkdir "$place/tests" "$place/home"
install -m 755 "$1" "$place/"
install -m 755 "$(dirname "$1")/tests/try_call" "$place/tests/"
cp -r "$(dirname "$0")/attacks" "$place/attacks"
cp -r "$(dirname "$0")/toolchains" "$place/toolchains"
chmod -R a+rX "$place/attacks" "$place/toolchains"
chown 65534:65534 "$place/home"
shift
status=0
for test in "$@"; do
    install -m 755 "$test" "$place/tests/"
    echo "== ${test##*/}"
    (cd "$place/home" && HOME=$place/home TMPDIR=$place/home KEYTURN_ATTACKS=$place/attacks KEYTURN_TOOLCHAINS=$place/toolchains setpriv --reuid=65534 --regid=65534 --clear-groups \
        "$place/tests/${test##*/}" 2>&1) || status=1
done
exit $status
