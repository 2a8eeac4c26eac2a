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
    let fill = |text: &str, head: &str, set: &str, next: &str| {
        text.replace("@HEAD@", head)
            .replace("@DIR@", &quoted(folder))
            .replace("@FSDERBY@", &quoted(program))
            .replace("@TASKS@", &campaign.tasks.to_string())
            .replace("@SHARDS@", set)
            .replace("@NEXT@", next)
            .replace("@JOBS@", &jobs)
            .replace("@REQUEUE@", if *in_virtual_time { REQUEUE } else { "" })
            .replace("@AGAIN@", again)
            .replace("@RERUN@", rerun)
    };
    let short = |name: &str| campaign.head(name, folder, false);
    let array = |name: &str| campaign.head(name, folder, true);
    let shard = include_str!("../../../templates/slurm/shard.sh");
    vec![
        ("probe.sh", fill(include_str!("../../../templates/slurm/probe.sh"), &short("probe"), "", "")),
        ("shard.sh", fill(shard, &array("shards"), "shards", "")),
        ("merge.sh", fill(include_str!("../../../templates/slurm/merge.sh"), &short("merge"), "", "")),
        ("next.sh", fill(shard, &array("next"), "next", NEXT)),
        ("finish.sh", fill(include_str!("../../../templates/slurm/finish.sh"), &short("finish"), "", "")),
        ("check.sh", fill(include_str!("../../../templates/slurm/check.sh"), &short("check"), "", "")),
        ("submit.sh", fill(include_str!("../../../templates/slurm/submit.sh"), "", "", "")),
    ]
}

fn quoted(path: &Path) -> String {
    quote(&path.display().to_string()).into_owned()
}

impl Campaign {
    /// The lines that sbatch reads.
    fn head(&self, name: &str, folder: &Path, is_array: bool) -> String {
        let Campaign { tasks, cpus, memory, minutes, in_virtual_time, partition, account } = self;
        // sbatch replaces %a, and takes words apart at spaces outside quotes.
        let folder = folder.join("log").display().to_string().replace('%', "%%");
        let log = if is_array { format!("{name}-%a.txt") } else { format!("{name}.txt") };
        let mut options = vec![format!("job-name=fsderby-{name}"), format!("output=\"{folder}/{log}\"")];
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
                let is_left = |word: &str| word.strip_suffix('@').is_some_and(|w| w.contains('@'));
                assert!(text.starts_with("#!/bin/sh\n"), "{name}: {text}");
                assert!(
                    !text.split(|c: char| !c.is_ascii_uppercase() && c != '@').any(is_left),
                    "{name}: {text}"
                );
                let parsed = std::process::Command::new("sh").args(["-n", "-c", &text]).output().unwrap();
                assert!(parsed.status.success(), "{name}: {}", String::from_utf8_lossy(&parsed.stderr));
            }
        }
    }

    #[test]
    fn shards_in_virtual_time_go_on_anywhere_and_in_real_time_have_their_node_alone() {
        let (one, other) = (script(true, "shard.sh"), script(false, "shard.sh"));
        let output = "--output=\"/srv/my run/log/shards-%a.txt\"";
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
}
