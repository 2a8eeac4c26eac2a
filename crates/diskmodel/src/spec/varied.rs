//! A disk with a factor at one of its extremes. Only this file makes samples differ from their disk file.

use super::{CardSpec, CloudSpec, FlashSpec, FrontSpec, HardSpec, Model, Scheduler, ShingleSpec, Spec, Way};
use crate::factor::{End, Factor, Level, Range};
use crate::sample::{Levels, Point};

impl Spec {
    /// This disk with these levels. Levels that belong to the machine have no effect here.
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

    /// This disk at a corner of `ranges` instead of its own ranges. Machine factors are left out, except the tracks of a moved
    /// partition.
    pub(crate) fn at(&self, ranges: &[Range], point: Point) -> Spec {
        let mut varied = self.clone();
        for range in ranges {
            if let Some(level) = point.level(range.factor.column()) {
                varied.set(range.factor, range.end(level));
                varied.move_in(range.end(level));
            }
        }
        varied
    }

    /// Replaces the tracks by those this many thousandths of the disk further in.
    fn move_in(&mut self, to: End) {
        if let (Model::Hard(hard), End::Moved(permille)) = (&mut self.model, to) {
            hard.zones = moved(&hard.zones, permille);
        }
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
                hard.among = to.oldest().or(hard.among);
            }
            Model::Raid(raid) => {
                set_front(&mut raid.front, factor, to);
                set_hard(&mut raid.member, factor, to);
                raid.member.among = to.oldest().or(raid.member.among);
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

/// Zones of equal cylinder count, moved in (positive) or out by `permille` thousandths of the disk.
fn moved(zones: &[u64], permille: i32) -> Vec<u64> {
    let count = zones.len() as i64;
    let last = (count - 1) * 1000;
    let at = |zone: i64| {
        let place = (zone * 1000 + i64::from(permille) * count).clamp(0, last);
        let (from, part) = ((place / 1000) as usize, (place % 1000) as u64);
        let next = zones.get(from + 1).copied().unwrap_or(zones[from]);
        (zones[from] * (1000 - part) + next * part) / 1000
    };
    (0..count).map(at).collect()
}

fn set_front(front: &mut FrontSpec, factor: Factor, to: End) {
    set_way(&mut front.way, factor, to);
    match factor {
        Factor::Overhead => {
            front.overhead_ns = to.of(front.overhead_ns);
            front.write_overhead_ns = to.of(front.write_overhead_ns);
        }
        // Whole 4 KiB pages, at least one.
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
        // A disk that needs no flush needs no FUA either.
        (Factor::Fua, End::Is(forces)) => way.fua = if way.volatile_cache { forces } else { way.fua },
        _ => {}
    }
}

fn set_hard(hard: &mut HardSpec, factor: Factor, to: End) {
    // The next track must be reached within half a turn.
    let most = (hard.turn_ns / 2).saturating_sub(1);
    match factor {
        Factor::Seek => {
            let to = within(to, hard.seek.track_ns(), most);
            hard.seek = hard.seek.map(|ns| to.of(ns));
        }
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

/// The same multiple, or the largest multiple in twentieths that leaves a time of `ns` at most `most`.
fn within(to: End, ns: u64, most: u64) -> End {
    if to.of(ns) > most { End::Times(most * 20 / ns, 20) } else { to }
}

/// Keeps the log's sectors, because they decide all positions on the disk.
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
    /// How many of the oldest requests the firmware then chooses among.
    fn oldest(self) -> Option<u64> {
        match self {
            End::Among { oldest, .. } => Some(oldest),
            _ => None,
        }
    }

    /// Applies this end to a value of the file.
    fn of(self, value: u64) -> u64 {
        match self {
            End::Times(numerator, denominator) | End::Among { times: (numerator, denominator), .. } => {
                value.saturating_mul(numerator) / denominator
            }
            End::Kib(_) | End::Is(_) | End::Moved(_) => value,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tracks_further_in_are_those_of_the_zones_there() {
        let zones = [100, 90, 80, 70, 60, 50, 40, 30, 20, 10];
        assert_eq!(moved(&zones, 0), zones);
        assert_eq!(moved(&zones, 300), [70, 60, 50, 40, 30, 20, 10, 10, 10, 10]);
        assert_eq!(moved(&zones, -150), [100, 100, 95, 85, 75, 65, 55, 45, 35, 25]);
    }
}
