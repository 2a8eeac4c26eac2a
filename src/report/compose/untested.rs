//! The mount options that the run compares and cannot test, in words.

use crate::analysis::untested::{self, Untested, Why};
use crate::report::view::number::{count, duration, list};
use crate::store::Run;

/// One sentence for each option, or group of options with one effect.
pub fn of(run: &Run) -> Vec<String> {
    untested::of(run).iter().map(said).collect()
}

fn said(Untested { kind, options, scenarios, is_everywhere, why }: &Untested) -> String {
    let several = scenarios.len() > 1;
    let works = if several { "workloads" } else { "workload" };
    let who = if *is_everywhere { "This run".to_owned() } else { format!("The {works} {}", list(scenarios)) };
    let why = match why {
        Why::TooShort { seconds, longest_ns } => {
            let acts = if options.len() == 1 { "the option acts" } else { "the options act" };
            let longest = if several { "the longest workload" } else { "the workload" };
            format!(
                "{acts} after {seconds} at the earliest, and {longest} takes {took}",
                seconds = count(*seconds as usize, "second"),
                took = duration(*longest_ns)
            )
        }
        Why::NoDiscards => format!("no discard reached the device during the {works}"),
        Why::NoFlushes => {
            format!("no flush reached the device during the {works}, with or without the option")
        }
    };
    format!("{who} cannot test {options} of {kind}: {why}.", options = list(options))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::examples;
    use crate::schema::event::Stepped;
    use crate::schema::job::StepName;
    use crate::schema::setup::Variant;

    #[test]
    fn what_cannot_be_tested_is_said_with_the_reason() {
        let one = Untested {
            kind: "ext4".into(),
            options: vec!["commit=1".into()],
            scenarios: vec!["mail".into(), "sources".into()],
            is_everywhere: true,
            why: Why::TooShort { seconds: 1, longest_ns: 246_562_196 },
        };
        assert_eq!(
            said(&one),
            "This run cannot test commit=1 of ext4: the option acts after 1 second at the earliest, and the longest \
                workload takes 247 ms."
        );
        let why = Why::NoFlushes;
        let partly = Untested { scenarios: vec!["mail".into()], is_everywhere: false, why, ..one };
        assert_eq!(
            said(&partly),
            "The workload mail cannot test commit=1 of ext4: no flush reached the device during the workload, with or without the option."
        );
    }

    /// What a run cannot test whose first two candidates are of this kind with these options, and whose two scenarios last these
    /// seconds.
    fn unshown(kind: &str, [one, other]: [&str; 2], seconds: [u64; 2], discards: u64) -> Vec<Untested> {
        let mut example = examples::rounds(2);
        let run = &mut example.run;
        let mount = |options: &str| options.split_whitespace().map(str::to_owned).collect::<Vec<String>>();
        for (candidate, options) in run.plan.candidates.iter_mut().zip([one, other]) {
            candidate.kind = kind.to_owned();
            candidate.variant = Variant { mount: mount(options), ..Variant::default() };
        }
        for record in &mut run.records {
            let at = run.plan.scenarios.iter().position(|s| s.label == record.scenario).unwrap_or(0);
            let ns = seconds[at] * 1_000_000_000;
            record.steps = vec![Stepped { step: StepName::Work, ns, ..Stepped::default() }];
            let counters = [("discards", discards), ("flushes", 0)].map(|(name, n)| (name.to_owned(), n));
            for stage in &mut record.stages {
                stage.probes.insert("block_io".into(), counters.clone().into());
            }
        }
        untested::of(run)
    }

    #[test]
    fn a_commit_interval_is_untested_until_the_work_outlasts_the_shorter_one() {
        let works = examples::WORKS.map(str::to_owned);
        let [only] = &unshown("ext4", ["", "noatime,commit=60"], [4, 2], 1)[..] else { panic!("one") };
        assert_eq!((only.options.as_slice(), only.kind.as_str()), (&["commit=60".to_owned()][..], "ext4"));
        assert!(only.is_everywhere && only.scenarios == works, "{only:?}");
        assert_eq!(only.why, Why::TooShort { seconds: 5, longest_ns: 4_000_000_000 });
        let partly = unshown("ext4", ["commit=1", "commit=60"], [0, 3], 1);
        assert_eq!(partly, [], "a trial without a time shows nothing");
        let partly = unshown("btrfs", ["commit=2", "commit=60"], [1, 3], 1);
        assert!(partly.len() == 1 && !partly[0].is_everywhere && partly[0].scenarios == works[..1]);
        assert_eq!(partly[0].options, ["commit=2", "commit=60"]);
        for same in [["", "commit=5"], ["commit=7", "commit=7"], ["", "commit=0"]] {
            assert_eq!(unshown("ext4", same, [1, 1], 1), [], "{same:?}");
        }
        assert_eq!(unshown("ext4", ["", "commit=60"], [5, 5], 1), []);
    }

    #[test]
    fn so_is_what_a_kind_says_to_begin_later() {
        let of = |kind, seconds| unshown(kind, ["", "background_gc=off"], seconds, 1).len();
        assert_eq!((of("f2fs", [20, 29]), of("f2fs", [30, 31]), of("ext4", [1, 1])), (1, 0, 0));
    }

    #[test]
    fn an_option_of_which_the_device_saw_nothing_is_untested() {
        let whys = |options, discards| {
            let all = unshown("ext4", options, [90, 90], discards);
            all.into_iter().map(|one| (one.options.join(" "), one.why)).collect::<Vec<_>>()
        };
        assert_eq!(whys(["", "discard"], 0), [("discard".to_owned(), Why::NoDiscards)]);
        assert_eq!(whys(["", "discard"], 3), []);
        assert_eq!(whys(["nodiscard", ""], 0), [], "neither discards");
        assert_eq!(whys(["", "nobarrier"], 3), [("nobarrier".to_owned(), Why::NoFlushes)]);
        assert_eq!(whys(["barrier=0", "nobarrier"], 3), []);
        assert_eq!(whys(["noatime", ""], 0), []);
    }
}
