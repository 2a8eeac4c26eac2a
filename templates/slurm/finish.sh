#!/bin/sh
@HEAD@
# Merges again with the trials that the results called for, and writes the report.
cd @DIR@ || exit
end() { echo "$1" >ended/finish; exit "$1"; }
if [ ! -e run ]; then
    @FSDERBY@ merge run shards/* next/* || end $?
fi
[ -e run/report.html ] || @FSDERBY@ report run --html run/report.html || end $?
end 0
