//! The origin of a testbed's guests: kernel, programs and agent of this machine, or a bundle.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::bundled::Bundled;
use super::{Missing, Testbed, local};
use crate::filesystems::KernelNeed;
use crate::guest::bundle::Bundle;
use crate::guest::kernel::{self, Kernel};
use crate::guest::{Closure, Files, Here};
use crate::host::programs;
use crate::storage::layers::Layer;

/// The guests of a testbed.
pub trait Guests {
    fn starts(&self) -> &StartsFrom;
    fn starts_mut(&mut self) -> &mut StartsFrom;
    /// The kernel that these guests boot, if it is available.
    fn boots(&self) -> Option<&Kernel>;
    /// Whether these guests have the kernel modules and programs for these layers.
    fn carries(&self, layers: &[Box<dyn Layer>]) -> Result<(), Missing> {
        carries(self.boots(), self.starts().bundle(), layers)
    }
}

/// The guests' origin, from a testbed's text and from options.
pub struct StartsFrom {
    /// A release of a kernel in the cache; `None` for the newest release.
    pub kernel: Option<String>,
    /// The program that becomes the guest's init; by default the running fsderby.
    pub agent: PathBuf,
    /// Replaces kernel, this machine's programs and the agent.
    bundled: Bundled,
    /// Whether the agent was named, and so may be an older one.
    agent_is_named: bool,
    /// Whether each trial makes its initial state itself, even if a guest in this state is kept.
    pub from_scratch: bool,
}

