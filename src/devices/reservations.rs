//! Whether another machine, or another program of this one, has reserved a disk: persistent reservations of SCSI and NVMe.
//!
//! Their keys are registered with the disk itself, so it alone can tell. A cluster registers a key with each shared disk, even while no
//! node uses it. Only commands that read are sent.

use std::fmt::Display;
use std::fs::{self, File};
use std::path::Path;
use std::thread;
use std::time::Duration;

use fsderby_sys::reservation::{Page, ScsiFault, nvme_identify, nvme_report, scsi};

use super::refusal::{Check, Refusal};

/// A disk that is busy, or reports an event such as a reset, answers when it is asked again.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(100);
/// Of many keys so many are shown.
const SHOWN: usize = 4;

/// SAM-5, 5.3: status of a command.
const CHECK_CONDITION: u8 = 0x02;
const BUSY: u8 = 0x08;
const CONFLICT: u8 = 0x18;
const QUEUE_FULL: u8 = 0x28;
/// `include/scsi/scsi_status.h`: what some kernels note of these answers in place of the controller's status.
const TARGET_FAILURE: u16 = 0x10;
const NEXUS_FAILURE: u16 = 0x11;
/// An error between controller and disk, as of a cable.
const CONTROLLER_ERROR: u16 = 0x07;
/// SPC-4, 4.5.6: sense keys and codes.
const UNIT_ATTENTION: u8 = 6;
const UNKNOWN_COMMAND: [u8; 3] = [5, 0x20, 0];
/// NVM Express Base Specification, status of a command.
const NVME_UNKNOWN_COMMAND: u16 = 0x01;
const NVME_OTHER_FORMAT: u16 = 0x18;
/// Identify Namespace: the byte of the reservation capabilities.
const RESCAP: usize = 31;

/// What a disk said of its reservations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Reserved {
    keys: Vec<u64>,
    /// The key that holds the reservation, if the disk names it, and the type.
    held: Option<(Option<u64>, String)>,
}

/// Whether the open disk of this kernel name, at this place in sysfs, has neither a registered key nor a reservation. A disk whose driver
/// or firmware knows no reservations has none.
///
/// # Errors
/// If it has, or does not say.
pub fn none(disk: &File, name: &str, place: &Path) -> Result<(), Refusal> {
    judged(disk, name, place, false)
}

/// Like [`none`], for a disk that is given back: one that does not say is not refused, or nobody could give it back.
///
/// # Errors
/// If it has.
pub fn none_seen(disk: &File, name: &str, place: &Path) -> Result<(), Refusal> {
    judged(disk, name, place, true)
}

fn judged(disk: &File, name: &str, place: &Path, may_be_silent: bool) -> Result<(), Refusal> {
    let bus = bus(name, place);
    let asked = match bus {
        Bus::Scsi => of_scsi(disk),
        Bus::Nvme => of_nvme(disk),
        Bus::Other => Ok(Reserved::default()),
    };
    let refuse = |what: String, try_this: String| Err(Refusal::new(Check::Use, what, try_this));
    let tool = match bus {
        Bus::Nvme => format!("nvme resv-report /dev/{name}"),
        _ => format!("sg_persist --in --read-full-status /dev/{name}"),
    };
    match asked {
        Ok(Reserved { keys, held: None }) if keys.is_empty() => Ok(()),
        Ok(Reserved { keys, held: None }) => refuse(
            format!(
                "{name} has registered {keys} for persistent reservations: another machine may use it too",
                keys = in_words(&keys)
            ),
            format!("{tool}, which shows whose they are; a disk that no other machine uses"),
        ),
        Ok(Reserved { held: Some((key, kind)), .. }) => refuse(
            format!(
                "{name} is reserved ({kind}) by {key}: another machine may use it too",
                key = key.map_or_else(|| "all registered keys".to_owned(), |key| in_words(&[key]))
            ),
            format!("{tool}, which shows whose it is; a disk that no other machine uses"),
        ),
        Err(_) if may_be_silent => Ok(()),
        Err(why) => refuse(
            format!("{name} does not say whether it is reserved: {why}"),
            format!("{tool}; dmesg, for the kernel's reason"),
        ),
    }
}

