#!/bin/sh
# Tries a target of tests/fuzz under libFuzzer until something is found: scripts/fuzz.sh disk [libFuzzer's options]
# Stable Rust does; libFuzzer itself is built by g++.
set -eu
name=${1:?"scripts/fuzz.sh NAME [libFuzzer's options], such as: scripts/fuzz.sh disk -max_total_time=3600"}
shift
cd "$(dirname "$0")/../fuzz"
coverage="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4"
coverage="$coverage -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table"
RUSTFLAGS="$coverage" cargo build --release --quiet
mkdir -p "target/$name/corpus"
FSDERBY_FUZZ_TARGET=$name exec "target/$(rustc --print host-tuple)/release/fuzz" "target/$name/corpus" \
    -dict="target/$name/words" -artifact_prefix="target/$name/" -rss_limit_mb=2048 -timeout=60 "$@"
