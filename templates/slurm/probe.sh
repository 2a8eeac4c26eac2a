#!/bin/sh
@HEAD@
# Whether a node has all that the shards need. The array waits for it.
cd @DIR@ || exit
@FSDERBY@ run plan.toml --shard 1/@TASKS@ --output probe --dry-run
code=$?
echo $code >ended/probe
exit $code
