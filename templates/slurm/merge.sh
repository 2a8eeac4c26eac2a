#!/bin/sh
@HEAD@
# Merges the shards; merge itself judges whether they are complete. next.toml has the trials that the results call for.
cd @DIR@ || exit
[ -e run ] && exit 0
if [ ! -e rounds ]; then
    rm -f next.toml
    @FSDERBY@ merge rounds shards/* --next next.toml
    code=$?
    echo $code >ended/merge
    [ $code = 0 ] || exit $code
fi
[ -e next.toml ] || mv rounds run
