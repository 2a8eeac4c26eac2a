#!/bin/sh
# Submits all jobs. A second time it completes what is left: finished shards end at once, others continue.
# The file submitting has the jobs so far. If sbatch refuses a job, the next submission goes on from there.
set -u
cd @DIR@ || exit
refused() {
    echo "sbatch refused the job $name" >&2
    if [ -s submitting ]; then
        echo "submitted before it: $(tr '\n' ',' <submitting | sed 's/,$//; s/,/, /g')" >&2
        echo "  try: sh submit.sh in $(pwd), which submits the others; or to cancel: scancel $(sed 's/.* //' submitting | tr '\n' ' '); rm submitting" >&2
    else
        rm -f submitting
    fi
    exit 1
}
submit() {
    name=$1
    shift
    job=$(sed -n "s/^$name //p" submitting)
    if [ -z "$job" ]; then
        job=$(sbatch --parsable --kill-on-invalid-dep=yes "$@") || refused
        # With several clusters, ID;CLUSTER.
        job=${job%%;*}
        echo "$name $job" >>submitting
    fi
    eval "$name=\$job"
}
touch submitting || exit
[ -s submitting ] || rm -f ended/*
submit probe probe.sh
submit shards --dependency=afterok:"$probe" shard.sh
@LATER@mv submitting jobs
cat jobs
