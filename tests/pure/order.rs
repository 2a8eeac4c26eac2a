//! The order of a trial: as it is planned, and as the real agent carries it out.

use crate::support::agent::carry_out;
use crate::support::desk::Desk;
use crate::support::has_loop;
use fsderby::filesystems::{self, TABLE, accept};
use fsderby::runner::experiment::Experiment;
use fsderby::runner::plan::jobs;
use fsderby::runner::plan::resolved::Resolved;
use fsderby::schema::event::{Event, Seen};
use fsderby::schema::job::{Job, Purpose, Step};
use fsderby::schema::plan::{Candidate, Plan};
use fsderby::schema::setup::Variant;
use fsderby::testbeds;

const BEFORE: [&str; 7] = ["space-fresh", "settle", "probes-on", "work", "sync", "probes-off", "empty"];
const READ_BACK: [&str; 5] = ["verify-filled", "unmount", "check-filled", "mount", "verify-remounted"];

fn plan(filesystems: &str) -> Plan {
    plan_of("postmark-quick", filesystems)
}

fn plan_of(workload: &str, filesystems: &str) -> Plan {
    let text = format!("workloads = ['{workload}']\nsize = '64m'\nscale = '1/16'\nseed = 1\n{filesystems}");
    Experiment::parse(&text, "test").unwrap().plan("loop".into(), 1).unwrap()
}

/// The integrity check's job and the first round's.
fn jobs(plan: &Plan, testbed: &str, token: &str) -> [Job; 2] {
    let testbed = testbeds::parse(testbed).unwrap();
    let plan = &Resolved::of(plan).unwrap();
    let job = |trial| jobs::job(plan, &trial, 1, &*testbed, token);
    [job(plan.integrity_checks().next().unwrap()), job(plan.round(1).next().unwrap())]
}

fn names(job: &Job) -> Vec<String> {
    job.steps.iter().map(|step| step.name().to_string()).collect()
}

/// What is expected of a kind, from the words of the method and not from the code that plans.
fn expected(variant: &Variant, kind: &str, purpose: Purpose) -> Vec<String> {
    let kind = filesystems::find(kind).unwrap();
    let has_check = kind.check().is_some();
    let mut steps = vec!["reset"];
    steps.extend(kind.make(variant).iter().map(|_| "make"));
    steps.push("mount");
    steps.extend(&BEFORE[..6]);
    if purpose == Purpose::Integrity {
        steps.extend(READ_BACK.iter().filter(|step| has_check || **step != "check-filled"));
    }
    steps.extend(["empty", "space-emptied", "unmount"]);
    steps.extend(has_check.then_some("check-emptied"));
    steps.extend(kind.revert(variant).iter().map(|_| "revert"));
    steps.into_iter().map(str::to_owned).collect()
}

#[test]
fn a_trial_of_ext4_is_in_this_order() {
    let [integrity, measure] = jobs(&plan("filesystems = ['ext4']"), "loop", "");
    assert_eq!(
        names(&measure).join(" "),
        "reset make mount space-fresh settle probes-on work sync probes-off empty space-emptied unmount check-emptied"
    );
    assert_eq!(
        names(&integrity).join(" "),
        "reset make mount space-fresh settle probes-on work sync probes-off \
         verify-filled unmount check-filled mount verify-remounted empty space-emptied unmount check-emptied"
    );
}

#[test]
fn between_the_parts_of_a_work_nothing_stays_in_memory() {
    let parts = "probes-on work sync probes-off cool ".repeat(6);
    let [_, measure] = jobs(&plan_of("coldread-quick", "filesystems = ['ext4']"), "loop", "");
    assert_eq!(
        names(&measure).join(" "),
        format!(
            "reset make mount space-fresh settle {} empty space-emptied unmount check-emptied",
            parts.trim_end_matches(" cool ")
        )
    );
    let works: Vec<Option<usize>> =
        measure.steps.iter().filter(|step| matches!(step, Step::Work { .. })).map(Step::work).collect();
    assert_eq!(works, (0..6).map(Some).collect::<Vec<_>>());
    let parts: Vec<&str> = measure.works.iter().filter_map(|work| work.portion.part.as_deref()).collect();
    assert_eq!(parts, ["create", "walk", "read-ordered", "read-random", "pread-random", "delete"]);
}

#[test]
fn a_state_is_brought_about_before_the_work_and_looked_at() {
    let [integrity, measure] = jobs(&plan("filesystems = ['ext4']\nstate = 'filled 50%'"), "loop", "");
    assert_eq!(
        names(&measure).join(" "),
        "reset make mount space-fresh settle probes-on work sync probes-off space-prepared settle \
         probes-on work sync probes-off empty space-emptied unmount check-emptied"
    );
    let folders: Vec<&str> = measure.works.iter().filter_map(|work| work.folder.as_deref()).collect();
    assert_eq!(folders, ["1", "2"], "what is there before is in no work's way");
    assert!(integrity.works.len() == 2 && integrity.works.iter().all(|work| work.portion.keep_files));
}

const CHECKED: &str = "filesystems = ['ext4']\n[[scenario]]\nlabel = 'x'\n\
    stages = [{ work = 'postmark-quick' }, 'check', { work = 'postmark-quick' }, 'read-back']";

