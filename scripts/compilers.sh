#!/bin/sh
# Says what is missing to build the program. The targets of the Makefile that build call it first.
set -eu

needed=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$(dirname "$0")/../Cargo.toml")
found=$(rustc --version 2> /dev/null | cut -d ' ' -f 2)
if [ "$(printf '%s\n' "$needed" "${found:-0}" | sort -V | head -n 1)" != "$needed" ]; then
    echo "could not build fsderby: it needs Rust $needed or later, and found ${found:-none}" >&2
    echo "  try: rustup (https://www.rust-lang.org/tools/install), then a new shell; Debian 12 and 13 have older ones" >&2
    exit 3
fi
if ! echo 'int main(void) { return 0; }' | cc -static -x c - -o /dev/null 2> /dev/null; then
    echo "could not build fsderby: there is no C compiler that makes static programs" >&2
    echo "  try: apt-get install gcc libc6-dev, or what your distribution calls them (gcc, glibc-static)" >&2
    exit 3
fi
