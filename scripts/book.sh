#!/bin/sh
# Builds the documents as a book below target/book/html, where mdBook is installed; says so where it is not.
set -eu
cd "$(dirname "$0")/.."
if ! command -v mdbook >/dev/null 2>&1; then
    echo "skipped: the book: there is no mdbook (cargo install mdbook)"
    exit 0
fi
# Some pages lie in the root: the copy has the project's own layout, so that every relative link holds in the book too.
source=target/book/source
rm -rf target/book
mkdir -p "$source"
cp ./*.md LICENSE-* "$source"
cp -r docs "$source/docs"
# Links of the summary are relative to docs, and here to the folder above it.
sed -e 's|](\.\./|](|' -e t -e 's|](|](docs/|' docs/SUMMARY.md >"$source/SUMMARY.md"
rm "$source/docs/SUMMARY.md"
mdbook build
echo "the book: target/book/html/index.html"
