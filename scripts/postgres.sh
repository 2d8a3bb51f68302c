#!/usr/bin/env bash
# Start a private PostgreSQL, print its URL, and stop it at the end of the input.
# If PostgreSQL is missing, scripts/apt.sh installs it, which requires root.
set -euo pipefail

fail() { echo "$1" >&2; exit 1; }

binaries() { ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1; }

as_owner() {  # PostgreSQL refuses to run as root
    if [ "$(id -u)" = 0 ]; then (cd / && setpriv --reuid postgres --regid postgres --clear-groups "$@"); else "$@"; fi
}

"$(dirname "$0")/apt.sh"  # another process may be installing PostgreSQL
[ -n "$(binaries)" ] || "$(dirname "$0")/apt.sh" postgresql
bin=$(binaries)
folder=$(mktemp -d "${TMPDIR:-/tmp}/assay-postgres-XXXXXX")
stop() {
    as_owner "$bin/pg_ctl" -D "$folder/data" -m immediate stop >/dev/null 2>&1 || true
    rm -rf "$folder"
}
trap stop EXIT
trap 'exit 1' INT TERM
[ "$(id -u)" != 0 ] || chown postgres: "$folder"
as_owner "$bin/initdb" -D "$folder/data" -U assay -A trust -E UTF8 --locale C.UTF-8 --no-sync >/dev/null \
    || fail "initdb failed"
for _ in 1 2 3; do  # another process may take the port first
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    options="-c listen_addresses=127.0.0.1 -c port=$port -c unix_socket_directories=$folder -c max_connections=50"
    if as_owner "$bin/pg_ctl" -D "$folder/data" -l "$folder/log" -o "$options" -w start >/dev/null; then
        echo "postgresql://assay@127.0.0.1:$port/postgres"
        cat >/dev/null
        exit 0
    fi
done
cat "$folder/log" >&2
fail "PostgreSQL did not start"
