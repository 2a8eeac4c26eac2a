//! `fsderby reproduce PAPER --from RUN` on a made-up paper with known answers.

use std::fs;
use std::path::Path;

use crate::support::carry::carry_out;
use crate::support::fsderby;
use crate::support::scripted::Scripted;
use fsderby::report::view::reproduced::{OfClaims, Order, Reproduced};
use fsderby::runner::experiment::Experiment;
use fsderby::schema::event::Event;
use fsderby::schema::setup::Modelled;
use fsderby::store::Run;
use fsderby::{papers, report};

const EXPERIMENT: &str = r#"
name = "made up"
size = "1g"
memory = "64m"
workloads = ["postmark-quick"]
filesystems = ["ext2", "ext4"]
seed = 7
"#;

/// ext2 is twice as fast as ext4 on the testbed below.
pub const PAPER: &str = r#"
title = 'A. Author, "Two filesystems"'
year = 2020
published = "Nowhere."
story = "It is made up."
disk = "a disk"
machine = "a machine"

[environment]
memory = "64 MB"

[[table]]
workload = "postmark-quick"
place = "table 1"
unit = "1/s"
note = "Transactions per second."
metrics = ["transactions.rate"]

[table.figures]
ext2 = [2000]
ext4 = [1000]

[[claim]]
says = "ext2 is faster than ext4."
place = "section 1"
workloads = ["postmark-quick"]
tests = [{ metrics = ["transactions.rate"], of = ["ext2"], than = ["ext4"], relation = "more" }]

[[claim]]
says = "ext4 is faster than ext2."
place = "section 2"
workloads = ["postmark-quick"]
tests = [{ metrics = ["transactions.rate"], of = ["ext4"], than = ["ext2"], relation = "more" }]
contradicted = "Table 1 has 1000 and 2000."

[[claim]]
says = "ext2 is about twice as fast as ext4."
place = "section 3"
workloads = ["postmark-quick"]
tests = [{ metrics = ["transactions.rate"], of = ["ext2"], than = ["ext4"], relation = { about = 2.0 } }]

[[claim]]
says = "ext2 is at least twice as fast as ext4."
place = "section 4"
workloads = ["postmark-quick"]
tests = [{ metrics = ["transactions.rate"], of = ["ext2"], than = ["ext4"], relation = { at_least = 2.0 } }]

[[claim]]
says = "ext2 is faster than XFS."
place = "section 5"
workloads = ["postmark-quick"]
tests = [{ metrics = ["transactions.rate"], of = ["ext2"], than = ["xfs"], relation = "more" }]

[[claim]]
says = "ext2 is nicer."
place = "section 6"
untested = "No figure says so."

[reproduction]
memory = "64m"
"#;

/// A tenth of each trial is instructions.
fn testbed(on: &str) -> Scripted {
    let change = |job: &fsderby::schema::job::Job, event: &mut Event| {
        let Event::Phase(phase) = event else { return };
        let whole = if job.trial.contains("/ext2") { 100_000_000 } else { 200_000_000 };
        let mips = job.storage.settings::<Modelled>().map_or(1000, |modelled| u64::from(modelled.mips));
        phase.ns = whole * 9 / 10 + whole / 10 * 1000 / mips;
    };
    if on == "loop" { Scripted::event(change) } else { Scripted::on_model(on, change) }
}

const DISK: &str = "model:samsung-870-evo";

fn run(path: &Path, on: &str, more: &str) -> Run {
    let plan = Experiment::parse(&format!("{EXPERIMENT}{more}"), "test").unwrap().plan(on.into(), 7).unwrap();
    carry_out(path, &plan, &testbed(on), &[], None)
}

/// The page of this paper's text.
fn page(text: &str, runs: &[Run]) -> Reproduced {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("paper.toml");
    fs::write(&path, text).unwrap();
    fs::write(folder.path().join("made-up.toml"), EXPERIMENT).unwrap();
    let paper = papers::load(path.to_str().unwrap()).unwrap();
    report::reproduced("paper.toml", &paper, runs, true).unwrap()
}

fn verdicts(page: &Reproduced) -> Vec<&'static str> {
    page.columns[0].claims.iter().map(|claim| claim.verdict()).collect()
}

