//! The batch scripts of a campaign on Slurm.
//!
//! ```text
//! probe ─afterok─▶ shards (array) ─afterany─▶ merge ─afterok─▶ next (array) ─afterany─▶ finish ─afterok─▶ check
//! ```
//! `afterany`, because a shard with failed trials ends with 4; `fsderby merge` judges whether the shards are complete.

use std::path::Path;

use serde::{Deserialize, Serialize};
use shell_words::quote;

use crate::schema::units::{Bytes, MIB};

/// What the scripts depend on besides the plan; `slurm.toml` in the campaign's folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Campaign {
    pub tasks: u32,
    /// Per task, and so the trials that it runs in parallel; in real time a task has its node alone.
    pub cpus: u32,
    pub memory: Bytes,
    pub minutes: u64,
    pub in_virtual_time: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// Whether the shards have only trials that the results of others called for: these are merged with the others by hand.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_of_due: bool,
}

/// Minutes of a job that runs no shard.
const SHORT: u64 = 60;
/// Seconds before the time limit at which a shard is told to end.
const NOTICE: u64 = 120;

/// Continues a shard that was told to end, and a few times one that was killed, such as by lack of memory.
const REQUEUE: &str =
    "if [ $code = 130 ] || { [ $code -gt 128 ] && [ \"${SLURM_RESTART_COUNT:-0}\" -lt 3 ]; }; then
    # --requeue alone restarts neither a killed task nor one at its time limit.
    scontrol requeue \"$SLURM_JOB_ID\"
