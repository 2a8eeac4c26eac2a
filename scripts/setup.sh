#!/bin/sh
# Brings the Debian packages that are missing: prints them first, installs them as root or with sudo, and otherwise prints
# the line to type. Does nothing when nothing is missing.
#   setup.sh tools   the filesystems' own tools: mkfs, fsck
#   setup.sh guests  that, and what runs guests
#   setup.sh test    that, and what the tests and benchmarks compare with
set -eu

tools="e2fsprogs xfsprogs btrfs-progs dosfstools exfatprogs ntfs-3g f2fs-tools nilfs-tools jfsutils reiserfsprogs"
guests="qemu-system-x86 mdadm dmsetup smartmontools lvm2"
tests="mandoc mmdebstrap postmark bonnie++ strace fio rsync fsmark sg3-utils slurmctld slurmd slurm-client munge"

case "${1:-tools}" in
    tools) wanted=$tools ;;
    guests) wanted="$tools $guests" ;;
    test) wanted="$tools $guests $tests" ;;
    *) echo "usage: setup.sh tools|guests|test" >&2; exit 2 ;;
esac

missing=""
for package in $wanted; do
    state=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
    case "$state" in *"ok installed") ;; *) missing="$missing $package" ;; esac
done
[ -n "$missing" ] || exit 0

echo "missing packages:$missing"
if [ "$(id -u)" = 0 ]; then root=""
elif command -v sudo >/dev/null 2>&1 && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then root="sudo"
else
    echo "without root they cannot be installed; type:"
    echo "  su -c 'apt-get update && apt-get install -y --no-install-recommends$missing'"
    exit 3
fi
# One package that this distribution no longer has must not keep the others away.
$root apt-get update -qq
# shellcheck disable=SC2086  # a list of words is meant
if ! DEBIAN_FRONTEND=noninteractive $root apt-get install -y -qq --no-install-recommends $missing; then
    for package in $missing; do
        DEBIAN_FRONTEND=noninteractive $root apt-get install -y -qq --no-install-recommends "$package" ||
            echo "could not install $package; the filesystem it serves will be skipped"
    done
fi
