//! fio's JSON: `--output-format=json` and `json+`.
//!
//! ```text
//! fio: a warning that fio printed; skipped
//! { "fio version": "fio-3.33", "global options": {…}, "jobs": [ { "jobname": …, "job options": {…}, "read": {…}, "write": {…} } ] }
//! ```
//! Each job of each document is one result. The job's options describe its work, which is never taken for the work of a workload of
//! fsderby.

use serde_json::{Map, Value as Json};
use toml::{Table, Value};

use super::{Found, Part, Read, Tool, Wrong};
use crate::schema::import::Figure;

pub struct FioJson;

/// The options that describe a job's work and how it was timed, in the order of display.
const OPTIONS: [&str; 22] = [
    "rw",
    "readwrite",
    "bs",
    "blocksize",
    "size",
    "filesize",
    "io_size",
    "nrfiles",
    "ioengine",
    "iodepth",
    "numjobs",
    "direct",
    "sync",
    "fsync",
    "fdatasync",
    "end_fsync",
    "rwmixread",
    "rwmixwrite",
    "runtime",
    "time_based",
    "ramp_time",
    "rate",
];
/// The largest length of an option or a name; a longer text is cut.
const LONGEST: usize = 200;
const DIRECTIONS: [(&str, &str); 3] = [("read", "read"), ("write", "write"), ("trim", "trim")];

impl Tool for FioJson {
    fn name(&self) -> &'static str {
        "fio"
    }

    fn title(&self) -> &'static str {
        "fio"
    }

    fn engine(&self) -> &'static str {
        "fio"
    }

    fn story(&self) -> &'static str {
        "fio's bandwidth is bytes divided by the job's own time; without direct=1 it includes bytes that only reached the page \
         cache. Latencies are completion latencies. No workload of fsderby equals a fio job, so these figures are shown alone."
    }

    fn parts(&self) -> Vec<Part> {
        let of = |(direction, _): (&str, &str)| {
            let column = |what: &str, heading| (format!("fio.{direction}.{what}"), heading);
            vec![
                column("throughput", "throughput"),
                column("iops", "I/O per second"),
                column("mean.latency", "mean latency"),
                column("p99.latency", "p99 latency"),
                column("max.latency", "longest"),
            ]
        };
        DIRECTIONS.iter().map(|direction| Part { title: direction.1, columns: of(*direction) }).collect()
    }

    fn read(&self, text: &str) -> Result<Read, Vec<Wrong>> {
        let mut read = Read::default();
        let mut wrong = Vec::new();
        let mut lines = text.split_inclusive('\n');
        let mut at = 0;
        let mut number = 1;
        while let Some(line) = lines.next() {
            let begins = line.starts_with('{');
            if !begins {
                (at, number) = (at + line.len(), number + 1);
                read.other_lines += 1;
                continue;
            }
            let mut documents = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Json>();
            match documents.next() {
                Some(Ok(document)) => {
                    match jobs(&document, number) {
                        Ok(found) => read.found.extend(found),
                        Err(what) => wrong.push(Wrong { line: number, column: 1, what }),
                    }
                    // Reading continues with the line after the line in which this document ends.
                    let end = at + documents.byte_offset();
                    let end = text[end..].find('\n').map_or(text.len(), |more| end + more + 1);
                    number += text[at..end].matches('\n').count();
                    at = end;
                    lines = text[at..].split_inclusive('\n');
                }
                Some(Err(error)) => {
                    let what = format!("the JSON is incomplete or invalid: {error}");
                    wrong.push(Wrong {
                        line: number + error.line().saturating_sub(1),
                        column: error.column().max(1),
                        what,
                    });
                    break;
                }
                None => break,
            }
        }
        if wrong.is_empty() { Ok(read) } else { Err(wrong) }
    }

    fn unlike(&self, _work: &Table, _parameters: &Table) -> Result<Vec<String>, String> {
        Err("no workload here is fio's".into())
    }

    fn described(&self, work: &Table) -> String {
        let said = |key: &&str| Some(format!("{key}={}", work.get(*key)?.as_str()?));
        let said: Vec<String> = OPTIONS.iter().filter_map(said).collect();
        if said.is_empty() { "a job without options".into() } else { said.join(" ") }
    }
}

