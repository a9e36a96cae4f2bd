#!/usr/bin/env bash
# Builds the image of the script sandbox; ./dev image calls it.
#
# It builds the Dockerfile on the first base that it finds: the one that the Dockerfile names, from a registry; else one that
# debootstrap makes from Debian's packages (base.sh), which it keeps. Without any base it copies this machine's files
# (root.sh) and builds only the last stage of the Dockerfile. If a label shows that the image has the same files, it does
# nothing. Exits with 3 if no engine works.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
source=$(dirname "$here")
base=$(sed -n 's/^ARG BASE=//p' "$here/Dockerfile")
packages=$(sed -n 's/^ARG PACKAGES="\(.*\)"/\1/p' "$here/Dockerfile")
engine='' name=localhost/keyturn-harness harness=$source/build/keyturn-harness local='' probe='' mirror=''
cache=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/keyturn
label=keyturn.checksum
stage=keyturn.stage=build

say() { printf '%s\n' "image: $*" >&2; }
fail() { say "$@"; exit 1; }

usage() {
    cat <<'TXT'
image.sh [--probe] [--local] [--base NAME] [--mirror URL] [--engine podman|docker] [--name NAME] [--harness FILE]
  --probe     build nothing; check whether an engine works
  --local     use this machine's own files instead of a base image
  --base      another Debian 12 to build in, if the base of the Dockerfile is not available
  --mirror    where debootstrap finds Debian's packages (default: the mirror of apt)
  --engine    the engine to use (default: the first that works, podman before docker)
  --name      the name of the image (default: localhost/keyturn-harness)
  --harness   the program that --local packs (default: build/keyturn-harness)
TXT
}

while [ $# -gt 0 ]; do
    case "$1" in
    --local) local=yes ;;
    --probe) probe=yes ;;
    --base | --mirror | --engine | --name | --harness)
        [ $# -gt 1 ] || { usage >&2; exit 2; }
        printf -v "${1#--}" %s "$2"
        shift
        ;;
    --help) usage; exit ;;
    *) usage >&2; exit 2 ;;
    esac
    shift
done

# Prints why an engine does not work here, in one line; nothing if it works.
complaint() { # engine
    local said
    if ! command -v "$1" >/dev/null; then
        echo "it is not installed"
    elif ! said=$("$1" info 2>&1 >/dev/null); then
        tail -n 1 <<<"$said"
    elif [ "$1" = docker ] && grep -q 'Cannot connect\|^ERROR' <<<"$said"; then
        grep -m 1 'Cannot connect\|^ERROR' <<<"$said"
    elif [ "$1" = podman ] && [ "$(id -u)" -ne 0 ] && ! grep -qs "^\($(id -un)\|$(id -u)\):" /etc/subuid; then
        echo "$(id -un) has no ids for containers (as root: apt-get install uidmap &&" \
            "usermod --add-subuids 100000-165535 --add-subgids 100000-165535 $(id -un))"
    fi
}

choose_engine() {
    local one why all=
    for one in ${engine:-podman docker}; do
        why=$(complaint "$one")
        [ -n "$why" ] || { engine=$one; return; }
        all+="${all:+; }$one: $why"
    done
    say "no container engine works here: $all"
    exit 3
}

# Sets the engine's command, with options that this machine needs.
command_for() {
    run=("$engine")
    limits=()
    case "$engine" in
    podman)
        # crun refuses a machine that has both kinds of cgroups; the limits podman sets by itself may exceed ours.
        [ -d /sys/fs/cgroup/unified ] && command -v runc >/dev/null && run+=(--runtime=runc)
        limits=(--ulimit nofile=1024:1024 --ulimit nproc=256:256)
        ;;
    docker)
        docker buildx version >/dev/null 2>&1 || export DOCKER_BUILDKIT=0
        ;;
    esac
}

checksum_of() { # files and folders of the source
    (cd "$source" && find "$@" -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -d ' ' -f 1)
}

