#!/usr/bin/env bash
# Tests a live model in a real terminal: its answer and its cost, the countdown after a failure, and the key that
# cancels either at once. $1 is the program, $2… are the cases to run (default: all).
set -u
tests=$(readlink -f "$(dirname "$0")")
. "$tests/terminal.sh"
. "$tests/serving.sh"

serve() { # answers…
    serve_model "$home" "$@"
    printf '{"model": "m", "models": {"m": {"provider": "openai", "base_url": "%s/v1", "model": "gpt-x", "key_env": "MY_KEY",
        "prices": {"input": 1000, "output": 2000}}}}\n' "$url" >"$home/config/keyturn/config.json"
    printf 'one\ntwo\n' >"$home/ws/a.txt"
}
run() { start run --workspace ws --record rec.jsonl "'look at a'"; }

case_answers() {
    begin answers 120x40 MY_KEY=sk-live-0123456789
    serve CALL TEXT
    run
    sees 'All seen.'
    sees 'read_file'
    sees '$2.8' # 2,400 and 200 tokens
    check "the key is not recorded" bash -c "! grep -rqF sk-live-0123456789 '$home/rec.jsonl' '$home/state'"
}

case_countdown() {
    begin countdown 120x40 MY_KEY=sk-live-0123456789
    serve WAIT
    run
    sees 'model failed, retry in'
    sees '529 from 127.0.0.1'
    sees 'cancel the turn'
    keys C-c
    sees 'canceled'
    file_has "$home/rec.jsonl" '"status":"cancelled"'
    check "no second request" test ! -e "$home/asked/2.request"
}

case_cancel() {
    begin cancel 120x40 MY_KEY=sk-live-0123456789
    serve SILENT
    run
    sees 'model answering'
    keys C-c
    sees 'canceled'
    file_has "$home/rec.jsonl" '"status":"cancelled"'
    local end=$((SECONDS + wait_s))
    until [ -e "$home/asked/gone" ]; do
        [ $SECONDS -ge $end ] && { bad "the connection stayed open"; return; }
        sleep 0.05
    done
    good
}

# The text of a canceled answer stays on the screen, goes to the model with the next prompt, and is in the recording.
continue_canceled() { # provider path
    begin "continue_$1" 120x40 MY_KEY=sk-live-0123456789
    serve SILENT "SAY:The rest of it."
    sed -i "s|\"openai\", \"base_url\": \"$url/v1\"|\"$1\", \"base_url\": \"$url$2\"|" "$home/config/keyturn/config.json"
    run
    sees 'agent All'
    keys C-c
    sees 'answer interrupted: turn canceled'
    sees 'agent All'
    keys i
    typed 'go on'
    keys Enter
    sees 'The rest of it.'
    check "the next request has the text" grep -q '"All \\n\\n\[interrupted: the user canceled the turn\]"' "$home/asked/2.request"
    escape
    keys q
    sees 'status=0'
    start replay rec.jsonl
    sees 'read only'
    keys G
    sees 'answer interrupted: turn canceled'
    sees 'agent All'
}
case_continue_openai() { continue_canceled openai /v1; }
case_continue_anthropic() { continue_canceled anthropic ''; }

# A slow key command: the screen appears and reacts meanwhile.
case_slow_key() {
    begin slow_key 80x24
    serve TEXT
    sed -i "s|\"key_env\": \"MY_KEY\"|\"key_command\": \"until [ -e $home/go ]; do sleep 0.05; done; echo sk-slow-0123456789\"|" \
        "$home/config/keyturn/config.json"
    run
    sees 'look at a'
    sees 'waiting for the model'
    keys '?'
    sees 'Go to the conversation'
    escape
    sees '!Go to the conversation'
    check "no request without the key" test ! -e "$home/asked/1.request"
    touch "$home/go"
    sees 'All seen.'
    check "with the key" grep -q 'sk-slow-0123456789' "$home/asked/1.request"
    check "which is not recorded" bash -c "! grep -rqF sk-slow-0123456789 '$home/rec.jsonl' '$home/state'"
}

run_cases answers countdown cancel continue_openai continue_anthropic slow_key
