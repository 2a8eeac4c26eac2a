//! Each candidate's mkfs and mount, tried once before anything is measured: a wrong option ends the run within seconds, not after
//! the trials of all others. On this machine's kernel it takes about as long as mkfs. In a guest it takes a boot, so there only
//! candidates with options of their own are tried.

use super::launch::{Attempt, Launcher};
use crate::exit::Failure;
use crate::runner::plan::resolved::Resolved;
use crate::runner::preflight::skips::Skip;
use crate::schema::job::Purpose;
use crate::schema::plan::{Candidate, Trial};
use crate::testbeds::Testbeds;

/// The candidates to try.
pub struct CandidateCheck<'a> {
    pub plan: &'a Resolved<'a>,
    pub testbeds: &'a Testbeds<'a>,
    pub skips: &'a [Skip],
    /// Whether to end at once.
    pub stop: &'a (dyn Fn() -> bool + Sync),
}

impl CandidateCheck<'_> {
    /// Tries mkfs and mount of each candidate. The cells of candidates that fail are skipped if `is_lenient`.
    ///
    /// # Errors
    /// Names every candidate that fails, unless `is_lenient`; or if the testbed cannot launch anything.
    pub fn all(&self, is_lenient: bool) -> anyhow::Result<Vec<Skip>> {
        let (mut skips, mut refused) = (Vec::new(), Vec::new());
        for trial in self.due() {
            if (self.stop)() {
                break;
            }
            let Some(why) = self.failure(&trial)? else { continue };
            if !is_lenient {
                refused.push((trial.candidate, why));
                continue;
            }
            let same = |other: &&Candidate| self.is_same(other, trial.candidate);
            for candidate in self.plan.candidates.iter().filter(same) {
                skips.extend(self.plan.scenarios.iter().map(|scenario| Skip {
                    filesystem: candidate.label.clone(),
                    scenario: scenario.label.clone(),
                    reason: why.clone(),
                    by_experiment: false,
                }));
            }
        }
        if refused.is_empty() { Ok(skips) } else { Err(refusal(&refused).into()) }
    }

    /// One trial for each different mkfs, mount and setup.
    fn due(&self) -> Vec<Trial<'_>> {
        let mut due: Vec<Trial<'_>> = Vec::new();
        for candidate in &self.plan.candidates {
            let traits = self.testbeds.of(self.plan, candidate).traits();
            let is_skipped = |label: &str| {
                self.skips.iter().any(|skip| skip.filesystem == candidate.label && skip.scenario == label)
            };
            let scenario = self.plan.scenarios.iter().find(|scenario| !is_skipped(&scenario.label));
            let is_new = !due.iter().any(|before| self.is_same(before.candidate, candidate));
            let is_cheap = !traits.guest || has_options(candidate);
            if let Some(scenario) = scenario
                && is_new
                && is_cheap
                && traits.fidelity.makes_filesystem()
            {
                due.push(Trial { purpose: Purpose::Integrity, round: 0, order: 0, candidate, scenario });
            }
        }
        due
    }

    fn is_same(&self, a: &Candidate, b: &Candidate) -> bool {
        (&a.kind, &a.variant) == (&b.kind, &b.variant) && self.plan.setup(a) == self.plan.setup(b)
    }

    /// Why this candidate cannot be made or mounted.
    fn failure(&self, trial: &Trial<'_>) -> anyhow::Result<Option<String>> {
        let CandidateCheck { plan, testbeds, stop, .. } = *self;
        let launcher = Launcher { plan, testbeds, stop };
        launcher.only_mounts(&Attempt { trial: *trial, number: 1 })
    }
}

fn has_options(candidate: &Candidate) -> bool {
    !candidate.variant.mkfs.is_empty() || !candidate.variant.mount.is_empty()
}

/// A wrong option is an error of usage; without options the machine lacks something.
fn refusal(refused: &[(&Candidate, String)]) -> Failure {
    let lines: Vec<String> =
        refused.iter().map(|(candidate, why)| format!("{}: {why}", candidate.label)).collect();
    let text = lines.join("\n");
    match refused.iter().any(|(candidate, _)| has_options(candidate)) {
        true => Failure::usage(text),
        false => Failure::missing(text),
    }
}
