# Sourced by tools/demo and tools/test: everything that a fresh machine lacks, each part only when it is missing.
# Sets: root (this checkout), python (the virtual environment's).
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv="$root/.venv"
python="$venv/bin/python"

say() { printf '== %s\n' "$*" >&2; }

fail() { printf 'setup: %s\n' "$*" >&2; exit 69; }

# The first interpreter that really runs: a version manager's shim may exist without its version.
find_python() {
    local name
    for name in "${COMPOSER_PYTHON:-}" python3.11 python3.12 python3.13 python3.14 python3; do
        [ -n "$name" ] && "$name" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue
        printf '%s\n' "$name"
        return
    done
    return 1
}

# system PROGRAM=PACKAGE ...: install the packages whose program is not on PATH. Without root or apt: said, and left.
system() {
    local pair missing=()
    for pair in "$@"; do
        PATH="$PATH:/usr/sbin:/sbin" command -v "${pair%%=*}" >/dev/null 2>&1 || missing+=("${pair#*=}")
    done
    [ ${#missing[@]} -eq 0 ] && return
    if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
        say "not installed, and this user cannot: ${missing[*]}"
        return
    fi
    say "installing ${missing[*]}"
    local log
    log=$(mktemp)
    # A package list that is days old names files that the mirror has no more.
    if ! { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
        tail -n 5 "$log" >&2
        rm -f "$log"
        fail "apt-get could not install ${missing[*]}; install them by hand and run this again"
    fi
    rm -f "$log"
}

# virtual_environment [EXTRAS]: .venv with this checkout in it, made again when pyproject.toml has changed.
virtual_environment() {
    local extra="${1:-}" stamp="$venv/.composer-installed" want have=
    want="$extra $(cksum <"$root/pyproject.toml")"
    [ -f "$stamp" ] && have=$(cat "$stamp")
    # An environment with all extras serves for those who need none.
    if [ "$have" = "$want" ] || [ "$have" = "dev,lock ${want#* }" ]; then return; fi
    if [ ! -x "$python" ]; then
        local base
        if ! base=$(find_python); then
            system python3=python3 python3-venv-missing=python3-venv
            base=$(find_python) || fail "Python 3.11 or newer with venv was not found; install it, or name it in COMPOSER_PYTHON"
        fi
        say "making $venv with $("$base" --version)"
        "$base" -m venv "$venv"
    fi
    say "installing Python packages into $venv"
    "$python" -m pip install -q --disable-pip-version-check -e "$root${extra:+[$extra]}"
    printf '%s' "$want" >"$stamp"
}
