#!/usr/bin/env bash
# Memory and artifacts belong to their project, from outside: what a turn gets, the config file, keyturn memory, an old
# database. $1 is the program.
set -u
. "$(dirname "$0")/outside.sh"

call() { printf '{"id":"%s","name":"%s","arguments":%s}' "$1" "$2" "$3"; }
says() { # text: a model that answers with it
    head_lines "x" && answer 1 "$1" ""
}
run_in() { # folder prompt
    kt run --headless --workspace "$1" --model m.jsonl "$2"
}
memories() { grep -o '"type":"context.loaded","memory":\[[^]]*\]' "$base/out"; }
sent() { memories | grep -qF -- "$1"; }
sent_nothing() { memories | grep -qF '"memory":[]'; }
database=keyturn/keyturn.db
sql() { python3 -c 'import sqlite3,sys; c=sqlite3.connect(sys.argv[1]); print(c.execute(sys.argv[2]).fetchall()); c.commit()' "$XDG_DATA_HOME/$database" "$1"; }
config() { mkdir -p config/keyturn && printf '%s\n' "$1" >config/keyturn/config.json; }

begin "memory stays in its project"
mkdir -p a/.git a/src/deep b
says "The zebra parser is in lines.c." >m.jsonl
run_in a/src "Where is the zebra parser?"
ok "exit 0" is 0
ok "stored" out '"memory":{"status":"done"}'
run_in a/src/deep "Is the zebra parser fast?"
ok "sent in another folder of the repository" sent "Where is the zebra parser?"
ln -s a/src link
run_in link "Is the zebra parser small?"
ok "sent through a link" sent "Where is the zebra parser?"
run_in b "Is the zebra parser slow?"
ok "not sent in another project" sent_nothing
ok "the request says nothing of it" no_out "lines.c. Sources"
kt run --workspace a --model m.jsonl "The zebra parser again"
ok "the screen says how many" out "memories"

begin "config"
mkdir a b
says "The zebra parser is in lines.c." >m.jsonl
run_in a "Where is the zebra parser?"
config '{"memory": "global"}'
run_in b "Is the zebra parser slow?"
ok "global: sent in another project" sent "Where is the zebra parser?"
config '{"memory": "off"}'
before=$(kt memory --json && wc -l <"$base/out")
run_in a "Is the zebra parser slow?"
ok "off: nothing is sent" sent_nothing
ok "off: nothing is kept" out '"memory":{"status":"skipped"}'
kt memory --json
ok "off: not one more" test "$(wc -l <"$base/out")" -eq "$before"
kt memory
ok "off is said" out "Memory is off"
config '{"memory": "some"}'
run_in a x
refused "project, global or off"

begin "keyturn memory"
kt memory
ok "none: exit 0" is 0
ok "none is said" out "No memories yet"
ok "looking makes no database" test ! -e "$XDG_DATA_HOME/$database"
mkdir a b
says "The zebra parser is in lines.c." >m.jsonl
run_in a "First question"
says "The giraffe printer is in page.c." >m.jsonl
run_in b "Second question"
kt memory
ok "exit 0" is 0
ok "lists one" out "Asked: First question"
ok "and the other" out "Asked: Second question"
ok "with their projects" out "~/a "
ok "newest first" test "$(grep -n Second "$base/out" | cut -d: -f1)" -lt "$(grep -n First "$base/out" | cut -d: -f1)"
kt memory --json
ok "one line each" test "$(wc -l <"$base/out")" -eq 2
ok "the project in full" out "\"project\":\"$home/a\""
kt memory forget 1
ok "exit 0" is 0
ok "says so" out "Forgot 1 memory."
kt memory --json
ok "the other is left" test "$(wc -l <"$base/out")" -eq 1
ok "it is the other" out "Second question"
kt memory forget 1
ok "gone: exit 1" is 1
ok "says so" err "no memory 1"
kt memory forget
refused "needs an ID or all"
kt memory forget some
refused "takes an ID or all"
kt memory forget 0
refused "takes an ID or all"
kt memory forget 2 3
refused "and nothing else"
kt memory drop
refused "keyturn memory forget ID"
run_in a "Third question about zebras"
kt memory forget all
ok "all: exit 0" is 0
ok "all: says how many" out "Forgot 2 memories."
kt memory
ok "nothing is left" out "No memories yet"

begin "a database from before there were projects"
mkdir a
says "Seen." >m.jsonl
run_in a "warm up"
sql 'DELETE FROM memory'
sql 'ALTER TABLE memory DROP COLUMN project'
sql 'ALTER TABLE session DROP COLUMN undone'
sql 'ALTER TABLE session DROP COLUMN approved'
sql 'ALTER TABLE session DROP COLUMN denied'
sql 'CREATE TABLE decision (session TEXT, turn INTEGER, text TEXT, wall_us INTEGER)'
sql 'CREATE TABLE lesson (tool TEXT PRIMARY KEY, calls INTEGER, failures INTEGER)'
sql "INSERT INTO memory (session, text, wall_us) VALUES ('s', 'Asked: where is the zebra parser?', 5)"
sql 'PRAGMA user_version = 2'
run_in a "Where is the zebra parser?"
ok "exit 0" is 0
ok "it is not sent" sent_nothing
config '{"memory": "global"}'
run_in a "unrelated words only"
run_in a "zebra"
ok "not even everywhere" test -z "$(memories | grep -F 'Asked: where is the zebra')"
kt memory
ok "it is listed" out "unassigned"
ok "and explained" out "never sent to the model"
sql 'PRAGMA user_version = 99'
kt memory
ok "a newer one: exit 1" is 1
ok "a newer one says so" err "written by a newer keyturn"

begin "an artifact belongs to its project"
mkdir a b
saving() { # text
    head_lines x && answer 1 "" "$(call c1 workspace_exec "{\"command\":\"echo $1 > out/report.csv\"}")" &&
        answer 2 "" "$(call c2 save_artifact '{"path":"out/report.csv"}')" && answer 3 "Saved." ""
}
saving "of_a" >m.jsonl
kt run --headless --approve allow --workspace a --model m.jsonl x
if out "no sandbox for programs"; then
    echo "no sandbox for programs here: artifacts are not tried"
else
    ok "saved" out '"ref":"artifact://report.csv@0"'
    saving "of_b" >m.jsonl
    kt run --headless --approve allow --workspace b --model m.jsonl x
    ok "the other project has a first version too" out '"ref":"artifact://report.csv@0"'
    kt run --headless --approve allow --workspace b --model m.jsonl x
    ok "and a second" out '"ref":"artifact://report.csv@1"'
    { head_lines x && answer 1 "" "$(call c1 load_artifact '{"ref":"report.csv"}')" && answer 2 "Read." ""; } >m.jsonl
    kt run --headless --workspace a --model m.jsonl x
    ok "the first project reads its own" out 'of_a'
    ok "and not the other" no_out 'of_b'
fi

finish
