//! `--scale`: shrinks the work and everything that it is measured against, so that the question stays the same.
//!
//! ```text
//! work                scaled, by its engine
//! memory              scaled, down to what a trial needs           the data ÷ memory of the experiment stays
//! state 'filled 40%'  40% stays, and the volume is scaled          how full, and how much of it the work is, stay
//! state 'aged by SET' set and volume are scaled                    the age of the volume stays
//! state 'allocated …' neither: its files cost nothing, and its volume is there for the distances on the disk
//! --memory, --size    as they are given
//! ```
//! A state keeps its share and the volume shrinks, because allocators, free lists and copies depend on the free share and hardly
//! on the size. A scale above 1 changes only the work.
//!
//! If memory or volume cannot shrink enough, the plan records it ([`Shortfall`]), and dry run, run and report state it.

use super::{Experiment, SIZE};
use crate::exit::Failure;
use crate::filesystems;
use crate::runner::plan::values;
use crate::schema::plan::{Candidate, Plan, Shortfall};
use crate::schema::units::{Bytes, MIB, Scale};
use crate::testbeds;

/// Memory of each client's process; the program's text is shared.
const CLIENT: u64 = 2 * MIB;
/// On volumes smaller than this, some kinds choose other block sizes.
const LEAST_VOLUME: Bytes = Bytes(512 * MIB);

/// The options `--size` and `--memory`, whose values `--scale` does not scale.
#[derive(Clone, Copy, Debug, Default)]
pub struct Given {
    pub memory: bool,
    pub size: bool,
}

impl Experiment {
    /// Replaces the experiment's scale by this one.
    ///
    /// # Errors
    /// If a state cannot be scaled, or compared memories become equal.
    pub fn take_scale(&mut self, scale: Scale, given: Given) -> Result<(), Failure> {
        let own = self.scale.replace(scale);
        // Values in the file are meant for the file's own scale.
        let inverse = own.map(|own| Scale { of: own.by, by: own.of });
        let by = inverse.map_or(Some(scale), |inverse| scale.times(inverse));
        let Some(by) = by.filter(|by| by.shrinks()) else { return Ok(()) };
        let mut short = Shortfall { by, memory: None, size: None };
        let follows = |state: &String| values::state(Some(state)).is_ok_and(|state| state.follows_volume());
        if !given.size && self.states().into_iter().any(follows) {
            short.size = self.scale_volume(by);
        }
        self.scale_states(by)?;
        if !given.memory {
            short.memory = self.scale_memory(by)?;
        }
        self.shortfall = (short.memory.is_some() || short.size.is_some()).then_some(short);
        Ok(())
    }

    /// Applies the scale and its consequences.
    pub(super) fn at_scale(mut self, scale: Scale) -> Result<Self, Failure> {
        self.take_scale(scale, Given::default()).map(|()| self)
    }

    fn states(&self) -> Vec<&String> {
        let own = self.filesystem.iter().filter_map(|entry| entry.state.as_ref());
        own.chain(&self.state).chain(&self.cross.state).collect()
    }

    fn scale_states(&mut self, by: Scale) -> Result<(), Failure> {
        let own = self.filesystem.iter_mut().filter_map(|entry| entry.state.as_mut());
        for state in own.chain(&mut self.state).chain(&mut self.cross.state) {
            // An invalid state is reported by its parser.
            if let Ok(known) = values::state(Some(state)) {
                *state = known
                    .scaled(by)
                    .map_err(|e| Failure::usage(format!("state {state}: {e}\n  try: another --scale")))?;
            }
        }
        Ok(())
    }

    /// Returns the scaled volume size if the volume must stay larger.
    fn scale_volume(&mut self, by: Scale) -> Option<Bytes> {
        let own = self.size.unwrap_or(SIZE);
        let candidates = self.candidates().unwrap_or_default();
        let kinds = candidates.iter().filter_map(|candidate| filesystems::find(&candidate.kind));
        let least = kinds.map(|kind| *kind.size().start()).fold(LEAST_VOLUME, Bytes::max).min(own);
        let asked = whole(by.apply(own.0));
        self.size = Some(asked.max(least));
        (asked < least).then_some(asked)
    }