/// `the keys 0x1, 0x2 and 5 more`
fn in_words(keys: &[u64]) -> String {
    let shown: Vec<String> = keys.iter().take(SHOWN).map(|key| format!("{key:#x}")).collect();
    let more = keys.len() - shown.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("the key{} {}{more}", if keys.len() > 1 { "s" } else { "" }, shown.join(", "))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bus {
    Scsi,
    Nvme,
    /// Virtio, MMC and others: their drivers and devices have no such command.
    Other,
}

/// SATA and USB disks are SCSI disks to the kernel, which answers for those that know only ATA.
fn bus(name: &str, place: &Path) -> Bus {
    let subsystem = fs::canonicalize(place.join("device/subsystem")).unwrap_or_default();
    match subsystem.file_name().map(|name| name.to_string_lossy()).as_deref() {
        Some("scsi") => Bus::Scsi,
        Some("nvme" | "nvme-subsystem") => Bus::Nvme,
        _ if name.starts_with("sd") => Bus::Scsi,
        _ if name.starts_with("nvme") => Bus::Nvme,
        _ => Bus::Other,
    }
}

fn of_scsi(disk: &File) -> Result<Reserved, String> {
    let page = |page| page_of(|| scsi(disk, page).map_err(|e| format!("SG_IO: {e}")));
    let Some(keys) = page(Page::Keys)? else { return Ok(Reserved::default()) };
    let keys = keys_of(&keys)?;
    let held = page(Page::Reservation)?.map_or(Ok(None), |page| held_of(&page))?;
    Ok(Reserved { keys, held })
}

/// A page of a SCSI disk; `None` if it does not know the command.
fn page_of(
    mut ask: impl FnMut() -> Result<Result<Vec<u8>, ScsiFault>, String>,
) -> Result<Option<Vec<u8>>, String> {
    let mut tried = 0;
    loop {
        tried += 1;
        let fault = match ask()? {
            Ok(page) => return Ok(Some(page)),
            Err(fault) => fault,
        };
        let ScsiFault { status, host, sense: [key, code, qualifier] } = fault;
        match (host, status) {
            (0 | TARGET_FAILURE, CHECK_CONDITION) if fault.sense == UNKNOWN_COMMAND => return Ok(None),
            // RESERVE of SCSI-2, which a later command of another initiator meets.
            (0 | NEXUS_FAILURE, CONFLICT) => {
                return Err("another machine has reserved it by the older command RESERVE".into());
            }
            (0, CHECK_CONDITION) if key == UNIT_ATTENTION && tried < TRIES => {}
            (0, BUSY | QUEUE_FULL) | (CONTROLLER_ERROR, _) if tried < TRIES => thread::sleep(PAUSE),
            (0, CHECK_CONDITION) => {
                return Err(format!(
                    "PERSISTENT RESERVE IN failed with sense key {key:#x}, code {code:#04x}/{qualifier:#04x}"
                ));
            }
            _ => {
                return Err(format!(
                    "PERSISTENT RESERVE IN failed with status {status:#x}, of the controller {host:#x}"
                ));
            }
        }
    }
}

/// The list behind generation and length, of a page of PERSISTENT RESERVE IN.
///
/// ```text
/// 0  generation
/// 4  length of what follows
/// 8  eight bytes a key, or the reservation
/// ```
fn list_of(page: &[u8]) -> Result<&[u8], String> {
    let length = page.get(4..8).ok_or_else(|| short(page.len()))?;
    let length = length.iter().fold(0, |all, byte| all << 8 | usize::from(*byte));
    // Of a list longer than the room, the first part is enough to refuse.
    let list = &page[8..];
    match length {
        0 => Ok(&[]),
        _ if list.len() >= 8 => Ok(&list[..length.min(list.len())]),
        _ => Err(short(page.len())),
    }
}

fn short(length: impl Display) -> String {
    format!("its answer of {length} bytes is too short")
}

fn keys_of(page: &[u8]) -> Result<Vec<u64>, String> {
    let list = list_of(page)?;
    match list.chunks_exact(8) {
        keys if keys.remainder().is_empty() || list.len() > 8 => Ok(keys.map(key_of).collect()),
        _ => Err(format!("its list of keys has {} bytes", list.len())),
    }
}

fn key_of(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |all, byte| all << 8 | u64::from(*byte))
}

