#!/bin/sh
# Makes the picture of the README, docs/report.svg, from a run: its first ratio picture, as `fsderby report --svg` draws it.
#
# Without a run one of the experiment quick is made, which takes some minutes and needs root:
#   scripts/readme-picture.sh [RUN] [FSDERBY]
set -eu
cd "$(dirname "$0")/.."
fsderby=${2:-target/$(rustc --print host-tuple)/release/fsderby}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
if [ $# -gt 0 ]; then run=$1
else
    run=$folder/run
    "$fsderby" run quick --rounds 10 --output "$run"
fi
"$fsderby" verify "$run"
"$fsderby" report "$run" --svg "$folder/pictures"
for picture in "$folder"/pictures/*-ratios.svg; do
    [ -e "$picture" ] || { echo "the run compares nothing, so there is no picture" >&2; exit 1; }
    cp "$picture" docs/report.svg
    echo "docs/report.svg is $(basename "$picture")"
    exit 0
done
