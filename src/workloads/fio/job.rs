//! A job file of fio: its options, and which of them may run.
//!
//! Options are a list of those that stay within the filesystem under test. fio's manual, fio(1), has their meanings.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::text::names;

/// A job file that may run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// As fio reads it: without `directory` and comments, and with whole latencies where they begin at the intended start.
    pub text: String,
    pub sections: Vec<Section>,
}

/// One job: its section with the options of the global sections before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    pub name: String,
    options: BTreeMap<String, String>,
}

/// Options that stay inside, whatever their values.
const KNOWN: &[&str] = &[
    "allow_file_create",
    "allow_mounted_write",
    "allrandrepeat",
    "atomic",
    "ba",
    "block_error_percentiles",
    "blockalign",
    "blocksize",
    "blocksize_range",
    "blocksize_unaligned",
    "bs",
    "bs_is_seq_rand",
    "bs_unaligned",
    "bsrange",
    "bssplit",
    "buffer_compress_chunk",
    "buffer_compress_percentage",
    "buffered",
    "bwavgtime",
    "clat_percentiles",
    "clocksource",
    "cmdprio",
    "cmdprio_bssplit",
    "cmdprio_class",
    "cmdprio_percentage",
    "continue_on_error",
    "cpumask",
    "cpus_allowed",
    "cpus_allowed_policy",
    "create_fsync",
    "create_on_open",
    "create_only",
    "create_serialize",
    "dedupe_global",
    "dedupe_mode",
    "dedupe_percentage",
    "dedupe_working_set_percentage",
    "description",
    "direct",
    "disable_bw",
    "disable_bw_measurement",
    "disable_clat",
    "disable_lat",
    "disable_slat",
    "disk_util",
    "do_verify",
    "end_fsync",
    "end_syncfs",
    "error_dump",
    "exit_what",
    "exitall",
    "exitall_on_error",
    "experimental_verify",
    "fadvise_hint",
    "fallocate",
    "fdatasync",
    "file_append",
    "file_service_type",
    "fileoffset",
    "filesize",
    "fill_device",
    "fill_fs",
    "fixedbufs",
    "flow",
    "flow_sleep",
    "force_async",
    "fsync",
    "fsync_on_close",
    "group_reporting",
    "gtod_cpu",
    "gtod_reduce",
    "hipri",
    "hipri_percentage",
    "hugepage-size",
    "ignore_error",
    "invalidate",
    "io_limit",
    "io_size",
    "io_submit_mode",
    "iodepth",
    "iodepth_batch",
    "iodepth_batch_complete",
    "iodepth_batch_complete_max",
    "iodepth_batch_complete_min",
    "iodepth_batch_submit",
    "iodepth_low",
    "iomem",
    "iomem_align",
    "iopsavgtime",
    "kb_base",
    "lat_percentiles",
    "latency_percentile",
    "latency_run",
    "latency_target",
    "latency_window",
    "lockfile",
    "lockmem",
    "loops",
    "max_latency",
    "mem",
    "mem_align",
    "name",
    "new_group",
    "nice",
    "nonvectored",
    "norandommap",
    "nowait",
    "nr_files",
    "nrfiles",
    "number_ios",
    "numjobs",
    "offset",
    "offset_align",
    "offset_increment",
    "openfiles",
    "overwrite",
    "percentage_random",
    "percentage_sequential",
    "percentile_list",
    "pre_read",
    "prio",
    "prioclass",
    "ramp_time",
    "random_distribution",
    "random_generator",
    "randrepeat",
    "randseed",
    "rate",
    "rate_cycle",
    "rate_ignore_thinktime",
    "rate_iops",
    "rate_iops_min",
    "rate_min",
    "rate_process",
    "ratecycle",
    "ratemin",
    "readwrite",
    "refill_buffers",
    "registerfiles",
    "runtime",
    "rw",
    "rw_sequencer",
    "rwmixcycle",
    "rwmixread",
    "rwmixwrite",
    "scramble_buffers",
    "serialize_overlap",
    "significant_figures",
    "size",
    "slat_percentiles",
    "softrandommap",
    "sqthread_poll",
    "sqthread_poll_cpu",
    "ss",
    "ss_dur",
    "ss_ramp",
    "startdelay",
    "stat_type",
    "steadystate",
    "steadystate_duration",
    "steadystate_ramp_time",
    "stonewall",
    "sync",
    "sync_file_range",
    "thinktime",
    "thinktime_blocks",
    "thinktime_blocks_type",
    "thinktime_iotime",
    "thinktime_spin",
    "thp",
    "thread",
    "time_based",
    "timeout",
    "uncached",
    "unified_rw_reporting",
    "unique_filename",
    "unit_base",
    "unlink",
    "unlink_each_loop",
    "userspace_reap",
    "verify",
    "verify_async",
    "verify_backlog",
    "verify_backlog_batch",
    "verify_dump",
    "verify_fatal",
    "verify_interval",
    "verify_offset",
    "verify_only",
    "verifysort",
    "verifysort_nr",
    "wait_for",
    "wait_for_previous",
    "write_hint",
    "zero_buffers",
    "zonerange",
    "zonesize",
    "zoneskip",
];

