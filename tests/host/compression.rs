//! Btrfs with compression: what its files take on the device, their fragments, and what a report says of them.

use crate::support::desk::Desk;
use crate::support::has_loop;
use fsderby::schema::event::{Encoding, Tree};
use fsderby::schema::job::Purpose;
use fsderby::schema::reason::{Condition, Held, Outcome};
use fsderby::schema::record::Record;
use fsderby::store::{self, Run};

/// The bytes that Bonnie++ writes are nearly constant, so they compress to a few percent.
const MOST: f64 = 0.2;

/// Of the trees of a trial, the last one.
fn tree(record: &Record) -> &Tree {
    record.trees.last().unwrap_or_else(|| panic!("{} has read nothing back", record.trial))
}

fn share(record: &Record) -> f64 {
    tree(record).stored as f64 / tree(record).bytes as f64
}

fn held(record: &Record, condition: Condition) -> Option<Held> {
    record.validity.iter().find(|check| check.name == condition).map(|check| check.held)
}

fn of<'r>(run: &'r Run, label: &str, purpose: Purpose) -> &'r Record {
    let is_it = |record: &&&Record| record.filesystem == label && record.purpose == purpose;
    let current = run.current();
    let record = current.iter().find(is_it).unwrap_or_else(|| panic!("{label} has no such trial"));
    assert_eq!(record.outcome, Outcome::Done, "{}: {}", record.trial, record.why());
    record
}

/// The whole report in one line.
fn report(desk: &Desk, run: &str) -> String {
    let said = desk.say(&["report", run, "--all"]);
    assert_eq!(said.code, 0, "{said:#?}");
    said.out.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn value(record: &Record, name: &str) -> f64 {
    record.metric(name).unwrap_or_else(|| panic!("{} has no {name}", record.trial)).value
}

fn is_seen_as_compressed(run: &Run, label: &str) {
    let check = of(run, label, Purpose::Integrity);
    assert!(share(check) < MOST, "{label}: {:?}", tree(check));
    assert_eq!(tree(check).encoding, Some(Encoding::Compressed), "{label}");
    assert_eq!(held(check, Condition::Stored), Some(Held::Label), "{label}: {:?}", check.validity);
    let trial = of(run, label, Purpose::Measure);
    assert!(value(trial, "device.written_ratio") < 0.5, "{label}");
    // A compressed extent holds 128 KiB; one file has nearly all bytes.
    let (fragments, extents) = (value(check, "fragments.max"), tree(check).bytes as f64 / 131_072.0);
    assert!(extents > 40.0 && fragments < extents / 8.0, "{label}: {fragments} of {extents}");
}

#[test]
fn each_algorithm_is_seen_on_the_device_and_none_of_it_stayed_in_memory_on_loop() {
    if !has_loop("compression of Btrfs") {
        return;
    }
    let desk = Desk::new();
    let options = ["compress=zstd", "compress=lzo", "compress=zlib", "compress-force=zstd:1"];
    let one =
        |option: &&str| format!("[[filesystem]]\nkind = 'btrfs'\nlabel = '{option}'\nmount = ['{option}']\n");
    let compressed: String = options.iter().map(one).collect();
    let head = "name = 'compressing'\nworkloads = ['bonnie-quick']\nsize = '256m'\nrounds = 1\n";
    desk.file("e.toml", format!("{head}{compressed}[[filesystem]]\nkind = 'btrfs'\nlabel = 'plain'\n"));
    let place = ["--on", &desk.testbed(), "--memory", "none", "--scale", "1/6"];
    let said = desk.say(&[&["run", "e.toml"], &place[..], &["--seed", "7", "--output", "run"]].concat());
    assert_eq!(said.code, 0, "{said:#?}");
    desk.leaves_nothing(said.pid);
    assert_eq!(desk.say(&["verify", "run"]).code, 0);
    let run = store::read(&desk.path("run")).unwrap();
    for option in options {
        is_seen_as_compressed(&run, option);
    }
    let plain = of(&run, "plain", Purpose::Integrity);
    assert!((0.95..1.3).contains(&share(plain)), "{:?}", tree(plain));
    assert_eq!(tree(plain).encoding, Some(Encoding::Plain));
    assert_eq!(held(plain, Condition::Stored), Some(Held::Yes));
    let report = report(&desk, "run");
    for option in options {
        let told = report.split(&format!("{option}: compresses (")).nth(1).unwrap_or_default();
        assert!(told.find("almost nothing").is_some_and(|at| at < 250), "{option}:\n{report}");
    }
    assert!(!report.contains("plain: compresses"), "{report}");
    assert!(!report.contains("less than half of the written bytes reached the device"), "{report}");
}

#[test]
fn a_folders_attribute_or_property_is_seen_without_any_option() {
    if !has_loop("compression by attribute") {
        return;
    }
    let desk = Desk::new();
    let site = desk.images().join("mounted");
    std::fs::create_dir(&site).unwrap();
    let (image, at) = (desk.images().join("image"), site.display());
    let image = image.display();
    for (name, how) in [("attribute", "chattr +c"), ("property", "btrfs property set")] {
        let ends = if name == "property" { " compression lzo" } else { "" };
        let before = format!(
            "truncate -s 256M {image}\nmkfs.btrfs -q -f {image}\nmount -o loop {image} {at}\nmkdir {at}/in\n\
             {how} {at}/in{ends}"
        );
        let on = format!("directory:{at}/in");
        let work = ["run", "quick", "--workloads", "bonnie-quick", "--memory", "none", "--scale", "1/6"];
        let rest = ["--on", &on, "--rounds", "1", "--seed", "7", "--output", name];
        let said = desk.say_after(&before, &[&work[..], &rest].concat());
        assert_eq!(said.code, 0, "{said:#?}");
        let run = store::read(&desk.path(name)).unwrap();
        let label = &run.current()[0].filesystem;
        let check = of(&run, label, Purpose::Integrity);
        assert!(share(check) < MOST, "{name}: {:?}", tree(check));
        assert_eq!(tree(check).encoding, Some(Encoding::Compressed), "{name}");
        let report = report(&desk, name);
        assert!(report.contains(": compresses, with "), "{name}:\n{report}");
    }
}
