#!/usr/bin/env bash
# Runs tests of programs and files once more as the user nobody: root can open every file, and a sandbox that root may
# create is not open to every user. as_nobody.sh LAUNCHER TEST...
#
# A test is a program, a file of cases, a script of tests/e2e, or arguments for hostile.py in one word.
# $KEYTURN_TEST_UID is not the user nobody: one test fills that user's quota of keys.
set -euo pipefail
uid=${KEYTURN_TEST_UID:-65534}
as_user() { setpriv --reuid="$uid" --regid="$uid" --clear-groups "$@"; }
[ "$(id -u)" -eq 0 ] || {
    echo "not root: the tests themselves run as an ordinary user"
    exit 77
}
as_user bwrap --ro-bind / / true 2>/dev/null || {
    echo "the user nobody may not make a sandbox here"
    exit 77
}
# The user nobody cannot enter the build folder, so all files are copied to a folder that it can.
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
chmod 755 "$place"
mkdir "$place/tests" "$place/home"
build=$(dirname "$1") tests=$(readlink -f "$(dirname "$0")/..")
for made in "$1" "$build/keyturn" "$build/keyturn-harness"; do
    install -m 755 "$made" "$place/"
done
install -m 755 "$build/tests/try_call" "$place/tests/"
for folder in sandbox e2e support; do
    cp -r "$tests/$folder" "$place/tests/$folder"
done
mkdir "$place/core"
cp -r "$tests/../core/sandbox" "$place/core/"
chmod -R a+rX "$place/tests" "$place/core"
chown "$uid:$uid" "$place/home"
export HOME=$place/home TMPDIR=$place/home
export KEYTURN_ATTACKS=$place/tests/sandbox/attacks KEYTURN_TOOLCHAINS=$place/tests/sandbox/toolchains
shift
cd "$place/home"
status=0
for test in "$@"; do
    echo "== ${test##*/}"
    case $test in
    *.sh) as_user bash "$place/tests/e2e/$test" "$place/keyturn" 2>&1 || status=1 ;;
    --*) # shellcheck disable=SC2086 # these are words
        as_user /usr/bin/python3 "$place/tests/sandbox/hostile.py" --harness "$place/keyturn-harness" $test 2>&1 || status=1 ;;
    *.case)
        install -m 755 "$build/tests/case_runner" "$test" "$place/tests/"
        as_user "$place/tests/case_runner" "$place/tests/${test##*/}" 2>&1 || status=1
        ;;
    *)
        install -m 755 "$test" "$place/tests/"
        as_user "$place/tests/${test##*/}" 2>&1 || status=1
        ;;
    esac
done
exit $status
