#!/usr/bin/env bash
# Installs the MCP servers that tests start into a folder outside the sources, once. install.sh FOLDER
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
folder=${1:?usage: $0 FOLDER}
mkdir -p "$folder"
exec 9>"$folder/lock"
flock 9 # two builds may be tested at once
[ -e "$folder/complete" ] && exit 0
command -v npm >/dev/null || { echo "npm is not installed (./dev test --all installs it)"; exit 1; }
cp "$here/package.json" "$folder/"
npm install --prefix "$folder" --no-audit --no-fund --no-package-lock --no-update-notifier --loglevel=error
touch "$folder/complete"
