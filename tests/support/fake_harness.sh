#!/bin/sh
# Speaks the harness's protocol without running anything: the first word of a request's script selects the answer. Its
# arguments select faults at the start: noise, mute, leave, complain, unordered, note, babble.
ordered=true
after=
note='{"type":"log","execution_id":null,"message":"tools: b.py: broken","level":"error"}'
for argument; do
    case $argument in
    noise) printf 'Welcome to this machine\n{"type":"greeting"}\n[1,2\n' ;;
    complain) printf 'line one\n  line two\n' >&2 ;;
    leave) echo "no room for you" >&2 && exit 3 ;;
    mute) exec sleep 1000 ;;
    hybrid) echo "Error: cgroups in hybrid mode not supported" >&2 && exit 126 ;;
    unordered) ordered=false ;;
    note) after="$note\n$note\n" ;;
    babble) after="$note\n"'{"type":"log","execution_id":"x","message":"unasked"}\n' ;;
    esac
done
printf '{"type":"ready","tools":["add"],"pid":%s,"ordered":%s,"sandbox":{"fake":true}}\n'"$after" $$ $ordered
while IFS= read -r line; do
    id=${line#*\"execution_id\":\"}
    id=${id%%\"*}
    script=${line#*\"script\":\"}
    case $script in
    leave*) exit 4 ;;
    hang*) continue ;;
    flood*) exec yes '{"type":"log","execution_id":"x","message":"flood"}' ;;
    fail*) printf '{"type":"error","execution_id":"%s","message":"failed","traceback":""}\n' "$id" ;;
    late*) printf '{"type":"final_result","execution_id":"%s","data":1}\n{"type":"script_done","execution_id":"%s"}\n' "$id" "$id" &&
        sleep 0.1 && echo '{"type":"log","execution_id":"x","message":"more"}' && continue ;;
    note*) printf '{"type":"script_done","execution_id":"%s"}\n' "$id" && sleep 0.1 && echo "$note" && continue ;;
    env*) printf '{"type":"final_result","execution_id":"%s","data":"%s"}\n' "$id" "$(env | sort | tr '\n' ' ')" ;;
    *) printf '{"type":"final_result","execution_id":"%s","data":%s}\n' "$id" $$ ;;
    esac
    printf '{"type":"script_done","execution_id":"%s"}\n' "$id"
done
