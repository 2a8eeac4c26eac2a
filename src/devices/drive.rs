//! What a claimed disk is and how it fares during a trial, from sysfs, `smartctl --json` and the kernel's log. Writes nothing.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use super::disk::{Described, attribute, describe};
use super::marks::Mark;
use super::{hold, registry};
use crate::host::kernel_log::Log;
use crate::host::programs;
use crate::schema::drive::{Drive, DriveState, Smart};

/// A drive that sleeps or fails may take long to answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// A drive from the beginning of a trial to its end.
pub struct Watch {
    disk: Described,
    /// The drives that are asked: the disk itself, or those below a volume of LVM.
    drives: Vec<Described>,
    drive: Drive,
    log: Option<Log>,
}

impl Watch {
    /// Of the disk that is claimed under this name; `None` if it has gone.
    pub fn begin(id: &str) -> Option<Self> {
        let mark = registry::find(id).ok()?;
        let disk = hold::named(&mark).ok()?;
        let drives = disk.laid().map_or_else(|| vec![disk.about.clone()], |laid| laid.disks.clone());
        let model = match disk.laid() {
            Some(laid) if registry::is_hash(id) => format!("LVM volume on {}", laid.without_names()),
            Some(laid) => format!("{} on {}", disk.about.model, laid.in_words()),
            None => disk.about.model.clone(),
        };
        let firmware: Vec<&str> = drives.iter().filter_map(|drive| drive.firmware.as_deref()).collect();
        let drive = Drive {
            name: disk.about.name.clone(),
            model,
            serial: shown_serial(id, &mark),
            firmware: firmware.join(", "),
            rotates: disk.about.rotates,
            before: state_of_all(&drives),
            after: None,
            log: None,
        };
        let log = Log::from_now().ok();
        Some(Watch { disk: disk.about, drives, drive, log })
    }

    pub fn end(self) -> Drive {
        let all = std::iter::once(&self.disk).chain(&self.drives);
        let named: BTreeSet<String> = all.clone().flat_map(names).collect();
        let log = self.log.map(|log| log.about(&named.into_iter().collect::<Vec<_>>()));
        let is_there =
            |disk: &Described| describe(&disk.name).is_some_and(|now| now.sequence == disk.sequence);
        Drive { after: all.clone().all(is_there).then(|| state_of_all(&self.drives)), log, ..self.drive }
    }
}

/// `sda`, `sda1`, `0:0:0:0`, `ata1`, `nvme0`, `virtio3`, `b8:0`.
fn names(disk: &Described) -> Vec<String> {
    let (major, minor) = (rustix::fs::major(disk.number), rustix::fs::minor(disk.number));
    let mut names = vec![disk.name.clone(), format!("b{major}:{minor}")];
    names.extend(disk.partitions.iter().map(|part| part.name.clone()));
    let numbered = |text: &str, prefix: &str| {
        text.strip_prefix(prefix).is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    };
    for part in disk.place.components() {
        let part = part.as_os_str().to_string_lossy();
        let is_address =
            part.split(':').count() == 4 && part.bytes().all(|b| b.is_ascii_digit() || b == b':');
        if is_address || ["ata", "nvme", "virtio", "mmc"].iter().any(|prefix| numbered(&part, prefix)) {
            names.push(part.into_owned());
        }
    }
    names
}

fn shown_serial(id: &str, mark: &Mark) -> String {
    if registry::is_hash(id) { id.to_owned() } else { mark.serial.clone().unwrap_or_default() }
}

/// Of several drives below a volume, each setting once, and what smartctl says of the first.
fn state_of_all(drives: &[Described]) -> DriveState {
    drives
        .iter()
        .map(state)
        .reduce(|all, next| DriveState {
            scheduler: both(all.scheduler, next.scheduler),
            write_cache: both(all.write_cache, next.write_cache),
            queue_depth: both(all.queue_depth, next.queue_depth),
            power: both(all.power, next.power),
            ..all
        })
        .unwrap_or_default()
}

fn both(all: String, next: String) -> String {
    if all == next { all } else { format!("{all}, {next}") }
}

fn state(disk: &Described) -> DriveState {
    let text = |file: &str| fs::read_to_string(disk.place.join(file)).unwrap_or_default().trim().to_owned();
    let scheduler = text("queue/scheduler");
    let active = scheduler.split(['[', ']']).nth(1).map(str::to_owned);
    let first = |files: [&str; 2]| {
        files.into_iter().map(text).find(|text| !text.is_empty() && text != "unsupported").unwrap_or_default()
    };
    DriveState {
        scheduler: active.unwrap_or(scheduler),
        write_cache: text("queue/write_cache"),
        queue_depth: first(["device/queue_depth", "queue/nr_requests"]),
        // The namespace of an NVMe drive has no power of its own, its controller has.
        power: first(["device/power/runtime_status", "device/device/power/runtime_status"]),
        governor: governors(),
        smart: smart(&disk.node()),
    }
}

