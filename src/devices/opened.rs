//! An open disk, and whether it still is the one that was opened.

use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};

use fsderby_sys::block_device;
use rustix::fs::OFlags;

use super::disk::{self, Described, describe};
use super::lvm::{self, Laid};
use super::refusal::{Check, Refusal};
use super::reservations;

/// An open disk. The descriptor stays the same from the first check to the last write.
#[derive(Debug)]
pub struct Disk {
    pub about: Described,
    node: File,
    /// Of a volume of LVM.
    below: Option<Below>,
}

/// Where a volume lies, and the open disks there.
#[derive(Debug)]
struct Below {
    laid: Laid,
    disks: Vec<Disk>,
}

impl Disk {
    /// Opens it for reading, without excluding anyone.
    ///
    /// # Errors
    /// If it cannot be opened, the node is that of another disk, or it is a volume of LVM that must not be formatted.
    pub fn open(about: Described) -> Result<Self, Refusal> {
        let node = open(&about, false, OFlags::empty())?;
        let below = about.mapped.is_some().then(|| Below::of(&about)).transpose()?;
        Ok(Disk { about, node, below })
    }

    /// Where it lies, if it is a volume of LVM.
    pub fn laid(&self) -> Option<&Laid> {
        self.below.as_ref().map(|below| &below.laid)
    }

    /// Opens it a second time for writing; nobody else can mount, format or assemble it meanwhile.
    ///
    /// # Errors
    /// If somebody uses it, or it is read-only.
    pub fn exclusively(&self) -> Result<File, Refusal> {
        let node = open(&self.about, true, OFlags::EXCL)?;
        if block_device::is_read_only(&node).unwrap_or(true) {
            let what = format!("{} is read-only", self.about.name);
            return Err(Refusal::new(Check::Identity, what, "the disk's write protection, or another disk"));
        }
        Ok(node)
    }

    pub fn node(&self) -> &File {
        &self.node
    }

    /// Whether it still is the disk that was opened, and nobody has reserved it since.
    ///
    /// # Errors
    /// What differs, or who has.
    pub fn is_still_itself(&self) -> Result<(), Refusal> {
        self.is_the_same()?;
        self.is_unreserved()
    }

    /// Like [`is_still_itself`](Self::is_still_itself), for a disk that is given back: one that does not say whether it is reserved
    /// is not refused.
    ///
    /// # Errors
    /// What differs, or who has reserved it.
    pub fn may_be_released(&self) -> Result<(), Refusal> {
        self.is_the_same()?;
        reservations::none_seen(&self.node, &self.about.name, &self.about.place)?;
        let on = |disk: &Disk| reservations::none_seen(&disk.node, &disk.about.name, &disk.about.place);
        self.disks_below().iter().try_for_each(on)
    }

    fn disks_below(&self) -> &[Disk] {
        self.below.as_ref().map_or(&[], |below| &below.disks)
    }

    /// Whether it has the same medium, size and serial number, and lies where it lay.
    fn is_the_same(&self) -> Result<(), Refusal> {
        let now = describe(&self.about.name);
        let gone = |what: &str| {
            let text = format!("{} is another disk than at the first look: {what}", self.about.name);
            Refusal::new(Check::Identity, text, "fsderby device list; nothing was written since")
        };
        let now = now.ok_or_else(|| gone("it has gone"))?;
        for (what, was, is) in [
            ("the serial number", &self.about.serial, &now.serial),
            ("the world-wide name", &self.about.wwid, &now.wwid),
        ] {
            if was != is {
                return Err(gone(what));
            }
        }
        if now.size != self.about.size {
            return Err(match self.about.volume() {
                Some(name) => lvm::resized(&name, self.about.size, now.size),
                None => gone("the size"),
            });
        }
        let sequence = block_device::sequence(&self.node).ok();
        if now.sequence != self.about.sequence
            || sequence != self.about.sequence
            || now.number != self.about.number
        {
            return Err(gone("the kernel's number of the medium"));
        }
        let Some(below) = &self.below else { return Ok(()) };
        below.disks.iter().try_for_each(Disk::is_the_same)?;
        lvm::laid(&now, &disk::all())?.is_as_claimed(&below.laid.placed())
    }

    /// Whether nobody has reserved it.
    ///
    /// # Errors
    /// Who has, or why it does not say.
    pub fn is_unreserved(&self) -> Result<(), Refusal> {
        reservations::none(&self.node, &self.about.name, &self.about.place)?;
        self.disks_below().iter().try_for_each(Disk::is_unreserved)
    }
}

impl Below {
    fn of(volume: &Described) -> Result<Self, Refusal> {
        let laid = lvm::laid(volume, &disk::all())?;
        let disks = laid.disks.iter().map(|disk| Disk::open(disk.clone())).collect::<Result<_, _>>()?;
        Ok(Below { laid, disks })
    }
}

fn open(about: &Described, writes: bool, flags: OFlags) -> Result<File, Refusal> {
    let path = about.node();
    let flags = (flags | OFlags::NOFOLLOW).bits().cast_signed();
    let opened = OpenOptions::new().read(true).write(writes).custom_flags(flags).open(&path);
    let node = match opened {
        Err(e) if e.raw_os_error() == Some(rustix::io::Errno::BUSY.raw_os_error()) => {
            let what =
                format!("{} is in use: a mount, swap, RAID, volume group or mapping holds it", about.name);
            return Err(Refusal::new(Check::Use, what, "fsderby device list, and lsblk"));
        }
        Err(e) if e.kind() == ErrorKind::PermissionDenied => {
            let (why, remedy) = match rustix::process::geteuid().is_root() {
                true => ("even root may not open it here, as in many containers", "outside the container"),
                false => ("only root may open it", "sudo"),
            };
            return Err(Refusal::new(Check::Place, format!("{}: {why}", about.name), remedy));
        }
        other => other.map_err(|e| Refusal::io(Check::Identity, "open", &path.display().to_string(), &e))?,
    };
    let other = |what: &str| {
        let text = format!("{} is another disk than at the first look: {what}", path.display());
        Refusal::new(Check::Identity, text, "fsderby device list")
    };
    let seen = node.metadata().map_err(|e| Refusal::io(Check::Identity, "look at", &about.name, &e))?;
    if !seen.file_type().is_block_device() || seen.rdev() != about.number {
        return Err(other("its node has another number"));
    }
    if block_device::bytes(&node).ok() != Some(about.size.0) {
        return Err(other("the size"));
    }
    if block_device::sequence(&node).ok() != about.sequence {
        return Err(other("the kernel's number of the medium"));
    }
    Ok(node)
}
