//! The example with stated needs and differing CPU times: fast candidates need more CPU time.

use super::{CANDIDATES, Example, WORKS, rounds};
use crate::schema::needs::Needs;

const NEEDS: &str = "
cpu = 1
capacity = 0.5
recovery = 1
require = ['journal', 'files over 4 GiB']
draw = 'cpu'
[workload]
letters-quick = 2
";

pub fn stated() -> Example {
    with(NEEDS)
}

pub fn with(needs: &str) -> Example {
    let mut example = rounds(12);
    let needs: Needs = toml::from_str(needs).expect("needs");
    example.run.plan.needs = Some(needs);
    for record in &mut example.run.records {
        let speed = CANDIDATES.iter().find(|(label, ..)| *label == record.filesystem).map_or(1.0, |e| e.2);
        // The fastest needs three times the CPU time that its speed implies.
        let demanding = if record.kind == "cedarfs" { 3.0 } else { 1.0 };
        let cpu = record.metrics.iter_mut().filter(|metric| metric.name == "cpu.work");
        cpu.for_each(|metric| metric.value *= demanding * speed.powf(0.2));
    }
    assert!(example.run.plan.scenarios.iter().any(|scenario| scenario.label == WORKS[0]));
    example
}
