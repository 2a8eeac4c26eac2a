//! Why a run without a fixed number of rounds stopped when it did.

use crate::analysis::dataset::counted;
use crate::analysis::rounds;
use crate::report::view::number::count;
use crate::schema::finding::{Found, Verdict};
use crate::schema::plan::Rounds;
use crate::schema::seal::Ended;
use crate::store::Run;

/// `None` for a fixed number of rounds, and while the run goes on.
pub fn of(run: &Run, verdict: &Verdict) -> Option<String> {
    let n = counted(run).iter().map(|record| record.round).max().unwrap_or(0);
    let after = format!("after {}", count(n as usize, "round"));
    let ended = run.seal.as_ref().map(|seal| seal.ended)?;
    match (run.plan.rounds, run.plan.budget, ended) {
        (Rounds::Exactly(_), ..) | (Rounds::AtLeast(_), None, _) | (.., Ended::GoesOn) => None,
        (.., Ended::Interrupted) => {
            Some(format!("The run was interrupted {after}; otherwise it would have continued."))
        }
        (Rounds::AtLeast(least), Some(budget), _) if n <= least => Some(format!(
            "The run stopped {after}, the minimum: another round would have exceeded the budget of {budget}."
        )),
        (Rounds::AtLeast(_), Some(budget), _) => {
            Some(format!("The run stopped {after}: another would have exceeded the budget of {budget}."))
        }
        (Rounds::Auto, ..) => of_looks(run, verdict),
    }
}

/// The reason for the end of a run that the interim analyses could stop.
fn of_looks(run: &Run, verdict: &Verdict) -> Option<String> {
    if !verdict.is_final() {
        return Some(
            "The run stopped at its maximum number of rounds, because too few rounds were complete for an interim \
                analysis."
                .to_owned(),
        );
    }
    let last = verdict.basis.looks().last()?.rounds as usize;
    let all = verdict.findings.len();
    let open = verdict.findings.iter().filter(|f| f.finding == Found::CannotTell).count();
    if open == 0 {
        return Some(format!(
            "The run stopped at the interim analysis after {rounds}, because every pair was decided.",
            rounds = count(last, "round")
        ));
    }
    let is_last = rounds::looks(&run.plan).next_after(last).is_none();
    let are = if open == 1 { "is" } else { "are" };
    is_last.then(|| {
        format!(
            "The run stopped after {rounds}, its last interim analysis; {open} of {pairs} {are} undecided.",
            rounds = count(last, "round"),
            pairs = count(all, "pair")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::examples::{self, verdict};
    use crate::schema::finding::Basis;
    use crate::schema::seal::Seal;

    fn sealed(ended: Ended) -> Seal {
        Seal {
            schema: 0,
            ended,
            rounds: 12,
            looks: Vec::new(),
            records: 0,
            bytes: 0,
            plan_blake3: String::new(),
            machine_blake3: String::new(),
            trials_blake3: String::new(),
        }
    }

    #[test]
    fn a_run_of_auto_rounds_says_why_it_stopped_and_one_of_a_fixed_number_does_not() {
        let mut example = examples::rounds(12);
        let said = |run: &Run, verdict: &Verdict| of(run, verdict);
        let mut given = verdict::of_one_workload(12);
        assert_eq!(said(&example.run, &given), None);
        example.run.plan.rounds = Rounds::Auto;
        example.run.seal = Some(sealed(Ended::Complete));
        given.basis = Basis::Rounds { complete: 10, needed: 10, alpha: 0.01, earlier: Vec::new() };
        assert_eq!(said(&example.run, &given), None, "undecided, and there are analyses left");
        given.basis = Basis::Rounds { complete: 20, needed: 10, alpha: 0.025, earlier: Vec::new() };
        let text = said(&example.run, &given).expect("it stopped");
        assert!(text.starts_with("The run stopped after 20 rounds, its last interim analysis; "), "{text}");
        given.findings.retain(|finding| finding.finding != Found::CannotTell);
        given.basis = Basis::Rounds { complete: 10, needed: 10, alpha: 0.01, earlier: Vec::new() };
        assert_eq!(
            said(&example.run, &given).as_deref(),
            Some("The run stopped at the interim analysis after 10 rounds, because every pair was decided.")
        );
        example.run.seal = Some(sealed(Ended::Interrupted));
        let text = said(&example.run, &given).expect("it was interrupted");
        assert!(text.starts_with("The run was interrupted after 12 rounds"), "{text}");
        example.run.plan.rounds = Rounds::AtLeast(5);
        example.run.seal = Some(sealed(Ended::Complete));
        example.run.plan.budget = Some("1h".parse().expect("a duration"));
        let text = said(&example.run, &given).expect("the budget ended it");
        assert_eq!(text, "The run stopped after 12 rounds: another would have exceeded the budget of 1h.");
    }
}
