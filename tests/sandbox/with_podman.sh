#!/usr/bin/env bash
# Runs the command if podman works: with_podman.sh COMMAND… If not, one line names the cause; the test counts as skipped
# for an ordinary user and as failed for root.
here=$(dirname "$(readlink -f "$0")")
if said=$("$here/../../docker/image.sh" --probe --engine podman 2>&1); then
    exec "$@"
fi
printf '%s\n' "$said" >&2
[ "$(id -u)" -eq 0 ] && exit 1
exit 77
