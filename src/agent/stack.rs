//! The block devices of a trial: the storage's disks, and the layers on them.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{StepError, tools};
use crate::devices::Undo;
use crate::host::wait_for;
use crate::schema::job::{Job, StepName};
use crate::schema::setup::Argv;
use crate::schema::units::Bytes;
use crate::storage::Device;
use crate::storage::layers::{self, Below, Layer, MAPPER, Place};

/// The kernel's unit of device sizes, whatever the device's sectors.
const SECTOR: u64 = 512;
const CONTROL: &str = "/dev/mapper/control";

/// Whether layers are created on empty disks, or exist and are assembled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Raise {
    Build,
    Assemble,
}

/// The disks of a trial and the layers on them. Dropping a stack removes its layers, last first, and detaches its disks.
pub struct Stack {
    standing: Vec<Standing>,
    leaves: Vec<Box<dyn Device>>,
    top: PathBuf,
    bytes: Bytes,
    limit: Duration,
}

/// A built layer, or a partly built one.
struct Standing {
    name: String,
    take_down: Vec<Undo>,
}

impl Standing {
    /// Runs all commands, even if some fail.
    fn take_down(&self, limit: Duration) -> Result<(), StepError> {
        let fault = |text: String| StepError::new("take down", what(&self.name), text);
        let all: Vec<_> = self.take_down.iter().map(|undo| run(&undo.argv, limit).map_err(fault)).collect();
        all.into_iter().collect()
    }
}

impl Stack {
    /// Builds the layers of this job on these disks. If a layer fails, removes the layers built before it.
    pub fn raise(leaves: Vec<Box<dyn Device>>, job: &Job, how: Raise) -> Result<Self, StepError> {
        let fault = |text: String| StepError::new("build", "the layers", text);
        let layers = layers::of(&job.layers).map_err(fault)?;
        let owner = leaves.iter().find_map(|leaf| leaf.owner()).map(str::to_owned);
        if !(layers.is_empty() || job.guest || owner.is_some()) {
            return Err(fault("layers are created only in guests and on claimed disks".into()));
        }
        let owner = owner.filter(|_| !job.guest).unwrap_or_default();
        let disk = |path: &Path| {
            let seen = if layers.is_empty() { None } else { bytes_of(path) };
            Below { path: path.display().to_string(), bytes: seen.unwrap_or(job.volume.size) }
        };
        let mut below: Vec<Below> = leaves.iter().map(|leaf| disk(leaf.path())).collect();
        let limit = job.limit(StepName::Reset);
        let (standing, bytes) = (Vec::new(), job.volume.size);
        let mut stack = Stack { standing, leaves, top: PathBuf::new(), bytes, limit };
        for (at, layer) in layers.iter().enumerate() {
            let place = Place { at, owner: owner.clone(), below };
            below = stack.add(&**layer, place, how).map_err(|e| stack.give_up(e))?;
        }
        let [top] = &below[..] else {
            let devices = below.len();
            return Err(fault(format!("a filesystem needs one device, but these layers provide {devices}")));
        };
        (stack.top, stack.bytes) = (PathBuf::from(&top.path), top.bytes);
        if let (Raise::Build, false, [first, ..]) = (how, layers.is_empty(), &stack.leaves[..]) {
            let reset = first.reset_names_above(&stack.top);
            reset.map_err(|e| StepError::io("reset", &stack.top, e))?;
        }
        Ok(stack)
    }

    /// The first fault below any disk, on the host's side.
    pub fn fault_below(&self) -> Option<String> {
        self.leaves.iter().find_map(|leaf| leaf.fault_below())
    }

    /// Removes the layers built so far; adds a failure of the removal to the error.
    fn give_up(&mut self, why: StepError) -> StepError {
        match self.take_down_half_built() {
            Ok(()) => why,
            Err(left) => StepError { text: format!("{}; {left}", why.text), ..why },
        }
    }

