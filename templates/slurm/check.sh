#!/bin/sh
@HEAD@
# Verifies the merged run@AGAIN@.
cd @DIR@ || exit
@FSDERBY@ verify run @RERUN@
code=$?
echo $code >ended/check
exit $code
