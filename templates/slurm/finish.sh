#!/bin/sh
@HEAD@
# Merges again with the trials that the results called for, and writes the report.
cd @DIR@ || exit
if [ ! -e run ]; then
    @FSDERBY@ merge run shards/* next/*
    code=$?
    echo $code >ended/finish
    [ $code = 0 ] || exit $code
fi
[ -e run/report.html ] || @FSDERBY@ report run --html run/report.html