#[test]
fn a_forced_check_is_a_step_between_the_works_and_what_is_read_back_was_not_in_memory() {
    let [_, measure] = jobs(&plan(CHECKED), "loop", "");
    assert_eq!(
        names(&measure).join(" "),
        "reset make mount space-fresh settle probes-on work sync probes-off forced-check probes-on work sync \
         probes-off verify-filled empty space-emptied unmount check-emptied"
    );
    let behind = CHECKED.replace("'check', { work = 'postmark-quick' }", "'check'");
    let [_, measure] = jobs(&plan(&behind), "loop", "");
    assert!(names(&measure).join(" ").contains("forced-check verify-remounted empty"));
    let [_, measure] = jobs(&plan(&behind), "directory:/tmp", "");
    assert!(!names(&measure).contains(&"forced-check".to_owned()), "nothing was made that could be checked");
}

#[test]
fn every_kind_takes_the_same_steps() {
    for kind in TABLE {
        let converted = Variant { conversion: true, ..Variant::default() };
        let variants = [Variant::default(), converted];
        for variant in variants.into_iter().filter(|v| accept(*kind, v).is_ok()) {
            let candidate = Candidate {
                label: "x".into(),
                kind: kind.name().into(),
                variant: variant.clone(),
                ..Candidate::default()
            };
            let plan = Plan { candidates: vec![candidate], ..plan("filesystems = ['ext4']") };
            for job in jobs(&plan, "loop", "") {
                assert_eq!(names(&job), expected(&variant, kind.name(), job.purpose), "{}", job.trial);
            }
        }
    }
}

#[test]
fn a_directory_has_no_filesystem_to_make_mount_or_check() {
    let [integrity, measure] = jobs(&plan("filesystems = ['ext4']"), "directory:/tmp", "");
    let (before, [empty]) = BEFORE.split_at(6) else { panic!("seven steps") };
    let around = |read_back: &[&str]| {
        let all = [&["reset"], before, read_back, &[*empty, "space-emptied"]].concat();
        all.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(names(&measure), around(&[]));
    assert_eq!(names(&integrity), around(&["verify-filled"]));
}

#[test]
fn the_agent_carries_the_steps_out_in_the_planned_order_and_keeps_silent_while_it_works() {
    if !has_loop("the agent's order") {
        return;
    }
    let desk = Desk::new();
    const CONVERTED: &str = "[[filesystem]]\nkind = 'ext3-ordered'\nconversion = true";
    for (workload, more) in
        [("postmark-quick", CONVERTED), ("coldread-quick", CONVERTED), ("postmark-quick", CHECKED)]
    {
        let plan = plan_of(workload, more);
        for job in jobs(&plan, &desk.testbed(), &format!("{}-order", std::process::id())) {
            let events = carry_out(&job);
            check(&job, &events);
            desk.leaves_nothing(std::process::id());
        }
    }
}

fn check(job: &Job, events: &[Event]) {
    assert!(matches!(&events[0], Event::Hello { .. }), "{:?}", events[0]);
    let last = events.len() - 1;
    assert!(
        matches!(&events[last], Event::Bye { events, .. } if *events == last as u64),
        "{:?}",
        events[last]
    );
    assert!(matches!(&events[last - 1], Event::Done { .. }), "{:?}", events[last - 1]);
    let mut begun = Vec::new();
    // That a busy machine let the agent sleep is told after the last step.
    let beside = |e: &Event| matches!(e, Event::Alive { .. } | Event::Seen(Seen::Halted { .. }));
    let told: Vec<Event> = events[1..last - 1].iter().filter(|e| !beside(e)).cloned().collect();
    let mut rest = &told[..];
    while let Some((first, more)) = rest.split_first() {
        let Event::Step { step, .. } = first else { panic!("{first:?} stands outside of a step") };
        let end = more.iter().position(|e| matches!(e, Event::Step { .. })).unwrap_or(more.len());
        let (ended, within) = more[..end].split_last().unwrap();
        assert!(matches!(ended, Event::Stepped(s) if s.step == *step), "{step} ends with {ended:?}");
        check_within(&step.to_string(), within);
        begun.push(step.to_string());
        rest = &more[end..];
    }
    assert_eq!(begun, names(job));
}

/// Signs of life may come at any time; what the work did is told when its time has been taken.
fn check_within(step: &str, events: &[Event]) {
    let fits = |event: &Event| match event {
        Event::Phase(_) | Event::Histogram(_) => step == "work",
        Event::Device { .. } | Event::Sandbox(_) => step == "reset",
        Event::Worker(_) => step == "probes-on",
        Event::Mounted(_) => ["mount", "cool", "forced-check"].contains(&step),
        Event::Space(space) => step == format!("space-{}", space.at.name()),
        Event::Seen(_) => step == "settle",
        // Whether a filesystem says where its files lie is known when there are some.
        Event::NotAvailable { .. } => step == "probes-on" || step == "probes-off",
        Event::Probe { .. } | Event::Series { .. } => step == "probes-off",
        Event::Tree(tree) => step == format!("verify-{}", tree.at.name()),
        _ => false,
    };
    if let Some(stray) = events.iter().find(|event| !fits(event)) {
        panic!("{stray:?} within {step}");
    }
}
