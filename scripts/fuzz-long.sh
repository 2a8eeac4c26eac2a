#!/bin/sh
# Tries these targets of tests/fuzz with sixty times as many inputs as the gate, of the day's seed: scripts/fuzz-long.sh disk:: script::
set -eu
FSDERBY_FUZZ_TIMES=60 FSDERBY_FUZZ_SEED=${FSDERBY_FUZZ_SEED:-$(date +%Y%m%d)} cargo test --locked --quiet --test fuzz -- "$@"
