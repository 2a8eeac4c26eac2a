//! What LVM says of a volume, asked by its own program: the user's tag, what the kernel does not know, and the volume's places.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::disk::Described;
use super::lvm::{ANOTHER, Laid, Place, refuse};
use super::refusal::{Check, Refusal};
use crate::host::programs;

/// The tag by which a user says that a volume was made for fsderby.
const TAG: &str = "fsderby";
/// LVM reads all disks of the machine, and some sleep.
const PATIENCE: Duration = Duration::from_secs(60);
/// The machine's lvm.conf may ask for other forms.
const FORM: &str =
    "report{binary_values_as_numeric=0 compact_output=0 compact_output_cols=\"\" list_item_separator=\",\"}";

/// A row of lvs; all values are text.
#[derive(Clone, Debug, Deserialize)]
struct Row {
    vg_uuid: String,
    lv_uuid: String,
    lv_tags: String,
    lv_layout: String,
    lv_role: String,
    lv_permissions: String,
    lv_suspended: String,
    lv_merging: String,
    lv_converting: String,
    lv_health_status: String,
    origin: String,
    pool_lv: String,
    move_pv: String,
    vg_permissions: String,
    vg_exported: String,
    vg_partial: String,
    vg_clustered: String,
    vg_shared: String,
}

const COLUMNS: &str = "vg_uuid,lv_uuid,lv_tags,lv_layout,lv_role,lv_permissions,lv_suspended,lv_merging,lv_converting,\
    lv_health_status,origin,pool_lv,move_pv,vg_permissions,vg_exported,vg_partial,vg_clustered,vg_shared";

/// A part of a physical volume; all values are text, sectors without a unit.
#[derive(Clone, Debug, Deserialize)]
struct Segment {
    vg_uuid: String,
    lv_uuid: String,
    pv_major: String,
    pv_minor: String,
    pe_start: String,
    vg_extent_size: String,
    pvseg_start: String,
    pvseg_size: String,
}

const PLACES: &str = "vg_uuid,lv_uuid,pv_major,pv_minor,pe_start,vg_extent_size,pvseg_start,pvseg_size";

#[derive(Deserialize)]
struct Answer<T> {
    report: Vec<Report<T>>,
}

#[derive(Deserialize)]
struct Report<T> {
    #[serde(alias = "lv", alias = "pvseg")]
    rows: Vec<T>,
}

/// The volume's name in the device mapper.
fn uuid(group: &str, volume: &str) -> String {
    format!("LVM-{}", [group, volume].concat().replace('-', ""))
}

/// What LVM says of all volumes at one moment.
#[derive(Debug)]
pub struct Answers {
    volumes: Vec<Row>,
    places: Vec<Segment>,
}

impl Answers {
    /// # Errors
    /// If it cannot be asked, or its answer cannot be read.
    pub fn now() -> Result<Self, Refusal> {
        Ok(Answers {
            volumes: rows(&ask(&["lvs", "--all"], COLUMNS)?)?,
            places: rows(&ask(&["pvs", "--segments", "--units", "s", "--nosuffix"], PLACES)?)?,
        })
    }

    /// Whether LVM itself says that this volume is plain, nobody else's, made for fsderby, and where the kernel has it.
    ///
    /// # Errors
    /// What it says otherwise.
    pub fn offer(&self, volume: &Described, laid: &Laid) -> Result<(), Refusal> {
        let uuid = volume.wwid.as_deref().unwrap_or_default();
        is_plain(&laid.name, uuid, &self.volumes)?;
        lies_there(&laid.name, uuid, &self.places, &laid.places)
    }
}

