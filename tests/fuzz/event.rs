//! What an agent says: a damaged line is found, and whatever is said in whatever order, it folds to a record.

use std::time::Duration;

use fsderby::agent::channel::decode;
use fsderby::runner::execute::fold::Fold;
use fsderby::runner::plan::jobs;
use fsderby::runner::plan::resolved::Resolved;
use fsderby::schema::event::Event;
use fsderby::schema::plan::{Plan, Trial};
use fsderby::schema::reason::{Outcome, Reason};
use fsderby::schema::record::Circumstances;
use fsderby::store::lines::{self, Line};
use fsderby::testbeds::{Ended, Fault, Next, Stamped, Testbed};

use crate::engine::{Target, USUAL};
use crate::runs;
use crate::support::scripted::Scripted;

#[test]
fn events_in_any_order_fold_to_a_record_and_a_damaged_one_is_found() {
    target().run();
}

pub fn target() -> Target {
    let plans = runs::plans();
    let seeds: Vec<Vec<u8>> =
        plans.iter().flat_map(|plan| trials(plan).map(|trial| said(plan, &trial))).collect();
    let words = runs::words(&seeds);
    let check = move |input: &[u8]| {
        let text = String::from_utf8_lossy(input);
        let sum = crc32fast::hash(input);
        let plan = &plans[sum as usize % plans.len()];
        let events: Vec<_> = (0..).zip(text.lines()).map(|(number, line)| heard(number, line)).collect();
        for trial in trials(plan) {
            fold(plan, &trial, &events, sum);
        }
    };
    Target { name: "event", seeds, words, inputs: 1000, limits: USUAL, check: Box::new(check) }
}

/// An integrity check and a measured trial.
fn trials(plan: &Plan) -> impl Iterator<Item = Trial<'_>> {
    plan.integrity_checks().take(1).chain(plan.round(1).take(1))
}

fn line_of(number: u64, json: &str) -> String {
    format!("{number} {:08x} {json}", crc32fast::hash(json.as_bytes()))
}

/// All that the scripted agent says in this trial.
fn said(plan: &Plan, trial: &Trial<'_>) -> Vec<u8> {
    let testbed = Scripted::well();
    let plan = &Resolved::of(plan).unwrap();
    let mut launched = testbed.launch(&jobs::job(plan, trial, 1, &testbed, "token")).unwrap();
    let mut text = String::new();
    for number in 0.. {
        let Next::Event(Stamped { event, .. }) = launched.next(Duration::ZERO) else { break };
        text += &(line_of(number, &serde_json::to_string(&event).unwrap()) + "\n");
    }
    text.into_bytes()
}

/// As it came, and once more with number and checksum that fit, as an agent of a foreign make would say it.
fn heard(number: u64, line: &str) -> Result<Event, String> {
    let json = line.splitn(3, ' ').last().unwrap_or_default();
    if let Ok(event) = decode(line, number) {
        let intact = serde_json::to_string(&event).unwrap();
        assert_eq!(decode(&line_of(number, &intact), number), Ok(event));
        let sum = format!("{:08x}", crc32fast::hash(json.as_bytes()));
        assert_eq!(line.split(' ').nth(1), Some(&*sum), "a damaged line passes");
    }
    let fits = line_of(number, json);
    assert!(decode(&fits, number + 1).is_err(), "a gap is not noticed");
    let event = decode(&fits, number)?;
    let again = serde_json::to_string(&event).unwrap();
    assert_eq!(decode(&line_of(number, &again), number).as_ref(), Ok(&event), "it is read as it was said");
    Ok(event)
}

fn fold(plan: &Plan, trial: &Trial<'_>, events: &[Result<Event, String>], sum: u32) {
    let testbed = Scripted::well();
    let plan = &Resolved::of(plan).unwrap();
    let job = jobs::job(plan, trial, 1, &testbed, "token");
    let mut fold = Fold::new(plan, trial, &job, testbed.name(), testbed.traits());
    for (at, event) in (1_u64..).zip(events) {
        match event {
            Ok(event) => fold.event(Stamped { host_ns: at * 1_000_000, event: event.clone() }),
            // Mostly it is as if nobody had said it, so that what follows is judged too.
            Err(what) if sum.is_multiple_of(7) => fold.is(Reason::DamagedEvent { what: what.clone() }),
            Err(_) => {}
        }
    }
    if sum.is_multiple_of(11) {
        fold.hung(Duration::from_secs(120));
    }
    let fault = [None, None, None, Some(Fault::Lost("x".into())), Some(Fault::Panic("x".into()))];
    let ended = Ended { fault: fault[sum as usize % 5].clone(), ..Ended::default() };
    let record = fold.finish(ended, Circumstances::default()).record;
    let is_done = record.outcome == Outcome::Done;
    assert_eq!(is_done, record.reason.is_none(), "{:?} for {:?}", record.outcome, record.reason);
    let end = |event: &Result<Event, String>| matches!(event, Ok(Event::Done { .. }));
    assert!(!is_done || events.iter().any(end), "it is done although nobody said so");
    assert!(is_done || !record.why().is_empty());
    let (line, _) = lines::write(&record).unwrap();
    match lines::read(&line) {
        Line::Sound(read, _) => assert_eq!(*read, record, "it is stored as another"),
        other => panic!("it cannot be read back: {other:?}"),
    }
}