    /// The last layer has failed, so there may be nothing to remove, and its commands may fail. What is still there afterwards is
    /// an error.
    fn take_down_half_built(&mut self) -> Result<(), StepError> {
        let Some(failed) = self.standing.pop() else { return Ok(()) };
        let undone = failed.take_down(self.limit);
        if failed.take_down.iter().any(Undo::is_present) {
            // It stays noted, with those below it, for whoever takes it down later.
            return undone.and(self.take_down_all());
        }
        self.take_down_all()?;
        self.forget()
    }

    fn add(&mut self, layer: &dyn Layer, place: Place, how: Raise) -> Result<Vec<Below>, StepError> {
        let commands = match how {
            Raise::Build => layer.build(&place),
            Raise::Assemble => layer.assemble(&place),
        };
        let name = what(&layer.written());
        let fault = |text: String| StepError::new("build", &name, text);
        let devices = layer.devices(&place);
        if let Some(theirs) =
            devices.iter().filter(|_| !place.owner.is_empty()).find(|d| own_name(Path::new(d)).is_some())
        {
            return Err(fault(format!("{theirs} exists already, and is not of this trial")));
        }
        // From here on parts of it may exist, even if building fails.
        let take_down =
            devices.iter().cloned().zip(layer.take_down(&place)).map(|(device, argv)| Undo { device, argv });
        self.standing.push(Standing { name: layer.written(), take_down: take_down.collect() });
        self.note().map_err(|e| fault(format!("what undoes it could not be noted: {e}")))?;
        for argv in &commands {
            run(argv, self.limit).map_err(fault)?;
        }
        let above = devices.iter().map(|path| found(path).map_err(fault)).collect::<Result<Vec<_>, _>>()?;
        if let (Raise::Build, Some(first)) = (how, above.first()) {
            layer.is_sound(&|attribute| attribute_of(Path::new(&first.path), attribute)).map_err(fault)?;
        }
        Ok(above)
    }

    /// Tells the disks what stands on them and how it is undone.
    fn note(&self) -> std::io::Result<()> {
        let undo: Vec<Undo> =
            self.standing.iter().rev().flat_map(|standing| standing.take_down.iter().cloned()).collect();
        self.leaves.iter().try_for_each(|leaf| leaf.note(&undo))
    }

    /// The device for mkfs.
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// The size of the device for mkfs.
    pub fn bytes(&self) -> Bytes {
        self.bytes
    }

    /// Whether I/O of all disks bypasses the host's page cache.
    pub fn is_direct(&self) -> bool {
        self.leaves.iter().all(|leaf| leaf.is_direct())
    }

    /// The processes that serve the disks of this stack.
    pub fn servers(&self) -> impl Iterator<Item = i32> {
        self.leaves.iter().flat_map(|leaf| leaf.servers().iter().copied())
    }

    pub fn has_layers(&self) -> bool {
        !self.standing.is_empty()
    }

    pub fn leaves(&self) -> impl Iterator<Item = &Path> {
        self.leaves.iter().map(|leaf| leaf.path())
    }

    /// The nodes that taking the layers down opens: the layers' own, and the device mapper's.
    pub fn nodes(&self) -> Vec<PathBuf> {
        let devices = self.standing.iter().flat_map(|standing| &standing.take_down);
        let own = devices.filter_map(|undo| own_name(Path::new(&undo.device)));
        let control = PathBuf::from(CONTROL);
        own.chain(control.exists().then_some(control)).filter(|_| self.has_layers()).collect()
    }

    /// A folder that mounts must not hide.
    pub fn lies_in(&self) -> &Path {
        self.leaves.first().map_or(Path::new("/dev"), |leaf| leaf.lies_in())
    }