const KNOWN: [&str; 6] =
    ["holds here", "does not hold here", "holds here", "cannot tell", "cannot tell", "not tested"];

#[test]
fn a_made_up_paper_has_its_known_answers_and_a_change_by_hand_changes_its_own_answer_alone() {
    let kept = tempfile::tempdir().unwrap();
    let runs = [run(&kept.path().join("run"), DISK, "rounds = 13")];
    let whole = page(PAPER, &runs);
    let [column] = whole.columns.as_slice() else { panic!("{whole:?}") };
    assert_eq!(verdicts(&whole), KNOWN, "{:#?}", column.claims);
    assert_eq!(column.agreement, Order { same: 1, opposite: 0, tied: 0 });
    let [low, high] = column.claims[0].ranges[0].range.unwrap();
    assert!(1.85 < low && low < 2.0 && 2.0 < high && high < 2.15, "{low} to {high}");
    assert_eq!(column.claims[1].contradicted.as_deref(), Some("Table 1 has 1000 and 2000."));
    assert!(
        column.claims[4].because[0].contains("The runs of postmark-quick lack xfs"),
        "{:?}",
        column.claims[4]
    );
    assert_eq!(column.claims[5].because, ["No figure says so."]);

    let of = r#"of = ["ext2"], than = ["ext4"], relation = "more""#;
    let reversed =
        page(&PAPER.replacen(of, r#"of = ["ext4"], than = ["ext2"], relation = "more""#, 1), &runs);
    assert_eq!(verdicts(&reversed)[0], "does not hold here");
    assert_eq!(verdicts(&reversed)[1..], KNOWN[1..]);
    let cells = |page: &Reproduced| format!("{:?}", page.columns[0].tables);
    assert_eq!(cells(&reversed), cells(&whole));

    let altered = page(&PAPER.replace("ext2 = [2000]", "ext2 = [500]"), &runs);
    assert_eq!(verdicts(&altered), KNOWN, "a claim is judged by the runs alone");
    assert_eq!(altered.columns[0].agreement, Order { same: 0, opposite: 1, tied: 0 });
    let ratio = |page: &Reproduced| page.columns[0].tables[0].lines[0].figures[0].ratio.unwrap();
    assert!((ratio(&altered) / ratio(&whole) - 4.0).abs() < 1e-9);
    assert_eq!(page(&PAPER.replace("[2000]", "[1020]"), &runs).columns[0].agreement.tied, 1);

    let elsewhere = page(&PAPER.replace("memory = \"64m\"", "memory = \"128m\""), &runs);
    assert_eq!(elsewhere.columns[0].counts.cannot_tell, 5);
    let because = elsewhere.columns[0].claims[0].because.join(" ");
    assert!(because.contains("needs 128 MiB"), "{because}");
    assert_eq!(elsewhere.columns[0].claims[0].takes, ["fsderby run with --memory 128m, and --from"]);
}

/// The terminal names a reason once, however many claims it is about.
#[test]
fn each_reason_stands_once_with_the_claims_it_is_about() {
    let kept = tempfile::tempdir().unwrap();
    let runs = [run(&kept.path().join("run"), DISK, "rounds = 13")];
    let lines = |text: &str| {
        let page = page(text, &runs);
        let all = page.columns[0].reasons().into_iter().flat_map(|(_, all)| all);
        all.map(OfClaims::line).collect::<Vec<_>>()
    };
    let expected = [
        "claim 4: A range lies partly inside and partly outside of the limits of the claim.",
        "claim 5: The runs of postmark-quick lack xfs with the paper's options.",
        "claim 6: No figure says so.",
        "claim 4: a difference larger than the model's uncertainty, because further rounds do not narrow this range",
        "claim 5: runs of postmark-quick with xfs",
    ];
    assert_eq!(lines(PAPER), expected);
    // A claim that lacks less than another has a line of its own, and two that lack the same have one.
    let than = |kinds: &str| {
        format!(
            "[[claim]]\nsays = \"more\"\nplace = \"section 7\"\nworkloads = [\"postmark-quick\"]\ntests = [{{ metrics = \
             [\"transactions.rate\"], of = [\"ext2\"], than = [{kinds}], relation = \"more\" }}]\n[reproduction]"
        )
    };
    let more = lines(&PAPER.replace("[reproduction]", &than("\"xfs\", \"jfs\", \"btrfs\"")));
    let lack: Vec<&str> = more.iter().map(String::as_str).filter(|line| line.contains(" lack ")).collect();
    assert_eq!(
        lack,
        [
            "claims 5, 7: The runs of postmark-quick lack xfs with the paper's options.",
            "claim 7: The runs of postmark-quick lack jfs and btrfs with the paper's options."
        ]
    );
    let memory = lines(&PAPER.replace("memory = \"64m\"", "memory = \"128m\""));
    let needs =
        "claims 1–5: postmark-quick had 64 MiB of memory; the paper's ratio of data to memory needs 128 MiB.";
    assert!(memory.iter().any(|line| line == needs), "{memory:#?}");
    assert_eq!(memory.iter().filter(|line| line.contains("128 MiB")).count(), 1, "{memory:#?}");

    let scaled = [run(&kept.path().join("scaled"), DISK, "rounds = 13\nscale = \"1/4\"")];
    let column = &page(PAPER, &scaled).columns[0];
    let short: Vec<String> = column
        .because
        .iter()
        .map(|one| one.line())
        .filter(|line| line.contains("commit intervals"))
        .collect();
    let on = |claims: &str, kind: &str| {
        short.iter().any(|line| line.starts_with(claims) && line.ends_with(&format!(" s on {kind}.")))
    };
    assert!(short.len() == 2 && on("claims 1–5: ", "ext2") && on("claims 1–4: ", "ext4"), "{short:?}");
}

#[test]
fn scaled_work_and_too_few_rounds_cannot_tell_and_say_what_it_would_take() {
    let kept = tempfile::tempdir().unwrap();
    let scaled = [run(&kept.path().join("scaled"), DISK, "rounds = 13\nscale = \"1/4\"")];
    let tables = &page(PAPER, &scaled).columns[0].tables;
    assert!(tables[0].sentences[0].contains("did 1/4 of the paper's work"), "{tables:?}");
    let text = PAPER.replace("memory = \"64m\"", "memory = \"256m\"");
    let claim = page(&text, &scaled).columns[0].claims[0].clone();
    assert_eq!(claim.verdict(), "cannot tell");
    assert!(claim.because.iter().any(|why| why.contains("less than three commit intervals")), "{claim:?}");
    // A quarter of 64 MiB is less than a trial needs, and the scale with more memory is too short as well.
    let text = format!("{PAPER}run = [{{ experiment = \"made-up.toml\" }}]");
    let short = page(&text, &scaled).columns[0].claims[0].clone();
    assert!(short.because.join(" ").contains("needs 16 MiB. postmark-quick took"), "{short:?}");
    assert_eq!(short.takes, ["a run at full size"]);
    let range = &claim.ranges[0];
    assert!(range.range.is_none() && range.unusable.is_some_and(|[low, high]| low <= high), "{range:?}");
    assert!(range.cells()[3].starts_with('(') && claim.notes().len() == 1, "{range:?}");
    let few = [run(&kept.path().join("few"), "loop", "rounds = 2")];
    let claim = page(PAPER, &few).columns[0].claims[0].clone();
    assert!(
        claim.because.iter().any(|why| why.ends_with("few has 2 complete rounds; a range needs 6.")),
        "{claim:?}"
    );
    assert!(claim.takes.iter().any(|takes| takes.ends_with("--rounds 6")), "{claim:?}");
    let both = [scaled.clone(), few].concat();
    assert_eq!(page(PAPER, &both).columns.len(), 2, "a column for each testbed");
    // Beside a run that decides, another that is too short or scaled changes nothing.
    let whole = run(&kept.path().join("whole"), DISK, "rounds = 13");
    let short = run(&kept.path().join("short"), DISK, "rounds = 2");
    for runs in [[whole.clone(), short.clone()].as_slice(), &[scaled[0].clone(), short, whole]] {
        assert_eq!(verdicts(&page(PAPER, runs)), KNOWN);
    }
}

/// ext4 had no options in 2006, so it has the same ones in both columns.
#[test]
fn filesystems_with_the_options_of_an_era_are_judged_in_a_column_of_their_own() {
    let kept = tempfile::tempdir().unwrap();
    let era = "era = \"2006\"\nrounds = 13";
    let runs =
        [run(&kept.path().join("era"), DISK, era), run(&kept.path().join("plain"), DISK, "rounds = 13")];
    let options = &runs[0].plan.candidates.iter().find(|c| c.kind == "ext2").unwrap().variant;
    assert_eq!(options.mount, ["strictatime"], "{options:?}");
    let whole = page(PAPER, &runs);
    let titles: Vec<&str> = whole.columns.iter().map(|column| column.title.as_str()).collect();
    assert_eq!(titles, [format!("{DISK}, default options of 2006").as_str(), DISK]);
    for column in &whole.columns {
        assert_eq!(column.runs.len(), 1, "{column:?}");
        let told: Vec<&str> = column.claims.iter().map(|claim| claim.verdict()).collect();
        assert_eq!(told, KNOWN, "{column:?}");
        assert_eq!(column.agreement, Order { same: 1, opposite: 0, tied: 0 });
    }
    // Other options than those of the era and of the paper.
    let other = "rounds = 13\n[[filesystem]]\nkind = 'ext2'\nera = '2006'\nmount = ['nodev']";
    let plan =
        Experiment::parse(&format!("{}{other}", EXPERIMENT.replace("\"ext2\", ", "")), "test").unwrap();
    let other =
        carry_out(&kept.path().join("other"), &plan.plan(DISK.into(), 7).unwrap(), &testbed(DISK), &[], None);
    let because = page(PAPER, &[other]).columns[0].claims[0].because.join(" ");
    assert!(because.contains("lack ext2 with the paper's options"), "{because}");
}

/// The space of a new filesystem does not depend on the work, and a smaller volume is another filesystem.
#[test]
fn scaled_work_tells_of_a_new_filesystem_on_the_papers_volume() {
    let kept = tempfile::tempdir().unwrap();
    let scaled = [run(&kept.path().join("scaled"), DISK, "rounds = 13\nscale = \"1/4\"")];
    // The run's memory is scaled along, which the paper's here then is, and the transactions' is not.
    let memory = scaled[0].plan.memory.unwrap().0;
    let text = |size: &str, metric: &str| {
        let tests = format!(
            "metrics = [\"{metric}\"], of = [\"ext2\", \"ext4\"], relation = {{ within = [1.0, 100.0] }}"
        );
        let first = r#"metrics = ["transactions.rate"], of = ["ext2"], than = ["ext4"], relation = "more""#;
        let own = format!("[reproduction]\nsize = \"{size}\"\nmemory = {memory}");
        PAPER.replacen(first, &tests, 1).replace("[reproduction]\nmemory = \"64m\"", &own)
    };
    let claim = |size, metric| page(&text(size, metric), &scaled).columns[0].claims[0].clone();
    let told = claim("1g", "capacity.initial");
    assert_eq!(told.verdict(), "holds here", "{told:?}");
    assert_eq!(told.ranges[0].cells()[1], "usable after mkfs, %");
    assert_eq!(claim("1g", "capacity.residual").verdict(), "cannot tell");
    let other = claim("2g", "capacity.initial");
    assert!(
        other.verdict() == "cannot tell"
            && other.because.join(" ").contains("had a volume of 1 GiB; the paper's has 2 GiB"),
        "{other:?}"
    );
}

fn refused(arguments: &[&str], within: &Path) -> String {
    let output = fsderby().arg("reproduce").args(arguments).current_dir(within).output().unwrap();
    assert!(!output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn what_cannot_be_judged_is_refused_with_the_reason_and_every_format_has_the_verdicts() {
    let kept = tempfile::tempdir().unwrap();
    let path = kept.path();
    run(&path.join("run"), "loop", "rounds = 1");
    fs::write(path.join("paper.toml"), PAPER).unwrap();
    assert!(refused(&["djordjevic-2007", "--from", "run"], path).contains("did you mean 'djordjevic-2008'"));
    assert!(
        refused(&["./none.toml", "--from", "run"], path).contains("could not read the paper ./none.toml")
    );
    let said = refused(&["djordjevic-2008", "--from", "run"], path);
    assert!(said.contains("has no workload of the paper; it has postmark-quick"), "{said}");
    assert!(refused(&["./paper.toml", "--from", "nowhere"], path).contains("nowhere"));
    // A file of the page's name, and a link that would be written through.
    for folder in ["own", "link"] {
        fs::create_dir(path.join(folder)).unwrap();
    }
    fs::write(path.join("own/reproduced.html"), "mine").unwrap();
    std::os::unix::fs::symlink("../own/reproduced.html", path.join("link/reproduced.html")).unwrap();
    for folder in ["own", "link"] {
        let said = refused(&["djordjevic-2008", "--output", folder, "--dry-run"], path);
        assert!(said.contains("is not overwritten"), "{said}");
    }
    assert_eq!(fs::read_to_string(path.join("own/reproduced.html")).unwrap(), "mine");
    let said = refused(&["./paper.toml"], path);
    assert!(said.contains("names no experiment to run"), "{said}");
    fs::write(path.join("later.toml"), format!("{PAPER}era = \"2600\"")).unwrap();
    let said = refused(&["./later.toml", "--from", "run"], path);
    assert!(said.contains("./later.toml: unknown era '2600'"), "{said}");
    let said = refused(&["./paper.toml", "--from", "run", "./run/"], path);
    assert!(said.contains("is given twice"), "{said}");
    fs::write(path.join("other.toml"), format!("{PAPER}run = [{{ experiment = \"fileserver-2007\" }}]"))
        .unwrap();
    let said = refused(&["./other.toml", "--from", "run"], path);
    assert!(said.contains("fileserver-2007"), "{said}");
    let said = refused(&["djordjevic-2008", "--budget", "1h", "--rounds", "13"], path);
    assert!(said.contains("cannot be used with"), "{said}");
    for (options, says) in [
        (&["--html", "-"][..], "? cannot tell"),
        (&["--markdown", "-"], "**cannot tell.**"),
        (&["--json"], "\"verdict\": \"cannot-tell\""),
        (&["--all"], "cannot tell."),
    ] {
        let mut command = fsderby();
        command.args(["reproduce", "./paper.toml", "--from", "run"]).args(options).current_dir(path);
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains(says), "{options:?}: {text}");
        assert!(text.contains("refutes the authors") || options == ["--json"], "{text}");
        let is_text = options == ["--all"];
        assert!(!is_text || text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
    let printed = |options: &[&str]| {
        let mut command = fsderby();
        command.args(["reproduce", "./paper.toml", "--from", "run"]).args(options).current_dir(path);
        String::from_utf8(command.output().unwrap().stdout)
            .unwrap()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    let times = |text: &str| text.matches("run has 1 complete round").count();
    let short = printed(&[]);
    assert!(times(&short) == 1 && short.contains("claims 1–4: run has 1 complete round"), "{short}");
    assert!(times(&printed(&["--all"])) == 4);
    let records = path.join("run/trials.jsonl");
    let text = fs::read_to_string(&records).unwrap();
    fs::write(&records, text.replacen("\"round\":1", "\"round\":2", 1)).unwrap();
    let said = refused(&["./paper.toml", "--from", "run"], path);
    assert!(said.contains("fsderby verify"), "{said}");
}

/// Each shipped paper names runs that become plans, with the paper's own workloads.
#[test]
fn every_paper_plans_its_runs() {
    for (name, _) in papers::TABLE {
        let paper = papers::find(name).unwrap();
        assert!(!paper.reproduction.runs.is_empty(), "{name}");
        let known: Vec<String> =
            paper.tables.iter().flat_map(|t| t.workloads().map(str::to_owned).collect::<Vec<_>>()).collect();
        for run in &paper.reproduction.runs {
            let experiment = Experiment::load(&run.experiment).unwrap();
            let works = if run.workloads.is_empty() { &experiment.workloads } else { &run.workloads };
            assert!(works.iter().all(|work| known.contains(work)), "{name}: {works:?}");
            let plan = experiment.plan("loop".into(), 1).unwrap();
            let is_in_it = |kind: &String| plan.candidates.iter().any(|candidate| candidate.kind == *kind);
            assert!(run.filesystems.iter().all(is_in_it), "{name}: {:?}", run.filesystems);
            assert!(experiment.memory.is_some(), "{name}");
        }
        for why in &paper.reproduction.why {
            assert!(why.command.starts_with("fsderby run "), "{name}: {}", why.command);
        }
    }
}
