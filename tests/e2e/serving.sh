# Starts a fake model on the loopback, which gives prepared answers and keeps the requests. Source it after outside.sh
# or terminal.sh, which end it with the test.
unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY ANTHROPIC_API_KEY OPENAI_API_KEY
serving=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
server=

stop_model() {
    [ -z "$server" ] || { kill "$server" && wait "$server"; } 2>/dev/null
    server=
}

serve_model() { # folder answers…: requests are in folder/asked, its address is $url
    local folder=$1
    shift
    stop_model
    rm -rf "$folder/asked"
    mkdir -p "$folder/asked" "$folder/config/keyturn"
    python3 "$serving/model_server.py" "$folder/asked" "$@" >"$folder/server.log" 2>&1 &
    server=$!
    until [ -e "$folder/asked/url" ]; do
        kill -0 "$server" 2>/dev/null || { cat "$folder/server.log"; exit 1; }
        sleep 0.02
    done
    url=$(cat "$folder/asked/url")
}