/// The results of a document.
fn jobs(document: &Json, line: usize) -> Result<Vec<Found>, String> {
    let version = document.get("fio version").and_then(Json::as_str);
    let jobs = document.get("jobs").and_then(Json::as_array);
    let (Some(version), Some(jobs)) = (version, jobs) else {
        return Err("the JSON is not fio's: it has no 'fio version' or no 'jobs'".into());
    };
    let global = document.get("global options").and_then(Json::as_object);
    let found: Result<Vec<Found>, String> =
        jobs.iter().map(|job| result(job, global, version, line)).collect();
    match found {
        Ok(found) if found.is_empty() => Err("it has no jobs".into()),
        found => found,
    }
}

fn result(
    job: &Json,
    global: Option<&Map<String, Json>>,
    version: &str,
    line: usize,
) -> Result<Found, String> {
    let name = job.get("jobname").and_then(Json::as_str).ok_or("a job has no 'jobname'")?;
    if let Some(error) = job.get("error").and_then(Json::as_i64).filter(|error| *error != 0) {
        return Err(format!("the job '{}' ended with the error {error}, so it has no figures", cut(name)));
    }
    let own = job.get("job options").and_then(Json::as_object);
    let mut work = Table::new();
    for options in [global, own].into_iter().flatten() {
        for key in OPTIONS {
            if let Some(value) = options.get(key).and_then(Json::as_str) {
                work.insert(key.into(), Value::String(cut(value)));
            }
        }
    }
    let mut figures = Vec::new();
    for (direction, _) in DIRECTIONS {
        if let Some(of) =
            job.get(direction).filter(|of| number(of, "io_bytes").is_some_and(|bytes| bytes > 0.0))
        {
            figures.extend(directed(of, direction)?);
        }
    }
    if figures.is_empty() {
        let job = cut(name);
        return Err(format!("the job '{job}' moved no bytes"));
    }
    let notes = match job.get("job options").and_then(|options| options.get("numjobs")).and_then(Json::as_str)
    {
        Some(n) if n != "1" && job.get("groupid").is_some() => {
            vec![format!("of {} processes, together or each as --group_reporting says", cut(n))]
        }
        _ => Vec::new(),
    };
    Ok(Found { line, machine: cut(name), program: cut(version), work, notes, figures })
}

fn directed(of: &Json, direction: &str) -> Result<Vec<Figure>, String> {
    let needed = |key: &str| {
        // Older versions of fio print the bandwidth only in KiB.
        number(of, key).ok_or_else(|| format!("'{direction}' has no number '{key}'"))
    };
    let name = |what: &str| format!("fio.{direction}.{what}");
    let kib = match number(of, "bw_bytes") {
        Some(bytes) => [bytes / 1024.0, bytes / 1024.0 + 1.0 / 1024.0],
        None => [needed("bw")?, needed("bw")? + 1.0],
    };
    let plain = |metric: String, unit: &str, value: f64, most: f64| Figure {
        metric,
        unit: unit.into(),
        value: Some(value),
        least: Some(value),
        most: Some(most),
    };
    let mut figures = vec![plain(name("throughput"), "KiB/s", kib[0], kib[1])];
    let iops = needed("iops")?;
    figures.push(plain(name("iops"), "1/s", iops, iops));
    // Latencies are in nanoseconds since fio 3.0, and were in microseconds before.
    let latencies = [("clat_ns", 1.0), ("clat", 1000.0)];
    let Some((latency, ns)) = latencies.into_iter().find_map(|(key, ns)| Some((of.get(key)?, ns))) else {
        return Ok(figures);
    };
    let p99 = latency.get("percentile").and_then(|all| number(all, "99.000000"));
    for (what, value) in [
        ("mean.latency", number(latency, "mean")),
        ("p99.latency", p99),
        ("max.latency", number(latency, "max")),
    ] {
        if let Some(value) = value.filter(|value| *value > 0.0) {
            figures.push(plain(name(what), "ns", value * ns, value * ns));
        }
    }
    Ok(figures)
}

fn number(of: &Json, key: &str) -> Option<f64> {
    of.get(key)?.as_f64().filter(|value| value.is_finite() && *value >= 0.0)
}

