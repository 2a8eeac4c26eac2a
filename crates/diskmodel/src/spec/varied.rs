//! A disk with a factor at one of its extremes: the one place where samples differ from their file.

use super::{CardSpec, CloudSpec, FlashSpec, FrontSpec, HardSpec, Model, Scheduler, ShingleSpec, Spec, Way};
use crate::factor::{End, Factor, Level, Range};
use crate::sample::Levels;

impl Spec {
    /// This disk with these levels. What belongs to the machine around it, it does not see.
    #[must_use]
    pub fn varied(&self, levels: Levels) -> Spec {
        let mut varied = self.clone();
        for range in self.factors() {
            if let Some(level) = levels.of(range.factor) {
                varied = varied.with(range, level);
            }
        }
        varied
    }

    pub(crate) fn with(&self, range: &Range, level: Level) -> Spec {
        let mut varied = self.clone();
        varied.set(range.factor, range.end(level));
        varied
    }

    fn set(&mut self, factor: Factor, to: End) {
        match &mut self.model {
            Model::Zero { .. } => {}
            Model::Hard(hard) => {
                set_front(&mut hard.front, factor, to);
                set_hard(hard, factor, to);
            }
            Model::Raid(raid) => {
                set_front(&mut raid.front, factor, to);
                set_hard(&mut raid.member, factor, to);
                match factor {
                    Factor::Stripes => raid.stripes_at_once = to.of(raid.stripes_at_once).max(1),
                    Factor::Gathering => raid.gather_ns = to.of(raid.gather_ns),
                    _ => {}
                }
            }
            Model::Flash(flash) => {
                set_front(&mut flash.front, factor, to);
                set_flash(flash, factor, to);
            }
            Model::Card(card) => {
                set_front(&mut card.front, factor, to);
                set_card(card, factor, to);
            }
            Model::Cloud(cloud) => {
                set_way(&mut cloud.way, factor, to);
                set_cloud(cloud, factor, to);
            }
        }
    }
}

fn set_front(front: &mut FrontSpec, factor: Factor, to: End) {
    set_way(&mut front.way, factor, to);
    match factor {
        Factor::Overhead => {
            front.overhead_ns = to.of(front.overhead_ns);
            front.write_overhead_ns = to.of(front.write_overhead_ns);
        }
        // Whole pages; and a cache holds one at least.
        Factor::Cache => front.write_cache_sectors = (to.of(front.write_cache_sectors) / 8 * 8).max(8),
        Factor::Entries => front.write_cache_entries = to.of(front.write_cache_entries).max(2),
        Factor::Destaging => front.age_limit_ns = to.of(front.age_limit_ns).max(1),
        _ => {}
    }
}

fn set_way(way: &mut Way, factor: Factor, to: End) {
    match (factor, to) {
        (Factor::Request, End::Kib(kib)) => way.request_bytes = (kib as u32) << 10,
        (Factor::Scheduler, End::Is(sorts)) => {
            way.scheduler = if sorts { Scheduler::MqDeadline } else { Scheduler::None };
        }
        // What needs no flush is not forced either.
        (Factor::Fua, End::Is(forces)) => way.fua = if way.volatile_cache { forces } else { way.fua },
        _ => {}
    }
}

fn set_hard(hard: &mut HardSpec, factor: Factor, to: End) {
    // The next track must be reached within half a turn.
    let most = (hard.turn_ns / 2).saturating_sub(1);
    match factor {
        Factor::Seek => hard.seek = hard.seek.map(|ns| to.of(ns)),
        Factor::Settle => {
            hard.write_settle_ns = to.of(hard.write_settle_ns);
            if hard.heads > 1 {
                hard.head_switch_ns = to.of(hard.head_switch_ns).min(most);
            }
        }
        Factor::Segments => hard.read_segments = to.of(hard.read_segments).max(1),
        Factor::Log | Factor::Cleaning => {
            if let Some(shingle) = &mut hard.shingle {
                set_shingle(shingle, factor, to);
            }
        }
        _ => {}
    }
}

/// The log's sectors stay: they decide where everything lies.
fn set_shingle(shingle: &mut ShingleSpec, factor: Factor, to: End) {
    match factor {
        Factor::Log => shingle.log_entries = to.of(shingle.log_entries).max(16),
        Factor::Cleaning => shingle.idle_ns = to.of(shingle.idle_ns).max(1),
        _ => {}
    }
}

fn set_flash(flash: &mut FlashSpec, factor: Factor, to: End) {
    match factor {
        Factor::Flush => flash.flush_ns = to.of(flash.flush_ns),
        Factor::Program => flash.program_ns = to.of(flash.program_ns),
        Factor::Erase => flash.erase_ns = to.of(flash.erase_ns),
        Factor::Read => flash.read_ns = to.of(flash.read_ns),
        Factor::FlashGathering => flash.gather_ns = to.of(flash.gather_ns),
        _ => {}
    }
}

fn set_card(card: &mut CardSpec, factor: Factor, to: End) {
    match factor {
        Factor::ReadCard => card.read_ns = to.of(card.read_ns),
        Factor::Program => card.program_ns = to.of(card.program_ns),
        Factor::Erase => card.erase_ns = to.of(card.erase_ns),
        Factor::OpenUnits => card.open_units = to.of(card.open_units).max(1),
        _ => {}
    }
}

fn set_cloud(cloud: &mut CloudSpec, factor: Factor, to: End) {
    match factor {
        Factor::ReadLatency => cloud.read_latency_ns = to.of(cloud.read_latency_ns),
        Factor::WriteLatency => cloud.write_latency_ns = to.of(cloud.write_latency_ns),
        Factor::Burst => {
            cloud.burst_operations = to.of(cloud.burst_operations).max(1);
            cloud.burst_sectors = to.of(cloud.burst_sectors).max(8);
        }
        Factor::Jitter => cloud.jitter_ns = to.of(cloud.jitter_ns),
        _ => {}
    }
    // A latency cannot be negative.
    cloud.jitter_ns = cloud.jitter_ns.min(cloud.read_latency_ns).min(cloud.write_latency_ns);
}

impl End {
    /// What a number of the file becomes.
    fn of(self, value: u64) -> u64 {
        match self {
            End::Times(numerator, denominator) => value.saturating_mul(numerator) / denominator,
            End::Kib(_) | End::Is(_) | End::Moved(_) => value,
        }
    }
}