/// Engines that do I/O on files.
const ENGINES: &[&str] = &[
    "falloc",
    "filecreate",
    "filedelete",
    "filestat",
    "ftruncate",
    "io_uring",
    "libaio",
    "mmap",
    "posixaio",
    "psync",
    "pvsync",
    "pvsync2",
    "sync",
    "vsync",
];

/// Those of them that have more than one I/O on its way.
const ASYNCHRONOUS: [&str; 3] = ["io_uring", "libaio", "posixaio"];

/// The engine that trims files: it punches holes.
const PUNCHES: &str = "falloc";

/// Options with a reason of their own.
const REFUSED: &[(&str, &str)] = &[
    ("client", "fsderby runs fio on this machine alone"),
    ("exec_prerun", "it starts another program; put that into a command of your own"),
    ("exec_postrun", "it starts another program; put that into a command of your own"),
    ("include", "fsderby stores the job file with the run; write the included lines into it"),
    ("opendir", "it adds files outside of the filesystem under test"),
    ("threads", "fio ignores it outside of its profile tiobench; write thread, or leave it out"),
    ("write_bw_log", "it writes a log during the measurement; the histograms of fio's json+ are stored"),
    ("write_hist_log", "it writes a log during the measurement; the histograms of fio's json+ are stored"),
    ("write_iops_log", "it writes a log during the measurement; the histograms of fio's json+ are stored"),
    ("write_lat_log", "it writes a log during the measurement; the histograms of fio's json+ are stored"),
];

