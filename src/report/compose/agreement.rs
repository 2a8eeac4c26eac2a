//! Agreement of a run with all tables of a paper: how many pairs of filesystems have the paper's order.

use std::collections::BTreeSet;

use fsderby_stats::agreement::{self, Agreement, Table};

use crate::report::view::number::count;
use crate::report::view::published::{Compared, Figure, Line};
use crate::report::view::workload::WorkloadSummary;
use crate::schema::units::Percent;

/// Adds each paper's agreement with the run to the last of the paper's tables.
pub fn add(workloads: &mut [WorkloadSummary], margin: Percent) {
    let (mut rest, mut done) = (workloads, Vec::new());
    while let Some((last, before)) = rest.split_last_mut() {
        rest = before;
        let Some(beside) = last.published.as_mut().filter(|b| !done.contains(&b.paper.title)) else {
            continue;
        };
        done.push(beside.paper.title.clone());
        let earlier = rest.iter().filter_map(|work| work.published.as_ref());
        let earlier = earlier.filter(|other| other.paper.title == beside.paper.title);
        let tables: Vec<&Compared> = earlier.chain([&*beside]).flat_map(|beside| &beside.tables).collect();
        if let Some((found, said)) = together(&tables, margin) {
            beside.sentences.insert(0, said);
            beside.agreement = Some(found.into());
        }
    }
}

/// The agreement over all tables, for the kinds with figures both in the paper and in this run. Of several candidates of one
/// kind the first counts.
fn together(tables: &[&Compared], margin: Percent) -> Option<(Agreement, String)> {
    let has_both = |line: &&Line| line.figures.iter().any(|figure| figure.here.is_some());
    let lines = tables.iter().flat_map(|table| &table.lines).filter(has_both);
    let kinds: BTreeSet<&str> = lines.map(|line| line.kind.as_str()).collect();
    let share = margin.0 / 100.0;
    let facts: Vec<Table> = tables.iter().flat_map(|table| facts(table, &kinds, share)).collect();
    let found = agreement::agreement(&facts, share)?;
    let said = said(&found, facts.len(), kinds.len(), margin);
    Some((found, said))
}

/// One table for each metric; omits a metric that orders the filesystems exactly like an earlier one.
fn facts(compared: &Compared, kinds: &BTreeSet<&str>, margin: f64) -> Vec<Table> {
    let line = |kind: &&str| compared.lines.iter().find(|line| line.kind == **kind);
    let fact = |metric: usize| {
        let figure = |kind| line(kind).map(|line| &line.figures[metric]);
        let here = |figure: Option<&Figure>| figure.and_then(|figure| figure.here);
        let theirs = |figure: Option<&Figure>| figure.map(|figure| figure.published);
        Table {
            theirs: kinds.iter().map(|kind| theirs(figure(kind))).collect(),
            ours: kinds.iter().map(|kind| here(figure(kind))).collect(),
        }
    };
    let mut facts: Vec<Table> = Vec::new();
    for fact in (0..compared.titles.len()).map(fact) {
        if !facts.iter().any(|known| agreement::say_the_same(known, &fact, margin)) {
            facts.push(fact);
        }
    }
    facts
}

fn said(found: &Agreement, tables: usize, kinds: usize, margin: Percent) -> String {
    let Agreement { same, opposite, tied, p } = found;
    let over = match tables {
        1 => "In the paper's table of this workload".to_owned(),
        _ => format!(
            "Over {tables} tables of the paper (without metrics that are proportional to another metric)"
        ),
    };
    let all = count(found.pairs(), "pair");
    let mut said = format!(
        "{over}, {same} of {all} of filesystems have their medians in the paper's order and {opposite} in \
         the opposite order; an order of medians alone is no finding."
    );
    if *tied > 0 {
        said += &format!(
            " Neither order: {pairs} with a difference of at most {margin} in the paper or in this run.",
            pairs = count(*tied, "pair")
        );
    }
    if let Some(p) = p {
        let ways: usize = (1..=kinds).product();
        let as_good = (p * ways as f64).round();
        said += &format!(
            " Permutation test: {as_good} of the {ways} possible orders agree with the paper at least as well as this \
             run's order (p = {p:.3})."
        );
    }
    said
}

#[cfg(test)]
mod tests {
    use crate::report::examples::published;

    #[test]
    fn all_tables_of_a_paper_are_told_together_where_the_last_stands() {
        let mut example = published::in_many_tables();
        let second = example.run.plan.workloads[0].work.clone();
        example.run.plan.workloads[1].work = second;
        let summary = example.report().summary;
        let [first, last] =
            [0, 1].map(|at| summary.workloads[at].published.clone().expect("it is the paper's work"));
        assert!(first.agreement.is_none() && last.agreement.is_some());
        assert!(last.sentences[0].starts_with("Over "), "{}", last.sentences[0]);
    }

    #[test]
    fn what_agrees_is_counted_with_its_chance() {
        let summary = published::on_loop().report().summary;
        let beside = summary.workloads[0].published.clone().expect("it is the paper's work");
        let found = beside.agreement.expect("there are pairs");
        // There are three kinds: birchfs and the rest, two labels of which are one kind.
        assert_eq!(found.same + found.opposite + found.tied, 6, "{found:?}");
        assert!(beside.sentences[0].contains("of 6 pairs of filesystems"), "{}", beside.sentences[0]);
        assert!(beside.sentences[0].contains("of the 24 possible orders"), "{}", beside.sentences[0]);
    }
}
