#!/bin/sh
@HEAD@
# One shard. Before the time limit Slurm sends TERM: the run then ends cleanly, and the requeued task continues it.
cd @DIR@ || exit
i=$SLURM_ARRAY_TASK_ID of=@TASKS@ plan=plan.toml
@NEXT@run=@SHARDS@/$i
if [ -d "$run" ]; then
    set -- --resume "$run"
else
    set -- "$plan" --shard "$i/$of" --output "$run" @JOBS@
fi
@FSDERBY@ run "$@" --quiet &
child=$!
trap 'kill -TERM $child' TERM
wait $child; code=$?
# The trap interrupts the first wait.
while kill -0 $child 2>/dev/null; do wait $child; code=$?; done
echo $code >ended/@SHARDS@-"$i"
@REQUEUE@exit $code
