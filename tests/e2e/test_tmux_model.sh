#!/usr/bin/env bash
# Another model in the middle of a session, in a real terminal. $1 is the program, $2… are the cases to run (default: all).
set -u
. "$(dirname "$0")/terminal.sh"

# Two models whose answers are in files, so that they can be told apart.
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
    sees 'say:'
    typed ':model secnod'
    keys Enter
    sees 'did you mean second'
    keys C-u
    typed ':model second'
    keys Enter
    sees 'From the next request on second is asked'
    typed 'and now'
    keys Enter
    sees 'the second.'
    sees 'second-1'
    escape
    keys q
    sees 'status=0'
    check "the journal tells it" grep -q '"type":"model.changed","model":{"provider":"scripted","name":"second-1","as":"second"},"by":"key"' "$home/rec.jsonl"
    check "once" [ "$(grep -c '"model.changed"' "$home/rec.jsonl")" = 1 ]
}

case_choose() {
    begin choose 80x24
    two_models
    start run --workspace ws "'who are you'"
    sees 'I am the first.'
    sees 'say:'
    typed ':model'
    keys Enter
    sees 'scripted/second.jsonl'
    keys Down Enter
    sees 'From the next request on second is asked'
    escape
    keys q
    sees 'status=0'
}

run_cases change choose
