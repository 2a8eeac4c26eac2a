//! What the gate has no time for, in parts of 25 minutes at most, which `make nightly` runs by their modules' names.

#![allow(clippy::unwrap_used, reason = "a test says by a panic what is wrong")]

/// Two tests for each layer, so that both CPUs have one.
macro_rules! on_each_layer {
    ($clock:ident) => {
        on_each_layer!($clock; plain "", raid0 "md:raid0", raid1 "md:raid1", raid5 "md:raid5", raid10 "md:raid10", crypt "crypt");
    };
    ($clock:ident; $($layer:ident $spec:literal),*) => { $(
        mod $layer {
            use crate::support::conformance::pairs_in_guests;
            use fsderby::schema::setup::ClockKind;

            #[test]
            fn every_filesystem_does_the_work_of_engines_one_three_and_so_on() {
                pairs_in_guests(ClockKind::$clock, $spec, 0);
            }

            #[test]
            fn every_filesystem_does_the_work_of_engines_two_four_and_so_on() {
                pairs_in_guests(ClockKind::$clock, $spec, 1);
            }
        }
    )* };
}

mod claimed;
mod cluster;
mod conformance_here;
mod conformance_model;
mod conformance_vm;
mod harness;
mod hostile;
mod kept_disks;
mod kills;
mod known_cells;
mod large_volume;
mod machine_speeds;
mod made_up;
mod modelled;
mod reproduce;
mod states;
#[path = "../support/mod.rs"]
mod support;
