//! The lines of comma-separated values, and the line of names over several of them.

use super::forms::Form;
use super::results::{Figure, Heading, Result, Results, chunk, number, size};
use crate::workloads::bonnie::rules::{self, Small};
use crate::workloads::bonnie::trial::Step;

const DATA: &str = "putc,putc_cpu,put_block,put_block_cpu,rewrite,rewrite_cpu,getc,getc_cpu,get_block,get_block_cpu,seeks,seeks_cpu";
const FILES: &str = "seq_create,seq_create_cpu,seq_stat,seq_stat_cpu,seq_del,seq_del_cpu,ran_create,ran_create_cpu,ran_stat,\
                     ran_stat_cpu,ran_del,ran_del_cpu";
const LATENCIES: &str = "putc_latency,put_block_latency,rewrite_latency,getc_latency,get_block_latency,seeks_latency,seq_create_latency,\
                         seq_stat_latency,seq_del_latency,ran_create_latency,ran_stat_latency,ran_del_latency";

/// The names of the fields. Those of 2.00a are 1.97's, two fewer than its lines have.
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

/// 27 fields: without the data phases 13 empty ones, and the same of the files.
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

/// 48 fields, and in 1.98 50: the number of seeks and of seekers stand behind the chunk.
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
        // 2.00a never says the chunk.
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
        // At the place of the piece, which it never says.
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