fn cut(text: &str) -> String {
    let end = (0..=text.len().min(LONGEST)).rev().find(|at| text.is_char_boundary(*at));
    text[..end.unwrap_or(0)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A document as fio 3.33 prints it, shortened to the fields that are read and some others.
    const DOCUMENT: &str = r#"{
  "fio version" : "fio-3.33",
  "timestamp" : 1795682314,
  "global options" : { "bs" : "4k", "ioengine" : "psync" },
  "jobs" : [
    {
      "jobname" : "mail", "groupid" : 0, "error" : 0,
      "job options" : { "name" : "mail", "size" : "2m", "rw" : "randrw" },
      "read" : { "io_bytes" : 991232, "bw_bytes" : 28320914, "bw" : 27657, "iops" : 6914.285714,
        "clat_ns" : { "min" : 51958, "max" : 8115621, "mean" : 131229.681818, "percentile" : { "99.000000" : 166912 } } },
      "write" : { "io_bytes" : 1105920, "bw_bytes" : 31597714, "bw" : 30857, "iops" : 7714.285714,
        "clat_ns" : { "min" : 3617, "max" : 29916, "mean" : 6466.92963, "bins" : { "3617" : 1 } } },
      "trim" : { "io_bytes" : 0, "bw_bytes" : 0, "bw" : 0, "iops" : 0.0 }
    }
  ]
}
"#;

    fn read(text: &str) -> Vec<Found> {
        FioJson.read(text).expect(text).found
    }

    fn value(found: &Found, metric: &str) -> Option<f64> {
        found.figures.iter().find(|figure| figure.metric == metric)?.value
    }

    #[test]
    fn a_job_is_a_result_with_its_options_and_directions() {
        let found = read(DOCUMENT).remove(0);
        assert_eq!((found.machine.as_str(), found.program.as_str(), found.line), ("mail", "fio-3.33", 1));
        assert_eq!(FioJson.described(&found.work), "rw=randrw bs=4k size=2m ioengine=psync");
        assert_eq!(value(&found, "fio.read.throughput"), Some(28_320_914.0 / 1024.0));
        assert_eq!(value(&found, "fio.write.iops"), Some(7714.285714));
        assert_eq!(value(&found, "fio.read.p99.latency"), Some(166_912.0));
        assert_eq!((value(&found, "fio.write.p99.latency"), value(&found, "fio.trim.iops")), (None, None));
        assert_eq!(found.figures.len(), 5 + 4);
        let known: Vec<String> =
            FioJson.parts().into_iter().flat_map(|part| part.columns).map(|(metric, _)| metric).collect();
        assert!(found.figures.iter().all(|figure| known.contains(&figure.metric)));
    }

    #[test]
    fn documents_are_found_between_other_text_and_one_after_the_other() {
        let second = DOCUMENT.replace("\"mail\"", "\"news\"");
        let read = FioJson.read(&format!("fio: a warning\n{DOCUMENT}other text\n{second}\n")).expect("text");
        let said: Vec<(&str, usize)> =
            read.found.iter().map(|found| (found.machine.as_str(), found.line)).collect();
        assert_eq!(
            (said, read.other_lines),
            (vec![("mail", 2), ("news", 2 + DOCUMENT.lines().count() + 1)], 3)
        );
        assert!(FioJson.read("mail: (groupid=0): bw=3\n").expect("text").found.is_empty());
    }

    #[test]
    fn older_versions_have_microseconds_and_kibibytes() {
        let older = DOCUMENT.replace("clat_ns", "clat").replace("\"bw_bytes\"", "\"other\"");
        let found = read(&older).remove(0);
        assert_eq!(value(&found, "fio.read.throughput"), Some(27657.0));
        assert_eq!(value(&found, "fio.read.p99.latency"), Some(166_912_000.0));
    }

    #[test]
    fn what_is_no_result_is_refused_with_its_place() {
        let cut = &DOCUMENT[..DOCUMENT.len() / 2];
        for (text, what) in [
            (cut.to_owned(), "incomplete or invalid"),
            ("{ \"jobs\" : [] }\n".into(), "not fio's"),
            (DOCUMENT.replace("\"jobname\"", "\"x\""), "no 'jobname'"),
            (DOCUMENT.replace("\"error\" : 0", "\"error\" : 28"), "ended with the error 28"),
            (DOCUMENT.replace("\"iops\"", "\"x\""), "no number 'iops'"),
            (DOCUMENT.replace("\"io_bytes\"", "\"x\""), "moved no bytes"),
            ("{ \"fio version\" : \"fio-3.33\", \"jobs\" : [] }\n".into(), "no jobs"),
        ] {
            let wrong = FioJson.read(&text).expect_err(&text);
            assert!(wrong.len() == 1 && wrong[0].what.contains(what), "{what}: {wrong:?}");
        }
        let two =
            format!("{}{}", DOCUMENT.replace("\"jobname\"", "\"x\""), DOCUMENT.replace("\"iops\"", "\"x\""));
        assert_eq!(FioJson.read(&two).expect_err("two are bad").len(), 2);
    }
}
