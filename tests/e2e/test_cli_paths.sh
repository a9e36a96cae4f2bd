#!/usr/bin/env bash
# Tests where writes go, from outside: links, protected paths without a user, attributes that a write keeps. $1 is the
# program.
set -u
. "$(dirname "$0")/outside.sh"

writes() { # path…: a model that writes "new" to each
    local i=1 path
    head_lines "Write."
    for path in "$@"; do
        answer $i "" '{"id":"c'$i'","name":"write_file","arguments":{"path":"'$path'","content":"new\n"}}'
        i=$((i + 1))
    done
    answer $i "Done." ""
}

begin "protected paths"
mkdir -p ws/.git/hooks ws/sub/.git ws/src
ln -s .git/hooks ws/docs
for mode in allow ask deny; do
    for path in .git/hooks/pre-commit docs/pre-commit sub/.git/config .GIT/config .keyturn/rules .git; do
        writes "$path" >m.jsonl
        kt run --headless --workspace ws --model m.jsonl --approve $mode x
        if [ "$path" = .git ]; then # a folder is not a file, protected or not
            ok "$mode $path: exit 0" is 0
            continue
        fi
        ok "$mode $path: exit 4" is 4
        ok "$mode $path: says that it is protected" err "is protected ("
        ok "$mode $path: denied by policy" out '"decision":"denied","by":"policy"'
        ok "$mode $path: the reason is recorded" out "a write there needs a person's approval"
    done
done
ok "no hook" [ ! -e ws/.git/hooks/pre-commit ]
ok "no rules" [ ! -e ws/.keyturn ]
ok "no config" [ ! -e ws/sub/.git/config ]
writes docs/pre-commit >m.jsonl
kt run --workspace ws --model m.jsonl --approve allow x
ok "plain text: exit 4" is 4
ok "names the resolved path" out ".git/hooks/pre-commit"
ok "and the link" out "via link: docs/pre-commit"
ok "and why" out "protected: git runs the files in it"
ok "stderr says which and why" err ".git/hooks/pre-commit is protected (git runs the files in it)"
writes src/a .envrc >m.jsonl
kt run --headless --workspace ws --model m.jsonl --approve allow x
ok "other paths are written: exit 0" is 0
ok "without a message" quiet
ok "a dangerous path is marked" out '"dangerous":"direnv runs it when a shell enters the folder"'
ok "and is written" grep -qx new ws/.envrc

refused() { # name, path: the write is refused, with the reason
    writes "$2" >m.jsonl
    kt run --headless --workspace "${3:-ws}" --model m.jsonl --approve allow x
    ok "$1, $2: exit 4" is 4
    ok "$1, $2: says that it is protected" err "is protected ("
}

begin "a .git in another folder"
mkdir -p ws/store/hooks
ln -s store ws/.git
refused "a link" .git/hooks/pre-commit
refused "a link" store/hooks/pre-commit
rm ws/.git
echo "gitdir: store" >ws/.git
refused "a file that names it" store/hooks/pre-commit
ok "no hook" [ ! -e ws/store/hooks/pre-commit ]
mkdir -p ws/rules
ln -s rules ws/.keyturn
refused "our rules" rules/x
ok "no rules" [ ! -e ws/rules/x ]

begin "a workspace in .git"
mkdir -p ws/.git/hooks
refused "the root" hooks/pre-commit ws/.git
refused "the root" x ws/.git
ok "no hook" [ ! -e ws/.git/hooks/pre-commit ]

begin "a recorded approval"
mkdir -p ws/.git
cp -r ws r
writes .git/x >m.jsonl
kt run --headless --workspace ws --model m.jsonl --approve allow --record r.jsonl x
sed -i 's/"decision":"denied","by":"policy"/"decision":"approved","by":"key"/' r.jsonl
kt replay --execute r.jsonl --workspace ws
ok "does not approve a protected path" [ ! -e ws/.git/x ]

begin "links"
mkdir ws/d out
echo old >ws/d/real
ln -s real ws/d/link
ln -s "$home/out" ws/away
writes d/link away/x >m.jsonl
kt run --headless --workspace ws --model m.jsonl --approve allow x
ok "exit 0" is 0
ok "the target of the link is written" grep -qx new ws/d/real
ok "the link stays" [ -L ws/d/link ]
ok "the event names the file" out '"path":"d/real"'
ok "and names the link" out '"through":"d/link"'
ok "a link that leads outside is refused" out 'path escapes workspace: away/x (away is a symbolic link to '
ok "no file outside" [ -z "$(ls out)" ]

begin "attributes"
echo old >ws/a
chmod 4751 ws/a
ln ws/a ws/b
writes a >m.jsonl
kt run --headless --workspace ws --model m.jsonl --approve allow x
ok "exit 0" is 0
ok "the event lists lost attributes" out '"loses":["setuid","hard links (1 other name keeps the old content)"]'
ok "setuid is lost, the rest stays" [ "$(stat -c %a ws/a)" = 751 ]
ok "the hard link keeps the old content" grep -qx old ws/b
kt run --workspace ws --model m.jsonl --approve deny x
chmod 4751 ws/a
echo older >ws/a
kt run --workspace ws --model m.jsonl --approve deny x
ok "the plain text lists them" out "loses: setuid"

chmod 4751 ws/a
{ head_lines "Delete." && answer 1 "" '{"id":"c1","name":"delete_file","arguments":{"path":"a"}}' && answer 2 "Done." ""; } >m.jsonl
kt run --workspace ws --model m.jsonl --approve deny x
ok "a deletion lists what undo cannot restore" out "undo does not bring back: setuid"

finish
