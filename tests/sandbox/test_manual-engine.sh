#!/usr/bin/env bash
# Runs a script in the engine that keyturn-sandbox(7) gives as an example, with a real podman. $1 is the program, $2 the image.
source "$(dirname "$0")/remote.sh"
image=${2:?usage: test_manual-engine.sh PROGRAM IMAGE}
page=$(dirname "$0")/../../docs/keyturn-sandbox.7
mkdir -p "$XDG_CONFIG_HOME/keyturn" "$base/tools"
chmod 755 "$base/tools"
echo 'def add(a, b): return a + b' >"$base/tools/add.py"
sed -n '/^{ "small": {/,/^\.fi$/p' "$page" | sed -e '/^\.fi$/d' -e 's/\\-/-/g' -e "s,{image},$image," >"$XDG_CONFIG_HOME/keyturn/engines.json"
ok "the page has the example" test -s "$XDG_CONFIG_HOME/keyturn/engines.json"
export API_TOKEN=open-sesame

kt exec --engine small --secret API_TOKEN --tools "$base/tools" - <<<'import os; emit_result(add(len(os.environ["API_TOKEN"]), 31))'
ok "a script" is 0
ok "with its tools and its secret" out '"data":42'
finish