impl Job {
    /// # Errors
    /// Names the line and what to write.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut kept = String::new();
        let mut globals = BTreeMap::new();
        let mut sections: Vec<Section> = Vec::new();
        // `None` before the first section; whether it is a job's.
        let mut of_job = None;
        for (at, line) in text.lines().enumerate() {
            let fault = |text: String| format!("line {}: {text}", at + 1);
            // As fio does, also within a line.
            let bare = line.split([';', '#']).next().unwrap_or_default().trim();
            if bare.is_empty() {
                continue;
            }
            if let Some(name) = bare.strip_prefix('[') {
                let name = name.strip_suffix(']').ok_or_else(|| fault("a section ends with ']'".into()))?;
                let name = name.trim();
                if name.is_empty() || name.contains('/') || name.chars().any(char::is_control) {
                    return Err(fault(format!("'{name}' names files, so it has no '/'")));
                }
                if of_job == Some(true) {
                    sections.last().into_iter().for_each(|section| section.close(&mut kept));
                }
                of_job = Some(name != "global");
                if name != "global" {
                    sections.push(Section { name: name.to_owned(), options: globals.clone() });
                }
                // Writing to a string cannot fail.
                let _ = writeln!(kept, "[{name}]");
                continue;
            }
            let Some(is_of_job) = of_job else {
                return Err(fault(format!(
                    "'{bare}' stands before the first section; begin with [global] or [NAME]"
                )));
            };
            let (key, value) =
                bare.split_once('=').map_or((bare, ""), |(key, value)| (key.trim(), value.trim()));
            if is_kept(key, value).map_err(fault)? {
                let _ = writeln!(kept, "{bare}");
                let options = match sections.last_mut() {
                    Some(section) if is_of_job => &mut section.options,
                    _ => &mut globals,
                };
                options.insert(main_name(key).to_owned(), value.to_owned());
            }
        }
        sections
            .last()
            .into_iter()
            .filter(|_| of_job == Some(true))
            .for_each(|section| section.close(&mut kept));
        if sections.is_empty() {
            return Err("the file has no job: write a section, such as [reads]".into());
        }
        if let Some(section) =
            sections.iter().find(|section| section.trims() && section.text("ioengine") != PUNCHES)
        {
            return Err(format!(
                "job {}: rw={}: fio trims devices only, except with ioengine={PUNCHES}, and fsderby gives it files",
                section.name,
                section.text("rw")
            ));
        }
        let syncs = |section: &&Section| {
            ["fsync", "fdatasync", "sync_file_range"].iter().any(|key| section.is_on(key, false))
        };
        if let Some(Section { name, .. }) =
            sections.iter().filter(|section| section.is_offloaded()).find(syncs)
        {
            return Err(format!(
                "job {name}: fio 3.33 never ends with io_submit_mode=offload and fsync; leave one of them out"
            ));
        }
        if let Some(Section { name, .. }) =
            sections.iter().find(|section| section.is_offloaded() && section.is_deep())
        {
            return Err(format!(
                "job {name}: fio 3.33 never ends with io_submit_mode=offload and an iodepth above 1; leave one of them out"
            ));
        }
        Ok(Job { text: kept, sections })
    }

    /// Whether a job asks for O_DIRECT.
    pub fn is_direct(&self) -> bool {
        self.sections.iter().any(Section::is_direct)
    }

    /// What its figures do not mean, one sentence each.
    pub fn notes(&self) -> Vec<String> {
        let named = |has: &dyn Fn(&Section) -> bool| {
            let names: Vec<&str> = self
                .sections
                .iter()
                .filter(|section| has(section))
                .map(|section| section.name.as_str())
                .collect();
            (!names.is_empty()).then(|| names.join(", "))
        };
        let notes = [
            (
                named(&|section| section.text("ioengine") == "libaio" && !section.is_direct()),
                "libaio without direct=1 waits for each I/O, whatever its iodepth",
            ),
            (
                named(&|section| section.writes() && !section.options.contains_key("fallocate")),
                "fio preallocates the file (fallocate=native), so the first writes go to unwritten extents; \
                 fallocate=none avoids that",
            ),
            (
                named(&|section| section.is_paced() && !section.is_offloaded()),
                "with a rate, latencies begin when fio issues an I/O, so an I/O that waits behind a slow one looks fast; \
                 io_submit_mode=offload measures them from the intended start",
            ),
        ];
        notes.into_iter().filter_map(|(jobs, text)| Some(format!("job {}: {text}", jobs?))).collect()
    }

    /// Whether the latencies of this job begin at the intended start of an I/O.
    pub fn is_from_intended_start(&self, job: &str) -> bool {
        self.sections.iter().any(|section| section.name == job && section.is_from_intended_start())
    }
}

impl Section {
    fn text(&self, key: &str) -> &str {
        self.options.get(key).map_or("", String::as_str)
    }

    /// fio takes an option without a value as 1.
    fn is_on(&self, key: &str, without: bool) -> bool {
        self.options.get(key).map_or(without, |value| value != "0")
    }

    fn is_direct(&self) -> bool {
        match self.options.contains_key("direct") {
            true => self.is_on("direct", false),
            false => !self.is_on("buffered", true),
        }
    }