is_made_of() { # checksum
    [ "$("$engine" image inspect --format "{{index .Config.Labels \"$label\"}}" "$name" 2>/dev/null)" = "$1" ]
}

base_is_there() {
    "$engine" image inspect "$base" >/dev/null 2>&1 && return
    say "asking for $base"
    timeout 300 "$engine" pull "$base" >&2
}

# Prints the mirror that apt uses for this release; nothing if it has none, and debootstrap then uses its default.
apt_mirror() { # suite
    apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 2>/dev/null |
        awk -v suite="$1" '$2 == suite { print $1; exit }' || true
}

# Makes a base from Debian's packages, and keeps it as an archive and as an image. It has everything that the Dockerfile
# installs, so the next build needs no network.
bootstrap_base() {
    local suite=${base#*:} made_of archive old
    suite=${suite%%-*}
    made_of=$(cat "$here/base.sh" - <<<"$suite $packages" | sha256sum | cut -c 1-12)
    base=localhost/keyturn-base:$suite-$made_of
    archive=$cache/base-$suite-$made_of.tar
    "$engine" image inspect "$base" >/dev/null 2>&1 && return
    if [ ! -f "$archive" ]; then
        say "making a base from Debian's packages with debootstrap; keeping it in $cache"
        # shellcheck disable=SC2086 # a list
        "$here/base.sh" "$suite" "${mirror:-$(apt_mirror "$suite")}" "$archive" $packages || return
        for old in "$cache/base-$suite"-*.tar; do
            [ "$old" = "$archive" ] || rm -f "$old"
        done
    fi
    "$engine" import "$archive" "$base" >/dev/null
}

# Exits if there is nothing to do.
leave_alone() { # checksum
    is_made_of "$1" || return 0
    say "$name is up to date"
    exit 0
}

# Removes images without a name: the previous image and the build stage.
remove_nameless() { # id of what was called so; may be empty
    if [ -n "$1" ] && [ "$("$engine" image inspect --format '{{len .RepoTags}}' "$1" 2>/dev/null)" = 0 ]; then
        "$engine" rmi "$1" >/dev/null 2>&1 || true
    fi
    "$engine" image prune --force --filter "label=$stage" >/dev/null 2>&1 || true
}

build() { # checksum how context [options]
    local checksum=$1 how=$2 context=$3 old
    shift 3
    say "building $name $how with $engine"
    old=$("$engine" image inspect --format '{{.Id}}' "$name" 2>/dev/null) || true
    "${run[@]}" build "${limits[@]}" --label "$label=$checksum" -t "$name" "$@" "$context" >&2 || return
    remove_nameless "$old"
}

build_from_dockerfile() {
    build "$made_of" "from $base" "$source" -f "$here/Dockerfile" \
        --build-arg "BASE=$base" --network=host
}

build_from_machine() {
    local tree checksum
    [ -x "$harness" ] || fail "$harness is not built (./dev build builds it)"
    tree=$(dirname "$harness")/image
    exec 9>"$tree.lock"
    flock 9 # one at a time in this folder
    "$here/root.sh" "$harness" "$tree"
    sed -n '/^FROM scratch/,$ p' "$here/Dockerfile" | sed 's,--from=build ,,; s, /image/, ,' >"$tree/Dockerfile"
    checksum=$(cd "$tree" && sha256sum Dockerfile keyturn-harness system.checksum | sha256sum | cut -d ' ' -f 1)
    leave_alone "$checksum"
    build "$checksum" "of this machine's files" "$tree" -f "$tree/Dockerfile" || fail "the build failed"
}

# Starts the image as a proof.
check() {
    local ready
    ready=$(timeout 60 "${run[@]}" run -i --rm "${limits[@]}" --network=none --read-only --cap-drop=ALL \
        --security-opt=no-new-privileges "$name" </dev/null) || true
    grep -q '"type":"ready"' <<<"$ready" || fail "$name does not start: ${ready:-no output}"
    say "$name is ready"
}

choose_engine
[ -z "$probe" ] || exit 0
command_for
made_of=$(checksum_of CMakeLists.txt core/base harness docker)
[ -n "$local" ] || leave_alone "$made_of"
if [ -n "$local" ]; then
    build_from_machine
elif base_is_there; then
    build_from_dockerfile || fail "the build failed (./dev image --local builds from this machine's files)"
elif say "no registry has $base" && bootstrap_base && build_from_dockerfile; then
    say "built on a base made by debootstrap"
else
    say "no base image available; building from this machine's files"
    build_from_machine
fi
check
