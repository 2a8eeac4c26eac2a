#!/bin/sh
# Tries a release as a user gets it. `make nightly PART=package` calls it, as root.
#   package-try.sh [DEB]
# Without DEB it packages two clones in folders of different names first, and compares the hashes. The package is then installed
# in a new Debian 12 below a temporary folder, and used there.
set -eu

cd "$(dirname "$0")/.."
[ "$(id -u)" = 0 ] || { echo "package-try.sh: skipped: it needs root"; exit 0; }
command -v mmdebstrap > /dev/null || { echo "package-try.sh: skipped: mmdebstrap is not installed"; exit 0; }
project=$PWD
# Not in /tmp, which may be memory.
temporary=$(mktemp -d /var/tmp/fsderby-package-XXXXXX)
root=$temporary/root
cleaned() {
    if mountpoint -q "$root"; then umount --recursive --lazy "$root"; fi
    # A mount that is still there would be emptied.
    if ! grep -qF " $root/" /proc/mounts; then rm -rf "$temporary"; fi
}
trap cleaned EXIT

deb=${1:-}
if [ -z "$deb" ]; then
    # The second of the first, so that both have one commit whatever happens to the project meanwhile.
    git clone --quiet "$project" "$temporary/a"
    git clone --quiet "$temporary/a" "$temporary/another folder=2"
    for folder in "$temporary/a" "$temporary/another folder=2"; do
        (cd "$folder" && scripts/package.sh > "$temporary/sums")
    done
    cmp "$temporary/a/dist/SHA256SUMS" "$temporary/another folder=2/dist/SHA256SUMS"
    echo "two clones, the same bytes:"
    cat "$temporary/a/dist/SHA256SUMS"
    (cd "$temporary/a/dist" && sha256sum --check --quiet SHA256SUMS)
    deb=$(echo "$temporary"/a/dist/*.deb)
fi

# From the sources of packages that this machine uses.
mmdebstrap --quiet --variant=minbase --include=man-db,bash-completion,lintian bookworm "$root" \
    "$(ls /etc/apt/sources.list.d/debian.sources 2>/dev/null || echo /etc/apt/sources.list)"
# A trial makes the mounts of its namespace private, which needs a root that is a mount.
mount --bind "$root" "$root"
mount --make-private "$root"
for folder in proc sys dev; do
    mount --rbind "/$folder" "$root/$folder"
    mount --make-rslave "$root/$folder"
done
cp "$deb" "$root/fsderby.deb"
inside() { printf '# %s\n' "$1"; chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb LC_ALL=C.UTF-8 bash -euc "$1"; }

inside 'apt-get update -qq; DEBIAN_FRONTEND=noninteractive apt-get install -y -qq /fsderby.deb > /installed 2>&1 || { cat /installed; exit 1; }'
inside 'fsderby --version; fsderby doctor'
inside 'cd /root; fsderby run quick --filesystems ext4,xfs --workloads postmark-quick --scale 1/16 --size 320m --rounds 1 --output first --quiet; fsderby verify first'
inside 'MANWIDTH=80 man fsderby-run | head -n 20; man 5 fsderby-experiment | grep -q noatime; test "$(man -k fsderby | wc -l)" -gt 30'
# As bash calls it when the user presses the tab key behind the words.
inside 'source /usr/share/bash-completion/bash_completion
    source /usr/share/bash-completion/completions/fsderby
    completed() {
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}; COMPREPLY=()
        COMP_TYPE=9
        "$(complete -p fsderby | sed "s/.*-F \([^ ]*\).*/\1/")" fsderby "${@: -1}" "${@: -2:1}"
        echo "$*: ${COMPREPLY[*]}"
    }
    completed fsderby run --filesys | grep -w -e --filesystems
    completed fsderby run --filesystems "" | grep -w nilfs2
    completed fsderby run --filesystems ext4,xf | grep -w ext4,xfs
    completed fsderby run --workloads postmark-q | grep -w postmark-quick
    completed fsderby completions "" | grep -w zsh'
# Root is what this root has.
inside 'lintian --allow-root --fail-on error --show-overrides /fsderby.deb'
inside 'DEBIAN_FRONTEND=noninteractive apt-get purge -y -qq fsderby > /purged 2>&1; test ! -e /usr/bin/fsderby && test ! -e /usr/share/doc/fsderby'
