//! The abilities of the kinds, side by side.

use crate::report::view::Summary;

/// A line for each ability, a column for each kind.
pub struct Abilities {
    pub kinds: Vec<String>,
    pub lines: Vec<(&'static str, Vec<Answer>)>,
    pub sources: Vec<&'static str>,
}

pub struct Answer {
    pub text: String,
    pub source: &'static str,
    pub footnote: usize,
}

impl Abilities {
    pub fn of(summary: &Summary) -> Abilities {
        let mut sources: Vec<&'static str> = Vec::new();
        let mut footnote = |source: &'static str| {
            let at = sources.iter().position(|s| *s == source).unwrap_or_else(|| {
                sources.push(source);
                sources.len() - 1
            });
            at + 1
        };
        let mut lines = Vec::new();
        for (at, fact) in
            summary.kinds.first().map(|k| k.facts.as_slice()).unwrap_or_default().iter().enumerate()
        {
            let answers = summary.kinds.iter().map(|kind| {
                let fact = &kind.facts[at];
                Answer { text: fact.value.clone(), source: fact.source, footnote: footnote(fact.source) }
            });
            lines.push((fact.title, answers.collect()));
        }
        Abilities { kinds: summary.kinds.iter().map(|k| k.name.clone()).collect(), lines, sources }
    }
}