/// What LVM answers with these columns. Nothing of this process's surroundings counts.
fn ask(arguments: &[&str], columns: &str) -> Result<String, Refusal> {
    let Some(lvm) = programs::find("lvm") else {
        let what = "lvm is not installed, so nobody can say which volumes are made for fsderby";
        return Err(Refusal::new(Check::Place, what, "apt-get install lvm2"));
    };
    let mut command = Command::new(lvm);
    command.args(arguments).args(["--reportformat", "json", "--config", FORM, "--options", columns]);
    command.env_clear().env("PATH", programs::FOLDERS.join(":")).env("LC_ALL", "C");
    command.env("LVM_SUPPRESS_FD_WARNINGS", "1");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let fault = |e| Refusal::io(Check::Identity, "run", &format!("lvm {}", arguments[0]), &e);
    let child = command.spawn().map_err(fault)?;
    let process = Pid::from_child(&child);
    let (sender, answer) = mpsc::channel();
    thread::spawn(move || sender.send(child.wait_with_output()));
    let Ok(said) = answer.recv_timeout(PATIENCE) else {
        let _ = kill_process(process, Signal::KILL);
        let what = format!("lvm {} did not answer within {} s", arguments[0], PATIENCE.as_secs());
        return refuse(what, "another command of LVM may hold its lock, or a disk does not answer");
    };
    let said = said.map_err(fault)?;
    if !said.status.success() {
        let why = String::from_utf8_lossy(&said.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
        return refuse(format!("lvm {} failed ({}): {why}", arguments[0], said.status), "vgck");
    }
    Ok(String::from_utf8_lossy(&said.stdout).into_owned())
}

/// The rows of an answer.
fn rows<T: DeserializeOwned>(said: &str) -> Result<Vec<T>, Refusal> {
    match serde_json::from_str::<Answer<T>>(said) {
        Ok(answer) => Ok(answer.report.into_iter().flat_map(|report| report.rows).collect()),
        Err(e) => refuse(format!("the answer of lvm cannot be read: {e}"), "lvm version"),
    }
}

/// Whether the kernel has the volume where LVM's metadata have it. A machine that shares the disks may have changed the metadata.
fn lies_there(name: &str, own: &str, said: &[Segment], places: &[Place]) -> Result<(), Refusal> {
    let number = |text: &str| text.parse::<u64>().ok();
    let place = |row: &Segment| {
        let device = rustix::fs::makedev(row.pv_major.parse().ok()?, row.pv_minor.parse().ok()?);
        let extent = number(&row.vg_extent_size)?;
        let start = number(&row.pe_start)?.checked_add(number(&row.pvseg_start)?.checked_mul(extent)?)?;
        Some(Place { device, start, length: number(&row.pvseg_size)?.checked_mul(extent)? })
    };
    let rows = said.iter().filter(|row| uuid(&row.vg_uuid, &row.lv_uuid) == own);
    let told: Option<BTreeSet<Place>> = rows.map(place).collect();
    let is_same = told
        .is_some_and(|told| joined(told) == joined(places.iter().copied().collect()) && !places.is_empty());
    if is_same {
        return Ok(());
    }
    refuse(
        format!("by LVM's metadata, the volume {name} lies elsewhere than the kernel has it"),
        format!("lvs --segments {name}, and dmsetup table; if LVM is right, lvchange --refresh {name}"),
    )
}

/// The same places, with those that follow each other in one.
fn joined(places: BTreeSet<Place>) -> Vec<Place> {
    let mut all: Vec<Place> = Vec::new();
    for place in places {
        match all.last_mut() {
            Some(last)
                if last.device == place.device
                    && last.start.checked_add(last.length) == Some(place.start) =>
            {
                last.length += place.length;
            }
            _ => all.push(place),
        }
    }
    all
}

/// Whether lvs says that a volume is plain, nobody else's and made for fsderby.
fn is_plain(name: &str, own: &str, said: &[Row]) -> Result<(), Refusal> {
    let rows: Vec<&Row> = said.iter().filter(|row| uuid(&row.vg_uuid, &row.lv_uuid) == own).collect();
    let [row] = rows[..] else {
        return refuse(
            format!("LVM does not know the volume {name} with the UUID {own}"),
            format!("lvs {name}"),
        );
    };
    let volume = |what: String, try_this: &str| refuse(format!("the LVM volume {name} {what}"), try_this);
    for (state, of) in [
        (&row.vg_exported, "its group"),
        (&row.vg_partial, "its group"),
        (&row.vg_clustered, "its group"),
        (&row.vg_shared, "its group"),
        (&row.lv_suspended, "it"),
        (&row.lv_merging, "it"),
        (&row.lv_converting, "it"),
        (&row.lv_health_status, "it"),
    ] {
        if !state.is_empty() {
            return volume(format!("cannot be claimed: {of} is {state}"), ANOTHER);
        }
    }
    for (other, what) in [
        (&row.origin, "is a snapshot of"),
        (&row.pool_lv, "shares the blocks of the pool"),
        (&row.move_pv, "is being moved from"),
    ] {
        if !other.is_empty() {
            return volume(format!("{what} {other}"), ANOTHER);
        }
    }
    if row.lv_role != "public" {
        let (what, try_this) = match row.lv_role.contains("origin") {
            true => ("has a snapshot, which copies what is overwritten", "lvremove the snapshot"),
            false => ("is part of another volume", ANOTHER),
        };
        return volume(format!("{what} (its role is {})", row.lv_role), try_this);
    }
    if !matches!(row.lv_layout.as_str(), "linear" | "striped") {
        return volume(format!("is neither linear nor striped, but {}", row.lv_layout), ANOTHER);
    }
    for permissions in [&row.lv_permissions, &row.vg_permissions] {
        if permissions != "writeable" {
            return volume(format!("is {permissions}"), "lvchange --permission rw, or another volume");
        }
    }
    if !row.lv_tags.split(',').any(|tag| tag == TAG) {
        return volume(
            format!("does not have the tag {TAG}, by which you say that it was made for fsderby"),
            &format!("lvchange --addtag {TAG} {name}, if nothing on it is needed"),
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "LVM-GGGGGGGGGGGGGGGGGGGGGGGGGGGGGGGGVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVV";

    /// As lvs of LVM 2.03 prints it.
    fn said(changes: &[(&str, &str)]) -> String {
        let mut row = serde_json::json!({
            "vg_uuid": "GGGGGG-GGGG-GGGG-GGGG-GGGG-GGGG-GGGGGG", "lv_uuid": "VVVVVV-VVVV-VVVV-VVVV-VVVV-VVVV-VVVVVV",
            "lv_tags": "backup,fsderby", "lv_layout": "linear", "lv_role": "public", "lv_permissions": "writeable",
            "lv_suspended": "", "lv_merging": "", "lv_converting": "", "lv_health_status": "", "origin": "", "pool_lv": "",
            "move_pv": "", "vg_permissions": "writeable", "vg_exported": "", "vg_partial": "", "vg_clustered": "",
            "vg_shared": ""
        });
        for (column, value) in changes {
            row[*column] = (*value).into();
        }
        serde_json::json!({ "report": [{ "lv": [row] }] }).to_string()
    }

    #[test]
    fn only_a_plain_volume_with_the_tag_is_offered_by_lvs() {
        let offered = |changes: &[(&str, &str)]| {
            is_plain("group/volume", UUID, &rows(&said(changes)).unwrap()).map_err(|why| why.what)
        };
        assert_eq!(offered(&[]), Ok(()));
        assert_eq!(offered(&[("lv_layout", "striped"), ("lv_tags", "fsderby")]), Ok(()));
        for (column, value, says) in [
            ("lv_tags", "", "does not have the tag fsderby"),
            ("lv_tags", "fsderby2,notfsderby,fsderby.old", "does not have the tag fsderby"),
            ("lv_role", "public,origin,thickorigin", "has a snapshot"),
            ("lv_role", "private,pvmove", "is part of another volume"),
            ("lv_layout", "thin,sparse", "but thin,sparse"),
            ("lv_layout", "raid,raid1", "but raid,raid1"),
            ("lv_permissions", "read-only", "is read-only"),
            ("vg_permissions", "read-only", "is read-only"),
            ("lv_suspended", "suspended", "it is suspended"),
            ("lv_merging", "merging", "it is merging"),
            ("lv_converting", "converting", "it is converting"),
            ("lv_health_status", "partial", "it is partial"),
            ("origin", "other", "is a snapshot of other"),
            ("pool_lv", "pool", "shares the blocks of the pool pool"),
            ("move_pv", "/dev/vda", "is being moved from /dev/vda"),
            ("vg_exported", "exported", "its group is exported"),
            ("vg_partial", "partial", "its group is partial"),
            ("vg_clustered", "clustered", "its group is clustered"),
            ("vg_shared", "shared", "its group is shared"),
            ("lv_uuid", "VVVVVV-VVVV-VVVV-VVVV-VVVV-VVVV-VVVVVW", "LVM does not know the volume"),
        ] {
            let why = offered(&[(column, value)]).unwrap_err();
            assert!(why.contains(says), "{column}={value}: {why}");
        }
    }

    #[test]
    fn what_lvs_did_not_say_whole_offers_nothing() {
        let whole = said(&[]);
        for said in [
            "",
            "  Failed to find logical volume \"group/volume\"",
            "{\"report\":[]}",
            "{\"report\":[{\"lv\":[]}]}",
            &whole[..whole.len() / 2],
            &whole.replace("\"vg_shared\"", "\"vg_other\""),
            &whole.replace("\"lv_role\":\"public\"", "\"lv_role\":1"),
        ] {
            let why = rows(said).and_then(|rows| is_plain("g/v", UUID, &rows)).unwrap_err().what;
            let says = ["LVM does not know the volume g/v", "the answer of lvm cannot be read"];
            assert!(says.iter().any(|text| why.contains(text)), "{said}: {why}");
        }
    }

    /// As pvs of LVM 2.03 prints it: two extents of 4 MiB on one disk, then one on each of two.
    #[test]
    fn a_volume_that_lvm_has_elsewhere_is_refused() {
        let row = |minor: &str, at: &str, extents: &str| {
            serde_json::json!({
                "vg_uuid": "GGGGGG-GGGG-GGGG-GGGG-GGGG-GGGG-GGGGGG", "lv_uuid": "VVVVVV-VVVV-VVVV-VVVV-VVVV-VVVV-VVVVVV",
                "pv_major": "252", "pv_minor": minor, "pe_start": "2048", "vg_extent_size": "8192", "pvseg_start": at,
                "pvseg_size": extents
            })
        };
        let mut other = row("0", "9", "1");
        other["lv_uuid"] = "".into();
        let said =
            |rows: &[serde_json::Value]| serde_json::json!({ "report": [{ "pvseg": rows }] }).to_string();
        let place = |minor: u32, start: u64, length: u64| Place {
            device: rustix::fs::makedev(252, minor),
            start,
            length,
        };
        let kernel = [place(0, 2048, 16384), place(0, 18432, 8192), place(16, 2048, 8192)];
        let lies = |parts: &[serde_json::Value]| {
            lies_there("g/v", UUID, &rows(&said(parts)).unwrap(), &kernel).map_err(|why| why.what)
        };
        assert_eq!(lies(&[row("0", "0", "3"), other.clone(), row("16", "0", "1")]), Ok(()));
        assert_eq!(lies(&[row("0", "2", "1"), row("0", "0", "2"), row("16", "0", "1")]), Ok(()));
        for elsewhere in [
            vec![row("0", "0", "3")],
            vec![row("0", "0", "3"), row("16", "1", "1")],
            vec![row("0", "0", "2"), row("16", "0", "1")],
            vec![row("0", "0", "3"), row("16", "0", "x")],
            vec![other],
            Vec::new(),
        ] {
            let why = lies(&elsewhere).unwrap_err();
            assert!(why.contains("lies elsewhere than the kernel has it"), "{why}");
        }
    }
}
