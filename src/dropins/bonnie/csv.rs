//! The CSV lines, and the header line with the names of their fields.

use super::forms::Form;
use super::results::{Figure, Heading, Result, Results, chunk, number, size};
use crate::workloads::bonnie::lines::Field;
use crate::workloads::bonnie::rules::{self, Small};
use crate::workloads::bonnie::trial::Step;

const DATA: &str = "putc,putc_cpu,put_block,put_block_cpu,rewrite,rewrite_cpu,getc,getc_cpu,get_block,get_block_cpu,seeks,seeks_cpu";
const FILES: &str = "seq_create,seq_create_cpu,seq_stat,seq_stat_cpu,seq_del,seq_del_cpu,ran_create,ran_create_cpu,ran_stat,\
                     ran_stat_cpu,ran_del,ran_del_cpu";
const LATENCIES: &str = "putc_latency,put_block_latency,rewrite_latency,getc_latency,get_block_latency,seeks_latency,seq_create_latency,\
                         seq_stat_latency,seq_del_latency,ran_create_latency,ran_stat_latency,ran_del_latency";

/// The field names of the header line; the fields of the lines have another order: see `workloads::bonnie::lines`. The header of
/// 2.00a has the names of 1.97, two fewer than its lines have fields.
pub fn names(form: Form) -> String {
    let before = "format_version,bonnie_version,name,concurrency,seed,file_size,io_chunk_size";
    let between = "num_files,max_size,min_size,num_dirs,file_chunk_size";
    match form {
        Form::V103 => format!("name,file_size,{DATA},num_files,{FILES}"),
        Form::V197 | Form::V200a => format!("{before},{DATA},{between},{FILES},{LATENCIES}"),
        Form::V198 => format!("{before},seeks_number,seek_processes,{DATA},{between},{FILES},{LATENCIES}"),
    }
}

pub fn line(heading: &Heading<'_>, results: &Results) -> String {
    let layout = heading.form.layout();
    let mut fields = layout.fields();
    if heading.rules.chunks == 0 {
        // As the original, whose line has fewer commas then: any of the empty fields is as good as another.
        let first = fields.iter().position(|field| field.is_of_data()).unwrap_or(0);
        fields.drain(first..first + layout.lacks_without_data());
    }
    let values: Vec<String> = fields.into_iter().map(|field| value(field, heading, results)).collect();
    values.join(",")
}

fn value(field: Field, heading: &Heading<'_>, results: &Results) -> String {
    let (form, rules) = (heading.form, heading.rules);
    let is_left_out = match field {
        Field::Number | Field::Max | Field::Min | Field::Piece | Field::Directories => rules.files == 0,
        field => field.is_of_data() && rules.chunks == 0,
    };
    if is_left_out {
        return String::new();
    }
    let unless = |value: u32, usual: u32, text: String| if value == usual { String::new() } else { text };
    match field {
        Field::Format => form.csv().to_owned(),
        Field::Program => form.program().to_owned(),
        Field::Machine => heading.machine.to_owned(),
        Field::Concurrency => heading.concurrency.to_string(),
        Field::Seed => heading.seed.to_string(),
        Field::Size if form == Form::V103 && rules.chunk != rules::CHUNK => {
            format!("{}:{}", size(rules), chunk(rules.chunk))
        }
        Field::Size => size(rules),
        // 2.00a never says the chunk, nor the piece.
        Field::Chunk | Field::Piece if form == Form::V200a => String::new(),
        Field::Chunk => unless(rules.chunk, rules::CHUNK, chunk(rules.chunk)),
        Field::Seeks => rules.seeks.to_string(),
        Field::Seekers => rules.seekers.to_string(),
        Field::Rate(step) => rate(step, form, &results.of(step)).field(),
        Field::Share(step) => results.of(step).cpu().field(),
        Field::Number if form == Form::V103 => number(rules),
        Field::Number => (rules.files / 1024).to_string(),
        Field::Max => match rules.small {
            Small::HardLinks => "link".to_owned(),
            Small::Symlinks => "symlink".to_owned(),
            Small::Files { max, .. } => unless(max, 0, max.to_string()),
        },
        Field::Min => match rules.small {
            Small::Files { min, .. } => unless(min, 0, min.to_string()),
            _ => String::new(),
        },
        Field::Piece => unless(rules.piece, rules::CHUNK, chunk(rules.piece)),
        Field::Directories => unless(rules.directories, 1, rules.directories.to_string()),
        Field::Latency(step) => results.of(step).latency(),
    }
}

