//! The only place where filesystems, workloads, grounds and probes meet: from an experiment to a plan, from a plan to
//! jobs, from events to records.

pub mod plan;
