#!/usr/bin/env bash
# Tests sessions and recordings in a real terminal: the list on the start screen, how each entry opens, and two programs
# with one session. $1 is the program, $2… are the cases to run (default: all).
set -u
. "$(dirname "$0")/terminal.sh"

sessions_json() {
    env XDG_DATA_HOME="$home/data" XDG_CONFIG_HOME="$home/config" XDG_STATE_HOME="$home/state" HOME="$home" TERM=dumb \
        "$program" sessions --json </dev/null
}
# A model that needs no option.
configure() {
    mkdir -p "$home/config/keyturn"
    echo '{"model": "mine", "models": {"mine": {"provider": "scripted", "file": "../../model.jsonl"}}}' \
        >"$home/config/keyturn/config.json"
}
run_kept() { # the session is listed with the others, and a write of it waits
    write_model model.jsonl
    start run --workspace ws --model scripted:model.jsonl "'change two lines'"
    sees 'waiting for approval'
    sees '[x] stage'
}

# A session runs as long as its journal is locked: the lock ends with the process, however the process ends.
case_running_elsewhere() {
    begin running_elsewhere 120x40
    configure
    run_kept
    check "it runs" bash -c "$(declare -f sessions_json); home='$home' program='$program' sessions_json | grep -q '\"running\":true'"
    check "and waits" grep -q '"status":"waiting"' <(sessions_json)
    terminal second 120x40
    start
    sees 'Recent sessions'
    sees 'change two lines'
    sees ' waiting '
    keys Down Enter
    sees 'Another keyturn is running this session. It is shown read only'
    sees 'read only'
    keys F
    sees 'another keyturn is running this session in this folder'
    # The other program's events appear here.
    pane=it
    keys y
    sees 'That is all I had to do.'
    pane=second
    sees 'That is all I had to do.'
    pane=it
    escape
    keys q
    sees 'status=0'
    pane=second
    sees 'The session has ended'
    check "it no longer runs" grep -q '"running":false' <(sessions_json)
    keys F
    sees 'Forked after event'
    check "in a file of its own" [ "$(ls "$home"/data/keyturn/sessions/*.jsonl | wc -l)" -eq 2 ]
    escape
    keys q
    sees 'status='
    check "each is listed once" [ "$(sessions_json | wc -l)" -eq 2 ]
    check "with its first prompt" [ "$(sessions_json | grep -c '"prompt":"change two lines"')" -eq 2 ]
    check "and what it wrote" [ "$(sessions_json | grep -c '"writes":1')" -eq 2 ]
}

case_killed() {
    begin killed 120x40
    run_kept
    kill -9 "$(pgrep -s "$(mux display -p -t it '#{pane_pid}')" -x keyturn | head -1)"
    sees 'status=137'
    check "it is not running" grep -q '"running":false' <(sessions_json)
    check "it was interrupted" grep -q '"status":"cut off"' <(sessions_json)
}

case_no_model() {
    begin no_model 80x24
    run_kept
    keys y
    sees 'That is all I had to do.'
    escape
    keys q
    sees 'status=0'
    start
    sees 'model: none configured'
    keys Down Enter
    sees 'no model is configured'
    sees 'read only'
    sees 'That is all I had to do.' # at its end, not at its beginning
    escape
    keys q
    sees 'status=0'
}

# XDG decides the folder of the config file; creating one and naming a model in it needs nothing else.
case_set_up_a_model() {
    begin set_up_a_model 80x24 EDITOR="cp mine.json"
    write_model model.jsonl
    printf '{"model": "mine", "models": {"mine": {"provider": "scripted", "file": "answers.jsonl"}}}\n' >"$home/mine.json"
    mkdir -p "$home/config/keyturn"
    cp "$home/model.jsonl" "$home/config/keyturn/answers.jsonl"
    start
    sees '~/config/keyturn/config.json'
    keys m
    sees 'not exist yet'
    sees '"provider": "anthropic"'
    keys y
    sees 'The model is mine now.'
    sees 'model: mine'
    check "the file exists" [ -s "$home/config/keyturn/config.json" ]
    check "only its owner can read it" [ "$(stat -c %a "$home/config/keyturn/config.json")" = 600 ]
    typed 'Change it.'
    keys Enter
    sees 'waiting for approval'
    keys C-c
    sees 'canceled'
    sees 'i next prompt'
    keys q
    sees 'status='
}

