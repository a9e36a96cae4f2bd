# Uses a repository: commits, a branch, a merge, a clone, packing and the check of it.
# needs: git
set -eu
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
git init -q -b main one
cd one
for i in 1 2 3 4 5; do
    seq $((i * 200)) >"file$i"
    git add .
    git commit -q -m "commit $i"
done
git checkout -q -b side HEAD~2
echo side >other
git add other
git commit -q -m side
git checkout -q main
git merge -q --no-edit side
git gc -q
git fsck --strict
git -c pack.threads=2 repack -a -d -f -q
cd ..
git clone -q --no-local one two
git clone -q --shared one three
cd two
test "$(git log --oneline | wc -l)" -eq 7
git grep -q 777 -- file5
git stash list
git worktree add -q ../four side
