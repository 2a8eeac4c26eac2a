//! What fio prints as `json+`: per job and direction, with whole histograms.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The output; keys as fio has them.
#[derive(Debug, Deserialize)]
pub struct Output {
    pub jobs: Vec<Job>,
}

#[derive(Debug, Deserialize)]
pub struct Job {
    #[serde(rename = "jobname")]
    pub name: String,
    /// Jobs of one group run together.
    #[serde(rename = "groupid")]
    pub group: u64,
    pub error: i64,
    /// Milliseconds.
    pub job_runtime: u64,
    /// Percent of that time.
    pub usr_cpu: f64,
    pub sys_cpu: f64,
    /// I/Os that failed, where the job goes on after errors.
    #[serde(default)]
    pub total_err: u64,
    pub read: Direction,
    pub write: Direction,
    /// Holes that the engine falloc punched.
    #[serde(default)]
    pub trim: Direction,
    pub sync: Syncs,
}

#[derive(Debug, Default, Deserialize)]
pub struct Direction {
    pub total_ios: u64,
    pub io_bytes: u64,
    /// Milliseconds.
    pub runtime: u64,
    #[serde(default)]
    pub clat_ns: Latency,
    /// From the start of an I/O, which is before its submission.
    #[serde(default)]
    pub lat_ns: Latency,
}

#[derive(Debug, Default, Deserialize)]
pub struct Syncs {
    #[serde(default)]
    pub total_ios: u64,
    #[serde(default)]
    pub lat_ns: Latency,
}

/// How many took as many nanoseconds, by the upper end of fio's bins. Empty if the job does not measure it.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Latency {
    #[serde(default)]
    pub bins: BTreeMap<String, u64>,
}

impl Job {
    /// Each with its name.
    pub fn directions(&self) -> [(&'static str, &Direction); 3] {
        [("read", &self.read), ("write", &self.write), ("trim", &self.trim)]
    }
}

impl Output {
    /// fio may print notes before it.
    ///
    /// # Errors
    /// If there is no such output, or a job of it failed.
    pub fn parse(text: &str) -> Result<Self, String> {
        let begin = if text.starts_with('{') { Some(0) } else { text.find("\n{").map(|at| at + 1) };
        let json = begin.map(|at| &text[at..]).ok_or("fio printed no JSON")?;
        let output: Output =
            serde_json::from_str(json).map_err(|e| format!("could not read fio's JSON: {e}"))?;
        match output.jobs.iter().find(|job| job.error != 0) {
            Some(job) => Err(format!("fio's job {} ended with error {}", job.name, job.error)),
            None if output.jobs.is_empty() => Err("fio reports no job".into()),
            None => Ok(output),
        }
    }
}

impl Latency {
    /// (nanoseconds, count) of each bin.
    pub fn counted(&self) -> impl Iterator<Item = (u64, u64)> {
        self.bins.iter().filter_map(|(ns, count)| Some((ns.parse().ok()?, *count)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: &str = r#"{"jobname":"a","groupid":0,"error":0,"job_runtime":1000,"usr_cpu":1.5,"sys_cpu":3.0,
        "read":{"total_ios":3,"io_bytes":12288,"runtime":1000,"clat_ns":{"bins":{"4000":1,"5000":2}}},
        "write":{"total_ios":0,"io_bytes":0,"runtime":0,"clat_ns":{}},"sync":{"total_ios":0,"lat_ns":{}}}"#;

    #[test]
    fn notes_before_the_output_are_passed_over() {
        let text = format!("note: both iodepth >= 1\n{{\"fio version\":\"fio-3.33\",\"jobs\":[{JOB}]}}");
        let output = Output::parse(&text).unwrap();
        let read = &output.jobs[0].read;
        assert_eq!(
            (read.total_ios, read.clat_ns.counted().collect::<Vec<_>>()),
            (3, vec![(4000, 1), (5000, 2)])
        );
    }

    #[test]
    fn what_is_no_output_is_said() {
        let failed = JOB.replace("\"error\":0", "\"error\":5");
        for (text, told) in [
            ("fio: bad option".to_owned(), "no JSON"),
            ("{\"jobs\": 3}".to_owned(), "could not read"),
            (format!("{{\"fio version\":\"x\",\"jobs\":[{failed}]}}"), "job a ended with error 5"),
            ("{\"fio version\":\"x\",\"jobs\":[]}".to_owned(), "no job"),
        ] {
            assert!(Output::parse(&text).unwrap_err().contains(told), "{text}");
        }
    }
}
