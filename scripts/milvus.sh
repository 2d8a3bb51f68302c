#!/usr/bin/env bash
# A real Milvus 2.3.5 on this machine's loopback: it is installed into .venv-milvus where it is not there yet.
#   scripts/milvus.sh start    start it, wait until it answers, print its URI (the URI again, where it runs)
#   scripts/milvus.sh stop     stop it and forget what it kept
#   scripts/milvus.sh run      the same in one: it stops at the end of the input
# Milvus listens on every address whatever it is told, so it gets a network of its own (scripts/loopback.py).
set -euo pipefail
cd "$(dirname "$0")/.."

venv=$PWD/.venv-milvus
fail() { echo "$1" >&2; exit 1; }

install() {
    [ -e "$venv/made" ] && return
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
    "$venv/bin/python" - "$1" <<'WAIT' >"$1/uri" 2>>"$1/log" || { cat "$1/log" >&2; stop "$1"; fail "Milvus does not start"; }
import os, sys, time
from pathlib import Path
from pymilvus import MilvusClient

folder, until = Path(sys.argv[1]), time.monotonic() + 120
while time.monotonic() < until:
    os.kill(int((folder / "pid").read_text()), 0)  # it is still there
    port = (folder / "port").read_text().strip()
    try:
        MilvusClient(f"http://127.0.0.1:{port}", timeout=2).list_collections()
    except Exception:
        time.sleep(0.1)
    else:
        print(f"http://127.0.0.1:{port}")
        sys.exit(0)
sys.exit(1)
WAIT
    cat "$1/uri"
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
    run)
        install
        folder=$(mktemp -d "${TMPDIR:-/tmp}/assay-milvus-XXXXXX")
        trap 'stop "$folder"' EXIT
        trap 'exit 1' INT TERM
        start "$folder"
        cat >/dev/null ;;
    *) fail "expected start, stop or run, found $1" ;;
esac
