//! A disk becomes one that may be formatted: the only way there is.
//!
//! Each check refuses in its own words. Nothing is written before the last one has passed, and then through the descriptor that was
//! checked.

use std::cell::LazyCell;
use std::fs::File;

use super::content::{self, Content, Data};
use super::disk::{self, Described};
use super::lvs::Answers;
use super::marks::{self, Found, LEAST, Mark, SECTORS};
use super::opened::Disk;
use super::plans::Plans;
use super::refusal::{Check, Refusal};
use super::signatures::{self, Signature};
use super::{here, hold, lvm, registry, users};
use crate::host::random;
use crate::schema::units::Bytes;

/// A disk that passed every check but the user's word. It stays open and locked, so that nobody else can begin to use it.
#[derive(Debug)]
pub struct Examined {
    disk: Disk,
    id: String,
    /// Open for writing and exclusively.
    held: File,
    pub content: Content,
}

/// What the user typed.
#[derive(Clone, Debug, Default)]
pub struct Word {
    /// The serial number, or what else names the disk.
    pub id: String,
    /// The sentence of [`Examined::phrase`], if the disk holds data.
    pub phrase: Option<String>,
}

/// Why each of these disks, which are all of the machine, cannot be claimed, as far as can be seen without opening it for long: `None`
/// if nothing speaks against it.
pub fn obstacles(all: &[Described]) -> Vec<Option<Refusal>> {
    let (answers, plans) = (LazyCell::new(Answers::now), LazyCell::new(Plans::now));
    let looked = |disk: &Described| -> Result<(), Refusal> {
        let id = disk.is_one_of_a_kind(all)?;
        let open = Disk::open(disk.clone())?;
        open.is_unreserved()?;
        is_unclaimed(&open, &id)?;
        users::is_unused(&open)?;
        if let Some(laid) = open.laid() {
            answers.as_ref().map_err(Clone::clone)?.offer(disk, laid)?;
        }
        is_unsigned(disk)?;
        is_unplanned(disk, &plans)
    };
    all.iter().map(|disk| looked(disk).err()).collect()
}

/// Checks the disk of this name: which one it is, who uses it, what is on it. `whole` reads all of it however long that takes.
///
/// # Errors
/// The first reason against it.
pub fn examine(id: &str, whole: bool, progress: &mut dyn FnMut(u64, u64)) -> Result<Examined, Refusal> {
    here::is_whole_machine()?;
    let about = disk::find(id)?;
    let id = about.is_one_of_a_kind(&disk::all())?;
    let sector = about.sector();
    if !SECTORS.contains(&sector) {
        let what = format!("{id} has sectors of {sector} bytes, for which there is no partition table");
        return Err(Refusal::new(Check::Identity, what, "a disk with sectors of 512 or 4096 bytes"));
    }
    if about.size < LEAST {
        let what = format!("{id} has {}: too small for marks and a filesystem", about.size);
        return Err(Refusal::new(Check::Identity, what, format!("a disk of at least {LEAST}")));
    }
    // Afterwards fsderby has it open itself.
    let unopened = lvm::is_opened_by_us(&about, 0);
    let disk = Disk::open(about)?;
    disk.is_unreserved()?;
    users::lock(&disk)?;
    is_unclaimed(&disk, &id)?;
    // LVM may take a minute: who uses the disk is asked afterwards.
    hold::is_offered(&disk)?;
    users::is_unused(&disk)?;
    // Whoever is named above has it open too.
    unopened?;
    let held = disk.exclusively()?;
    is_unsigned(&disk.about)?;
    is_unplanned(&disk.about, &Plans::now())?;
    let seed = disk.about.number ^ disk.about.size.0 ^ disk.about.sequence.unwrap_or(0);
    let content = content::look(&held, disk.about.size, whole, seed, progress);
    let content = content.map_err(|e| Refusal::io(Check::Content, "read", &disk.about.name, &e))?;
    Ok(Examined { disk, id, held, content })
}

