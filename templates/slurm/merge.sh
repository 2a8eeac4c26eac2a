#!/bin/sh
@HEAD@
# Merges the shards; merge itself judges whether they are complete. next.toml has the trials that the results call for.
cd @DIR@ || exit
end() { echo "$1" >ended/merge; exit "$1"; }
[ ! -e run ] || end 0
if [ ! -e rounds ]; then
    rm -f next.toml
    @FSDERBY@ merge rounds shards/* --next next.toml || end $?
fi
[ -e next.toml ] || mv -T rounds run || end $?
end 0
