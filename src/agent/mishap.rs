//! Faults that tests inject into a guest when its work is announced.

use std::fs;
use std::io;
use std::time::Duration;

use crate::storage::disk;

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Mishap {
    /// The kernel panics.
    Panic,
    /// Everything stops.
    Hang,
    /// Everything stops, with a busy CPU.
    Spin,
    /// The modelled disk's server ends.
    DiskLost,
    /// The modelled disk answers no further request.
    DiskStalls,
}

impl Mishap {
    pub fn strike(self) -> io::Result<()> {
        match self {
            Mishap::Panic => fs::write("/proc/sysrq-trigger", "c")?,
            Mishap::DiskLost => {
                disk::lose();
                return Ok(());
            }
            Mishap::DiskStalls => {
                disk::stall();
                return Ok(());
            }
            Mishap::Spin => loop {
                std::hint::spin_loop();
            },
            Mishap::Hang => {}
        }
        loop {
            std::thread::sleep(Duration::from_secs(30));
        }
    }
}
