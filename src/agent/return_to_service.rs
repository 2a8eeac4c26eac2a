//! After a power cut: the first new file, and what is left of the files that had been synced.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use super::StepError;
use super::protocol::{Job, Survivors};
use super::tree::live_file;
use crate::workloads::{self, Durable, LiveFile};

/// Of each kind of loss so many files are named.
const NAMED: usize = 5;
/// The first new file holds a short mail.
const FIRST_FILE: [u8; 1024] = [b'm'; 1024];
const FIRST_NAME: &str = "first-after-the-cut";

/// Makes a new file, has it and its name written to the disk: from here on the filesystem serves again.
pub fn first_file(place: &Path) -> Result<(), StepError> {
    let path = place.join(FIRST_NAME);
    let make = || -> io::Result<()> {
        let mut file = File::create_new(&path)?;
        file.write_all(&FIRST_FILE)?;
        file.sync_all()?;
        File::open(place)?.sync_all()
    };
    make().map_err(|e| StepError::io("make the first new file", &path, e))
}

/// Looks for every file that had been synced before the cut, after so many operations of the job's work.
pub fn survivors(place: &Path, job: &Job, operations: u64) -> Result<Survivors, StepError> {
    let fault = |text: String| StepError::new("look for", "the synced files", text);
    let engine = workloads::engine(&job.work.engine).ok_or_else(|| fault("no such workload".into()))?;
    let work = engine.parse(&job.work.parameters).map_err(fault)?;
    Ok(look_for(place, &work.durable(job.workload_seed, operations)))
}

fn look_for(place: &Path, durable: &Durable) -> Survivors {
    let files = durable.files.len() as u64;
    let bytes = durable.files.iter().map(|f| f.bytes).sum();
    let mut seen = Survivors { files, bytes, names_promised: durable.named, ..Survivors::default() };
    for file in &durable.files {
        match live_file(place, &place.join(&file.path)) {
            Ok(found) if found == *file => {}
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                seen.missing += 1;
                name(&mut seen, file, "is missing");
            }
            Ok(found) => {
                seen.altered += 1;
                let of = if found.bytes == file.bytes { "other content".into() } else { sizes(&found, file) };
                name(&mut seen, file, &of);
            }
            Err(e) => {
                seen.altered += 1;
                name(&mut seen, file, &format!("cannot be read: {e}"));
            }
        }
    }
    seen
}

fn sizes(found: &LiveFile, written: &LiveFile) -> String {
    format!("{} bytes of {}", found.bytes, written.bytes)
}

fn name(seen: &mut Survivors, file: &LiveFile, what: &str) {
    if seen.lost.len() < NAMED {
        seen.lost.push(format!("{}: {what}", file.path.display()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_lost_file_is_counted_and_the_first_are_named() {
        let place = tempfile::tempdir().unwrap();
        let file = |path: &str, content: &[u8]| LiveFile {
            path: path.into(),
            bytes: content.len() as u64,
            crc32: crc32fast::hash(content),
        };
        std::fs::write(place.path().join("kept"), b"abc").unwrap();
        std::fs::write(place.path().join("short"), b"ab").unwrap();
        std::fs::write(place.path().join("other"), b"abd").unwrap();
        let files = ["gone", "kept", "other", "short"].map(|path| file(path, b"abc")).to_vec();
        let seen = look_for(place.path(), &Durable { files, named: true });
        assert_eq!([seen.files, seen.bytes, seen.missing, seen.altered], [4, 12, 1, 2]);
        assert_eq!(seen.lost, ["gone: is missing", "other: other content", "short: 2 bytes of 3"]);
        first_file(place.path()).unwrap();
        assert!(first_file(place.path()).unwrap_err().to_string().contains("File exists"));
    }
}
