#!/bin/sh
# Builds the files of a release into dist/, the same bytes from any folder: a static program for x86-64, its debug information,
# a tar archive and a Debian package, with their checksums. `make package` calls it.
#   package.sh [KEYFILE]     signs the checksums with this secret key of minisign, or of fsderby key
# DEBFULLNAME and DEBEMAIL name the maintainer of the Debian package, as for Debian's own tools.
set -eu

cd "$(dirname "$0")/.."
umask 022
export LC_ALL=C TZ=UTC
key=${1:-}
# No mail reaches an address below .example (RFC 2606).
maintainer="${DEBFULLNAME:-The fsderby developers} <${DEBEMAIL:-fsderby@fsderby.example}>"
[ -n "${DEBEMAIL:-}" ] || echo "note: the Debian package names $maintainer, whom no mail reaches; try: DEBFULLNAME=… DEBEMAIL=…" >&2
maintainer=$(printf '%s' "$maintainer" | sed 's/[\\/&]/\\&/g')

if [ -e .git ]; then
    changed=$(git status --porcelain)
    [ -z "$changed" ] || { printf 'package.sh: the tree differs from its commit; try: git stash -u\n%s\n' "$changed" >&2; exit 2; }
    SOURCE_DATE_EPOCH=$(git show --no-patch --format=%ct HEAD)
    commit=$(git rev-parse HEAD)
else
    # What git archive wrote.
    read -r commit _ SOURCE_DATE_EPOCH < .commit
fi
export SOURCE_DATE_EPOCH

version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
target=x86_64-unknown-linux-gnu
name=fsderby-$version-x86_64-linux

# No path of this machine may reach the program. RUSTFLAGS replace those of .cargo/config.toml, so crt-static is repeated.
# Packed relative relocations (DT_RELR) take 0.6 MB less; the C library that is linked in must be glibc 2.36 or newer.
separator=$(printf '\037')
flags="-Ctarget-feature=+crt-static$separator-Clink-arg=-Wl,-z,pack-relative-relocs"
for mapped in "$PWD=/fsderby" "${CARGO_HOME:-$HOME/.cargo}=/cargo" "$(rustc --print sysroot)=/rust"; do
    flags="$flags$separator--remap-path-prefix=$mapped"
done
CARGO_INCREMENTAL=0 CARGO_ENCODED_RUSTFLAGS=$flags cargo build --locked --profile dist --bin fsderby --target "$target"

rm -rf dist
mkdir dist
stage=$PWD/dist/stage
built=target/$target/dist/fsderby
objcopy --only-keep-debug "$built" "dist/$name.debug"
mkdir "$stage"
strip -o "$stage/fsderby" "$built"
(cd dist && objcopy --add-gnu-debuglink="$name.debug" stage/fsderby)
chmod 644 "dist/$name.debug"
size=$(wc -c < "$stage/fsderby")
[ "$size" -lt 16000000 ] || { echo "package.sh: the program has $size bytes, and 16000000 are too many" >&2; exit 1; }
for path in "$PWD" "${CARGO_HOME:-$HOME/.cargo}" "$(rustc --print sysroot)"; do
    if grep -aqF "$path" "$stage/fsderby" "dist/$name.debug"; then
        echo "package.sh: the program has the path $path" >&2
        exit 1
    fi
done

dated() { find "$1" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +; }
packed() { zstd -q -19 --single-thread --no-progress "$@"; }

# The archive: unpack it into /usr/local, or run it where it is.
scripts/install.sh "$stage/fsderby" "$stage/$name"
dated "$stage/$name"
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" --format=gnu -C "$stage" -cf - "$name" |
    packed -o "dist/$name.tar.zst"

# The Debian package.
deb=$stage/deb
DESTDIR=$deb scripts/install.sh "$stage/fsderby" /usr
mv "$deb/usr/share/zsh/site-functions" "$deb/usr/share/zsh/vendor-completions"
docs=$deb/usr/share/doc/fsderby
rm "$docs/LICENSE-MIT" "$docs/LICENSE-APACHE"
cargo run --quiet --locked --package fsderby-gate -- copyright > "$docs/copyright"
# Other documents link to it by its name, and Debian wants this one.
cp "$docs/CHANGELOG.md" "$docs/changelog"
sed "s/@VERSION@/$version/; s/@DATE@/$(date -R -d "@$SOURCE_DATE_EPOCH")/; s/@MAINTAINER@/$maintainer/" scripts/debian/changelog.in > "$docs/changelog.Debian"
gzip -9n "$docs/changelog" "$docs/changelog.Debian"
install -D -m 644 scripts/debian/lintian-overrides "$deb/usr/share/lintian/overrides/fsderby"
mkdir "$deb/DEBIAN"
recommended=$(sed -n 's/^tools="\(.*\)"$/\1/p' scripts/setup.sh | sed 's/ /, /g')
installed=$(du --apparent-size -k -s "$deb/usr" | cut -f 1)
sed "s/@VERSION@/$version/; s/@INSTALLED@/$installed/; s/@RECOMMENDED@/$recommended/; s/@MAINTAINER@/$maintainer/" scripts/debian/control.in > "$deb/DEBIAN/control"
(cd "$deb" && find usr -type f -print0 | sort -z | xargs -0 md5sum > DEBIAN/md5sums)
dated "$deb"
dpkg-deb --root-owner-group -Zxz --threads-max=1 --build "$deb" "dist/fsderby_$version-1_amd64.deb" > dist/stage/said

packed --rm "dist/$name.debug"
rm -rf "$stage"
(cd dist && sha256sum -- * > SHA256SUMS)
if [ -n "$key" ]; then
    minisign -S -s "$key" -t "fsderby $version, commit $commit" -m dist/SHA256SUMS
fi
cat dist/SHA256SUMS
