//! The CPU time of a phase.

use fsderby_sys::process::{Usage, own_usage};

/// CPU time of this process with all threads since the start. Bonnie++ adds up the process's CPU time once per thread and so
/// counts the same time several times.
pub struct Cpu(Usage);

impl Cpu {
    pub fn begin() -> Self {
        Cpu(own_usage())
    }

    pub fn used_ns(self) -> u64 {
        let used = own_usage().since(self.0);
        used.user_ns + used.sys_ns
    }
}
