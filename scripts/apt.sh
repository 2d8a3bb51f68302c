#!/usr/bin/env bash
# Install a package of Debian, where it is missing: scripts/apt.sh PACKAGE. It asks for root.
# Without a package: wait until nobody installs one by this script.
set -euo pipefail

lock=/run/assay-apt.lock
if [ $# = 0 ]; then
    [ ! -e "$lock" ] || flock "$lock" true
    exit 0
fi
package=$1
fail() { echo "$package is not installed and $1" >&2; exit 1; }
there() { dpkg-query --show --showformat '${Status}' "$package" 2>/dev/null | grep -q '^install ok installed$'; }

if there; then exit 0; fi
command -v apt-get >/dev/null || fail "there is no apt-get"
[ "$(id -u)" = 0 ] || fail "only root can install it"
exec 9>"$lock"
flock 9  # others may want it at the same time
if there; then exit 0; fi
export DEBIAN_FRONTEND=noninteractive
apt=(apt-get -qq -y -o Acquire::Retries=2 -o Acquire::http::Timeout=20 -o DPkg::Lock::Timeout=300)
get=("${apt[@]}" install --no-install-recommends "$package")
"${get[@]}" >/dev/null 2>&1 9>&- || { "${apt[@]}" update && "${get[@]}"; } >/dev/null 2>&1 9>&- \
    || fail "apt-get cannot install it"
