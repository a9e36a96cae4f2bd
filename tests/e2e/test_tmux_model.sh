#!/usr/bin/env bash
# Tests changing the model during a session, in a real terminal. $1 is the program, $2… are the cases to run (default:
# all).
set -u
. "$(dirname "$0")/terminal.sh"
. "$(dirname "$0")/serving.sh"

# Two models whose answers are in files, so that the test can distinguish them.
two_models() {
    mkdir -p "$home/config/keyturn"
    for name in first second; do
        {
            echo '{"type":"session.started","v":1,"model":{"provider":"scripted","name":"'$name'-1"}}'
            answer 1 "I am the $name." ''
            turn=2 answer 1 "Still the $name." ''
        } >"$home/config/keyturn/$name.jsonl"
    done
    echo '{"model": "first", "models": {"first": {"provider": "scripted", "file": "first.jsonl"},
           "second": {"provider": "scripted", "file": "second.jsonl"}}}' >"$home/config/keyturn/config.json"
}

case_change() {
    begin change 120x40
    two_models
    start run --workspace ws --record rec.jsonl "'who are you'"
    sees 'I am the first.'
    sees 'i next prompt'
    keys i
    typed ':model secnod'
    keys Enter
    sees 'did you mean second'
    keys C-u
    typed ':model second'
    keys Enter
    sees 'Next request goes to second'
    typed 'and now'
    keys Enter
    sees 'the second.'
    sees 'second-1'
    escape
    keys q
    sees 'status=0'
    check "the journal has the change" grep -q '"type":"model.changed","model":{"provider":"scripted","name":"second-1","as":"second"},"by":"key"' "$home/rec.jsonl"
    check "once" [ "$(grep -c '"model.changed"' "$home/rec.jsonl")" = 1 ]
}

case_choose() {
    begin choose 80x24
    two_models
    start run --workspace ws "'who are you'"
    sees 'I am the first.'
    sees 'i next prompt'
    keys i
    typed ':model'
    keys Enter
    sees 'scripted/second.jsonl'
    keys Down Enter
    sees 'Next request goes to second'
    escape
    keys q
    sees 'status=0'
}

# From one provider's dialect to the other's: the request has the conversation so far, in the new dialect.
case_change_provider() {
    begin change_provider 120x40 CLAUDE_KEY=sk-first-0123456789 GPT_KEY=sk-second-0123456789
    serve_model "$home" "SAY:Here I am." "CALL" "SAY:Here I am again."
    echo 'one' >"$home/ws/a.txt"
    echo '{"model": "claude", "models": {
        "claude": {"provider": "anthropic", "base_url": "'$url'", "model": "claude-x", "key_env": "CLAUDE_KEY"},
        "gpt": {"provider": "openai", "base_url": "'$url'/v1", "model": "gpt-x", "key_env": "GPT_KEY"}}}' \
        >"$home/config/keyturn/config.json"
    start run --workspace ws --record rec.jsonl "'where are you'"
    sees 'Here I am.'
    sees 'claude-x'
    sees 'i next prompt'
    keys i
    typed ':model gpt'
    keys Enter
    sees 'Next request goes to gpt'
    sees 'gpt-x'
    typed 'and now'
    keys Enter
    sees 'Here I am again.'
    escape
    keys q
    sees 'status=0'
    stop_model
    check "the first request has the dialect of the first model" grep -q '^POST /v1/messages' "$home/asked/1.request"
    check "the second has the other dialect" grep -q '^POST /v1/chat/completions' "$home/asked/2.request"
    check "with the conversation so far" grep -q '"role":"assistant","content":"Here I am."' "$home/asked/2.request"
    check "and with its own key" grep -qi '^authorization: bearer sk-second' "$home/asked/2.request"
    check "and not with the other key" test -z "$(grep -l sk-first "$home"/asked/[23].request)"
    check "no key is recorded" test -z "$(grep -l 0123456789 "$home/rec.jsonl")"
}

# The same in the middle of a turn, in both directions: each model reads the calls of the other, with their results.
case_change_within() {
    begin change_within 120x40 CLAUDE_KEY=sk-first-0123456789 GPT_KEY=sk-second-0123456789
    serve_model "$home" CALL 'CALL:list_dir:{"path": "."}' "SAY:All is seen."
    echo 'one' >"$home/ws/a.txt"
    echo '{"model": "claude", "models": {
        "claude": {"provider": "anthropic", "base_url": "'$url'", "model": "claude-x", "key_env": "CLAUDE_KEY"},
        "gpt": {"provider": "openai", "base_url": "'$url'/v1", "model": "gpt-x", "key_env": "GPT_KEY"}}}' \
        >"$home/config/keyturn/config.json"
    start run --workspace ws --record rec.jsonl --break tool=read_file --break tool=list_dir "'look around'"
    sees 'read_file'
    file_has "$home/rec.jsonl" '"type":"held"'
    typed ':model gpt'
    keys Enter
    sees 'Next request goes to gpt'
    keys c
    file_has "$home/rec.jsonl" '"name":"list_dir"'
    sees 'list_dir'
    typed ':model claude'
    keys Enter
    sees 'Next request goes to claude'
    keys c
    sees 'All is seen.'
    escape
    keys q
    sees 'status=0'
    stop_model
    check "one turn" [ "$(grep -c '"type":"turn.started"' "$home/rec.jsonl")" = 1 ]
    check "two changes" [ "$(grep -c '"type":"model.changed"' "$home/rec.jsonl")" = 2 ]
    check "the first call, in the other dialect" grep -q '"tool_calls":\[{"id":"toolu_1","type":"function","function":{"name":"read_file"' "$home/asked/2.request"
    check "and its result" grep -q '{"role":"tool","tool_call_id":"toolu_1","content":' "$home/asked/2.request"
    check "both calls, in the first dialect" grep -q '"type":"tool_use","id":"call_1","name":"list_dir"' "$home/asked/3.request"
    check "and their results" grep -q '"type":"tool_result","tool_use_id":"call_1"' "$home/asked/3.request"
    check "each with its own key" bash -c "grep -q sk-second '$home/asked/2.request' && ! grep -q sk-second '$home/asked/3.request'"
}

run_cases change choose change_provider change_within