/// The reservation: its key, four obsolete bytes, one reserved, scope and type.
fn held_of(page: &[u8]) -> Result<Option<(Option<u64>, String)>, String> {
    match list_of(page)? {
        [] => Ok(None),
        list if list.len() >= 14 => {
            let kind = list[13] & 0xF;
            let all = matches!(kind, 7 | 8);
            let named = match kind {
                1 => "write exclusive",
                3 => "exclusive access",
                5 => "write exclusive, registrants only",
                6 => "exclusive access, registrants only",
                7 => "write exclusive, all registrants",
                8 => "exclusive access, all registrants",
                _ => "a type that the standard does not name",
            };
            Ok(Some(((!all).then(|| key_of(&list[..8])), named.to_owned())))
        }
        list => Err(format!("its reservation has {} bytes", list.len())),
    }
}

fn of_nvme(disk: &File) -> Result<Reserved, String> {
    let about = nvme_identify(disk).map_err(|e| format!("Identify: {e}"))?;
    let about = about.map_err(|status| format!("Identify failed with status {status:#x}"))?;
    // No capability: the namespace knows no reservations.
    if about.get(RESCAP) == Some(&0) {
        return Ok(Reserved::default());
    }
    let report = |extended| nvme_report(disk, extended).map_err(|e| format!("Reservation Report: {e}"));
    let (answer, is_extended) = match report(false)? {
        Err(NVME_OTHER_FORMAT) => (report(true)?, true),
        other => (other, false),
    };
    match answer {
        Ok(data) => report_of(&data, is_extended),
        Err(NVME_UNKNOWN_COMMAND) => Ok(Reserved::default()),
        Err(status) => Err(format!("Reservation Report failed with status {status:#x}")),
    }
}

