#!/bin/sh
# Installs a built program with its manual pages, completions and documents below a prefix. `make install` calls it.
#   install.sh PROGRAM PREFIX     DESTDIR=FOLDER is put before the prefix, as packages want it
set -eu

[ $# = 2 ] || { echo "usage: install.sh PROGRAM PREFIX" >&2; exit 2; }
program=$1
to=${DESTDIR:-}$2
cd "$(dirname "$0")/.."
umask 022
case "$program" in /*) ;; *) program=./$program ;; esac
[ -x "$program" ] || { echo "install.sh: there is no $program; try: make build" >&2; exit 3; }

temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
"$program" man --output "$temporary/man"
gzip -9n "$temporary"/man/*

docs=$to/share/doc/fsderby
for section in 1 5; do
    install -d "$to/share/man/man$section"
    install -m 644 "$temporary"/man/*."$section".gz "$to/share/man/man$section"
done
"$program" completions bash > "$temporary/bash"
"$program" completions zsh > "$temporary/zsh"
"$program" completions fish > "$temporary/fish"
install -D -m 644 "$temporary/bash" "$to/share/bash-completion/completions/fsderby"
install -D -m 644 "$temporary/zsh" "$to/share/zsh/site-functions/_fsderby"
install -D -m 644 "$temporary/fish" "$to/share/fish/vendor_completions.d/fsderby.fish"
install -D -m 755 "$program" "$to/bin/fsderby"

# The documents keep their folders, because they link to one another.
for file in README.md ARCHITECTURE.md CHANGELOG.md CITATION.cff SECURITY.md LICENSE-MIT LICENSE-APACHE \
    $(find docs -name '*.md' -o -name '*.svg'); do
    install -D -m 644 "$file" "$docs/$file"
done
for folder in disks experiments machines papers profiles; do
    install -d "$docs/examples/$folder"
    install -m 644 "$folder"/*.toml "$docs/examples/$folder"
done