fi
";
/// The plan of what the results call for may have less work than there are tasks.
const NEXT: &str = "[ -e next.toml ] || exit 0
plan=next.toml left=$(sed -n '1s/^# \\([0-9]*\\) .*/\\1/p' next.toml)
[ \"$left\" -ge \"$of\" ] || of=$left
[ \"$i\" -le \"$of\" ] || exit 0
";

/// The jobs behind the shards of a plan.
const LATER: &str = "submit merge --dependency=afterok:\"$probe\",afterany:\"$shards\" merge.sh
submit next --dependency=afterok:\"$merge\" next.sh
submit finish --dependency=afterok:\"$merge\",afterany:\"$next\" finish.sh
submit check --dependency=afterok:\"$finish\" check.sh
";

/// Name and text of each script; `program` is fsderby.
pub fn all(campaign: &Campaign, folder: &Path, program: &Path) -> Vec<(&'static str, String)> {
    let Campaign { cpus, in_virtual_time, .. } = campaign;
    let jobs = if *in_virtual_time { format!("--jobs {cpus}") } else { String::new() };
    let (again, rerun) = match in_virtual_time {
        true => (
            ", and runs one trial in a hundred again on another node: a difference ends with 7",
            "--rerun 1%",
        ),
        false => ("", ""),
    };
    let (dir, fsderby, tasks) = (quoted(folder), quoted(program), campaign.tasks.to_string());
    let fill = |text: &str, head: &str, set: &str, next: &str| {
        let values = [
            ("HEAD", head),
            ("DIR", &dir),
            ("FSDERBY", &fsderby),
            ("TASKS", &tasks),
            ("SHARDS", set),
            ("NEXT", next),
            ("JOBS", &jobs),
            ("REQUEUE", if *in_virtual_time { REQUEUE } else { "" }),
            ("AGAIN", again),
            ("RERUN", rerun),
            ("LATER", if campaign.is_of_due { "" } else { LATER }),
        ];
        filled(text, &values)
    };
    let short = |name: &str| campaign.head(name, false);
    let array = |name: &str| campaign.head(name, true);
    let shard = include_str!("../../../templates/slurm/shard.sh");
    let mut all = vec![
        ("probe.sh", fill(include_str!("../../../templates/slurm/probe.sh"), &short("probe"), "", "")),
        ("shard.sh", fill(shard, &array("shards"), "shards", "")),
        ("submit.sh", fill(include_str!("../../../templates/slurm/submit.sh"), "", "", "")),
    ];
    if !campaign.is_of_due {
        all.extend([
            ("merge.sh", fill(include_str!("../../../templates/slurm/merge.sh"), &short("merge"), "", "")),
            ("next.sh", fill(shard, &array("next"), "next", NEXT)),
            ("finish.sh", fill(include_str!("../../../templates/slurm/finish.sh"), &short("finish"), "", "")),
            ("check.sh", fill(include_str!("../../../templates/slurm/check.sh"), &short("check"), "", "")),
        ]);
    }
    all
}

/// The text with each `@NAME@` replaced, and nothing replaced in what was put in: a folder may be called `@JOBS@`.
fn filled(text: &str, values: &[(&str, &str)]) -> String {
    let (mut done, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once('@') {
        done.push_str(before);
        let value = after.split_once('@').and_then(|(name, after)| {
            values.iter().find(|(known, _)| *known == name).map(|(_, value)| (value, after))
        });
        rest = match value {
            Some((value, after)) => {
                done.push_str(value);
                after
            }
            None => {
                done.push('@');
                after
            }
        };
    }
    done + rest
}

fn quoted(path: &Path) -> String {
    quote(&path.display().to_string()).into_owned()
}

impl Campaign {
    /// The lines that sbatch reads. It has its own rules for quotes, backslashes and %, so these lines hold no path of the user's:
    /// submit.sh enters the campaign's folder first.
    fn head(&self, name: &str, is_array: bool) -> String {
        let Campaign { tasks, cpus, memory, minutes, in_virtual_time, partition, account, .. } = self;
        let log = if is_array { format!("{name}-%a.txt") } else { format!("{name}.txt") };
        let mut options = vec![format!("job-name=fsderby-{name}"), format!("output=log/{log}")];
        options.push("open-mode=append".to_owned());
        options.extend(partition.iter().map(|partition| format!("partition={partition}")));
        options.extend(account.iter().map(|account| format!("account={account}")));
        options.push(format!("time={}", if is_array { *minutes } else { SHORT }));
        options.push(format!("mem={}M", memory.0.div_ceil(MIB)));
        options.push(format!("cpus-per-task={cpus}"));
        if is_array {
            options.push(format!("array=1-{tasks}"));
            options.push(format!("signal=B:TERM@{}", NOTICE.min(minutes * 60 / 2)));
            options.push(if *in_virtual_time { "requeue" } else { "no-requeue" }.to_owned());
            // Another job on the node would disturb trials in real time.
            options.extend((!in_virtual_time).then(|| "exclusive".to_owned()));
        }
        options.iter().map(|option| format!("#SBATCH --{option}")).collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn campaign(in_virtual_time: bool) -> Campaign {
        Campaign {
            tasks: 4,
            cpus: 2,
            memory: Bytes(1500 * MIB),
            minutes: 30,
            in_virtual_time,
            partition: Some("short".into()),
            account: None,
            is_of_due: false,
        }
    }

    fn script(in_virtual_time: bool, name: &str) -> String {
        let all = all(&campaign(in_virtual_time), Path::new("/srv/my run"), Path::new("/opt/fsderby"));
        all.into_iter().find(|(known, _)| *known == name).unwrap().1
    }

    #[test]
    fn every_script_is_filled_in_and_is_one_for_the_shell() {
        for in_virtual_time in [true, false] {
            for (name, text) in
                all(&campaign(in_virtual_time), Path::new("/srv/my run"), Path::new("/opt/fsderby"))
            {
                assert!(text.starts_with("#!/bin/sh\n"), "{name}: {text}");
                let is_left = |word: &str| word.len() > 2 && word.starts_with('@') && word.ends_with('@');
                let mut words = text.split(|c: char| !c.is_ascii_uppercase() && c != '@');
                assert!(!words.any(is_left), "{name}: {text}");
                let parsed = std::process::Command::new("sh").args(["-n", "-c", &text]).output().unwrap();
                assert!(parsed.status.success(), "{name}: {}", String::from_utf8_lossy(&parsed.stderr));
            }
        }
    }

    #[test]
    fn shards_in_virtual_time_go_on_anywhere_and_in_real_time_have_their_node_alone() {
        let (one, other) = (script(true, "shard.sh"), script(false, "shard.sh"));
        let output = "--output=log/shards-%a.txt";
        for line in
            [output, "--array=1-4", "--signal=B:TERM@120", "--time=30", "--mem=1500M", "--partition=short"]
        {
            assert!(one.contains(&format!("#SBATCH {line}\n")), "{line}: {one}");
        }
        assert!(one.contains("scontrol requeue") && one.contains("--jobs 2") && !one.contains("--exclusive"));
        assert!(
            !other.contains("scontrol requeue") && !other.contains("--jobs") && other.contains("--exclusive")
        );
        assert!(
            script(true, "check.sh").contains("--rerun 1%") && !script(false, "check.sh").contains("--rerun")
        );
        assert!(one.contains("cd '/srv/my run'"), "{one}");
    }

    #[test]
    fn the_shell_reads_every_folder_and_program_as_it_is_called() {
        let names = [
            "a b",
            "it's",
            "two\"quotes\"",
            "$HOME `id` $(id)",
            "a\\b",
            "%j%a",
            "@JOBS@ @DIR@",
            "#x; rm -r y",
            "ä*?",
        ];
        for name in names {
            let folder = tempfile::tempdir().unwrap();
            let place = folder.path().join(name);
            std::fs::create_dir(&place).unwrap();
            let program = place.join("fsderby");
            std::fs::write(&program, "#!/bin/sh\npwd >here\n").unwrap();
            let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(&program, executable).unwrap();
            let all = all(&campaign(true), &place, &program);
            let (_, probe) = all.iter().find(|(known, _)| *known == "probe.sh").unwrap();
            std::fs::create_dir(place.join("ended")).unwrap();
            let ran = std::process::Command::new("sh").args(["-c", probe]).output().unwrap();
            assert!(ran.status.success(), "{name}: {}", String::from_utf8_lossy(&ran.stderr));
            let here = std::fs::read_to_string(place.join("here")).unwrap();
            assert_eq!(here.trim_end(), place.canonicalize().unwrap().to_str().unwrap());
            let heads =
                all.iter().flat_map(|(_, text)| text.lines()).filter(|line| line.starts_with("#SBATCH"));
            heads.for_each(|line| assert!(!line.contains(name), "{line}"));
        }
    }

    #[test]
    fn shards_of_due_trials_have_no_jobs_behind_them() {
        let campaign = Campaign { is_of_due: true, ..campaign(true) };
        let all = all(&campaign, Path::new("/srv/next"), Path::new("/opt/fsderby"));
        assert_eq!(
            all.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
            ["probe.sh", "shard.sh", "submit.sh"]
        );
        assert!(!all[2].1.contains("merge.sh") && all[2].1.contains("shard.sh"), "{}", all[2].1);
    }

    /// A submission with a sbatch of the test's: it refuses some script until told otherwise, and writes down the others.
    #[test]
    fn a_submission_that_was_refused_in_the_middle_names_its_jobs_and_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("my campaign");
        std::fs::create_dir_all(place.join("ended")).unwrap();
        std::fs::write(place.join("ended/check"), "0\n").unwrap();
        let all = all(&campaign(true), &place, Path::new("/opt/fsderby"));
        let (_, submit) = all.iter().find(|(known, _)| *known == "submit.sh").unwrap();
        std::fs::write(place.join("submit.sh"), submit).unwrap();
        let sbatch = folder.path().join("sbatch");
        let text = "#!/bin/sh\nfor last; do :; done\n[ \"$last\" != \"$REFUSES\" ] || exit 1\n\
                    echo \"$*\" >>\"$SUBMITTED\"; echo $(wc -l <\"$SUBMITTED\")\n";
        std::fs::write(&sbatch, text).unwrap();
        std::fs::set_permissions(&sbatch, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let submitted = folder.path().join("submitted");
        std::fs::write(&submitted, "").unwrap();
        let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
        let run = |refuses: &str| {
            let mut sh = std::process::Command::new("sh");
            sh.arg(place.join("submit.sh")).env("PATH", &path).env("REFUSES", refuses);
            let said = sh.env("SUBMITTED", &submitted).output().unwrap();
            (said.status.code(), String::from_utf8_lossy(&said.stderr).into_owned())
        };
        let jobs = |name: &str| std::fs::read_to_string(place.join(name)).unwrap_or_default();
        let (code, said) = run("merge.sh");
        assert_eq!(code, Some(1), "{said}");
        for word in
            ["refused the job merge", "submitted before it: probe 1, shards 2", "scancel 1 2", "submit.sh"]
        {
            assert!(said.contains(word), "{word}: {said}");
        }
        assert_eq!((jobs("submitting"), jobs("jobs")), ("probe 1\nshards 2\n".into(), String::new()));
        assert!(!place.join("ended/check").exists(), "of the submission before");
        assert_eq!(run(""), (Some(0), String::new()));
        assert_eq!(jobs("jobs"), "probe 1\nshards 2\nmerge 3\nnext 4\nfinish 5\ncheck 6\n");
        assert!(!place.join("submitting").exists());
        assert!(std::fs::read_to_string(&submitted).unwrap().contains("afterok:1,afterany:2 merge.sh"));
        let (code, said) = run("probe.sh");
        assert!(
            code == Some(1) && said.contains("refused the job probe") && !said.contains("scancel"),
            "{said}"
        );
        assert!(
            jobs("jobs").contains("check 6") && !place.join("submitting").exists(),
            "the last one is still known"
        );
    }
}
