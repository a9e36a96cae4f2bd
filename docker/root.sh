#!/usr/bin/env bash
# root.sh HARNESS DIR makes the trees of the image in DIR from the files of this machine (the build stage of the
# Dockerfile): DIR/system with Python's library and every shared object, DIR/keyturn-harness, and DIR/owned with what belongs
# to the sandbox's user. Each tree is a layer, so parts that rarely change are rarely built. A tree whose files did not change
# stays as it is.
set -euo pipefail
export LC_ALL=C
harness=$1 out=$2
system=$out/system

# Not in the image: modules that need a screen, a compiler, a network or a second process, and Python's own tests.
left_out=(config-* dist-packages distutils ensurepip idlelib lib2to3 pydoc_data site-packages sitecustomize.py test
    tkinter turtle.py turtledemo venv)
others=(/usr/lib/locale/C.utf8 /usr/share/zoneinfo)

libpython=$(ldd "$harness" | awk '/libpython/ { print $1 }')
[ -n "$libpython" ] || { echo "root.sh: $harness does not use libpython" >&2; exit 1; }
python=${libpython#lib} python=${python%.so.*}
home=$(pkg-config --variable=prefix "${python/python/python-}-embed")
stdlib=$home/lib/$python
[ -f "$stdlib/os.py" ] || { echo "root.sh: $python has no library at $stdlib" >&2; exit 1; }

# Shared objects by the names that the loader looks for. libgcc_s is loaded by the first thread that ends.
mapfile -t objects < <(
    {
        ldd "$harness" "$stdlib"/lib-dynload/*.so | sed -n 's,^\t\(.*=> \)\?\(/[^ ]*\) (.*,\2,p'
        /sbin/ldconfig -p | awk '$1 == "libgcc_s.so.1" { print $NF; exit }'
    } | sort -u
)

made_of() {
    cat "$0"
    sha256sum "${objects[@]}"
    find "$stdlib" "${others[@]}" -name __pycache__ -prune -o -printf '%p %s %T@\n' 2>/dev/null | sort
}

copy() { # folder [options of tar]
    local folder=$1
    shift
    mkdir -p "$system$folder"
    tar -C "$folder" -c "$@" . | tar -C "$system$folder" -x --no-same-owner
}

make_system() {
    local object place dir folder
    rm -rf "$system"
    mkdir -p "$system"/{dev,etc,proc,run,sys,tmp,tools,usr/bin}
    chmod 1777 "$system/tmp"
    echo 'sandbox:x:65534:65534::/workspace:/nonexistent' >"$system/etc/passwd"
    echo 'sandbox:x:65534:' >"$system/etc/group"
    copy "$stdlib" "${left_out[@]/#/--exclude=./}" --exclude=__pycache__ --exclude=test --exclude=tests
    for object in "${objects[@]}"; do
        place=$object
        [[ $object == /lib* ]] && place=/usr$object
        mkdir -p "$system${place%/*}"
        cp -L "$object" "$system$place"
    done
    for dir in "$system"/usr/lib*; do
        ln -s "usr/${dir##*/}" "$system/${dir##*/}"
    done
    for folder in "${others[@]}"; do
        [ ! -d "$folder" ] || copy "$folder" --exclude=./posix --exclude=./right
    done
    # The root is read-only, so Python would compile missing byte code again at every start. Use unchecked hashes,
    # because file times may change when the image is built.
    PYTHONHASHSEED=0 "$home/bin/$python" -I -m compileall -q -j 0 --invalidation-mode unchecked-hash \
        -s "$system" -p / "$system$stdlib"
}

umask 022
mkdir -p "$out/owned/workspace"
chmod 777 "$out/owned/workspace"
checksum=$(made_of | sha256sum | cut -d ' ' -f 1)
if [ "$(cat "$out/system.checksum" 2>/dev/null)" != "$checksum" ]; then
    echo "root.sh: copying $python, its library and their shared objects to $out" >&2
    rm -f "$out/system.checksum"
    make_system
fi
cp "$harness" "$out/keyturn-harness"
chmod 755 "$out/keyturn-harness"
# The same files give the same layers, at any time and on any machine.
find "$out" -exec touch -h -d @1000000000 {} +
echo "$checksum" >"$out/system.checksum"
