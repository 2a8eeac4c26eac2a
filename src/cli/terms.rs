//! The words of a report, for `fsderby explain` and `fsderby list terms`.

/// A word as a report prints it, other words for it, and what it means.
#[derive(serde::Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Term {
    pub name: &'static str,
    pub also: &'static [&'static str],
    pub meaning: &'static str,
}

pub static TERMS: [Term; 28] = [
    Term {
        name: "candidate",
        also: &[],
        meaning: "A filesystem with its mkfs and mount options, storage, kernel and memory. Reports name a \
                  candidate by its label. Two candidates may be the same filesystem with different options.",
    },
    Term {
        name: "trial",
        also: &[],
        meaning: "One candidate (a filesystem with its options) does one workload once: mkfs, mount, work, \
                  sync, unmount, fsck.",
    },
    Term {
        name: "round",
        also: &[],
        meaning: "One trial of every candidate with every workload, in random order. Differences are judged within \
                  rounds, so that changes of the machine from round to round affect all candidates alike.",
    },
    Term {
        name: "verdict",
        also: &["finding"],
        meaning: "The result for each pair of candidates in each compared metric: better, worse, equivalent, or not told \
                  apart. A metric that is measured and not compared has no finding.",
    },
    Term {
        name: "preliminary",
        also: &["preliminary result", "short"],
        meaning: "The trials of the run were short: each wrote less data than twice its memory size, or lasted less \
                  than three commit intervals (on ext4 3 × 5 s). The findings hold for a burst of work and say \
                  little about hours of the same work.",
    },
    Term {
        name: "no verdict yet",
        also: &["no verdict"],
        meaning: "The run has fewer rounds than a verdict needs. The report shows ratios but calls no \
                  candidate better. The report gives the command that adds the missing rounds.",
    },
    Term {
        name: "headline metric",
        also: &["headline", "compared metric"],
        meaning: "A metric that is compared and judged. Each workload has one or two headline metrics, such \
                  as transactions per second. All other metrics are measured and printed, but not compared.",
    },
    Term {
        name: "not told apart",
        also: &["cannot tell", "not-told-apart", "?", "○"],
        meaning: "The run could not decide whether two candidates differ or are equivalent. With more rounds, the run \
            could find a difference.",
    },
    Term {
        name: "equivalent",
        also: &["equivalence", "≈"],
        meaning: "Any difference between the two candidates is smaller than the margin. The whole interval of their \
                  ratio lies within the margin around 1, for example from 0.98 to 1.01 if the margin is 3 %.",
    },
    Term {
        name: "withheld",
        also: &[],
        meaning: "All samples (variants of the modelled disk) show a difference between two candidates, but the \
                  candidates count as not told apart. The reason: disk-model overhead could explain the difference. \
                  The program that simulates the disk runs inside the guest, so the measured time includes its CPU \
                  time.",
    },
    Term {
        name: "rank",
        also: &["ranks"],
        meaning: "The place of a candidate in one comparison; 1 is the best. The rank `2–3` means second or third: \
                  another candidate also has the rank 2–3, and the run found neither of the two better.",
    },
    Term {
        name: "ratio",
        also: &["geometric mean", "ratio of geometric means"],
        meaning: "A candidate's geometric mean over the rounds ÷ the reference's geometric mean. The reference is the \
                  best candidate, or the baseline. For a rate, a ratio of 0.50 means half the speed. Every comparison \
                  shows this ratio. For metrics that are not compared, reports show medians.",
    },
    Term {
        name: "interval",
        also: &["range"],
        meaning: "The range in which a ratio lies. For a ratio over rounds, the interval is a confidence interval. \
                  The stated confidence is the probability that all intervals of the run contain their true ratios. \
                  For a ratio over samples of a modelled disk, the interval reaches from the smallest to the largest \
                  ratio of the samples.",
    },
    Term {
        name: "margin",
        also: &[],
        meaning: "The smallest difference of interest (--margin). Candidates that differ by less count as equivalent.",
    },
    Term {
        name: "power",
        also: &["smallest detectable difference"],
        meaning: "The probability that a run finds a difference of a given size. The dry run and the report give the \
                  size of difference that the run finds with a power of 80 %.",
    },
    Term {
        name: "A/A check",
        also: &["guard"],
        meaning: "The first candidate takes part twice, under two labels. If the two entries differ, something \
                  other than the filesystem changes the figures, and the whole run is void.",
    },
    Term {
        name: "void",
        also: &["void trial"],
        meaning: "A trial that broke a validity check, for example because the machine stopped for a time or caches \
                  were not cold. A void trial is repeated and does not count in any figure; its record is kept.",
    },
    Term {
        name: "validity check",
        also: &["check"],
        meaning: "A condition that each trial must meet, for example: caches were cold, data was written to the \
                  device, nothing disturbed the trial. fsderby tests each condition by an effect that it measures, \
                  such as reads from the device after a cold start. Depending on the check, a trial that fails it is \
                  void, or the report marks its figures.",
    },
    Term {
        name: "integrity check",
        also: &[],
        meaning: "A trial before the first round. All content is read back and compared with the \
                  content written. A candidate that fails this check is not measured.",
    },
    Term {
        name: "‡",
        also: &["weaker durability", "durability"],
        meaning: "The candidate sends no flushes to the device although other candidates do, for example \
                  because of the mount option nobarrier. So a power cut can destroy synced data. The candidate \
                  is measured, but not ranked with the others.",
    },
    Term {
        name: "virtual time",
        also: &[],
        meaning: "On the testbed model the guest's clock counts executed instructions and modelled disk accesses. \
                  The same run gives the same times on every machine. These are times of the model, not of a real \
                  computer.",
    },
    Term {
        name: "sample",
        also: &["samples"],
        meaning: "A modelled disk and computer with one choice of their uncertain properties. Samples differ in the disk's uncertain properties, \
                  the volume's position on the disk and the CPU speed. A difference is a finding only if all samples \
                  show it.",
    },
    Term {
        name: "worst corner",
        also: &["corner"],
        meaning: "Each uncertain property of a modelled disk has two extreme values. The worst corner is the \
                  combination of extremes in which a finding about two candidates is predicted to fail most easily. \
                  fsderby runs trials with this combination, and a finding must hold in these trials too.",
    },
    Term {
        name: "disk-model overhead",
        also: &["overhead"],
        meaning: "The CPU time of the program that simulates the disk: it runs inside the guest, on the guest's \
                  CPU. To measure this overhead, extra trials let the program do its work twice or three times.",
    },
    Term {
        name: "CPU cost",
        also: &["cost of an instruction"],
        meaning: "The time that the modelled CPU takes for an instruction. Real CPUs differ, so a finding must also \
                  hold if the CPU cost of only one candidate is 0.77 or 1.3 times as high (0.4 or 2.5 times for a \
                  filesystem in user space).",
    },
    Term {
        name: "commit interval",
        also: &["commit intervals"],
        meaning: "The time after which a filesystem writes its changes to the disk by itself, such as 5 s of \
                  ext4 and 30 s of btrfs. Work that ends earlier does not include the cost of these writes.",
    },
    Term {
        name: "shard",
        also: &["shards"],
        meaning: "The part of a plan's trials that one run carries out: fsderby run PLAN --shard 2/4. The plan alone \
                  decides which trials a shard has. In real time (every testbed except model), all trials of a round \
                  are in one shard. fsderby merge joins all shards into one run.",
    },
    Term {
        name: "deciding factor",
        also: &["factor"],
        meaning: "An uncertain property of a class of disks, such as how far the firmware reorders requests. The \
                  property's value can decide which of two candidates is faster; then the report names the property \
                  as the reason why the two are not told apart.",
    },
];

/// The term of this name, in either case.
pub fn find(name: &str) -> Option<&'static Term> {
    // A range of ranks as a table prints it: `2–3`.
    let is_rank = name.contains(['–', '-']) && name.chars().all(|c| c.is_ascii_digit() || "–-".contains(c));
    let name = if is_rank { "rank" } else { name };
    let is_it = |word: &str| word.eq_ignore_ascii_case(name);
    TERMS.iter().find(|term| is_it(term.name) || term.also.iter().any(|word| is_it(word)))
}
