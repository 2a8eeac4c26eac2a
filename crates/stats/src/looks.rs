//! Group-sequential looks: when a run may be judged, and how much of the 5 % is spent by it.

/// A number of complete rounds at which a run is judged, with the error that this may spend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    pub rounds: usize,
    pub alpha: f64,
}

/// The looks that were fixed before the first round, rising.
#[derive(Clone, Debug, PartialEq)]
pub struct Looks {
    planned: Vec<Look>,
}

impl Looks {
    /// One look, after so many rounds, with all of the 5 %.
    pub fn once(rounds: usize) -> Looks {
        Looks { planned: vec![Look { rounds, alpha: 0.05 }] }
    }

    /// After 10, 14 and 20 rounds, at α 0.01, 0.015 and 0.025.
    pub fn auto() -> Looks {
        let planned = [(10, 0.01), (14, 0.015), (20, 0.025)].map(|(rounds, alpha)| Look { rounds, alpha });
        Looks { planned: planned.to_vec() }
    }

    pub fn planned(&self) -> &[Look] {
        &self.planned
    }

    /// The first planned look after more than so many rounds.
    pub fn next(&self, rounds: usize) -> Option<Look> {
        self.planned.iter().copied().find(|look| look.rounds > rounds)
    }

    /// The α that a look after so many rounds may use, where these looks were shown before: 0 where nothing is left, and
    /// then nothing can be found.
    pub fn available(&self, rounds: usize, shown: &[Look]) -> f64 {
        let _ = (rounds, shown);
        todo!()
    }

    /// What is left of the 5 % for all looks to come.
    pub fn left(&self, shown: &[Look]) -> f64 {
        let _ = shown;
        todo!()
    }
}
