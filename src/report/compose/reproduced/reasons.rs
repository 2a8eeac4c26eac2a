//! Why nobody can tell. Sentences that differ only in what they are about become one.

use crate::papers::here::Ends;
use crate::report::view::number::list;
use crate::report::view::reproduced::OfClaims;

/// A sentence about one or several things: a filesystem, or a metric of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence {
    before: String,
    about: Vec<String>,
    after: String,
}

impl Sentence {
    pub fn about(before: impl Into<String>, about: impl Into<String>, after: impl Into<String>) -> Self {
        Sentence { before: before.into(), about: vec![about.into()], after: after.into() }
    }

    pub fn text(&self) -> String {
        format!("{}{}{}", self.before, list(&self.about), self.after)
    }

    /// A sentence about each thing alone.
    fn apart(self) -> Vec<Sentence> {
        if self.about.is_empty() {
            return vec![self];
        }
        let alone = |about: &String| Sentence { about: vec![about.clone()], ..self.clone() };
        self.about.iter().map(alone).collect()
    }

    /// Whether the other sentence is alike. If so, this one is then about its things too.
    fn takes_in(&mut self, other: &Sentence) -> bool {
        let is_alike = (&self.before, &self.after) == (&other.before, &other.after);
        if is_alike {
            other.about.iter().for_each(|about| once(&mut self.about, about.clone()));
        }
        is_alike
    }
}

impl<T: Into<String>> From<T> for Sentence {
    fn from(text: T) -> Self {
        Sentence { before: text.into(), about: Vec::new(), after: String::new() }
    }
}

/// What it takes to tell.
#[derive(Clone, Debug)]
pub enum Takes {
    /// 1/n of the work, or more; with 1 all of it. More work has more memory too.
    Scale(u64),
    /// What a larger scale would change as well.
    OrScale(String),
    Other(Sentence),
}

/// Why a comparison has no verdict.
#[derive(Default)]
pub struct Reason {
    pub because: Vec<Sentence>,
    pub takes: Vec<Takes>,
    /// The range of work that is not the paper's: no verdict may rest on it. Logarithms of a ratio, or values.
    pub range: Option<Ends>,
}

impl Reason {
    pub fn only(because: impl Into<Sentence>) -> Self {
        Reason { because: vec![because.into()], ..Reason::default() }
    }

    pub fn takes(because: impl Into<Sentence>, takes: impl Into<Sentence>) -> Self {
        Reason { takes: vec![Takes::Other(takes.into())], ..Reason::only(because) }
    }

    /// Adds what another check found.
    pub fn add(&mut self, other: Reason) {
        self.because.extend(other.because);
        self.takes.extend(other.takes);
        self.range = hull(self.range, other.range);
    }
}

pub fn hull(one: Option<Ends>, other: Option<Ends>) -> Option<Ends> {
    match (one, other) {
        (Some(a), Some(b)) => Some([a[0].min(b[0]), a[1].max(b[1])]),
        (one, other) => one.or(other),
    }
}

/// What it takes for all of a claim: the largest scale of all, and everything else.
pub fn together(all: Vec<Takes>) -> Vec<Sentence> {
    let scale =
        all.iter().filter_map(|takes| if let Takes::Scale(by) = takes { Some(*by) } else { None }).min();
    let of_scale = scale.map(|by| match by {
        0 | 1 => Sentence::from("a run at full size"),
        by => Sentence::from(format!("--scale 1/{by}")),
    });
    let others = all.into_iter().filter_map(|takes| match takes {
        Takes::Other(other) => Some(other),
        Takes::OrScale(other) => Some(other.into()).filter(|_| scale.is_none()),
        Takes::Scale(_) => None,
    });
    joined(of_scale.into_iter().chain(others))
}

/// Why a claim has no verdict, and what it would take.
#[derive(Default)]
pub struct Reasons {
    pub because: Vec<Sentence>,
    pub takes: Vec<Sentence>,
}

/// The sentences of one claim, each once.
pub fn joined(of: impl Iterator<Item = Sentence>) -> Vec<Sentence> {
    let mut all: Vec<Sentence> = Vec::new();
    for sentence in of {
        if !all.iter_mut().any(|known| known.takes_in(&sentence)) {
            all.push(sentence);
        }
    }
    all
}

/// The sentences of several claims, each with the numbers of exactly its claims. Of alike sentences, those with the same claims
/// are one.
pub fn by_claims(of: impl Iterator<Item = (usize, Sentence)>) -> Vec<OfClaims> {
    let mut each: Vec<(Sentence, Vec<usize>)> = Vec::new();
    for (claim, sentence) in of {
        for one in sentence.apart() {
            match each.iter_mut().find(|(known, _)| *known == one) {
                Some((_, claims)) => claims.push(claim),
                None => each.push((one, vec![claim])),
            }
        }
    }
    let mut all: Vec<(Sentence, Vec<usize>)> = Vec::new();
    for (sentence, claims) in each {
        if !all.iter_mut().any(|(known, of)| *of == claims && known.takes_in(&sentence)) {
            all.push((sentence, claims));
        }
    }
    all.into_iter().map(|(sentence, claims)| OfClaims { said: sentence.text(), claims }).collect()
}

pub fn once(all: &mut Vec<String>, text: String) {
    if !all.contains(&text) {
        all.push(text);
    }
}

/// Text of a file, which goes on in a sentence.
pub fn clause(text: &str) -> String {
    flat(text).trim_end_matches('.').to_owned()
}

/// Text of a file on one line.
pub fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