/// Options for guests beside their testbed's text.
#[derive(Clone, Copy)]
pub enum Start<'s> {
    /// This program as agent instead of the running fsderby: a new host with an older agent must reproduce that agent's results.
    Agent(&'s Path),
    /// This cached kernel.
    Kernel(&'s str),
    /// This cached bundle (kernel, programs and agent), with nothing of this machine.
    Bundle(&'s str),
    /// No guest that is kept with a filesystem in its initial state.
    Scratch,
}

/// Makes this testbed's guests start with this agent, kernel or bundle.
///
/// # Errors
/// If the testbed has no guests, or its text already states something else.
pub fn start_from(testbed: &mut dyn Testbed, start: Start<'_>) -> Result<(), Missing> {
    if let Some(guests) = testbed.guests_mut() {
        return guests.starts_mut().take(start);
    }
    let (lacks, try_this) = match start {
        Start::Agent(_) => ("starts no guests", "--on vm or model:DISK"),
        Start::Kernel(_) => ("boots no kernel", "--on vm, or without --kernel"),
        Start::Bundle(_) => ("starts no guests", "--on vm or model:DISK, or without --guest"),
        // Nothing is kept there.
        Start::Scratch => return Ok(()),
    };
    Err(Missing { what: format!("{} {lacks}", testbed.name()), try_this: try_this.into() })
}

impl Default for StartsFrom {
    fn default() -> Self {
        StartsFrom {
            kernel: None,
            agent: "/proc/self/exe".into(),
            bundled: Bundled::default(),
            agent_is_named: false,
            from_scratch: false,
        }
    }
}

impl StartsFrom {
    /// `guest=ID` and `kernel=RELEASE` in a testbed's settings.
    ///
    /// # Errors
    /// If the text cannot be the beginning of a bundle's ID, or if it comes with a kernel.
    pub fn of(guest: Option<&str>, kernel: Option<&str>) -> Result<Self, String> {
        let bundled = Bundled::of(guest, kernel).map_err(|e| e.to_string())?;
        Ok(StartsFrom { kernel: kernel.map(str::to_owned), bundled, ..StartsFrom::default() })
    }

    fn take(&mut self, start: Start<'_>) -> Result<(), Missing> {
        match start {
            Start::Agent(agent) => (self.agent, self.agent_is_named) = (agent.to_owned(), true),
            Start::Kernel(release) => {
                let bundled = Bundled::of(self.bundled.id(), Some(release))?;
                (self.bundled, self.kernel) = (bundled, Some(release.to_owned()));
            }
            Start::Scratch => self.from_scratch = true,
            Start::Bundle(id) => self.bundled = Bundled::of(Some(id), self.kernel.as_deref())?,
        }
        Ok(())
    }

    /// Whether the agent stops its guest in a filesystem's initial state when a job says so.
    pub fn pauses(&self) -> bool {
        match self.bundled.get() {
            Some(bundle) => bundle.manifest.pauses,
            None => !self.agent_is_named,
        }
    }

    /// The bundle's ID as written, if one is named.
    pub fn bundle_id(&self) -> Option<&str> {
        self.bundled.id()
    }

    /// The bundle itself, if it is in the cache.
    pub fn bundle(&self) -> Option<&Bundle> {
        self.bundled.get()
    }

    /// The bundle, searched once.
    ///
    /// # Errors
    /// If the bundle is not in the cache, or is unusable.
    pub fn find_bundle(&self) -> Result<Option<&Arc<Bundle>>, Missing> {
        self.bundled.find()
    }

    /// The kernel of the named bundle, or, without a bundle, a kernel of the cache.
    pub fn find_kernel(&self) -> Option<Kernel> {
        match self.bundled.find() {
            Ok(Some(bundle)) => Some(bundle.kernel()),
            Ok(None) => kernel::find(self.kernel.as_deref()),
            Err(_) => None,
        }
    }
}

/// Whether a guest's kernel has a filesystem's modules.
pub fn modules_missing(kernel: Option<&Kernel>, need: &KernelNeed) -> Result<(), Missing> {
    has(kernel, need.modules)
}

/// Checks that the kernel has these modules, by name or alias, with their dependencies.
fn has(kernel: Option<&Kernel>, modules: &[&str]) -> Result<(), Missing> {
    let Some(kernel) = kernel else {
        return Err(Missing { what: "no kernel to boot".into(), try_this: "fsderby kernel fetch".into() });
    };
    let release = &kernel.index.release;
    let chain = kernel.index.modules.chain(modules.iter().copied()).map_err(|e| Missing {
        what: format!("the kernel {release} has {e}"),
        try_this: "another --kernel (fsderby kernel fetch downloads Debian's)".into(),
    })?;
    chain
        .iter()
        .try_for_each(|name| kernel.module(name).map(drop))
        .map_err(|e| Missing { what: format!("{e:#}"), try_this: format!("fsderby kernel fetch {release}") })
}

/// Whether a guest with this kernel can build these layers: modules, and tools with their libraries.
fn carries(
    kernel: Option<&Kernel>,
    bundle: Option<&Bundle>,
    layers: &[Box<dyn Layer>],
) -> Result<(), Missing> {
    for layer in layers {
        let kind = layer.kind();
        has(kernel, &layer.modules()).map_err(|missing| Missing {
            what: format!("the layer {} cannot be created: {}", kind.name(), missing.what),
            try_this: missing.try_this,
        })?;
        for program in kind.tools() {
            tool(bundle, program).map_err(|missing| Missing {
                what: format!("the layer {} cannot be created: {}", kind.name(), missing.what),
                try_this: match bundle {
                    Some(_) => missing.try_this,
                    None => format!("apt-get install {}", kind.package()),
                },
            })?;
        }
    }
    Ok(())
}

/// Whether a program, with its libraries, can run in a guest; searched in the bundle, or without one on this machine.
pub fn tool(bundle: Option<&Bundle>, program: &str) -> Result<(), Missing> {
    if let Some(bundle) = bundle {
        let path = bundle.program(program).ok_or_else(|| Missing {
            what: format!("the guest {guest} has no {program}", guest = bundle.short()),
            try_this: "fsderby guest build, if apt has this program, or without --guest".into(),
        })?;
        return Closure::of(bundle).add(&path).map_err(|e| Missing {
            what: format!("{e:#}"),
            try_this: "fsderby guest import FILE again".into(),
        });
    }
    local::has_tool(program)?;
    let Some(path) = programs::find(program) else { return Ok(()) };
    Closure::of(&Here).add(&path).map_err(|e| Missing {
        what: format!("{e:#}"),
        try_this: "install the program for this machine's architecture, with its libraries".into(),
    })
}
