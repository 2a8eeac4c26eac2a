//! Planted defects that must be found: a fuzzer that finds nothing is not known to work.

use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::engine::{Finding, Limits, Target, USUAL};

const INPUTS: u64 = 100_000;
const LONGEST: Duration = Duration::from_millis(20);

fn found(check: fn(&str)) -> Finding {
    let target = Target {
        name: "canary",
        seeds: vec![
            b"name = \"a\"\nsize = 4096\n".to_vec(),
            b"rounds = 3\n[[workload]]\nset = 'b'\n".to_vec(),
        ],
        words: ["auto", "size"].map(str::to_owned).to_vec(),
        inputs: INPUTS,
        limits: Limits { time: LONGEST, ..USUAL },
        check: Box::new(move |input| check(&String::from_utf8_lossy(input))),
    };
    target.search(1, target.inputs).expect_err("a planted defect is not found")
}

fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "))
}

#[test]
fn a_planted_defect_is_found_made_small_and_can_be_repeated() {
    // Only where keys of two seeds meet, and one of them is at its limit.
    fn defect(text: &str) {
        let rounds = value(text, "rounds").and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
        let size = value(text, "size").and_then(|n| n.parse::<u64>().ok());
        assert!(size.is_none() || rounds < u64::from(u32::MAX), "planted");
    }
    let [one, again] = [found(defect), found(defect)];
    assert!(one.why.contains("planted") && one.input.len() < 40, "{}", one.input.escape_ascii());
    assert_eq!((one.execution, one.input), (again.execution, again.input));
}

#[test]
fn a_planted_hunger_for_memory_is_found() {
    let one = found(|text| {
        let bytes = value(text, "size").and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
        // Never touched, so never given.
        black_box(Vec::<u8>::with_capacity(if bytes > 1 << 32 { 1 << 29 } else { 0 }));
    });
    assert!(one.why.contains("bytes"), "{}", one.why);
}

#[test]
fn a_planted_waste_of_time_is_found() {
    let one = found(|text| {
        let begin = Instant::now();
        while value(text, "rounds") == Some("0") && begin.elapsed() < 4 * LONGEST {
            black_box(text);
        }
    });
    assert!(one.why.contains(" ms"), "{}", one.why);
}
