//! The CSV lines, and the header line with the names of their fields.

use super::forms::Form;
use super::results::{Figure, Heading, Result, Results, chunk, number, size};
use crate::workloads::bonnie::rules::{self, Small};
use crate::workloads::bonnie::trial::Step;

const DATA: &str = "putc,putc_cpu,put_block,put_block_cpu,rewrite,rewrite_cpu,getc,getc_cpu,get_block,get_block_cpu,seeks,seeks_cpu";
const FILES: &str = "seq_create,seq_create_cpu,seq_stat,seq_stat_cpu,seq_del,seq_del_cpu,ran_create,ran_create_cpu,ran_stat,\
                     ran_stat_cpu,ran_del,ran_del_cpu";
const LATENCIES: &str = "putc_latency,put_block_latency,rewrite_latency,getc_latency,get_block_latency,seeks_latency,seq_create_latency,\
                         seq_stat_latency,seq_del_latency,ran_create_latency,ran_stat_latency,ran_del_latency";

/// Names of the fields. 2.00a prints the names of 1.97, which are two fewer than its fields.
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
    let fields = if heading.form == Form::V103 { old(heading, results) } else { new(heading, results) };
    fields.join(",")
}

/// 27 fields. Without the data phases 13 of them are empty; without the files phase likewise.
fn old(heading: &Heading<'_>, results: &Results) -> Vec<String> {
    let rules = heading.rules;
    let mut fields = vec![heading.machine.to_owned()];
    if rules.chunks > 0 {
        let chunk =
            if rules.chunk == rules::CHUNK { String::new() } else { format!(":{}", chunk(rules.chunk)) };
        fields.push(size(rules) + &chunk);
        fields.extend(results.data().iter().flat_map(|result| pair(result, result.kib())));
        let seeks = results.of(Step::Seek);
        fields.extend(pair(&seeks, seeks.seeks_exact()));
    } else {
        fields.extend(empty(13));
    }
    if rules.files > 0 {
        fields.push(number(rules));
        fields.extend(results.files().iter().flat_map(|result| pair(result, result.files())));
    } else {
        fields.extend(empty(13));
    }
    fields
}

/// 48 fields, and 50 in 1.98, where the numbers of seeks and of seekers follow the chunk size.
fn new(heading: &Heading<'_>, results: &Results) -> Vec<String> {
    let (form, rules) = (heading.form, heading.rules);
    let mut fields = vec![
        form.csv().to_owned(),
        form.program().to_owned(),
        heading.machine.to_owned(),
        heading.concurrency.to_string(),
        heading.seed.to_string(),
    ];
    let is_198 = form != Form::V197;
    if rules.chunks > 0 {
        // 2.00a never prints the chunk size.
        let is_usual = rules.chunk == rules::CHUNK || form == Form::V200a;
        fields.extend([size(rules), if is_usual { String::new() } else { chunk(rules.chunk) }]);
        fields.extend([rules.seeks, rules.seekers].map(|n| n.to_string()).into_iter().filter(|_| is_198));
    } else {
        fields.extend(empty(if is_198 { 4 } else { 2 }));
    }
    fields.extend(results.data().iter().flat_map(|result| pair(result, result.kib())));
    let seeks = results.of(Step::Seek);
    fields.extend(pair(&seeks, seeks.seeks()));
    fields.extend(small(heading));
    fields.extend(results.files().iter().flat_map(|result| pair(result, result.files())));
    let all = results.data().iter().chain([&seeks]).chain(results.files());
    fields.extend(all.map(Result::latency));
    fields
}

/// num_files, max_size, min_size, num_dirs, file_chunk_size.
fn small(heading: &Heading<'_>) -> [String; 5] {
    let rules = heading.rules;
    let unless = |value: u32, usual: u32| if value == usual { String::new() } else { value.to_string() };
    if rules.files == 0 {
        return Default::default();
    }
    let (max, min) = match rules.small {
        Small::HardLinks => ("link".to_owned(), String::new()),
        Small::Symlinks => ("symlink".to_owned(), String::new()),
        Small::Files { min, max } => (unless(max, 0), unless(min, 0)),
    };
    let directories = unless(rules.directories, 1);
    let last = match heading.form {
        // 2.00a writes the directories into the field of the file chunk size, which it never prints.
        Form::V200a => [String::new(), directories],
        _ => [directories, unless(rules.piece, rules::CHUNK)],
    };
    let [directories, piece] = last;
    [(rules.files / 1024).to_string(), max, min, directories, piece]
}

fn pair(result: &Result, rate: Figure) -> [String; 2] {
    [rate.field(), result.cpu().field()]
}

fn empty(fields: usize) -> impl Iterator<Item = String> {
    std::iter::repeat_n(String::new(), fields)
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

    /// Each phase with a time, a share and a longest operation of its own; the last was too quick.
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

    /// 2.00a says no chunk, so that its lines are taken for the usual one.
    fn described(rules: &Rules) -> String {
        let chunk = crate::schema::units::Bytes(rules.chunk.into());
        let (seeks, seekers) = (rules.seeks, rules.seekers);
        format!(
            "a file of 256 MiB in chunks of {chunk}, {seeks} seeks by {seekers}; 2048 files of 20 to 300 bytes in 3 folders"
        )
    }
}