    /// Returns the scaled memory if it must stay larger.
    fn scale_memory(&mut self, by: Scale) -> Result<Option<Bytes>, Failure> {
        let least = self.least_memory(&self.candidates().unwrap_or_default())?;
        let mut short: Option<Bytes> = None;
        let own = self.filesystem.iter_mut().filter_map(|entry| entry.memory.as_mut());
        for memory in own.chain(&mut self.memory).chain(&mut self.cross.memory) {
            let asked = whole(by.apply(memory.0));
            if asked < least && *memory > asked {
                short = Some(short.map_or(asked, |short| short.min(asked)));
            }
            // Memory below a trial's minimum stays as the author set it.
            *memory = asked.max(least.min(*memory));
        }
        let crossed = &self.cross.memory;
        let twice = crossed.iter().enumerate().find(|(at, memory)| crossed[..*at].contains(memory));
        if let Some((_, memory)) = twice {
            let text = format!(
                "at this scale two of the compared memory sizes are {memory}, the least that a trial needs\n  try: a \
                 larger --scale, or one --memory"
            );
            return Err(Failure::usage(text));
        }
        Ok(short)
    }

    /// The least memory for the page cache, all clients of the most demanding work, and what one of these filesystems pins, on this
    /// experiment's testbeds.
    ///
    /// # Errors
    /// If a testbed or a workload is unknown.
    pub fn least_memory(&self, candidates: &[Candidate]) -> Result<Bytes, Failure> {
        let entries = self.filesystem.iter().filter_map(|entry| entry.on.as_deref());
        let on = entries.chain(self.on.as_deref()).chain(self.cross.on.iter().map(String::as_str));
        let mut on: Vec<&str> = on.collect();
        if on.is_empty() {
            on.push(testbeds::AUTO);
        }
        let mut least = Bytes(0);
        for on in on {
            least = least.max(values::asked(on).map_err(Failure::usage)?.least_memory());
        }
        let mut own = None;
        for work in self.planned_workloads(self.scale)? {
            let (_, known) = values::work(&work)?;
            let clients = u64::from(work.clients.or(self.clients).unwrap_or(1));
            own = own.max(Some(clients.saturating_mul(known.needs().memory.0.saturating_add(CLIENT))));
        }
        let volume = self.size.unwrap_or(SIZE);
        let pinned = |c: &Candidate| Some(filesystems::find(&c.kind)?.pins(&c.variant, volume));
        let pinned = candidates.iter().filter_map(pinned).max().unwrap_or_default();
        Ok(whole(least.0.saturating_add(own.unwrap_or(CLIENT)).saturating_add(pinned.0)))
    }
}

/// Guest memory and images are whole mebibytes.
pub fn whole(bytes: u64) -> Bytes {
    Bytes(bytes.div_ceil(MIB).saturating_mul(MIB))
}

/// Questions that a scaled plan no longer tests, one sentence each, with a remedy.
pub fn no_longer_tested(plan: &Plan) -> Vec<String> {
    let Some(Shortfall { by, memory, size }) = &plan.shortfall else { return Vec::new() };
    let mut said = Vec::new();
    let memories = plan.candidates.iter().filter_map(|candidate| plan.setup(candidate).memory);
    if let (Some(asked), Some(least)) = (memory, memories.min()) {
        said.push(format!(
            "At scale {by} a trial should have {asked} of memory, but has {least}, the least that it needs. So more of the \
             data is cached than at full size; {remedy} avoids this.",
            remedy = remedy(*asked, least, *by)
        ));
    }
    if let Some(asked) = size {
        said.push(format!(
            "At scale {by} the volume should have {asked}, but has {least}, the least that these filesystems need. So it is \
             emptier than at full size; {remedy} avoids this.",
            least = plan.size,
            remedy = remedy(*asked, plan.size, *by)
        ));
    }
    said
}

/// Names the smallest scale of the form 1/n that reaches this minimum.
pub fn remedy(asked: Bytes, had: Bytes, by: Scale) -> String {
    match smallest(asked, had, by) {
        1 => "a run without --scale".to_owned(),
        n => format!("--scale 1/{n} or larger"),
    }
}

/// The n of the smallest scale 1/n that reaches this minimum; 1 also if none does.
pub fn smallest(asked: Bytes, had: Bytes, by: Scale) -> u64 {
    // had ÷ asked × scale, rounded so that the floor is reached.
    let n = (by.by as f64 / by.of as f64) * asked.0 as f64 / had.0.max(1) as f64;
    (n.floor() as u64).max(1)
}
