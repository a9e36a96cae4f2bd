#!/usr/bin/env bash
# Tests that no output contains a raw control, bidirectional control or invisible character, in a pipe or a terminal,
# for any input. Recordings of older versions contain them; every digest still matches. $1 is the program.
set -u
. "$(dirname "$0")/outside.sh"

# CSI, OSC … ST, a direction, an isolate, a blank without width, a line separator, a tag, DEL, the emoji selector.
hostile=$'\u009b31m\u009d0;PWN\u009c\u202egnp\u2066\u200b\u2028\U000e0041\x7f\ufe0f'
as_json='\u009b31m\u009d0;PWN\u009c\u202egnp\u2066\u200b\u2028\udb40\udc41\u007f\ufe0f'

clean() { # files: contains no forbidden bytes; output for a terminal may contain SGR
    python3 - "$@" <<'END'
import re, sys, unicodedata
bad = {0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180E, 0x3164, 0xFEFF, 0xFFA0}
for name in sys.argv[1:]:
    text = open(name, "rb").read().decode("utf-8")  # not UTF-8: an error, and so not clean
    text = re.sub("\x1b\\[[0-9;]*m", "", text)
    for at, c in enumerate(text):
        cp = ord(c)
        if (cp < 0x20 and c not in "\n\r\t") or 0x7F <= cp < 0xA0 or cp in bad or 0x200B <= cp <= 0x200F \
           or 0x2028 <= cp <= 0x202E or 0x2060 <= cp <= 0x206F or 0xFE00 <= cp <= 0xFE0F or 0xE0000 <= cp <= 0xE0FFF:
            sys.exit("%s: U+%04X in %r" % (name, cp, text[max(0, at - 30):at + 30]))
END
}
both() { # what, words of the command: into a pipe, and on a terminal
    local what=$1
    shift
    kt "$@"
    ok "$what: a pipe" clean "$base/out" "$base/err"
    on_tty "$(printf '%q ' "$program" "$@")"
    ok "$what: a terminal" clean "$base/out" "$base/err"
}
same_values() { # two files of JSON lines
    python3 -c 'import json, sys
a, b = ([json.loads(line) for line in open(name)] for name in sys.argv[1:])
sys.exit(a != b)' "$1" "$2"
}
hostile_script() {
    head_lines "x"
    answer 1 "I say $as_json" '{"id":"c'"$as_json"'","name":"write_file","arguments":{"path":"new.txt","content":"'"$as_json"'\n"}},{"id":"c2","name":"read_file","arguments":{"path":"h.txt"}}'
    answer 2 "Done $as_json" ""
}

begin "a turn"
printf '%s\n' "$hostile" >ws/h.txt
hostile_script >m.jsonl
kt run --headless --approve allow --record r.jsonl --workspace ws --model m.jsonl "do $hostile"
ok "exit 0" is 0
ok "headless" clean "$base/out" "$base/err"
ok "all text is present" out "do $as_json"
ok "the arguments too" out "\"content\":\"$as_json"
ok "the record" clean r.jsonl
ok "the output equals the record" cmp -s "$base/out" r.jsonl
ok "the file has the real bytes" test "$(cat ws/new.txt)" = "$hostile"
rm ws/new.txt
on_tty "$(printf '%q ' "$program" run --headless --approve allow --workspace ws --model m.jsonl "do $hostile")"
ok "headless on a terminal" clean "$base/out" "$base/err"
rm ws/new.txt
both "the plain account" run --approve deny --workspace ws --model m.jsonl "do $hostile"
both "sessions" sessions
both "sessions --json" sessions --json
kt sessions --json
ok "with the prompt" out "do $as_json"
both "replay" replay r.jsonl
both "replay --headless" replay --headless r.jsonl

begin "a recording of an older version"
cp -r "$source/tests/e2e/printable/." .
ok "contains the raw bytes" grep -qaF $'\u009b31m' old.jsonl
kt replay --check --workspace ws old.jsonl
ok "the check agrees" is 0
ok "and says so" out "agree"
kt replay --headless old.jsonl
ok "printed: exit 0" is 0
ok "printed: escaped" clean "$base/out" "$base/err"
cp "$base/out" printed
ok "printed: equal values" same_values old.jsonl printed
kt replay --check --workspace ws printed
ok "the printed recording agrees too" is 0
# Running it again and recording it: digests of requests and writes equal the recorded ones. The system prompt comes
# from the recording, because the built-in one has changed since.
python3 -c 'import json
events = map(json.loads, open("old.jsonl"))
prepared = next(event for event in events if event["type"] == "turn.prepared")
open("system.txt", "w").write(prepared["messages"][0]["text"])'
kt run --headless --approve allow --record new.jsonl --workspace ws --system system.txt --model old.jsonl $'Again: \u009b5m\u202e'
digests() { python3 -c 'import re, sys
print(sorted(re.findall(r"\"[a-z_]*(?:digest|hash|old_sha|new_sha|sha256)[a-z_]*\":\"([0-9a-f]{32,})\"", open(sys.argv[1]).read())))' "$1"; }
ok "the recording has digests" test "$(digests old.jsonl)" != "[]"
ok "digests stay" test "$(digests old.jsonl)" = "$(digests new.jsonl)"

begin "scripts"
printf 'print("%s")\nemit = {"x": "%s"}\nresult = "%s"\n' "$hostile" "$hostile" "$hostile" >s.py
both "exec" exec s.py
printf 'raise ValueError("%s")\n' "$hostile" >f.py
both "exec that fails" exec f.py

begin "files of the user"
mkdir -p config/keyturn/themes
printf '%s red\n' "$hostile" >config/keyturn/themes/bad.theme
printf 'nonsense %s\n' "$hostile" >"config/keyturn/themes/x$hostile.theme"
printf 'text \x9b31m\n' >config/keyturn/themes/worse.theme
both "themes" themes
both "doctor" doctor
printf '{"keys": {"step": "s \u202e"}}' >config/keyturn/config.json
both "keys" keys
printf '{"model": "%s"}' "$as_json" >config/keyturn/config.json
both "a model that is not there" run --workspace ws x
both "config with a wrong key" run --config "no$hostile" x
both "usage: command" "no$hostile"
both "usage: option" run "--no$hostile"
both "usage: help" help "no$hostile"
both "usage: theme" replay --theme "no$hostile" m.jsonl
both "usage: session" replay "no$hostile"
printf '{"type":"session.started","v":1}\n{"type":"%s","x":"%s"}\nnot JSON %s\n' "$hostile" "$hostile" "$hostile" >broken.jsonl
both "a broken recording" replay --headless broken.jsonl
both "a broken recording, plain" replay broken.jsonl
both "a broken recording, checked" replay --check broken.jsonl
[ ! -f "$XDG_STATE_HOME/keyturn/log" ] || ok "the log" clean "$XDG_STATE_HOME/keyturn/log"

finish
