//! Runs that are signed, as a user signs and checks them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::support::desk::{Desk, Said};
use crate::support::forger::{self, Forger};
use fsderby::exit;

const DAMAGED: i32 = exit::DAMAGED as i32;
const USAGE: i32 = exit::USAGE as i32;
const KEYS: [&str; 2] = ["ours", "other"];

/// A key pair that minisign 0.11 wrote for these tests (`minisign -G -W`).
const MADE_BY_MINISIGN: &str = "untrusted comment: minisign encrypted secret key
RWQAAEIyAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAJWS20YcNiZEtpYOdghBMUifthvw5+uC65xs0IiRnlLXY5Iz\
/pgDiGMIMAbI7CkTUjF4F63ccm0mwyr1mQap70rL3WbBc5DnCAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=
";
const ITS_PUBLIC_KEY: &str = "RWQlZLbRhw2JkcIMAbI7CkTUjF4F63ccm0mwyr1mQap70rL3WbBc5DnC";

/// A desk with two key pairs.
fn desk() -> Desk {
    let desk = Desk::new();
    for key in KEYS {
        let said = desk.say(&["key", key]);
        assert!(said.code == 0 && said.out.contains("--sign"), "{said:?}");
    }
    desk
}

/// The least that can be run without rights.
fn small(desk: &Desk) -> Vec<String> {
    let testbed = format!("directory:{}", desk.images().display());
    let words =
        ["run", "quick", "--workloads", "postmark-quick", "--scale", "1/16", "--rounds", "1", "--quiet"];
    let more = ["--memory", "none", "--on", &testbed, "--output", "run"];
    words.iter().chain(&more).map(|word| (*word).to_owned()).collect()
}

fn with(mut words: Vec<String>, more: &[&str]) -> Vec<String> {
    words.extend(more.iter().map(|word| (*word).to_owned()));
    words
}

fn signed() -> Desk {
    let desk = desk();
    let said = desk.say(&with(small(&desk), &["--sign", "ours"]));
    assert_eq!(said.code, 0, "{said:?}");
    desk
}

/// What `verify` says with this public key.
fn checked(desk: &Desk, key: &str) -> Said {
    desk.say(&["verify", "run", "--key", key])
}

fn is_refused(desk: &Desk, key: &str, words: &str) {
    let said = checked(desk, key);
    assert!(said.code == DAMAGED && said.out.contains(words), "'{words}' is missing in {said:?}");
}

#[test]
fn a_signed_run_is_that_of_its_key_and_of_no_other() {
    let desk = signed();
    let said = checked(&desk, "ours.pub");
    assert!(said.code == 0 && said.out.contains("the signature matches"), "{said:?}");
    let key = fs::read_to_string(desk.path("ours.pub")).unwrap();
    assert_eq!(checked(&desk, key.lines().nth(1).unwrap()).code, 0, "the key itself in place of its file");
    is_refused(&desk, "other.pub", "the run's signature does not match this key");
    desk.refuses(&["verify", "run", "--key", "ours"], USAGE, &["ours contains no public key", "try: --key"]);
    desk.refuses(&["verify", "run", "--key", "nobody"], USAGE, &["neither a file nor a public key"]);
}

#[test]
fn a_key_that_minisign_wrote_signs_too() {
    let desk = Desk::new();
    fs::set_permissions(desk.file("key", MADE_BY_MINISIGN), fs::Permissions::from_mode(0o600)).unwrap();
    let said = desk.say(&with(small(&desk), &["--sign", "key"]));
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(checked(&desk, ITS_PUBLIC_KEY).code, 0);
}

#[test]
fn what_was_altered_or_is_unsigned_does_not_pass_with_a_key() {
    let alter = |name: &str| {
        let desk = signed();
        let path = desk.path("run").join(name);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replacen(|c: char| c.is_ascii_digit(), "x", 1)).unwrap();
        desk
    };
    for name in ["plan.toml", "machine.json", "trials.jsonl", "seal.json"] {
        let said = checked(&alter(name), "ours.pub");
        assert_eq!(said.code, DAMAGED, "{name}: {said:?}");
    }
    let desk = signed();
    let signature = desk.path("run/seal.json.minisig");
    let text = fs::read_to_string(&signature).unwrap();
    fs::write(&signature, text.replace("the seal of", "The seal of")).unwrap();
    is_refused(&desk, "ours.pub", "the run's signature does not match this key and this seal");
    fs::write(&signature, "nothing of the kind").unwrap();
    is_refused(&desk, "ours.pub", "is not a signature");
    fs::remove_file(&signature).unwrap();
    is_refused(&desk, "ours.pub", "the run is not signed");
    assert_eq!(desk.say(&["verify", "run"]).code, 0, "nobody asked for a signature");
}

