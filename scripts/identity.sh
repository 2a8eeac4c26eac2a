#!/bin/sh
# Whether virtual time is what it says: every kind with three workloads on modelled disks and machines in rotation, 48 trials and
# their integrity checks, each run again twice with all CPUs busy. Ends with 7 where one differs.
#
# About 20 minutes for each workload on two CPUs:
#   scripts/identity.sh FOLDER [fsderby] [WORKLOAD…]
set -eu
all="maildir-quick sources-quick coldread-quick"
folder=${1:?"a folder for the runs"}
fsderby=${2:-fsderby}
shift $(($# < 2 ? $# : 2))
workloads=${*:-$all}
for workload in $workloads; do
    case " $all " in *" $workload "*) ;; *) echo "'$workload' is none of: $all" >&2; exit 2 ;; esac
done
mkdir -p "$folder"
disk() {
    case $1 in
    0) echo hdd-16tb,machine=athlon-64 ;;
    1) echo samsung-870-evo ;;
    2) echo samsung-pm9a3-1920 ;;
    3) echo cloud-volume,mips=1000 ;;
    4) echo sd-card,machine=celeron-533 ;;
    5) echo arena-ide-raid5,machine=pentium-4-2400 ;;
    6) echo kingston-kc3000-2048,mips=8000 ;;
    esac
}
first=0 status=0
for workload in $all; do
    set --
    at=$first
    for kind in fat16 fat32 exfat ntfs ntfs-3g ext2 ext3-journal ext3-ordered ext3-writeback ext4 reiserfs jfs xfs btrfs f2fs nilfs2; do
        set -- "$@" --filesystem "$kind on=model:$(disk $((at % 7)))"
        at=$((at + 1))
    done
    # Of seven disks and sixteen kinds, two steps on: no kind meets a disk twice.
    first=$((first + 2))
    case " $workloads " in *" $workload "*) ;; *) continue ;; esac
    run=$folder/$workload
    # Something that failed is a record too, and must fail again in the same way.
    "$fsderby" run quick "$@" --workloads "$workload" --scale 1/32 --rounds 1 --seed 7 --guard=false --output "$run" || status=$?
    case $status in 0 | 4) status=0 ;; *) exit "$status" ;; esac
done
for workload in $workloads; do
    "$fsderby" verify "$folder/$workload" --rerun all --times 2 || status=$?
done
exit "$status"
