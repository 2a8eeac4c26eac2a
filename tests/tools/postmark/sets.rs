//! The shipped parameter sets.

use fsderby::schema::units::Scale;
use fsderby::workloads::postmark::PostMark;
use fsderby::workloads::postmark::drive::Ended;
use fsderby::workloads::postmark::dry::dry_run;
use fsderby::workloads::postmark::parameters::Parameters;
use fsderby::workloads::{ParamSet, Workload};

const CLUSTER: u64 = 32 << 10;
/// What FAT16 holds at most, the tightest of those that a 2 GB partition was compared on, less a tenth for
/// what filesystems keep for themselves.
const VOLUME: u64 = 2_147_450_880 / 10 * 9;

fn parameters(set: &ParamSet) -> Parameters {
    Parameters::parse(&set.file().parameters).unwrap_or_else(|e| panic!("{}: {e}", set.name))
}

#[test]
fn every_set_parses_scales_and_says_where_it_comes_from() {
    for set in PostMark.sets() {
        let file = set.file();
        assert!(!file.story.trim().is_empty() && !file.source.trim().is_empty(), "{}", set.name);
        let half = PostMark.scale(&file.parameters, Scale { of: 1, by: 2 }).expect(set.name);
        PostMark.parse(&half).map(|_| ()).expect(set.name);
        if set.name.contains("-2002-") {
            let source = file.source.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
            assert!(source.contains("we chose"), "{}: what the paper does not publish is marked", set.name);
        }
    }
}

#[test]
fn the_sets_of_2002_fit_into_two_gigabytes_and_do_not_run_out_of_files() {
    for set in PostMark.sets().iter().filter(|set| set.name.contains("-2002-")) {
        let parameters = parameters(set);
        if parameters.rules.bias_create.is_none() {
            // Mailboxes neither come nor go; each may grow to the largest.
            let most = u64::from(parameters.rules.number) * u64::from(parameters.rules.high);
            assert!(most < VOLUME, "{}: {most} bytes", set.name);
            continue;
        }
        for seed in [1, 42] {
            let run = dry_run(&parameters.rules_for(seed));
            assert_eq!(run.ended, Ended::Complete, "{} with seed {seed}", set.name);
            let most = run.bytes_peak + run.files_peak * CLUSTER;
            assert!(most < VOLUME, "{}: {most} bytes", set.name);
        }
    }
}

#[test]
fn the_quick_sets_outgrow_the_memory_that_they_name() {
    const MEMORY: u64 = 24 << 20;
    for name in ["postmark-quick", "maildir-quick"] {
        let quick = PostMark.sets().iter().find(|set| set.name == name).expect("it is shipped");
        let work = PostMark.parse(&quick.file().parameters).expect("it parses");
        for seed in 1..10 {
            let volume = work.amount(seed);
            assert!(
                volume.bytes_peak > MEMORY,
                "{name}, seed {seed}: {} bytes at the peak",
                volume.bytes_peak
            );
            assert!(volume.bytes_written < 8 * MEMORY, "{name}, seed {seed}: short enough for many rounds");
        }
    }
}

/// With the clients of their experiments, each of which does all of the work.
#[test]
fn the_sets_of_today_outgrow_the_memory_of_their_experiments() {
    const MEMORY: u64 = 512 << 20;
    for (name, clients) in [("mail-spool", 4), ("office-files", 4), ("desktop-unpack", 2)] {
        let set = PostMark.sets().iter().find(|set| set.name == name).expect("it is shipped");
        let parameters = parameters(set);
        let run = dry_run(&parameters.rules_for(7));
        assert_eq!(run.ended, Ended::Complete, "{name}");
        let written = clients * PostMark.parse(&set.file().parameters).expect(name).amount(7).bytes_written;
        assert!(clients * run.bytes_peak > 3 * MEMORY / 2, "{name}: {} bytes live", clients * run.bytes_peak);
        assert!(written > 2 * MEMORY, "{name}: {written} bytes written");
    }
}
