//! What a plan can find, before anything is measured: `fsderby run --dry-run`.

use std::collections::BTreeSet;
use std::time::Duration;

use fsderby_stats::looks::Looks;
use fsderby_stats::power::{Expected, Which};

use crate::analysis::rounds;
use crate::runner::skips::Skip;
use crate::schema::declared::Section;
use crate::schema::plan::{Plan, Rounds};
use crate::schema::units::Percent;
use crate::testbeds;
use crate::workloads;

/// Standard deviation of a single value, as a share: what we have seen of workloads that reach a disk. The first rounds of a run show
/// its own.
const SCATTER: f64 = 0.05;
/// A difference that a user would want to be found.
const DIFFERENCE: f64 = 0.10;
const POWER: f64 = 0.8;
const USUAL: [u32; 4] = [6, 10, 14, 20];

/// Nothing on modelled disks, which have no scatter, and where there is but one candidate.
pub fn lines(plan: &Plan, skips: &[Skip], a_round: Duration) -> Vec<String> {
    let scatters = testbeds::kind(&plan.testbed).is_ok_and(|kind| kind.scatters());
    let tables: Vec<Vec<f64>> = families(plan, skips).into_iter().map(|n| vec![SCATTER; n]).collect();
    let pairs: usize = tables.iter().map(|table| table.len() * (table.len() - 1) / 2).sum();
    if !scatters || pairs == 0 {
        return Vec::new();
    }
    let expected = Expected { tables };
    let which = Which { table: 0, a: 0, b: 1 };
    let mut lines = vec![format!(
        "\nWhat such a run can find: {pairs} pairs of candidates and headline metrics, judged together, with a scatter of {} assumed.",
        Percent(100.0 * SCATTER)
    )];
    let planned = match plan.rounds {
        Rounds::Auto => None,
        Rounds::Exactly(n) | Rounds::AtLeast(n) => Some(n),
    };
    let row = |rounds: String, looks: &Looks, most: u32| {
        let planned = expected.under(looks);
        let smallest = planned.detectable(which, POWER).map_or_else(
            || "nothing".to_owned(),
            |log| format!("{} with a probability of 80 %", Percent(round(100.0 * log.exp_m1()))),
        );
        let power = 100.0 * planned.power(which, DIFFERENCE.ln_1p());
        let minutes = (a_round * (most + 1)).as_secs().div_ceil(60);
        format!("  {rounds}: {smallest}; a difference of 10% in {power:.0} % of runs; about {minutes} min")
    };
    for n in USUAL.into_iter().chain(planned).collect::<BTreeSet<u32>>() {
        lines.push(row(format!("{n:>3} rounds"), &Looks::once(n as usize), n));
    }
    if planned.is_none() {
        let most = rounds::looks(plan).planned().last().map_or(0, |look| look.rounds as u32);
        lines.push(row("10 to 20, as many as it takes".to_owned(), &rounds::looks(plan), most));
    }
    let margin = (plan.margin.0 / 100.0).ln_1p();
    let equivalent = expected.rounds_to_be_equivalent(which, margin, POWER);
    lines.push(match equivalent {
        Some(rounds) => format!("  Equivalent within {} takes about {rounds} rounds.", plan.margin),
        None => format!("  Equivalent within {} takes more rounds than anybody makes.", plan.margin),
    });
    lines
}

/// Two digits are more than is known.
fn round(percent: f64) -> f64 {
    (percent * 10.0).round() / 10.0
}

/// For each headline metric of each scenario how many candidates will have it.
fn families(plan: &Plan, skips: &[Skip]) -> Vec<usize> {
    let is_copy = |label: &str| plan.guard.as_ref().is_some_and(|twice| twice.copy == label);
    let mut families = Vec::new();
    for scenario in &plan.scenarios {
        let is_skipped =
            |label: &str| skips.iter().any(|s| s.filesystem == label && s.scenario == scenario.label);
        let taking = plan.candidates.iter().map(|c| c.label.as_str());
        let candidates = taking.filter(|label| !is_copy(label) && !is_skipped(label)).count();
        let measured = scenario.works().filter(|work| work.measured);
        let engines = measured.filter_map(|work| plan.workload(&work.work));
        let headlines: usize = engines
            .filter_map(|work| workloads::engine(&work.work.engine))
            .map(|engine| engine.declared().iter().filter(|d| d.section == Section::Headline).count())
            .sum();
        families.extend(std::iter::repeat_n(candidates, if candidates > 1 { headlines } else { 0 }));
    }
    families
}