/// A Reservation Report, all of it little-endian. The extended format has long identifiers of hosts.
///
/// ```text
/// 0   generation            each registered controller, 24 or 64 bytes from 24 or 64 on
/// 4   type                  2      status: bit 0, it holds the reservation
/// 5   how many controllers  8, 16  identifier of the host, key; in the extended format the key is first
/// ```
fn report_of(data: &[u8], is_extended: bool) -> Result<Reserved, String> {
    let (each, at) = if is_extended { (64, 8) } else { (24, 16) };
    let [kind, low, high] = *data.get(4..7).ok_or_else(|| short(data.len()))? else { unreachable!("three") };
    let many = usize::from(u16::from_le_bytes([low, high]));
    let entries = data.get(each..).ok_or_else(|| short(data.len()))?.chunks_exact(each).take(many);
    if many > 0 && entries.len() == 0 {
        return Err(short(data.len()));
    }
    let key = |entry: &[u8]| entry[at..at + 8].iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte));
    let holders: Vec<u64> = entries.clone().filter(|entry| entry[2] & 1 == 1).map(key).collect();
    let named = match kind {
        0 => None,
        1 => Some("write exclusive"),
        2 => Some("exclusive access"),
        3 => Some("write exclusive, registrants only"),
        4 => Some("exclusive access, registrants only"),
        5 => Some("write exclusive, all registrants"),
        6 => Some("exclusive access, all registrants"),
        _ => Some("a type that the standard does not name"),
    };
    let held = named.map(|kind| {
        let one = match holders[..] {
            [one] => Some(one),
            _ => None,
        };
        (one, kind.to_owned())
    });
    Ok(Reserved { keys: entries.map(key).collect(), held })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Generation 3 and a list of this length.
    fn page(length: u32, list: &[u8]) -> Vec<u8> {
        [&3_u32.to_be_bytes()[..], &length.to_be_bytes(), list].concat()
    }

    #[test]
    fn keys_and_reservations_of_scsi_are_read_as_the_standard_lays_them_out() {
        assert_eq!(keys_of(&page(0, &[])), Ok(vec![]));
        // Some disks send more than they have.
        assert_eq!(keys_of(&page(0, &[0; 24])), Ok(vec![]));
        let two = [0xABCD_u64.to_be_bytes(), 7_u64.to_be_bytes()].concat();
        assert_eq!(keys_of(&page(16, &two)), Ok(vec![0xABCD, 7]));
        assert_eq!(keys_of(&page(16, &[&two[..], &[9; 40]].concat())), Ok(vec![0xABCD, 7]));
        // More than there was room for.
        assert_eq!(keys_of(&page(8000, &two)), Ok(vec![0xABCD, 7]));
        let held = |kind: u8| [&0xABCD_u64.to_be_bytes()[..], &[0, 0, 0, 0, 0, kind, 0, 0]].concat();
        assert_eq!(held_of(&page(0, &[])), Ok(None));
        let of = |kind| held_of(&page(16, &held(kind))).unwrap().unwrap();
        assert_eq!(of(1), (Some(0xABCD), "write exclusive".to_owned()));
        assert_eq!(of(6), (Some(0xABCD), "exclusive access, registrants only".to_owned()));
        assert_eq!(of(8), (None, "exclusive access, all registrants".to_owned()));
        assert!(of(15).1.contains("does not name"));
    }

    #[test]
    fn an_answer_that_cannot_be_read_is_none() {
        for bytes in [vec![], vec![0; 4], page(8, &[]), page(8, &[1; 7]), page(4, &[1; 8])] {
            assert!(keys_of(&bytes).is_err(), "{bytes:?}");
        }
        for bytes in [vec![0; 7], page(16, &[1; 8]), page(8, &[1; 16])] {
            assert!(held_of(&bytes).is_err(), "{bytes:?}");
        }
        assert!(report_of(&[0; 6], false).is_err() && report_of(&[0; 30], true).is_err());
        assert!(report_of(&[0, 0, 0, 0, 0, 1, 0, 0], false).is_err());
    }

    #[test]
    fn only_a_disk_that_does_not_know_the_command_has_no_reservation_without_saying_so() {
        let answers = |faults: &[ScsiFault]| {
            let mut left = faults.iter();
            page_of(|| Ok(left.next().map_or_else(|| Ok(page(0, &[])), |fault| Err(*fault))))
        };
        let of = |status, sense| ScsiFault { status, sense, host: 0 };
        let unknown = of(CHECK_CONDITION, UNKNOWN_COMMAND);
        assert_eq!(answers(&[unknown]), Ok(None));
        assert_eq!(answers(&[ScsiFault { host: TARGET_FAILURE, ..unknown }]), Ok(None));
        assert!(answers(&[ScsiFault { host: 1, ..unknown }]).is_err());
        // After a reset it answers the second time, and one that is busy soon.
        let attention = of(CHECK_CONDITION, [UNIT_ATTENTION, 0x29, 0]);
        assert_eq!(answers(&[attention, of(BUSY, [0; 3])]), Ok(Some(page(0, &[]))));
        assert!(answers(&[attention; 5]).unwrap_err().contains("sense key 0x6, code 0x29/0x00"));
        assert!(answers(&[of(CONFLICT, [0; 3])]).unwrap_err().contains("RESERVE"));
        for (status, sense) in [(CHECK_CONDITION, [5, 0x24, 0]), (CHECK_CONDITION, [2, 4, 2])] {
            assert!(answers(&[of(status, sense)]).unwrap_err().contains("failed with sense key"));
        }
        let cable = ScsiFault { host: CONTROLLER_ERROR, ..ScsiFault::default() };
        assert_eq!(answers(&[cable, cable]), Ok(Some(page(0, &[]))));
        assert!(answers(&[cable; 5]).is_err());
        let fault = ScsiFault { host: 3, ..ScsiFault::default() };
        assert!(answers(&[fault]).unwrap_err().contains("of the controller 0x3"));
    }

    #[test]
    fn a_report_of_nvme_is_read_in_both_formats() {
        let report = |kind: u8, each: usize, at: usize| {
            let mut data = vec![0; 4096];
            data[4..7].copy_from_slice(&[kind, 2, 0]);
            for (n, key) in [0x11_u64, 0x22].into_iter().enumerate() {
                let entry = &mut data[each * (n + 1)..];
                entry[2] = u8::from(n == 1);
                entry[at..at + 8].copy_from_slice(&key.to_le_bytes());
            }
            report_of(&data, each == 64).unwrap()
        };
        for (each, at) in [(24, 16), (64, 8)] {
            let held = Some((Some(0x22), "exclusive access".to_owned()));
            assert_eq!(report(2, each, at), Reserved { keys: vec![0x11, 0x22], held });
            assert_eq!(report(0, each, at), Reserved { keys: vec![0x11, 0x22], held: None });
        }
        assert_eq!(report_of(&[0; 4096], false), Ok(Reserved::default()));
    }

    #[test]
    fn keys_are_named_and_many_are_counted() {
        assert_eq!(in_words(&[0xABCD]), "the key 0xabcd");
        assert_eq!(in_words(&[1, 2]), "the keys 0x1, 0x2");
        assert_eq!(in_words(&[1, 2, 3, 4, 5, 6]), "the keys 0x1, 0x2, 0x3, 0x4 and 2 more");
    }
}
