//! The example run of [`super::example`] doing the work of a paper: four filesystems stand for kinds in the paper, a fifth for one
//! of these kinds with an extra option.

use super::Example;
use crate::papers;
use crate::report::examples::model;
use crate::schema::job::WorkSpec;
use crate::workloads;

/// A parameter set whose paper uses smaller units than the metrics of the workload.
pub const SET: &str = "mail-2008-2";

/// A parameter set whose paper has many tables of averages.
const OF_MANY_TABLES: &str = "fileserver-2006-as-published";

pub fn on_loop() -> Example {
    published(super::example(), SET)
}

pub fn on_model() -> Example {
    published(model::samples(12), SET)
}

pub fn in_many_tables() -> Example {
    published(super::example(), OF_MANY_TABLES)
}

/// The first workload and the filesystems keep their labels.
fn published(mut example: Example, set: &str) -> Example {
    let (engine, set) = workloads::find(set).expect("the set is shipped");
    let file = set.file();
    let (_, tables) = papers::of_work(engine.name(), &file.parameters).expect("a paper did this work");
    let kinds: Vec<String> = tables[0].figures.keys().cloned().collect();
    let work = WorkSpec { engine: engine.name().into(), parameters: file.parameters };
    example.run.plan.workloads[0].work = work;
    for candidate in &mut example.run.plan.candidates {
        let place = match candidate.label.as_str() {
            "alderfs" | "alderfs, no atime" => 0,
            "birchfs" => 1,
            "birchfs-journal" => 2,
            "cedarfs" => 3,
            _ => continue,
        };
        candidate.kind = kinds[place].clone();
        candidate.variant.conversion = place == 3;
    }
    example
}
