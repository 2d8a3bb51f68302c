#!/usr/bin/env bash
# A real Milvus 2.3.5 on this machine's loopback: it is installed into .venv-milvus where it is not there yet.
#   scripts/milvus.sh start    start it, wait until it answers, print its URI (the URI again, where it runs)
#   scripts/milvus.sh stop     stop it and forget what it kept
#   scripts/milvus.sh run      the same in one: it stops at the end of the input
#   scripts/milvus.sh install  only install it
# Milvus listens on every address whatever it is told, so it gets a network of its own (scripts/loopback.py).
set -euo pipefail
cd "$(dirname "$0")/.."

venv=$PWD/.venv-milvus
fail() { echo "$1" >&2; exit 1; }

LOOK='import sys
from pymilvus import MilvusClient

uri = "http://127.0.0.1:" + open(sys.argv[1]).read().split()[0]
MilvusClient(uri, timeout=10).list_collections()
print(uri)'

install() {
    (
        flock 9  # others may want it at the same time
        [ -e "$venv/made" ] || fetch
    ) 9>"$venv.lock"
}

fetch() {
    "${PYTHON:-python3}" -m venv --clear "$venv"
    "$venv/bin/pip" install -qq --constraint scripts/milvus-constraints.txt \
        setuptools milvus pymilvus >&2 || fail "Milvus cannot be installed"
    touch "$venv/made"
}

start() {  # folder
    mkdir -p "$1" "$venv/server"
    ln -sfn "$venv/server" "$1/bin"  # what the wheel unpacks is unpacked once
    options=()
    for part in rootCoord proxy queryCoord queryNode indexNode dataCoord dataNode; do
        options+=(--extra-config "$part.ip=127.0.0.1")
    done
    setsid "$venv/bin/python" scripts/loopback.py 19530 -- "$venv/bin/milvus-server" --data "$1" "${options[@]}" \
        >"$1/port" 2>"$1/log" </dev/null &
    echo $! >"$1/pid"
    local until=$((SECONDS + 300))
    # each look is by a new process: one that came too early is held back by gRPC for longer than we wait
    until timeout 30 "$venv/bin/python" -W ignore -c "$LOOK" "$1/port" >"$1/uri" 2>"$1/look"; do
        if [ "$SECONDS" -gt "$until" ] || ! kill -0 "$(cat "$1/pid")" 2>/dev/null; then
            tail -n 20 "$1/log" "$1/look" >&2  # few enough for the pipe of who reads it at the end
            stop "$1"
            fail "Milvus does not start"
        fi
        sleep 0.5
    done
    printf '%s\n' "$(<"$1/uri")"
}

stop() {  # folder
    [ ! -e "$1/pid" ] || kill -KILL -- "-$(cat "$1/pid")" 2>/dev/null || true  # and all that it started
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
