//! Sections that are alike on all pages: exit status, files, environment, and other pages.

use super::markdown::{escaped, roff};
use crate::config;
use crate::exit::MEANINGS;

/// A file or variable, what it is, and the commands whose pages have it; none: all pages have it.
type Row<'r> = (&'r str, &'r str, &'static [&'static str]);

/// The pages that have the variables of the configuration.
const CONFIGURED: &[&str] = &["fsderby", "fsderby-run", "fsderby-config"];

static FILES: [Row<'static>; 11] = [
    (
        "/etc/fsderby/config.toml, ~/.config/fsderby/config.toml",
        "Defaults of the machine and of the user: fsderby-config(1).",
        CONFIGURED,
    ),
    (
        "EXPERIMENT.toml",
        "An experiment: fsderby-experiment(5).",
        &["fsderby", "fsderby-run", "fsderby-slurm", "fsderby-explain", "fsderby-experiment"],
    ),
    (
        "results/NAME-DATE/",
        "A run: its plan, the machine, one record per trial, the report and the seal.",
        &["fsderby", "fsderby-run", "fsderby-report", "fsderby-experiment"],
    ),
    ("RUN/plan.toml", "The experiment of a run with all seeds; `fsderby run RUN/plan.toml` repeats it.", &[]),
    (
        "RUN/trials.jsonl",
        "The records of a run, one per line; fsderby only appends to this file.",
        &["fsderby-run", "fsderby-verify"],
    ),
    ("RUN/seal.json", "Counts and hashes of a finished run.", &["fsderby-verify", "fsderby-key"]),
    (
        "~/.cache/fsderby/",
        "Kernels, snapshots of guests, and guest bundles; fsderby checks their hashes before use.",
        &["fsderby", "fsderby-run", "fsderby-kernel", "fsderby-guest"],
    ),
    (
        "/var/tmp/",
        "Image files of the testbeds loop and vm, unless --on names another folder. They have no name and vanish with \
         their trial.",
        &["fsderby", "fsderby-run"],
    ),
    (
        "/var/lib/fsderby/devices/",
        "The claimed disks, one file for each.",
        &["fsderby", "fsderby-run", "fsderby-device"],
    ),
    (".pmrc", "The script of `fsderby postmark` without an argument.", &["fsderby-postmark"]),
    ("FILE, FILE.pub", "Secret and public key in the format of minisign.", &["fsderby-key"]),
];

static ENVIRONMENT: [Row<'static>; 5] = [
    ("NO_COLOR", "If set, fsderby prints no colours.", &[]),
    (
        "XDG_CONFIG_HOME",
        "The user's configuration is `$XDG_CONFIG_HOME/fsderby/config.toml`, or `~/.config/fsderby/config.toml`.",
        CONFIGURED,
    ),
    (
        "XDG_CACHE_HOME, HOME",
        "The cache is `$XDG_CACHE_HOME/fsderby`, or `$HOME/.cache/fsderby`. The folder must belong to the user.",
        &["fsderby", "fsderby-run", "fsderby-kernel", "fsderby-guest"],
    ),
    (
        "PATH",
        "Is not used for tools: mkfs, fsck and QEMU are searched in the folders `bin` and `sbin` of `/usr/local`, `/usr` \
         and `/`, in this order.",
        &["fsderby", "fsderby-run", "fsderby-doctor"],
    ),
    ("SHELL", "The shell that the command `!` of a script starts.", &["fsderby-postmark"]),
];

/// Old tools end as the originals do.
pub fn exit_status(name: &str) -> String {
    let own = match name {
        "fsderby-postmark" => {
            Some("0, as the original does; 2 after a run that would have crashed the original.")
        }
        "fsderby-bonnie" => {
            Some("0; 1 if anything goes wrong, and 5 if it is stopped, as the original does.")
        }
        "fsderby-iozone" => Some(
            "0; 23 for sizes that contradict each other and 17 for `-t` with `-a`, as the original; otherwise 1.",
        ),
        _ => None,
    };
    let codes = || {
        let code = |(code, meaning): &(u8, &str)| format!("| {code} | {meaning} |\n");
        let all: String = MEANINGS.iter().map(code).collect();
        format!("All commands share these codes.\n\n| code | meaning |\n|---|---|\n{all}")
    };
    format!(".SH EXIT STATUS\n{}", roff(&own.map_or_else(codes, |text| format!("{text}\n"))))
}

pub fn files(name: &str) -> String {
    format!(".SH FILES\n{}", items(&FILES, name))
}

pub fn environment(name: &str) -> String {
    let own: Vec<(String, &[&str])> = config::TABLE
        .iter()
        .map(|setting| {
            let of = match setting.option {
                "none" => String::new(),
                option => format!(": the default of `{option}`"),
            };
            (format!("{}{of}. fsderby-config(1).", setting.meaning), CONFIGURED)
        })
        .collect();
    let own = config::TABLE
        .iter()
        .zip(&own)
        .map(|(setting, (meaning, of))| (setting.variable, meaning.as_str(), *of));
    let rows: Vec<Row<'_>> = own.chain(ENVIRONMENT).collect();
    format!(".SH ENVIRONMENT\n{}", items(&rows, name))
}

/// A page of a command below another one has that one's rows.
fn items(rows: &[Row<'_>], name: &str) -> String {
    let is_of = |of: &str| name == of || of != "fsderby" && name.starts_with(&format!("{of}-"));
    let wanted = rows.iter().filter(|(_, _, of)| of.is_empty() || of.iter().any(|of| is_of(of)));
    let row = |(name, meaning, _): &Row<'_>| format!("| `{name}` | {meaning} |\n");
    roff(&("| name | meaning |\n|---|---|\n".to_owned() + &wanted.map(row).collect::<String>()))
}

pub fn see_also(name: &str) -> String {
    let mut pages = vec!["fsderby(1)".to_owned()];
    if let Some((parent, _)) = name.rsplit_once('-').filter(|(parent, _)| *parent != "fsderby") {
        pages.push(format!("{parent}(1)"));
    }
    let others: &[&str] = match name {
        "fsderby-run" => &["fsderby-experiment(5)", "fsderby-report(1)", "fsderby-compare(1)"],
        "fsderby-experiment" => &["fsderby-run(1)", "fsderby-list(1)", "fsderby-explain(1)"],
        "fsderby" => &["fsderby-experiment(5)", "mkfs(8)", "fio(1)", "minisign(1)"],
        "fsderby-report" => &["fsderby-run(1)", "fsderby-compare(1)", "fsderby-verify(1)"],
        "fsderby-key" => &["fsderby-verify(1)", "minisign(1)"],
        "fsderby-slurm" => &["fsderby-merge(1)", "sbatch(1)"],
        _ => &["fsderby-run(1)"],
    };
    pages.extend(others.iter().map(|page| (*page).to_owned()));
    pages.retain(|page| !page.starts_with(&format!("{name}(")));
    format!(
        ".SH SEE ALSO\n{}\n.PP\nThe guide and the method are in \\fI/usr/share/doc/fsderby\\fR.\n",
        escaped(&pages.join(", "))
    )
}