fn rate(step: Step, form: Form, result: &Result) -> Figure {
    match step {
        Step::Seek if form == Form::V103 => result.seeks_exact(),
        Step::Seek => result.seeks(),
        Step::Small(..) => result.files(),
        _ => result.kib(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::imports::Tool;
    use crate::imports::bonnie::BonnieLines;
    use crate::schema::units::MIB;
    use crate::workloads::bonnie::rules::{Flush, Rules};
    use crate::workloads::bonnie::trial::STEPS;

    fn rules(form: Form) -> Rules {
        Rules {
            semantics: form.semantics(),
            chunks: 4096,
            chunk: 65536,
            characters: 256 * MIB,
            seeks: if form.csv() == "1.98" && form != Form::V103 { 777 } else { rules::SEEKS },
            seekers: form.semantics().seekers(),
            files: 2048,
            small: Small::Files { min: 20, max: 300 },
            directories: 3,
            piece: rules::CHUNK,
            fsync: false,
            direct: false,
            flush: Flush::Own,
            seed: 42,
        }
    }

    /// Each phase has a different time, CPU share and longest operation; the last phase is too short for a rate.
    fn results() -> Results {
        let mut results = Results::default();
        for (at, result) in (1_u64..).zip(&mut results.0) {
            let ns = 1_000_000_000 * at + 123_456_789;
            *result = Result {
                ns,
                cpu_ns: ns / (at + 2),
                amount: 37 * MIB / 10 * at * at,
                worst_ns: 54_321_000 * at * at,
            };
        }
        results.0[STEPS.len() - 1].ns = 400_000_000;
        results
    }

    #[test]
    fn what_is_written_in_each_form_is_imported_as_the_same_figures() {
        for form in [Form::V103, Form::V197, Form::V198, Form::V200a] {
            let (rules, results) = (rules(form), results());
            let heading = Heading { form, machine: "host", rules: &rules, concurrency: 1, seed: 42 };
            let line = line(&heading, &results);
            let found = BonnieLines.read(&format!("{}\n{line}\n", names(form))).expect(&line).found;
            assert_eq!((found.len(), found[0].machine.as_str(), found[0].line), (1, "host", 2), "{line}");
            let value =
                |end: &str| found[0].figures.iter().find(|f| f.metric.ends_with(end)).map(|f| f.value);
            for (at, step) in STEPS.into_iter().enumerate() {
                let (result, of) = (&results.0[at], format!(".{}", step.phase()));
                let rate = match step {
                    Step::Seek if form == Form::V103 => result.seeks_exact(),
                    Step::Seek => result.seeks(),
                    Step::Small(..) => result.files(),
                    _ => result.kib(),
                };
                let printed = |figure: &Figure| figure.field().parse::<f64>().ok();
                let imported = value(&format!("{of}.rate")).or_else(|| value(&format!("{of}.throughput")));
                assert_eq!(imported, Some(printed(&rate)), "{of} in {line}");
                assert_eq!(value(&format!("{of}.cpu")).flatten(), printed(&result.cpu()), "{of} in {line}");
                let latency = value(&format!("{of}.latency"));
                assert_eq!(latency.is_some(), form.has_latencies(), "{of} in {line}");
                let cut = result.worst_ns / if result.worst_ns > 99_999_000 { 1_000_000 } else { 1000 };
                let unit = if result.worst_ns > 99_999_000 { 1e6 } else { 1e3 };
                assert!(
                    latency.is_none_or(|ns| ns == Some(cut as f64 * unit)),
                    "{of}: {latency:?} in {line}"
                );
            }
            let own = if form == Form::V200a {
                Rules { chunk: rules::CHUNK, chunks: 32768, ..rules.clone() }
            } else {
                rules.clone()
            };
            assert_eq!(BonnieLines.described(&found[0].work), described(&own), "{line}");
        }
    }

    #[test]
    fn without_the_large_file_a_line_is_as_short_as_the_originals_and_is_imported() {
        for (form, fields) in [(Form::V103, 27), (Form::V197, 47), (Form::V198, 50), (Form::V200a, 50)] {
            let rules = Rules { chunks: 0, directories: 64, ..rules(form) };
            let heading = Heading { form, machine: "host", rules: &rules, concurrency: 1, seed: 42 };
            let results = results();
            let line = line(
                &heading,
                &Results(std::array::from_fn(|at| if at < 6 { Result::default() } else { results.0[at] })),
            );
            assert_eq!(line.split(',').count(), fields, "{line}");
            let found = BonnieLines.read(&line).expect(&line).found.remove(0);
            assert_eq!(found.work["directories"].as_integer(), Some(64), "{line}");
            let what = BonnieLines.described(&found.work);
            assert_eq!(what, "2048 files of 20 to 300 bytes in 64 folders", "{line}");
        }
    }

    #[test]
    fn the_folders_stand_last_of_the_small_files_and_the_piece_before_them() {
        for (form, piece) in [(Form::V197, "4k"), (Form::V198, "4k"), (Form::V200a, "")] {
            let rules = Rules { piece: 4096, ..rules(form) };
            let heading = Heading { form, machine: "host", rules: &rules, concurrency: 1, seed: 42 };
            let line = line(&heading, &results());
            assert!(line.contains(&format!(",2,300,20,{piece},3,")), "{line}");
        }
    }

    /// Lines of 2.00a do not contain the chunk size, so the import assumes the default.
    fn described(rules: &Rules) -> String {
        let chunk = crate::schema::units::Bytes(rules.chunk.into());
        let (seeks, seekers) = (rules.seeks, rules.seekers);
        format!(
            "a file of 256 MiB in chunks of {chunk}, {seeks} seeks by {seekers}; 2048 files of 20 to 300 bytes in 3 folders"
        )
    }
}