fn is_unclaimed(disk: &Disk, id: &str) -> Result<(), Refusal> {
    let name = &disk.about.name;
    let found =
        marks::read(disk.node(), disk.about.size).map_err(|e| Refusal::io(Check::Claim, "read", name, &e))?;
    let refuse = |what: String, try_this: String| Err(Refusal::new(Check::Claim, what, try_this));
    match found {
        Found::Nothing => Ok(()),
        Found::Damaged(what) if registry::all().iter().any(|mark| mark.id == id) => refuse(
            format!("the claim of {id} is damaged: {what}"),
            format!("fsderby device release {id}, which removes what is left of it"),
        ),
        Found::Damaged(what) => refuse(
            format!("{name} carries a damaged claim: {what}"),
            "look what happened to it; wipefs and dd are the way to empty a disk, fsderby never does".into(),
        ),
        Found::Whole(mark) if registry::all().contains(&mark) && mark.id == id => {
            Err(hold::is_where_it_was(disk, &mark).err().unwrap_or_else(|| {
                Refusal::new(
                    Check::Claimed,
                    format!("{id} is claimed already, since {}", mark.time),
                    format!("--on device:{id}, or fsderby device release {id}"),
                )
            }))
        }
        Found::Whole(mark) if mark.serial != disk.about.serial || mark.wwid != disk.about.wwid => refuse(
            format!("{name} carries the claim of another disk, {}: it is a copy of that disk", mark.id),
            "an empty disk".into(),
        ),
        Found::Whole(mark) => refuse(
            format!(
                "{id} was claimed on another machine, or before this one was installed, at {}: there is no copy of the claim here",
                mark.time
            ),
            "fsderby device release there; if that is impossible, empty it yourself with wipefs and dd"
                .into(),
        ),
    }
}

fn is_unplanned(disk: &Described, plans: &Plans) -> Result<(), Refusal> {
    match plans.of(disk) {
        None => Ok(()),
        Some(plan) => Err(Refusal::new(
            Check::Use,
            format!("{} is to be used by something else: {plan}", disk.name),
            "remove that entry, if it is out of date",
        )),
    }
}

fn is_unsigned(disk: &Described) -> Result<(), Refusal> {
    let parts = || disk.partitions.iter().map(|part| part.name.as_str());
    match signatures::all(disk)?.first() {
        Some(Signature { on, kind, .. }) => Err(Refusal::new(
            Check::Signature,
            format!("{on} holds {kind}"),
            format!(
                "another disk; if nothing on it is needed, you can empty it yourself: wipefs --all {}",
                disk.node().display()
            ),
        )),
        None if parts().next().is_some() => {
            let what = format!("{} has partitions: {}", disk.name, parts().collect::<Vec<_>>().join(", "));
            Err(Refusal::new(Check::Signature, what, "a disk without partitions"))
        }
        None => Ok(()),
    }
}

impl Examined {
    pub fn id(&self) -> &str {
        &self.id
    }

    pub fn about(&self) -> &Described {
        &self.disk.about
    }

    /// What else works on the disks below a volume of LVM.
    pub fn shared(&self) -> Option<String> {
        self.disk.laid().and_then(lvm::Laid::shared)
    }

    /// The sentence to type if the disk holds data without a signature.
    pub fn phrase(&self) -> Option<String> {
        match &self.content {
            Content::Zeros { .. } => None,
            Content::Data(Data { offset, .. }) => {
                Some(format!("erase {} with data at offset {offset}", self.id))
            }
        }
    }

    /// Whether these words are those that claiming this disk takes.
    ///
    /// # Errors
    /// What is missing or differs.
    pub fn is_meant(&self, word: &Word) -> Result<(), Refusal> {
        let refuse = |what: String, try_this: String| Err(Refusal::new(Check::Confirmation, what, try_this));
        if word.id != self.id {
            return refuse(
                format!("'{}' is not the serial number of this disk", word.id),
                format!("{}, if this is the disk that you mean", self.id),
            );
        }
        match (self.phrase(), &word.phrase) {
            (Some(phrase), Some(typed)) if *typed == phrase => Ok(()),
            (None, None) => Ok(()),
            (Some(phrase), _) => {
                let Content::Data(data) = &self.content else { unreachable!("a phrase is asked for data") };
                let node = self.disk.about.node();
                refuse(
                    format!("{} is not empty {}", self.id, data.in_words()),
                    format!(
                        "empty it yourself (blkdiscard {node}, if the disk then reads as zeros, otherwise dd \
                         if=/dev/zero of={node} bs=1M), or --holds-data '{phrase}'",
                        node = node.display()
                    ),
                )
            }
            (None, Some(_)) => refuse(
                format!("{} holds no data, so this is not the disk that the phrase is about", self.id),
                "fsderby device claim without --holds-data".into(),
            ),
        }
    }

