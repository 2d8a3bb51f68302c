#!/usr/bin/env bash
# Run Milvus 2.3.5 on the loopback of this machine; it is installed into .venv-milvus if it is missing.
#   scripts/milvus.sh start    start it, wait until it answers and print its URI; only print the URI if it is running
#   scripts/milvus.sh stop     stop it and delete its data
#   scripts/milvus.sh run      start it, and stop it at the end of the input
#   scripts/milvus.sh install  only install it
# Milvus listens on every address whatever its settings, so it runs in its own network (scripts/loopback.py).
set -euo pipefail
cd "$(dirname "$0")/.."

venv=$PWD/.venv-milvus
fail() { echo "$1" >&2; exit 1; }

PROBE='import sys
from pymilvus import MilvusClient

uri = "http://127.0.0.1:" + open(sys.argv[1]).read().split()[0]
MilvusClient(uri, timeout=10).list_collections()
print(uri)'

install() {
    (
        flock 9  # another process may install it at the same time
        [ -e "$venv/made" ] || create_venv
    ) 9>"$venv.lock"
}

create_venv() {
    "${PYTHON:-python3}" -m venv --clear "$venv"
    "$venv/bin/pip" install -qq --constraint scripts/milvus-constraints.txt \
        setuptools milvus pymilvus >&2 || fail "Milvus could not be installed"
    touch "$venv/made"
}

start() {  # folder
    mkdir -p "$1" "$venv/server"
    ln -sfn "$venv/server" "$1/bin"  # the server is unpacked from the wheel only once
    options=()
    for part in rootCoord proxy queryCoord queryNode indexNode dataCoord dataNode; do
        options+=(--extra-config "$part.ip=127.0.0.1")
    done
    setsid "$venv/bin/python" scripts/loopback.py 19530 -- "$venv/bin/milvus-server" --data "$1" "${options[@]}" \
        >"$1/port" 2>"$1/log" </dev/null &
    echo $! >"$1/pid"
    local deadline=$((SECONDS + 300))
    # each probe is a new process: after a failed connection, gRPC would wait for too long before the next
    until timeout 30 "$venv/bin/python" -W ignore -c "$PROBE" "$1/port" >"$1/uri" 2>"$1/probe"; do
        if [ "$SECONDS" -gt "$deadline" ] || ! kill -0 "$(cat "$1/pid")" 2>/dev/null; then
            tail -n 20 "$1/log" "$1/probe" >&2  # little enough to fit in the pipe, which may be read only at the end
            stop "$1"
            fail "Milvus did not start"
        fi
        sleep 0.5
    done
    printf '%s\n' "$(<"$1/uri")"
}

stop() {  # folder
    [ ! -e "$1/pid" ] || kill -KILL -- "-$(cat "$1/pid")" 2>/dev/null || true  # with its child processes
    rm -rf "$1"
}

case "${1:-start}" in
    start)
        install
        if [ -e "$venv/run/uri" ] && kill -0 "$(cat "$venv/run/pid")" 2>/dev/null; then cat "$venv/run/uri"; exit; fi
        stop "$venv/run"
        start "$venv/run" ;;
    stop) stop "$venv/run" ;;
    install) install ;;
    run)
        install
        folder=$(mktemp -d "${TMPDIR:-/tmp}/assay-milvus-XXXXXX")
        trap 'stop "$folder"' EXIT
        trap 'exit 1' INT TERM
        start "$folder"
        cat >/dev/null ;;
    *) fail "expected start, stop, run or install, found $1" ;;
esac
