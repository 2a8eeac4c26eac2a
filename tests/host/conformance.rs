//! Each filesystem and each engine on this machine's own kernel; `make nightly PART=conformance_here` has all pairs.

use crate::support::conformance;

#[test]
fn each_filesystem_and_each_engine_conforms_on_this_kernel() {
    conformance::each_made_here();
}

#[test]
fn every_other_testbed_does_every_engines_work() {
    conformance::engines_on_others();
}

#[test]
fn what_is_mounted_does_every_engines_work() {
    conformance::engines_on_what_is_mounted();
}
