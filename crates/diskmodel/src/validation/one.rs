//! The jobs on chosen models alone, such as a user's own disk file.

use std::fmt::Write;

use super::beside::Planned;
use super::table::{figure, heading};
use crate::Spec;

const HEAD: &str =
    "| drive | job | published | | model alone | model ÷ published |\n|---|---|---|---|---|---|\n";

/// One table of these disks, each with its jobs. A figure was published only for disks whose name ships.
pub fn markdown(drives: &[(Spec, Vec<Planned>)]) -> String {
    let mut text = HEAD.to_owned();
    for (spec, planned) in drives {
        planned.iter().for_each(|planned| row(&mut text, spec, planned));
    }
    text
}

fn row(text: &mut String, spec: &Spec, planned: &Planned) {
    let (ours, compared) = planned.compared(spec);
    let (drive, title, unit) = (&planned.drive, planned.job.title, planned.job.unit.name());
    let (published, what, ratio) = match &compared {
        Some(compared) => {
            let (published, what) = heading(compared);
            (format!("{published} {unit}"), what, format!("{:.2}", compared.ratio()))
        }
        None => ("–".to_owned(), "", "–".to_owned()),
    };
    let model = figure(ours);
    let _ = writeln!(text, "| {drive} | {title} | {published} | {what} | {model} {unit} | {ratio} |");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SHIPPED;
    use crate::validation::beside;

    fn table(text: &str) -> String {
        let spec = Spec::parse(text).unwrap();
        let planned = beside::planned(&spec);
        markdown(&[(spec, planned)])
    }

    #[test]
    fn a_disk_file_of_ones_own_is_timed_by_the_usual_jobs() {
        let (_, shipped) = SHIPPED.iter().find(|(name, _)| *name == "samsung-pm883-960").unwrap();
        let of_shipped = table(shipped);
        assert!(of_shipped.contains("**evidence**") || of_shipped.contains("data sheet"), "{of_shipped}");
        let own = table(&shipped.replace("name = \"samsung-pm883-960\"", "name = \"mine\""));
        assert!(
            own.lines().skip(2).all(|row| row.starts_with("| mine | ") && row.contains("| – |")),
            "{own}"
        );
        let ours = |text: &str, title: &str| {
            let row =
                text.lines().find(|row| row.contains(title)).unwrap_or_else(|| panic!("{title}: {text}"));
            row.split('|').nth(5).unwrap().trim().to_owned()
        };
        let title = super::super::jobs::find("sync").unwrap().title;
        assert_eq!(ours(&own, title), ours(&of_shipped, title), "the name decides nothing");
        assert_eq!(ours(&own, title), "71.4 µs", "32 + 7.447 + 32");
        let slower = shipped
            .replace("name = \"samsung-pm883-960\"", "name = \"mine\"")
            .replace("overhead_us = { is = 32", "overhead_us = { is = 64");
        assert_ne!(ours(&table(&slower), title), ours(&own, title));
    }
}
