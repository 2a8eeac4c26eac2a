//! Every filesystem with every engine, on this machine's own kernel.

use crate::support::conformance;

#[test]
fn every_filesystem_does_every_engines_work_on_loop() {
    conformance::all_made_here();
}
