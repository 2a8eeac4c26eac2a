//! Each filesystem and each engine on this machine's own kernel; `make nightly PART=conformance_here` has all pairs.

use crate::support::conformance;

#[test]
fn each_filesystem_and_each_engine_conforms_on_loop() {
    conformance::each_on_loop();
}

#[test]
fn a_twin_does_every_engines_work() {
    conformance::on_a_twin();
}

#[test]
fn a_directory_does_every_engines_work() {
    conformance::in_a_directory();
}

#[test]
fn every_other_testbed_does_every_engines_work() {
    conformance::elsewhere();
}