    /// Drops the kernel's cached pages of the top device and of all disks.
    pub fn forget_cached(&self) -> Result<(), StepError> {
        let fault = |path: &Path, e: std::io::Error| StepError::io("drop the page cache of", path, e);
        if self.has_layers() {
            let forget = fs::File::open(&self.top).and_then(fsderby_sys::loop_device::forget_cached);
            forget.map_err(|e| fault(&self.top, e))?;
        }
        self.leaves.iter().try_for_each(|leaf| leaf.forget_cached().map_err(|e| fault(leaf.path(), e)))
    }

    /// Removes the layers, last first, even if some fail.
    ///
    /// # Errors
    /// The first error.
    pub fn take_down(&mut self) -> Result<(), StepError> {
        if self.standing.is_empty() {
            return Ok(());
        }
        // What is still there stays noted.
        self.take_down_all()?;
        self.forget()
    }

    fn take_down_all(&mut self) -> Result<(), StepError> {
        let mut all = Ok(());
        while let Some(standing) = self.standing.pop() {
            all = all.and(standing.take_down(self.limit));
        }
        all
    }

    /// Notes that nothing is to be undone any more.
    fn forget(&self) -> Result<(), StepError> {
        self.note().map_err(|e| StepError::io("forget", "the layers", e))
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // Errors are reported by an explicit take-down before this.
        let _ = self.take_down();
    }
}

/// The layer's name in an error.
fn what(layer: &str) -> String {
    format!("the layer {layer}")
}

fn run(argv: &Argv, limit: Duration) -> Result<(), String> {
    let ran = tools::run(argv, limit, None, false).map_err(|e| e.to_string())?;
    match ran.status {
        0 => Ok(()),
        status => {
            let (command, said) = (argv.join(" "), ran.said);
            Err(format!("exit code {status} of '{command}': {said}"))
        }
    }
}

/// A layer's device under the kernel's name, as in mountinfo and /sys.
fn found(path: &str) -> Result<Below, String> {
    let missing = || format!("the layer was created, but its device {path} does not exist");
    let own = wait_for(|| own_name(Path::new(path))).ok_or_else(missing)?;
    let bytes = bytes_of(&own).filter(|bytes| bytes.0 > 0).ok_or_else(|| format!("{path} is empty"))?;
    Ok(Below { path: own.display().to_string(), bytes })
}

fn own_name(path: &Path) -> Option<PathBuf> {
    let name = match path.strip_prefix(MAPPER) {
        Ok(mapped) => mapped_as(mapped)?,
        Err(_) => {
            let link = fs::read_link(Path::new("/sys/dev/block").join(number_of(path)?)).ok()?;
            link.file_name()?.to_owned()
        }
    };
    let node = Path::new("/dev").join(name);
    node.exists().then_some(node)
}

/// The kernel's name of a device-mapper device. The nodes with given names are made by udev, which guests lack.
fn mapped_as(given: &Path) -> Option<OsString> {
    let mut devices = fs::read_dir("/sys/block").ok()?.flatten();
    let is_it = |device: &fs::DirEntry| {
        let name = fs::read_to_string(device.path().join("dm/name"));
        name.is_ok_and(|name| Path::new(name.trim()) == given)
    };
    devices.find(is_it).map(|device| device.file_name())
}

/// The device of this node, formatted like [`number`].
pub fn number_of(path: &Path) -> Option<String> {
    Some(number(fs::metadata(path).ok()?.rdev()))
}

/// `major:minor`, as /sys/dev/block names a device.
pub fn number(device: u64) -> String {
    format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device))
}

fn bytes_of(path: &Path) -> Option<Bytes> {
    attribute_of(path, "size")?.parse().ok().map(|sectors: u64| Bytes(sectors * SECTOR))
}

/// A sysfs attribute of this block device.
fn attribute_of(path: &Path, attribute: &str) -> Option<String> {
    let file = Path::new("/sys/dev/block").join(number_of(path)?).join(attribute);
    Some(fs::read_to_string(file).ok()?.trim().to_owned())
}
