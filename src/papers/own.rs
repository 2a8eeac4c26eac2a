//! A paper by its name, or by the path of a user's own file.

use std::path::Path;

use super::{Claim, Paper, Relation, TABLE, find};
use crate::exit::Failure;
use crate::host::given;
use crate::schema::units::Bytes;
use crate::text::{mistakes, names};
use crate::{filesystems, workloads};

/// Larger than any paper: the largest shipped one has 23 KB.
const LONGEST: Bytes = Bytes(1 << 20);

/// The paper of that name, or of that file.
///
/// # Errors
/// If there is no such paper, or if its file is no paper.
pub fn load(named: &str) -> Result<Paper, Failure> {
    if let Some(paper) = find(named) {
        return Ok(paper);
    }
    let mut paper = parse(&text(named)?, named)?;
    let folder = Path::new(named).parent().unwrap_or(Path::new(""));
    for run in paper.reproduction.runs.iter_mut().filter(|run| run.experiment.ends_with(".toml")) {
        run.experiment = folder.join(&run.experiment).display().to_string();
    }
    Ok(paper)
}

/// The text of the paper of that name, or of that file.
///
/// # Errors
/// If there is no such paper, or it cannot be read.
pub fn text(named: &str) -> Result<String, Failure> {
    if let Some((_, text)) = TABLE.iter().find(|(name, _)| *name == named) {
        return Ok((*text).to_owned());
    }
    let path = Path::new(named);
    let looks_like_a_file = named.contains('/') || path.extension().is_some_and(|e| e == "toml");
    if !looks_like_a_file && !path.exists() {
        let unknown = names::unknown("paper", named, TABLE.iter().map(|(name, _)| *name));
        return Err(Failure::usage(format!("{unknown}\n  try: the path of a paper's .toml file")));
    }
    given::text(path, LONGEST).map_err(|e| {
        Failure::usage(format!("could not read the paper {named}: {e}\n  try: the path of a TOML file"))
    })
}

/// A paper's text.
///
/// # Errors
/// Names the line, or the value that is wrong.
pub fn parse(text: &str, from: &str) -> Result<Paper, Failure> {
    let paper: Paper = toml::from_str(text).map_err(|e| {
        Failure::usage(format!("could not parse the paper {from}: {}", mistakes::in_words(&e)))
    })?;
    paper.check().map_err(|wrong| {
        Failure::usage(format!(
            "{from}: {wrong}\n  try: fsderby explain djordjevic-2008 shows a complete paper"
        ))
    })?;
    Ok(paper)
}

impl Paper {
    /// Whether tables and claims fit together.
    fn check(&self) -> Result<(), String> {
        for table in &self.tables {
            table.workloads().try_for_each(is_workload)?;
            for (candidate, figures) in &table.figures {
                self.is_candidate(candidate)?;
                let (place, n, asked) = (&table.place, figures.len(), table.metrics.len());
                if n != asked {
                    return Err(format!("{place}: {candidate} has {n} figures for {asked} metrics"));
                }
                if let Some(odd) = figures.iter().find(|figure| !figure.is_finite() || **figure < 0.0) {
                    return Err(format!("{place}: {candidate} has the figure {odd}"));
                }
            }
        }
        for run in &self.reproduction.runs {
            run.workloads.iter().try_for_each(|workload| is_workload(workload))?;
            if let Some(unknown) = run.filesystems.iter().find(|kind| filesystems::find(kind).is_none()) {
                return Err(filesystems::unknown(unknown));
            }
        }
        self.claims.iter().try_for_each(|claim| {
            self.is_claim(claim).map_err(|wrong| format!("the claim \"{}\": {wrong}", claim.says))
        })
    }

