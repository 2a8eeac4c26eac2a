//! The memory of trials.

use crate::schema::record::Record;
use crate::schema::setup::ClockKind;
use crate::schema::units::Bytes;
use crate::store::Run;
use crate::testbeds::vm;

/// Memory for page cache and workload together: the limit, or without a limit the memory of the guest or host. `None` if the
/// run does not say.
pub fn of<'r>(
    run: &Run,
    mut records: impl Iterator<Item = &'r Record>,
    limit: Option<Bytes>,
) -> Option<Bytes> {
    let in_guests = records.any(|record| record.fidelity.clock() != ClockKind::Host);
    let whole = if in_guests { vm::memory(None) } else { run.machine.memory };
    limit.or(Some(whole)).filter(|memory| memory.0 > 0)
}

/// The memory of a run whose candidates all have the same memory.
pub fn of_all(run: &Run) -> Option<Bytes> {
    of(run, run.records.iter(), run.plan.memory)
}

/// The memory, and what it includes.
pub fn in_full(run: &Run) -> String {
    match (run.plan.memory, of_all(run)) {
        (Some(limit), _) => format!("{limit} of memory for workload and page cache"),
        (None, Some(all)) => format!("the machine's whole memory, {all}"),
        (None, None) => "no memory limit".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::examples;
    use crate::schema::setup::Fidelity;
    use crate::schema::units::{GIB, MIB};

    #[test]
    fn without_a_limit_it_is_the_machines_or_the_guests_and_never_none_at_all() {
        let mut run = examples::rounds(1).run;
        assert_eq!(of_all(&run), Some(Bytes(512 * MIB)));
        run.plan.memory = None;
        assert_eq!(
            (of_all(&run), in_full(&run)),
            (Some(Bytes(16 * GIB)), "the machine's whole memory, 16 GiB".into())
        );
        run.machine.memory = Bytes(0);
        assert_eq!(in_full(&run), "no memory limit");
        run.records.iter_mut().for_each(|record| record.fidelity = Fidelity::VmKvm);
        assert_eq!(of_all(&run), Some(Bytes(512 * MIB)), "what a guest has");
    }
}
