//! A job file of fio: its options, and which of them may run.
//!
//! Options are a list of those that stay within the filesystem under test. fio's manual, fio(1), has their meanings.

use std::fmt::Write;

use crate::names;

/// A job file that may run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// As fio reads it: without `directory`.
    pub text: String,
    /// The names of its jobs.
    pub jobs: Vec<String>,
}

/// Options that stay inside, whatever their values.
const KNOWN: &[&str] = &[
    "allow_file_create",
    "allow_mounted_write",
    "allrandrepeat",
    "atomic",
    "ba",
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
    "clat_percentiles",
    "continue_on_error",
    "cpus_allowed",
    "cpus_allowed_policy",
    "create_fsync",
    "create_on_open",
    "create_only",
    "create_serialize",
    "dedupe_mode",
    "dedupe_percentage",
    "description",
    "direct",
    "disable_bw_measurement",
    "disable_clat",
    "disable_lat",
    "disable_slat",
    "do_verify",
    "end_fsync",
    "end_syncfs",
    "error_dump",
    "exitall",
    "exitall_on_error",
    "experimental_verify",
    "fadvise_hint",
    "fallocate",
    "fdatasync",
    "file_append",
    "file_service_type",
    "filesize",
    "fill_device",
    "fill_fs",
    "fixedbufs",
    "flow",
    "fsync",
    "fsync_on_close",
    "group_reporting",
    "gtod_reduce",
    "hipri",
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
    "iomem_align",
    "kb_base",
    "lat_percentiles",
    "latency_percentile",
    "latency_run",
    "latency_target",
    "latency_window",
    "lfsr",
    "loops",
    "max_latency",
    "mem_align",
    "name",
    "new_group",
    "nice",
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
    "rand_seed",
    "random_distribution",
    "random_generator",
    "randrepeat",
    "randseed",
    "rate",
    "rate_cycle",
    "rate_iops",
    "rate_iops_min",
    "rate_min",
    "rate_process",
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
    "size",
    "slat_percentiles",
    "softrandommap",
    "sqthread_poll",
    "ss",
    "start_delay",
    "startdelay",
    "stonewall",
    "sync",
    "sync_file_range",
    "thinktime",
    "thinktime_blocks",
    "thinktime_spin",
    "thread",
    "time_based",
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
    "wait_for",
    "wait_for_previous",
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

/// Options with a reason of their own.
const REFUSED: &[(&str, &str)] = &[
    ("client", "fsderby runs fio on this machine alone"),
    ("exec_prerun", "it starts another program; put that into a command of your own"),
    ("exec_postrun", "it starts another program; put that into a command of your own"),
    ("include", "fsderby stores the job file with the run; write the included lines into it"),
    ("opendir", "it adds files outside of the filesystem under test"),
    ("write_bw_log", "it writes a log during the measurement; the histograms of fio's json+ are stored"),
    ("write_hist_log", "it writes a log during the measurement; the histograms of fio's json+ are stored"),
    ("write_iops_log", "it writes a log during the measurement; the histograms of fio's json+ are stored"),
    ("write_lat_log", "it writes a log during the measurement; the histograms of fio's json+ are stored"),
];

impl Job {
    /// # Errors
    /// Names the line and what to write.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (mut kept, mut jobs) = (String::new(), Vec::new());
        let mut section = None;
        for (at, line) in text.lines().enumerate() {
            let fault = |text: String| format!("line {}: {text}", at + 1);
            let bare = line.trim();
            if bare.is_empty() || bare.starts_with(['#', ';']) {
                continue;
            }
            if let Some(name) = bare.strip_prefix('[') {
                let name = name.strip_suffix(']').ok_or_else(|| fault("a section ends with ']'".into()))?;
                let name = name.trim();
                if name.is_empty() || name.contains('/') || name.chars().any(char::is_control) {
                    return Err(fault(format!("'{name}' names files, so it has no '/'")));
                }
                if name != "global" {
                    jobs.push(name.to_owned());
                }
                section = Some(name);
                // Writing to a string cannot fail.
                let _ = writeln!(kept, "[{name}]");
                continue;
            }
            if section.is_none() {
                return Err(fault(format!(
                    "'{bare}' stands before the first section; begin with [global] or [NAME]"
                )));
            }
            let (key, value) =
                bare.split_once('=').map_or((bare, ""), |(key, value)| (key.trim(), value.trim()));
            if is_kept(key, value).map_err(fault)? {
                let _ = writeln!(kept, "{bare}");
            }
        }
        if jobs.is_empty() {
            return Err("the file has no job: write a section, such as [reads]".into());
        }
        Ok(Job { text: kept, jobs })
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
                false => {
                    Err(format!("{key}={value}: write the name of one file below the filesystem under test"))
                }
            }
        }
        "ioengine" if ENGINES.contains(&value) => Ok(true),
        "ioengine" => Err(format!("ioengine={value}: fsderby runs {}", ENGINES.join(", "))),
        // A pattern in quotes is a file.
        "buffer_pattern" | "verify_pattern" if value.starts_with(['\'', '"']) && value.contains('/') => {
            Err(format!("{key}={value}: fsderby gives fio no other files; write the pattern itself"))
        }
        "buffer_pattern" | "verify_pattern" => Ok(true),
        "rw" | "readwrite" if value.contains("trim") => {
            Err(format!("{key}={value}: fio trims devices only, and fsderby gives it files"))
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
        let text = "; a comment\n[global]\ndirectory=/tmp/x\nbs = 4k\n\n[reads]\nrw=randread\ngroup_reporting\n[writes]\nfilename=data\n";
        let job = Job::parse(text).unwrap();
        assert_eq!(job.jobs, ["reads", "writes"]);
        assert_eq!(
            job.text,
            "[global]\nbs = 4k\n[reads]\nrw=randread\ngroup_reporting\n[writes]\nfilename=data\n"
        );
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
            ("[a]\nioengine=external:/tmp/x.so", "fsderby runs falloc"),
            ("[a]\nioengine=rdma", "fsderby runs falloc"),
            ("[a]\nsize=${SIZE}", "write the value itself"),
            ("[a]\nrw=randtrim", "trims devices only"),
            ("[a]\nblocksise=4k", "did you mean 'blocksize'?"),
            ("[a]\nbuffer_pattern='/etc/shadow'", "write the pattern itself"),
            ("[a]\nwrite_lat_log=x", "histograms"),
            ("[a/b]\nrw=read", "no '/'"),
            ("[a\nrw=read", "ends with ']'"),
        ] {
            let error = Job::parse(text).expect_err(text);
            assert!(error.contains(told), "{text}: {error}");
        }
    }
}