    fn is_claim(&self, claim: &Claim) -> Result<(), String> {
        claim.workloads.iter().try_for_each(|workload| is_workload(workload))?;
        match (claim.tests.is_empty(), &claim.untested) {
            (true, None) => return Err("it has no tests and no reason in untested".into()),
            (false, Some(_)) => return Err("it has tests and a reason why it is untested".into()),
            (false, None) if claim.workloads.is_empty() => return Err("it has tests and no workloads".into()),
            _ => {}
        }
        for test in &claim.tests {
            test.than_workload.iter().try_for_each(|workload| is_workload(workload))?;
            test.of.iter().chain(&test.than).try_for_each(|candidate| self.is_candidate(candidate))?;
            if test.of.is_empty() || test.metrics.is_empty() {
                return Err("a test needs metrics and candidates (of)".into());
            }
            if test.has_others() != test.relation.is_of_pairs() {
                let needs = if test.relation.is_of_pairs() { "needs" } else { "takes no" };
                return Err(format!("the relation '{}' {needs} other side (than)", test.relation));
            }
            if let Relation::Within([low, high]) | Relation::Ratio([low, high]) = test.relation
                && low > high
            {
                return Err(format!("the relation '{}' has its ends in the wrong order", test.relation));
            }
            if let Relation::Highest(n) | Relation::Lowest(n) = test.relation
                && !(1..test.of.len() + test.than.len()).contains(&n)
            {
                let all = test.of.len() + test.than.len();
                return Err(format!(
                    "highest and lowest take 1 to {}: its test ranks {all} candidates",
                    all - 1
                ));
            }
            if let Some(same) = test.of.iter().find(|one| test.than.contains(one)) {
                return Err(format!("{same} is compared with itself"));
            }
        }
        Ok(())
    }

    fn is_candidate(&self, name: &str) -> Result<(), String> {
        match filesystems::find(name).is_some() || self.candidate(name).is_some() {
            true => Ok(()),
            false => Err(filesystems::unknown(name)),
        }
    }
}

fn is_workload(name: &str) -> Result<(), String> {
    let all = || workloads::TABLE.iter().flat_map(|engine| engine.sets()).map(|set| set.name);
    workloads::find(name).map(|_| ()).ok_or_else(|| names::unknown("workload", name, all()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_paper_passes_as_a_file_of_ones_own() {
        for (name, text) in TABLE {
            parse(text, name).unwrap_or_else(|e| panic!("{e}"));
        }
    }

    #[test]
    fn what_is_wrong_with_a_paper_is_said() {
        let (_, whole) = TABLE.iter().find(|(name, _)| *name == "djordjevic-2008").expect("it is shipped");
        for (was, is, says) in [
            ("workload = \"mail-2008-1\"", "workload = \"mail-2007\"", "unknown workload 'mail-2007'"),
            ("reiserfs = [5.71, 6.68]", "reiserfs = [5.71]", "reiserfs has 1 figures for 2 metrics"),
            ("reiserfs = [5.71, 6.68]", "reiserfs = [5.71, nan]", "the figure NaN"),
            ("of = [\"reiserfs\"]", "of = [\"riserfs\"]", "riserfs"),
            ("relation = \"more\"", "relation = \"falling\"", "takes no other side"),
            ("year = 2008", "yaer = 2008", "yaer"),
            ("scale = \"1/18\"", "filesystems = [\"ext3-ordred\"]", "ext3-ordred"),
            ("scale = \"1/18\"", "workloads = [\"mail-2008-9\"]", "unknown workload 'mail-2008-9'"),
            ("relation = \"more\"", "relation = { ratio = [2.0, 1.0] }", "in the wrong order"),
            ("relation = \"more\"", "relation = { highest = 5 }", "take 1 to 4"),
        ] {
            let text = whole.replacen(was, is, 1);
            assert_ne!(text, *whole, "{was}");
            let error = parse(&text, "mine.toml").expect_err(says);
            assert!(error.what.contains(says) && error.what.contains("mine.toml"), "{error}");
        }
        let error = load("djordjevic-2007").expect_err("no such paper");
        assert!(error.what.contains("did you mean 'djordjevic-2008'"), "{error}");
    }
}