    fn writes(&self) -> bool {
        let kind = self.text("rw");
        kind.contains("write") || kind.starts_with("rw") || kind.starts_with("randrw")
    }

    fn trims(&self) -> bool {
        self.text("rw").contains("trim")
    }

    fn is_paced(&self) -> bool {
        self.options.contains_key("rate") || self.options.contains_key("rate_iops")
    }

    fn is_offloaded(&self) -> bool {
        self.text("io_submit_mode") == "offload"
    }

    /// Whether several I/Os are on their way at a time.
    fn is_deep(&self) -> bool {
        let depth = self.text("iodepth").parse::<u32>();
        ASYNCHRONOUS.contains(&self.text("ioengine")) && depth.is_ok_and(|depth| depth > 1)
    }

    fn is_from_intended_start(&self) -> bool {
        self.is_paced() && self.is_offloaded()
    }

    /// Only then does fio print the whole histogram of latencies from the intended start.
    fn close(&self, kept: &mut String) {
        if self.is_from_intended_start() {
            kept.push_str("lat_percentiles=1\n");
        }
    }
}

/// The name of an option that has two.
fn main_name(key: &str) -> &str {
    match key {
        "readwrite" => "rw",
        key => key,
    }
}

/// Whether fio gets the option.
///
/// # Errors
/// If the option may not run.
fn is_kept(key: &str, value: &str) -> Result<bool, String> {
    if let Some((_, why)) = REFUSED.iter().find(|(refused, _)| *refused == key) {
        return Err(format!("fsderby does not run {key}: {why}"));
    }
    if key.starts_with("include ") {
        return is_kept("include", "");
    }
    if value.contains("${") {
        return Err(format!("{key}={value}: the environment of fio is fixed; write the value itself"));
    }
    match key {
        // Its files lie in the filesystem under test.
        "directory" => Ok(false),
        "filename" | "filename_format" => {
            let is_inside =
                !value.starts_with('/') && !value.contains(':') && !value.split('/').any(|part| part == "..");
            match is_inside {
                true => Ok(true),
                false if value.starts_with("/dev/") => Err(format!(
                    "{key}={value}: fsderby gives fio no devices; leave {key} out, and fio makes a file in the filesystem \
                     under test"
                )),
                false => Err(format!(
                    "{key}={value}: write the name of one file below the filesystem under test, such as {key}={}",
                    value
                        .rsplit(['/', ':'])
                        .next()
                        .filter(|name| !["", ".."].contains(name))
                        .unwrap_or("data")
                )),
            }
        }
        "ioengine" if ENGINES.contains(&value) => Ok(true),
        "ioengine" => Err(format!(
            "ioengine={value}: fsderby runs the engines that do I/O on files: {}",
            ENGINES.join(", ")
        )),
        // A pattern in quotes is a file.
        "buffer_pattern" | "verify_pattern" if value.starts_with(['\'', '"']) && value.contains('/') => {
            Err(format!("{key}={value}: fsderby gives fio no other files; write the pattern itself"))
        }
        "buffer_pattern" | "verify_pattern" => Ok(true),
        "mem" | "iomem" if value.contains('/') => {
            Err(format!("{key}={value}: fsderby gives fio no other files; leave the file out"))
        }
        "zonemode" if ["none", "strided"].contains(&value) => Ok(true),
        "zonemode" => {
            Err(format!("zonemode={value}: write none or strided; zones of a device have no files"))
        }
        key if KNOWN.contains(&key) => Ok(true),
        _ => Err(names::unknown("option of fio", key, KNOWN.iter().copied())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_as_it_was_written_without_its_directory() {
        let text = "; a comment\n[global]\ndirectory=/tmp/x\nbs = 4k\n\n[reads]\nrw=randread ; at random\ngroup_reporting\n[writes]\nfilename=data\n";
        let job = Job::parse(text).unwrap();
        let names: Vec<&str> = job.sections.iter().map(|section| section.name.as_str()).collect();
        assert_eq!(names, ["reads", "writes"]);
        assert_eq!(
            job.text,
            "[global]\nbs = 4k\n[reads]\nrw=randread\ngroup_reporting\n[writes]\nfilename=data\n"
        );
    }

    #[test]
    fn what_figures_do_not_mean_is_said_of_the_jobs_it_holds_for() {
        let notes = |text: &str| Job::parse(text).unwrap().notes();
        let both = notes(
            "[global]\nioengine=libaio\n[a]\nrw=randread\n[b]\nreadwrite=randrw\n[c]\nrw=read\ndirect=1\n",
        );
        assert_eq!(both.len(), 2, "{both:?}");
        assert!(both[0].starts_with("job a, b: libaio without direct=1"), "{both:?}");
        assert!(both[1].starts_with("job b: fio preallocates"), "{both:?}");
        assert_eq!(notes("[a]\nrw=write\nfallocate=none\nbuffered=0\nioengine=libaio\n"), [""; 0]);
        let paced = notes("[a]\nrw=read\nrate_iops=10\n");
        assert!(paced.len() == 1 && paced[0].contains("io_submit_mode=offload"), "{paced:?}");
    }

    #[test]
    fn a_paced_job_that_is_offloaded_has_latencies_from_its_intended_start() {
        let job = Job::parse("[global]\nrate_iops=10\n[a]\nio_submit_mode=offload\n[b]\nrw=read\n").unwrap();
        assert_eq!(
            job.text,
            "[global]\nrate_iops=10\n[a]\nio_submit_mode=offload\nlat_percentiles=1\n[b]\nrw=read\n"
        );
        assert!(job.is_from_intended_start("a") && !job.is_from_intended_start("b"));
    }

    #[test]
    fn what_leaves_the_filesystem_is_refused_with_its_line() {
        for (text, told) in [
            ("", "has no job"),
            ("[global]\nbs=4k", "has no job"),
            ("rw=read", "line 1: 'rw=read' stands before"),
            (
                "[a]\nexec_prerun=rm -rf /",
                "line 2: fsderby does not run exec_prerun: it starts another program",
            ),
            ("[a]\nfilename=/dev/sda", "no devices"),
            ("[a]\nfilename=/etc/passwd", "write the name of one file"),
            ("[a]\nfilename=../x", "write the name of one file"),
            ("[a]\nfilename=x:/etc/passwd", "write the name of one file"),
            ("[a]\nfilename=/tmp/test", "such as filename=test"),
            ("[a]\nioengine=external:/tmp/x.so", "I/O on files: falloc"),
            ("[a]\nioengine=rdma", "I/O on files: falloc"),
            ("[a]\nthreads=1", "write thread"),
            ("[a]\nmem=mmaphuge:/huge/x", "no other files"),
            ("[a]\nsize=${SIZE}", "write the value itself"),
            (
                "[global]\nioengine=falloc\n[a]\nrw=randtrim\n[b]\nioengine=libaio\nrw=trimwrite",
                "job b: rw=trimwrite: fio trims devices only",
            ),
            ("[a]\nblocksise=4k", "did you mean 'blocksize'?"),
            ("[a]\nbuffer_pattern='/etc/shadow'", "write the pattern itself"),
            ("[a]\ninclude other.fio", "write the included lines"),
            ("[a]\nzonemode=zbd", "none or strided"),
            ("[a]\nwrite_lat_log=x", "histograms"),
            ("[a/b]\nrw=read", "no '/'"),
            ("[global]\nio_submit_mode=offload\n[b]\nfsync=1", "never ends"),
            ("[a]\nio_submit_mode=offload\nioengine=libaio\niodepth=32", "an iodepth above 1"),
            ("[a\nrw=read", "ends with ']'"),
        ] {
            let error = Job::parse(text).expect_err(text);
            assert!(error.contains(told), "{text}: {error}");
        }
    }
}
