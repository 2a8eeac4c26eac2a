//! After a power cut: the first new file, and the surviving synced files.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::StepError;
use super::tree::{live_file, read_all};
use crate::schema::event::Survivors;
use crate::schema::job::WorkJob;
use crate::schema::work::{Kind, LiveFile};
use crate::workloads::{self, Durable};

/// Most files that a message names for each kind of loss.
const NAMED: usize = 5;
/// Content of the first new file, which has the size of a short mail.
const FIRST_FILE: [u8; 1024] = [b'm'; 1024];
const FIRST_NAME: &str = "first-after-the-cut";

/// Creates a file and syncs it with its name: from here on the filesystem is usable again.
pub fn first_file(place: &Path) -> Result<(), StepError> {
    let path = place.join(FIRST_NAME);
    let make = || -> io::Result<()> {
        let mut file = File::create_new(&path)?;
        file.write_all(&FIRST_FILE)?;
        file.sync_all()?;
        File::open(place)?.sync_all()
    };
    make().map_err(|e| StepError::io("create the first new file", &path, e))
}

/// Checks every file that had been synced before the cut, which ended this work in that folder of the filesystem at `top`.
pub fn survivors(top: &Path, place: &Path, job: &WorkJob) -> Result<Survivors, StepError> {
    let fault = |text: String| StepError::new("look for", "the synced files", text);
    let work = workloads::parsed(&job.work).map_err(fault)?;
    let operations = job
        .portion
        .stop_after
        .ok_or_else(|| fault("the workload was not interrupted by a power cut".into()))?;
    look_for(top, place, &work.durable(job.seed, operations))
}

fn look_for(top: &Path, place: &Path, durable: &Durable) -> Result<Survivors, StepError> {
    let files = durable.files.len() as u64;
    let bytes = durable.files.iter().map(|f| f.bytes).sum();
    let mut seen = Survivors { files, bytes, names_promised: durable.named, ..Survivors::default() };
    let mut gone = Vec::new();
    for file in &durable.files {
        let found = live_file(place, &place.join(&file.path)).map(|mut found| {
            found.leave_what_is_said(Some(file));
            found
        });
        match found {
            Ok(found) if found == *file => {}
            Err(e) if e.kind() == io::ErrorKind::NotFound => gone.push(file),
            Ok(found) => {
                seen.altered += 1;
                name(&mut seen, file, &difference(&found, file));
            }
            Err(e) => {
                seen.altered += 1;
                name(&mut seen, file, &format!("cannot be read: {e}"));
            }
        }
    }
    if !gone.is_empty() {
        let mut strays = strays(top, place, durable)?;
        for file in gone {
            let is_same = |stray: &LiveFile| content(stray) == content(file);
            match strays.iter().position(is_same) {
                Some(at) => {
                    strays.swap_remove(at);
                    seen.nameless += 1;
                    name(&mut seen, file, "has lost its name");
                }
                None => {
                    seen.missing += 1;
                    name(&mut seen, file, "is missing");
                }
            }
        }
    }
    Ok(seen)
}

/// All files that have no synced file's name: a repair puts found files into its own folder.
fn strays(top: &Path, place: &Path, durable: &Durable) -> Result<Vec<LiveFile>, StepError> {
    let known: HashSet<PathBuf> = durable.files.iter().map(|file| place.join(&file.path)).collect();
    let mut found = read_all(top, &[])?.0;
    found.retain(|file| !known.contains(&top.join(&file.path)));
    Ok(found)
}

fn content(of: &LiveFile) -> (Kind, u64, u32) {
    (of.kind, of.bytes, of.crc32)
}

fn difference(found: &LiveFile, written: &LiveFile) -> String {
    match (found.bytes, written.bytes) {
        (found, written) if found != written => format!("{found} bytes, {written} were written"),
        _ if content(found) == content(written) => "another mode or link count".into(),
        _ => "other content".into(),
    }
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
        let top = tempfile::tempdir().unwrap();
        let place = top.path().join("work/1");
        std::fs::create_dir_all(&place).unwrap();
        std::fs::create_dir(top.path().join("lost+found")).unwrap();
        let file =
            |path: &str, content: &[u8]| LiveFile::file(path, content.len() as u64, crc32fast::hash(content));
        for (path, content) in [
            ("work/1/kept", "abc"),
            ("work/1/short", "ab"),
            ("work/1/other", "abd"),
            ("lost+found/#12", "abc"),
        ] {
            std::fs::write(top.path().join(path), content).unwrap();
        }
        let files = ["found", "gone", "kept", "other", "short"].map(|path| file(path, b"abc")).to_vec();
        let seen = look_for(top.path(), &place, &Durable { files, named: true }).unwrap();
        assert_eq!([seen.files, seen.bytes], [5, 15]);
        assert_eq!([seen.missing, seen.nameless, seen.altered], [1, 1, 2]);
        let lost = [
            "other: other content",
            "short: 2 bytes, 3 were written",
            "found: has lost its name",
            "gone: is missing",
        ];
        assert_eq!(seen.lost, lost);
        first_file(&place).unwrap();
        assert!(first_file(&place).unwrap_err().to_string().contains("File exists"));
    }
}
