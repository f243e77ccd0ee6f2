#!/bin/sh
# The first run of the servers in compose.yaml: writes what is missing in .env, starts them, and brings the store there.
#
#   ./first-run.sh [--no-start] [OPTIONS OF `theworld sync`...]
#
# Addresses and random passwords go into .env, which Docker and `theworld` read; a name that is there already, even
# empty (that part stays embedded), is left. With --no-start the servers run already. It may be repeated.
set -eu
cd "$(dirname "$0")"

start=yes
if [ "${1:-}" = --no-start ]; then
    start=no
    shift
fi

random() {
    head -c 24 /dev/urandom | od -An -tx1 | tr -d ' \n'
}

keep() { # NAME VALUE
    grep -q "^$1=" .env || printf '%s=%s\n' "$1" "$2" >> .env
}

need() { # PROGRAM HOW-TO-GET-IT
    command -v "$1" > /dev/null || { echo "first-run.sh: $1 is not on the PATH: $2" >&2; exit 127; }
}

need theworld "activate the environment it is installed in"
[ "$start" = no ] || need docker "install Docker with its compose plugin, or start the servers yourself and give --no-start"

umask 077
touch .env
[ -z "$(tail -c 1 .env)" ] || echo >> .env
keep THEWORLD_SPARSE__URL http://localhost:9200
keep THEWORLD_DENSE__URL http://localhost:6333
keep THEWORLD_DENSE__API_KEY "$(random)"
keep THEWORLD_GRAPH__URL bolt://localhost:7687
keep THEWORLD_GRAPH__USERNAME neo4j
keep THEWORLD_GRAPH__PASSWORD "$(random)"

[ "$start" = no ] || docker compose up --wait
theworld sync --verify "$@"
