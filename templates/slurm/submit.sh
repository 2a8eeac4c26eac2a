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
        mv ended.before/* ended/ 2>/dev/null
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
if [ -e jobs ] && [ ! -s submitting ]; then
    for job in $(sed 's/.* //' jobs); do
        if [ -n "$(squeue --noheader --format=%A --jobs="$job" 2>/dev/null)" ]; then
            echo "job $job of the submission before still waits or runs" >&2
            echo "  try: again when it has ended, or scancel $job" >&2
            exit 1
        fi
    done
fi
touch submitting || exit
if [ ! -s submitting ]; then
    # Kept until Slurm has accepted the first job.
    rm -rf ended.before
    mkdir ended.before && mv ended/* ended.before/ 2>/dev/null
fi
submit probe probe.sh
rm -rf ended.before
submit shards --dependency=afterok:"$probe" shard.sh
@LATER@mv submitting jobs
cat jobs