#[test]
fn a_run_that_goes_on_is_signed_again_or_no_longer() {
    let desk = signed();
    let on = |more: &[&str]| {
        let words = ["run", "--resume", "run", "--quiet"];
        desk.say(&[&words[..], more].concat())
    };
    assert_eq!(on(&[]).code, 0);
    assert_eq!(checked(&desk, "ours.pub").code, 0, "nothing was added");
    let said = on(&["--rounds", "2"]);
    assert!(said.code == 0 && said.err.contains("no longer signed"), "{said:?}");
    is_refused(&desk, "ours.pub", "the run is not signed");
    assert_eq!(on(&["--rounds", "3", "--sign", "ours"]).code, 0);
    assert_eq!(checked(&desk, "ours.pub").code, 0);
    // As a killed run would have left it: records that nobody has sealed.
    let before =
        ["seal.json", "seal.json.minisig"].map(|name| (name, fs::read(desk.path("run").join(name)).unwrap()));
    assert_eq!(on(&["--rounds", "4"]).code, 0);
    before.iter().for_each(|(name, bytes)| fs::write(desk.path("run").join(name), bytes).unwrap());
    is_refused(&desk, "ours.pub", "were added after the run was signed");
    assert_eq!(desk.say(&["verify", "run"]).code, 0, "only the signature does not cover them");
}

#[test]
fn a_key_that_cannot_sign_ends_the_run_before_it_begins() {
    let desk = desk();
    // The salt, key and checksum are zeros: nobody gets as far as to try them.
    let locked = format!("untrusted comment: has a password\nRWRTY0Iy{}\n", "A".repeat(204));
    desk.file("locked", locked);
    desk.file("half", &fs::read(desk.path("ours")).unwrap()[..90]);
    desk.file("open", fs::read(desk.path("ours")).unwrap());
    // One that minisign -W wrote, with a byte altered.
    desk.file("altered", MADE_BY_MINISIGN.replace("BMUif", "BMUig"));
    for key in ["locked", "half", "altered"] {
        fs::set_permissions(desk.path(key), fs::Permissions::from_mode(0o600)).unwrap();
    }
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&desk.path("ours")), mode(&desk.path("open")) & 0o077 > 0), (0o600, true));
    for (key, words) in [
        ("absent", "could not read the key absent"),
        ("open", "other users can read the secret key open"),
        ("ours.pub", "other users can read the secret key"),
        ("half", "half is not a secret key"),
        ("altered", "altered is not a secret key"),
        ("locked", "has a password, and there is no terminal"),
    ] {
        let words_of_run = with(small(&desk), &["--sign", key]);
        let words_of_run: Vec<&str> = words_of_run.iter().map(String::as_str).collect();
        desk.refuses(&words_of_run, USAGE, &[words, "try: "]);
    }
    desk.refuses(&["key", "ours"], USAGE, &["ours already exists and is not overwritten"]);
}

#[test]
fn a_report_of_an_altered_run_says_so_first_and_ends_with_5() {
    let desk = signed();
    assert_eq!(desk.say(&["report", "run"]).code, 0);
    alter_a_histogram(&desk);
    let said = desk.say(&["report", "run"]);
    assert!(said.code == DAMAGED && said.out.trim_start().starts_with("damaged: "), "{said:?}");
    assert!(said.out.contains("was altered") && said.err.contains("this run is not reliable"), "{said:?}");
}

#[test]
fn nobody_signs_a_run_that_was_altered_before_it_went_on() {
    let desk = signed();
    alter_a_histogram(&desk);
    let said = desk.say(&["run", "--resume", "run", "--quiet", "--rounds", "2", "--sign", "other"]);
    desk.refused(&said, DAMAGED, &["run is damaged: ", "was altered", "try: fsderby verify run"]);
    let desk = signed();
    let mut forger = Forger::of(&desk.path("run"));
    let trial = forger.records.last().unwrap().trial.clone();
    forger.record(&trial).metrics[0].value += 1.0;
    forger.write();
    fs::remove_dir_all(desk.path("run")).unwrap();
    forger::copy(&forger.folder(), &desk.path("run"));
    let said = desk.say(&["run", "--resume", "run", "--quiet", "--rounds", "2", "--sign", "other"]);
    desk.refused(&said, DAMAGED, &["run is not signed: ", "differs from the value that the raw values give"]);
    is_refused(&desk, "other.pub", "the run is not signed");
}

fn alter_a_histogram(desk: &Desk) {
    let file = fs::read_dir(desk.path("run/histograms")).unwrap().next().unwrap().unwrap().path();
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("\"unit\":\"ns\"", "\"unit\":\"ms\"")).unwrap();
}
