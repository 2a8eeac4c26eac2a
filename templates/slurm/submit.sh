#!/bin/sh
# Submits all jobs. A second time it completes what is left: finished shards end at once, others continue.
set -eu
cd @DIR@
submit() { sbatch --parsable --kill-on-invalid-dep=yes "$@"; }
probe=$(submit probe.sh)
shards=$(submit --dependency=afterok:"$probe" shard.sh)
merge=$(submit --dependency=afterok:"$probe",afterany:"$shards" merge.sh)
next=$(submit --dependency=afterok:"$merge" next.sh)
finish=$(submit --dependency=afterok:"$merge",afterany:"$next" finish.sh)
check=$(submit --dependency=afterok:"$finish" check.sh)
for job in probe shards merge next finish check; do
    eval "echo $job \$$job"
done >jobs
cat jobs