fn governors() -> String {
    let cpus = fs::read_dir("/sys/devices/system/cpu").into_iter().flatten().flatten();
    let all: BTreeSet<String> =
        cpus.filter_map(|cpu| attribute(&cpu.path().join("cpufreq/scaling_governor"))).collect();
    all.into_iter().collect::<Vec<_>>().join(", ")
}

fn smart(node: &Path) -> Option<Smart> {
    let smartctl: PathBuf = programs::find("smartctl")?;
    // A sleeping drive is not woken.
    let own = ["--json", "--nocheck=standby", "--info", "--attributes", "--log=devstat"];
    let arguments: Vec<String> =
        own.iter().map(|word| (*word).to_owned()).chain([node.display().to_string()]).collect();
    let said = programs::words(&smartctl, &arguments, PATIENCE).ok()?;
    Some(read(&serde_json::from_str(&said).ok()?)).filter(|smart| *smart != Smart::default())
}

/// The keys of smartctl 7.3 and 7.4.
fn read(said: &Value) -> Smart {
    let number = |path: &str| said.pointer(path).and_then(Value::as_u64);
    let nvme = |key: &str| number(&format!("/nvme_smart_health_information_log/{key}"));
    let rows = |path: &str| said.pointer(path).and_then(Value::as_array).cloned().unwrap_or_default();
    let attributes = rows("/ata_smart_attributes/table");
    // Attributes that say how much of the endurance is left, each with its normalised value.
    const LEFT: [u64; 4] = [177, 202, 231, 233];
    let left = attributes
        .iter()
        .find(|row| row["id"].as_u64().is_some_and(|id| LEFT.contains(&id)))
        .and_then(|row| row["value"].as_u64());
    let raw =
        |id: u64| attributes.iter().find(|row| row["id"] == id).and_then(|row| row["raw"]["value"].as_u64());
    let pages = rows("/ata_device_statistics/pages");
    let hot = pages
        .iter()
        .flat_map(|page| page["table"].as_array().into_iter().flatten())
        .find(|row| row["name"] == "Time in Over-Temperature")
        .and_then(|row| row["value"].as_u64());
    let sum = |values: [Option<u64>; 2]| values.into_iter().flatten().reduce(u64::saturating_add);
    Smart {
        celsius: said.pointer("/temperature/current").and_then(Value::as_i64),
        wear_percent: nvme("percentage_used")
            .or_else(|| number("/scsi_percentage_used_endurance_indicator"))
            .or_else(|| number("/endurance_used/current_percent"))
            .or_else(|| left.map(|left| 100_u64.saturating_sub(left))),
        power_cycles: number("/power_cycle_count").or_else(|| nvme("power_cycles")),
        media_errors: nvme("media_errors").or_else(|| number("/scsi_grown_defect_list")).or_else(|| raw(5)),
        too_hot_minutes: sum([nvme("warning_temp_time"), nvme("critical_comp_time")]).or(hot),
        throttled: sum([nvme("thm_temp1_trans_count"), nvme("thm_temp2_trans_count")]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drives_of_each_kind_are_read() {
        let of = |text: &str| read(&serde_json::from_str(text).unwrap());
        let nvme = r#"{"temperature":{"current":41},"power_cycle_count":12,"nvme_smart_health_information_log":
            {"percentage_used":3,"media_errors":0,"warning_temp_time":2,"critical_comp_time":1,"power_cycles":12}}"#;
        let expected = Smart {
            celsius: Some(41),
            wear_percent: Some(3),
            power_cycles: Some(12),
            media_errors: Some(0),
            too_hot_minutes: Some(3),
            throttled: None,
        };
        assert_eq!(of(nvme), expected);
        let ata = r#"{"temperature":{"current":30},"ata_smart_attributes":{"table":[{"id":5,"value":100,"raw":{"value":7}},
            {"id":177,"value":96,"raw":{"value":70}}]},"ata_device_statistics":{"pages":[{"table":
            [{"name":"Time in Over-Temperature","value":4}]}]}}"#;
        let seen = of(ata);
        assert_eq!((seen.wear_percent, seen.media_errors, seen.too_hot_minutes), (Some(4), Some(7), Some(4)));
        let scsi = r#"{"temperature":{"current":38},"scsi_grown_defect_list":0,"scsi_percentage_used_endurance_indicator":9}"#;
        assert_eq!((of(scsi).wear_percent, of(scsi).media_errors), (Some(9), Some(0)));
        assert_eq!(of(r#"{"smartctl":{"exit_status":2}}"#), Smart::default());
    }
}
