#!/usr/bin/env bash
# Install a Debian package unless it is installed: scripts/apt.sh PACKAGE. This requires root.
# Without a package: wait until no other process installs one with this script.
set -euo pipefail

lock=/run/assay-apt.lock
if [ $# = 0 ]; then
    [ ! -e "$lock" ] || flock "$lock" true
    exit 0
fi
package=$1
fail() { echo "$package is not installed and $1" >&2; exit 1; }
is_installed() { dpkg-query --show --showformat '${Status}' "$package" 2>/dev/null | grep -q '^install ok installed$'; }

if is_installed; then exit 0; fi
command -v apt-get >/dev/null || fail "apt-get is not available"
[ "$(id -u)" = 0 ] || fail "only root can install it"
exec 9>"$lock"
flock 9  # another process may install it at the same time
if is_installed; then exit 0; fi
export DEBIAN_FRONTEND=noninteractive
apt=(apt-get -qq -y -o Acquire::Retries=2 -o Acquire::http::Timeout=20 -o DPkg::Lock::Timeout=300)
install=("${apt[@]}" install --no-install-recommends "$package")
"${install[@]}" >/dev/null 2>&1 9>&- || { "${apt[@]}" update && "${install[@]}"; } >/dev/null 2>&1 9>&- \
    || fail "apt-get cannot install it"
