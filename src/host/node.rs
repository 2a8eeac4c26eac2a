//! The name of this machine among those that share a plan.

/// Slurm's name of the node that carries out a job: several may run on one machine.
const SLURM: &str = "SLURMD_NODENAME";

/// The scheduler's name of this node, or else the host's.
pub fn name() -> String {
    let host = || rustix::system::uname().nodename().to_string_lossy().into_owned();
    std::env::var(SLURM).ok().filter(|name| !name.is_empty()).unwrap_or_else(host)
}
