//! A disk file: whatever stands in it, it is refused with words, or is a disk that answers requests.

use fsderby::exit::Failure;
use fsderby_diskmodel::{Drive, Op, Point, Request, SHIPPED, Sample, Spec};

use crate::engine::{Target, USUAL, has_words};
use crate::mutate::Dice;

const REQUESTS: u64 = 60;
/// No disk needs so many events for a request.
const MOST_EVENTS: u64 = 2_000_000;

#[test]
fn a_disk_file_is_refused_with_words_or_is_a_disk_that_answers() {
    target().run();
}

pub fn target() -> Target {
    let words =
        ["hard", "shingled", "raid5", "flash", "card", "cloud", "zero", "[member]", "[values]", "estimate"];
    let kept =
        SHIPPED.iter().flat_map(|(_, text)| text.lines().filter_map(|line| Some(line.split_once(" = {")?.0)));
    let seeds = SHIPPED.iter().map(|(_, text)| bare(text).into_bytes()).collect();
    let words = words.into_iter().chain(kept).map(str::to_owned).collect();
    Target { name: "disk", seeds, words, inputs: 3000, limits: USUAL, check: Box::new(check) }
}

/// Without long sources and stories, in which no change means anything.
fn bare(text: &str) -> String {
    let mut table: toml::Table = text.parse().unwrap();
    table.insert("story".into(), "s".into());
    for part in ["values", "member"] {
        let values = table.get_mut(part).and_then(toml::Value::as_table_mut);
        for (_, value) in values.into_iter().flatten() {
            let value = value.as_table_mut().unwrap();
            value.retain(|key, _| key == "is");
            value.insert("source".into(), "s".into());
        }
    }
    let text = toml::to_string(&table).unwrap();
    Spec::parse(&text).unwrap();
    text
}

fn check(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let spec = match Spec::parse(&text) {
        Ok(spec) => spec,
        Err(error) => return has_words(&Failure::usage(error.to_string()).to_string()),
    };
    assert_eq!(Spec::parse(&text).as_ref(), Ok(&spec));
    let _ = (spec.service_4k_ns(), spec.queue_depth(), spec.physical_block());
    assert!(spec.sectors() > 0 && !spec.values().is_empty());
    let own = u64::from(crc32fast::hash(input));
    let corner = Point::corner(std::array::from_fn(|column| own >> column & 1 == 1));
    let sample = spec.sample(if own % 13 == 0 { Point::NOMINAL } else { corner }, own, 1);
    drive(&spec, sample, &mut Dice::new(own, 0));
}

/// Requests of every kind, at the disk's ends too, some at once and some after a pause.
fn drive(spec: &Spec, sample: Sample, dice: &mut Dice) {
    let mut drive = Drive::new(spec, sample);
    let (mut now_ns, mut arrived, mut done) = (0, Vec::new(), Vec::new());
    for tag in 0..REQUESTS {
        let pause = *dice.one(&[1, 10_000, 40_000_000, 3_000_000_000]);
        now_ns += dice.below(pause) as u64;
        drive.advance(now_ns, &mut done);
        arrived.push(now_ns);
        drive.submit(now_ns, request(spec, tag, dice));
    }
    let mut events = 0;
    while let Some(next) = drive.next_event_ns() {
        assert!(next >= now_ns, "an event before now");
        now_ns = next;
        events += 1;
        assert!(events < MOST_EVENTS, "it never comes to rest");
        drive.advance(now_ns, &mut done);
    }
    assert!(drive.is_idle(), "something is never answered");
    assert!(done.is_sorted_by_key(|completion| completion.at_ns), "answers go back in time");
    let mut tags: Vec<u64> = done.iter().map(|completion| completion.tag).collect();
    tags.sort_unstable();
    assert!(tags.into_iter().eq(0..REQUESTS), "each is answered once");
    for completion in done {
        let waited = completion.at_ns - arrived[completion.tag as usize];
        assert_eq!(completion.cost.total_ns(), waited, "the parts of its time add up");
    }
}

fn request(spec: &Spec, tag: u64, dice: &mut Dice) -> Request {
    let op = *dice.one(&[Op::Read, Op::Read, Op::Write, Op::Write, Op::Write, Op::Flush, Op::Discard]);
    if op == Op::Flush {
        return Request { tag, op, fua: false, sector: 0, sectors: 0 };
    }
    let longest = *dice.one(&[1, 4, 128]);
    let sectors = 8 * (1 + dice.below(longest) as u32);
    let last = spec.sectors() - u64::from(sectors);
    let sector = match dice.below(4) {
        0 => dice.below(last as usize) as u64 / 8 * 8,
        1 => last / 8 * 8,
        2 => 0,
        _ => dice.below(2048.min(last as usize)) as u64 / 8 * 8,
    };
    Request { tag, op, fua: op == Op::Write && dice.below(4) == 0, sector, sectors }
}