case_set_up_refused() {
    begin set_up_refused 80x24 EDITOR="sed -i 's,^  //  \"model\": .*,  nonsense,'"
    start
    sees 'no model yet'
    keys m y
    sees 'config file, line 6: '
    sees 'model: none configured'
    keys C-c
    sees 'status='
}

# `run` without a model names the fix, keeps the prompt, and continues with it once there is a model.
case_run_without_a_model() {
    begin run_without_a_model 80x24 EDITOR="cp mine.json"
    write_model model.jsonl
    mkdir -p "$home/config/keyturn"
    cp "$home/model.jsonl" "$home/config/keyturn/answers.jsonl"
    printf '{"model": "mine", "models": {"mine": {"provider": "scripted", "file": "answers.jsonl"}}}\n' >"$home/mine.json"
    start run --workspace ws "'Change it.'"
    sees 'No model is configured'
    sees 'd starts the demo'
    keys y
    sees 'model: mine'
    sees 'Change it.'
    keys Enter
    sees 'waiting for approval'
    keys C-c
    sees 'canceled'
    sees 'i next prompt'
    keys q
    sees 'status='
}

case_run_the_demo_instead() {
    begin run_the_demo_instead 80x24
    start run "'Change it.'"
    sees 'd starts the demo'
    keys d
    sees 'demo'
    sees 'waiting for approval'
    keys q y
    sees 'status='
}

# A line that is no event is reported at once, and the recording ends before it, after any key.
case_broken_line() {
    begin broken_line 120x40
    head -40 "$source/fixtures/demo.jsonl" >"$home/broken.jsonl"
    echo '{"seq":41,"t":0,"turn":1,"type":"model.responded","step":"no number"}' >>"$home/broken.jsonl"
    tail -n +42 "$source/fixtures/demo.jsonl" >>"$home/broken.jsonl"
    start replay broken.jsonl
    sees 'line 41 is broken'
    sees 'events after it are not shown'
    keys G
    sees 'event 40 of 40'
    keys w
    sees 'no write after this'
    keys q
    sees 'status=0'
}

# A fork in the middle of a turn continues it: the model gets the conversation up to that point.
case_fork_in_a_turn() {
    begin fork_in_a_turn 120x40
    configure
    write_model model.jsonl
    cp "$source/fixtures/demo.jsonl" "$home/before.jsonl"
    start replay --until 60 before.jsonl
    sees 'event 60 of 212'
    keys F
    sees 'the turn continues'
    sees 'I change two lines.'
    sees 'waiting for approval'
    keys n
    sees 'That is all I had to do.'
    check "the recording is unchanged" cmp -s "$home/before.jsonl" "$source/fixtures/demo.jsonl"
    check "one turn" [ "$(grep -c '"type":"turn.started"' "$home"/data/keyturn/sessions/*.jsonl)" -eq 1 ]
    file_has "$(ls "$home"/data/keyturn/sessions/*.jsonl)" '"type":"turn.finished","status":"done"'
    escape
    keys q
    sees 'status='
}

case_execute_until() {
    begin execute_until 120x40
    start replay --execute --until 60 "$source/fixtures/demo.jsonl"
    sees 'Paused at event 60 of the recording'
    sees 'paused'
    keys c
    sees 'No divergence'
    escape
    keys q
    sees 'status='
}

# Background programs end with the session, so quitting needs a confirmation.
case_quit_with_programs() {
    begin quit_with_programs 80x24
    {
        echo '{"type":"session.started","v":1}'
        answer 1 "It runs." '{"id":"c1","name":"workspace_exec","arguments":{"command":"cat","background":true}}'
        answer 2 "There it is." ''
    } >"$home/model.jsonl"
    start run --workspace ws --model scripted:model.jsonl --record rec.jsonl "'start it'"
    sees 'There it is.'
    escape
    keys q
    sees '1 program of the agent is still running. Kill it and quit?'
    keys n
    sees '!still runs'
    keys t x
    sees 'Kill program p1'
    keys y
    sees 'killed'
    escape
    keys q
    sees 'status=0'
}

case_no_sessions() {
    begin no_sessions 60x16
    start
    sees 'No sessions yet'
    sees 'a guided turn, nothing to set up'
    keys Tab q
    sees 'status=0'
}

run_cases running_elsewhere killed no_model set_up_a_model set_up_refused run_without_a_model run_the_demo_instead broken_line fork_in_a_turn execute_until quit_with_programs no_sessions
