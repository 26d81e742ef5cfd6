#!/bin/sh
# Install the packages of package-lock.json: say every ten seconds how far it is, and give up in time.
set -eu
cd "$(dirname "$0")/.."

limit_seconds="${NPM_LIMIT_SECONDS:-600}"
expected=$(grep -c '^    "node_modules/' package-lock.json)

npm ci --ignore-scripts --loglevel=error --no-progress --fetch-timeout=60000 --fetch-retries=3 &
installing=$!
trap 'kill "$installing" 2>/dev/null || true' EXIT INT TERM

waited=0
while kill -0 "$installing" 2>/dev/null; do
    sleep 1
    waited=$((waited + 1))
    if [ "$waited" -ge "$limit_seconds" ]; then
        echo "npm ci did not end within $limit_seconds s: the npm registry answers too slowly or not at all." >&2
        echo "Try again later, or allow more time: NPM_LIMIT_SECONDS=1800 make ui" >&2
        exit 1
    fi
    if [ $((waited % 10)) = 0 ]; then
        present=$(find node_modules -name package.json -path '*node_modules/*' -prune 2>/dev/null | wc -l)
        echo "  $waited s: about $present of $expected packages are there"
    fi
done
wait "$installing"