    /// Writes the claim.
    ///
    /// # Errors
    /// If the words are not the right ones, or anything changed since the disk was examined.
    pub fn claim(self, word: &Word) -> Result<Mark, Refusal> {
        self.is_meant(word)?;
        let name = self.disk.about.name.clone();
        let fault = |operation: &'static str| {
            let name = name.clone();
            move |e: std::io::Error| Refusal::io(Check::Claim, operation, &name, &e)
        };
        let sector = fsderby_sys::block_device::sector(&self.held).map_err(fault("look at"))?;
        let about = &self.disk.about;
        let mark = Mark {
            claim: format!("{:032x}", random::bits().map_err(fault("name a claim of"))?),
            id: self.id.clone(),
            serial: about.serial.clone(),
            wwid: about.wwid.clone(),
            model: about.model.clone(),
            size: Bytes(about.size.0),
            sector,
            time: jiff::Timestamp::now().round(jiff::Unit::Second).unwrap_or_default().to_string(),
            volume: self.disk.laid().map(lvm::Laid::placed),
        };
        // The user may have taken hours to type.
        hold::is_offered(&self.disk)?;
        is_unsigned(about)?;
        is_unplanned(about, &Plans::now())?;
        self.disk.is_still_itself()?;
        users::is_unused(&self.disk)?;
        lvm::is_opened_by_us(about, 2)?;
        // The disk has no mark: whatever was claimed by this name is gone.
        for old in registry::all().iter().filter(|old| old.id == mark.id) {
            let _lock = registry::lock(old)?;
            registry::forget(old).map_err(fault("forget an older claim of"))?;
        }
        registry::keep(&mark).map_err(fault("keep a copy of the claim of"))?;
        if self.phrase().is_none() {
            registry::set_emptied(&mark, Some(mark.range().length)).map_err(fault("note the content of"))?;
        }
        let written = mark.write(&self.held).and_then(|()| marks::read(&self.held, mark.size));
        let written = written.map_err(fault("write the claim to"));
        if let Err(why) = written.and_then(|found| marks::agree(&name, &found, &mark)) {
            // What cannot be removed now, a release removes by the copy.
            if mark.remove(&self.held).is_ok() {
                let _ = registry::forget(&mark);
            }
            return Err(why);
        }
        Ok(mark)
    }
}

/// Removes the claim of this disk: what is left of its table and marks, and this machine's copy; nothing else. Returns what was wrong
/// with the claim too.
///
/// # Errors
/// If the disk is in use or another one.
pub fn release(id: &str) -> Result<(Mark, Option<Refusal>), Refusal> {
    here::is_whole_machine()?;
    let mark = registry::find(id)?;
    let lock_of_claim = registry::lock(&mark)?;
    hold::remove_left(&mark)?;
    let disk = hold::named_to_release(&mark).map_err(|why| {
        let copy = registry::place(&mark);
        let forget = format!("{}; if that disk is gone for good, rm {}", why.try_this, copy.display());
        Refusal::new(why.check, why.what, forget)
    })?;
    users::lock(&disk)?;
    let held = disk.exclusively()?;
    let damage = marks::agree(&disk.about.name, &hold::found(&disk, &mark)?, &mark).err();
    disk.may_be_released()?;
    let fault = |e| Refusal::io(Check::Claim, "remove the claim of", id, &e);
    // With damaged marks nobody knows whose the range is.
    if damage.is_none() {
        hold::empty_names_of_killed(&held, &mark).map_err(fault)?;
    }
    mark.remove(&held).map_err(fault)?;
    registry::forget(&mark).map_err(fault)?;
    drop(lock_of_claim);
    Ok((mark, damage))
}
