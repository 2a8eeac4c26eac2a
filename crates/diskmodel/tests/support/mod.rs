//! A host for drives under test: submits requests, waits, keeps the time.

#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, reason = "a test says by a panic what is wrong")]

use fsderby_diskmodel::{COLUMNS, Completion, Drive, Op, Point, Request, SHIPPED, Sample, Spec};

pub fn spec(name: &str) -> Spec {
    let (_, text) = SHIPPED.iter().find(|(n, _)| *n == name).unwrap();
    Spec::parse(text).unwrap_or_else(|e| panic!("disks/{name}.toml: {e}"))
}

/// A shipped disk with some values changed.
pub fn changed(name: &str, values: &[(&str, u64)]) -> Spec {
    let (_, text) = SHIPPED.iter().find(|(n, _)| *n == name).unwrap();
    let mut text = (*text).to_owned();
    for (key, value) in values {
        let from = text.find(&format!("\n{key} = {{ is = ")).unwrap() + 1;
        let to = from + text[from..].find(',').unwrap();
        text.replace_range(from..to, &format!("{key} = {{ is = {value}"));
    }
    Spec::parse(&text).unwrap()
}

/// A shipped disk with values of any type added or replaced.
pub fn altered(name: &str, values: &[(&str, toml::Value)]) -> Spec {
    let (_, text) = SHIPPED.iter().find(|(n, _)| *n == name).unwrap();
    let mut table: toml::Table = text.parse().unwrap();
    let own = table.get_mut("values").unwrap().as_table_mut().unwrap();
    for (key, value) in values {
        let entry = [("is", value.clone()), ("source", "a test".into())];
        let entry = entry.map(|(key, value)| (key.to_owned(), value)).into_iter().collect();
        own.insert((*key).to_owned(), toml::Value::Table(entry));
    }
    Spec::parse(&toml::to_string(&table).unwrap()).unwrap()
}

pub fn specs() -> impl Iterator<Item = Spec> {
    SHIPPED.iter().map(|(name, _)| spec(name))
}

pub fn nominal(name: &str) -> Host {
    Host::new(&spec(name), Sample::NOMINAL)
}

/// A disk's value, possibly a list.
pub fn value(name: &str, key: &str) -> Vec<u64> {
    let spec = spec(name);
    let value = spec.values().iter().find(|v| v.key == key).unwrap();
    value.value.split(' ').map(|n| n.parse().unwrap()).collect()
}

/// A disk's value that is a single number.
pub fn number(name: &str, key: &str) -> u64 {
    value(name, key)[0]
}

pub fn read(sector: u64, sectors: u32) -> Request {
    Request { tag: 0, op: Op::Read, fua: false, sector, sectors }
}

pub fn write(sector: u64, sectors: u32) -> Request {
    Request { op: Op::Write, ..read(sector, sectors) }
}

pub fn fua(sector: u64, sectors: u32) -> Request {
    Request { fua: true, ..write(sector, sectors) }
}

pub const FLUSH: Request = Request { tag: 0, op: Op::Flush, fua: false, sector: 0, sectors: 0 };

/// Pseudorandom numbers: Knuth's multiplier and the high bits.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((u128::from(self.0) * u128::from(limit)) >> 64) as u64
    }
}

pub struct Host {
    pub drive: Drive,
    pub now_ns: u64,
}

impl Host {
    pub fn new(spec: &Spec, sample: Sample) -> Self {
        Host { drive: Drive::new(spec, sample), now_ns: 0 }
    }

    pub fn pass(&mut self, ns: u64) {
        self.now_ns += ns;
        self.drive.advance(self.now_ns, &mut Vec::new());
    }

    /// Submits one request and waits for it.
    pub fn lone(&mut self, request: Request) -> Completion {
        self.drive.submit(self.now_ns, request);
        self.wait(1).remove(0)
    }

    /// Waits for `count` completions.
    pub fn wait(&mut self, count: usize) -> Vec<Completion> {
        let mut done = Vec::new();
        while done.len() < count {
            let next = self.drive.next_event_ns().expect("something is under way");
            self.now_ns = self.now_ns.max(next);
            self.drive.advance(self.now_ns, &mut done);
        }
        done
    }

    /// Waits until the drive is idle; returns how long that took, in nanoseconds.
    pub fn settle(&mut self) -> u64 {
        let from_ns = self.now_ns;
        while let Some(next) = self.drive.next_event_ns() {
            self.now_ns = self.now_ns.max(next);
            self.drive.advance(self.now_ns, &mut Vec::new());
        }
        assert!(self.drive.is_idle());
        self.now_ns - from_ns
    }

    /// Mean latency of lone 4 KiB random reads, in nanoseconds.
    pub fn random_read_4k(&mut self, sectors: u64, count: u64) -> u64 {
        let mut random = Random(1);
        let mut sum = 0;
        for _ in 0..count {
            let sector = random.below(sectors / 8) * 8;
            let from_ns = self.now_ns;
            sum += self.lone(read(sector, 8)).at_ns - from_ns;
            // Makes the platters' angle random for the next read.
            self.pass(random.below(50_000_000));
        }
        sum / count
    }

    /// Rate in kB/s (1000 bytes) of back-to-back 128 KiB requests, starting at sector `from`.
    pub fn sequential(&mut self, from: u64, requests: u64, ask: impl Fn(u64, u32) -> Request) -> u64 {
        let mut begun_ns = self.now_ns;
        let mut sector = from;
        // The first tenth is warm-up: the arm arrives, the cache fills.
        for n in 0..requests + requests / 10 {
            if n == requests / 10 {
                begun_ns = self.now_ns;
            }
            self.lone(ask(sector, 256));
            sector += 256;
        }
        requests * 256 * 512 * 1_000_000 / (self.now_ns - begun_ns)
    }
}

/// Whether two figures differ by at most `percent` of the second.
pub fn near(is: u64, should_be: u64, percent: u64) -> bool {
    is.abs_diff(should_be) * 100 <= should_be * percent
}

/// The nominal disk, or a corner of its factors.
pub fn nth(spec: &Spec, n: u32) -> Sample {
    let mut random = Random(u64::from(n));
    let corner = Point::corner([(); COLUMNS].map(|()| random.below(2) == 1));
    spec.sample(if n == 0 { Point::NOMINAL } else { corner }, 11, n)
}
