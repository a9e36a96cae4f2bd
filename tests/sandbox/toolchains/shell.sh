# Runs the commands of configure scripts and Makefiles: pipes, here-documents, archives, locks, times, owners.
# needs: sh tar gzip awk sed find xargs install
set -eu
mkdir -p tree/a/b
for i in 1 2 3; do echo "line $i" >"tree/a/b/$i"; done
ln -s b tree/a/link
tar czf tree.tar.gz tree
mkdir out
tar xzf tree.tar.gz -C out
diff -r tree out/tree
find out -type f -print0 | xargs -0 -P 2 -n 1 sed -i 's/line/word/'
test "$(cat out/tree/a/b/* | awk '{ n += $2 } END { print n }')" -eq 6
install -D -m 755 tree/a/b/1 prefix/bin/one
touch -d '2001-01-01' prefix/bin/one
flock lock true
timeout 5 nice -n 5 true
mkfifo pipe
echo through >pipe &
test "$(cat pipe)" = through
wait
setarch -R true
mktemp -d >/dev/null
