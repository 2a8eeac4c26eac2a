//! Why nobody can tell. Sentences that differ only in what they are about become one.

use crate::papers::here::Ends;
use crate::report::view::number::list;
use crate::report::view::reproduced::Grouped;

/// A sentence about one or several things: a filesystem, or a metric of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    before: String,
    about: Vec<String>,
    after: String,
}

impl Said {
    pub fn about(before: impl Into<String>, about: impl Into<String>, after: impl Into<String>) -> Self {
        Said { before: before.into(), about: vec![about.into()], after: after.into() }
    }

    pub fn text(&self) -> String {
        format!("{}{}{}", self.before, list(&self.about), self.after)
    }

    /// Whether the other sentence is alike. If so, this one is then about its things too.
    fn takes_in(&mut self, other: &Said) -> bool {
        let is_alike = (&self.before, &self.after) == (&other.before, &other.after);
        if is_alike {
            other.about.iter().for_each(|about| once(&mut self.about, about.clone()));
        }
        is_alike
    }
}

impl<T: Into<String>> From<T> for Said {
    fn from(text: T) -> Self {
        Said { before: text.into(), about: Vec::new(), after: String::new() }
    }
}

pub struct Reason {
    pub said: Vec<Said>,
    /// What it takes to tell.
    pub takes: Option<Said>,
    /// The range of work that is not the paper's: no verdict may rest on it. Logarithms of a ratio, or values.
    pub range: Option<Ends>,
}

impl Reason {
    pub fn only(said: impl Into<Said>) -> Self {
        Reason { said: vec![said.into()], takes: None, range: None }
    }

    pub fn takes(said: impl Into<Said>, takes: impl Into<Said>) -> Self {
        Reason { takes: Some(takes.into()), ..Reason::only(said) }
    }
}

/// Why a claim has no verdict, and what it would take.
#[derive(Default)]
pub struct Open {
    pub because: Vec<Said>,
    pub takes: Vec<Said>,
}

/// The sentences of one claim, each once.
pub fn joined(of: impl Iterator<Item = Said>) -> Vec<Said> {
    let mut all: Vec<Said> = Vec::new();
    for said in of {
        if !all.iter_mut().any(|known| known.takes_in(&said)) {
            all.push(said);
        }
    }
    all
}

/// The sentences of several claims, each once, with the numbers of its claims.
pub fn grouped(of: impl Iterator<Item = (usize, Said)>) -> Vec<Grouped> {
    let mut all: Vec<(Said, Vec<usize>)> = Vec::new();
    for (claim, said) in of {
        match all.iter_mut().find_map(|(known, claims)| known.takes_in(&said).then_some(claims)) {
            Some(claims) => claims.push(claim),
            None => all.push((said, vec![claim])),
        }
    }
    all.into_iter()
        .map(|(said, mut claims)| {
            claims.dedup();
            Grouped { said: said.text(), claims }
        })
        .collect()
}

pub fn once(all: &mut Vec<String>, text: String) {
    if !all.contains(&text) {
        all.push(text);
    }
}
