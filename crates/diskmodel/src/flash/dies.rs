//! Dies and channels, each of which does one thing at a time.

use crate::sample::Sample;
use crate::spec::FlashSpec;

#[derive(Clone, Copy, Debug, Default)]
struct Die {
    /// When it has done all that was asked of it.
    free_ns: u64,
    /// When its last read is done: reads do not wait for programs and erases to end, only for their suspension.
    read_ns: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Dies {
    dies: Vec<Die>,
    channel_free_ns: Vec<u64>,
    read_ns: u64,
    program_ns: u64,
    erase_ns: u64,
    suspend_ns: u64,
    /// 2⁻¹⁶ ns for a sector on a channel.
    sector_ns_16: u64,
    /// Time that dies were at work, in sum.
    pub busy_ns: u64,
}

impl Dies {
    pub fn new(spec: &FlashSpec, sample: &Sample) -> Self {
        Dies {
            dies: vec![Die::default(); spec.dies as usize],
            channel_free_ns: vec![0; spec.channels as usize],
            read_ns: sample.seek_ns(spec.read_ns),
            program_ns: sample.seek_ns(spec.program_ns),
            erase_ns: sample.seek_ns(spec.erase_ns),
            suspend_ns: spec.suspend_ns,
            sector_ns_16: ((512 * 1_000_000) << 16) / spec.channel_kbps,
            busy_ns: 0,
        }
    }

    pub fn free_ns(&self, die: usize) -> u64 {
        self.dies[die].free_ns
    }

    /// Reads pages that lie side by side on a die's planes. Returns when they have left it, and how long that took.
    pub fn read(&mut self, now_ns: u64, die: usize, sectors: u64) -> (u64, u64) {
        let own = &mut self.dies[die];
        let begins_ns = own.free_ns.min(now_ns + self.suspend_ns).max(own.read_ns).max(now_ns);
        let sensed_ns = begins_ns + self.read_ns;
        let ends_ns = self.carry(sensed_ns, die, sectors);
        let took_ns = self.read_ns + self.carry_ns(sectors);
        let own = &mut self.dies[die];
        own.read_ns = ends_ns;
        // What was interrupted takes so much longer.
        own.free_ns = if own.free_ns > begins_ns { own.free_ns + took_ns } else { ends_ns };
        self.busy_ns += took_ns;
        (ends_ns, took_ns)
    }

    /// Programs a unit. Returns when it is safe, and how long that took.
    pub fn program(&mut self, from_ns: u64, die: usize, sectors: u64) -> (u64, u64) {
        let begins_ns = self.dies[die].free_ns.max(from_ns);
        let ends_ns = self.carry(begins_ns, die, sectors) + self.program_ns;
        self.dies[die].free_ns = ends_ns;
        let took_ns = self.carry_ns(sectors) + self.program_ns;
        self.busy_ns += took_ns;
        (ends_ns, took_ns)
    }

    /// Erases a block of every die.
    pub fn erase(&mut self, now_ns: u64) {
        for die in &mut self.dies {
            die.free_ns = die.free_ns.max(now_ns) + self.erase_ns;
        }
        self.busy_ns += self.erase_ns * self.dies.len() as u64;
    }

    pub fn count(&self) -> usize {
        self.dies.len()
    }

    fn carry(&mut self, from_ns: u64, die: usize, sectors: u64) -> u64 {
        let carry_ns = self.carry_ns(sectors);
        let channel = die % self.channel_free_ns.len();
        let free_ns = &mut self.channel_free_ns[channel];
        *free_ns = (*free_ns).max(from_ns) + carry_ns;
        *free_ns
    }

    fn carry_ns(&self, sectors: u64) -> u64 {
        (self.sector_ns_16 * sectors) >> 16
    }
}
