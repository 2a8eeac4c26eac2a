//! Runs that nobody watches, and whether guests can take part at all.

use std::time::Duration;

use fsderby::guest::kernel;
use fsderby::host::programs;
use fsderby::runner::rounds::Watch;
use fsderby::runner::skips::Skip;
use fsderby::schema::plan::{Plan, Rounds};
use fsderby::schema::record::Record;

use super::skipped;

/// Whether guests can be started; says so where they cannot.
pub fn has_guests(what: &str) -> bool {
    let lacks = if programs::find("qemu-system-x86_64").is_none() {
        "there is no qemu-system-x86_64 (apt-get install qemu-system-x86)"
    } else if kernel::find(None).is_none() {
        "there is no kernel (fsderby kernel fetch)"
    } else {
        return true;
    };
    skipped(what, lacks);
    false
}

pub struct Quiet;

impl Watch for Quiet {
    fn begins(&mut self, _: &Plan, _: &[Skip]) {}
    fn trial(&mut self, name: &str, _: Option<Duration>) {
        eprintln!("{name}");
    }
    fn tick(&mut self, _: u64, _: u64) {}
    fn record(&mut self, _: &Record) {}
    fn round(&mut self, _: u32, _: Rounds) {}
}
