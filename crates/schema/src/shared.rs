//! Values that many records have in common, held in memory once.
//!
//! A run's records repeat the names of their metrics and the parameters of their works. A report holds all records, so these
//! texts took most of its memory. Sharing is invisible: a shared value is read, compared and stored as the value itself, and
//! a change of one record's value makes a copy first.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A value that other records may hold, too.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Shared<T>(Arc<T>);

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Shared(Arc::clone(&self.0))
    }
}

impl<T> From<T> for Shared<T> {
    fn from(value: T) -> Self {
        Shared(Arc::new(value))
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut T {
        Arc::make_mut(&mut self.0)
    }
}

impl<'s, T> IntoIterator for &'s Shared<T>
where
    &'s T: IntoIterator,
{
    type Item = <&'s T as IntoIterator>::Item;
    type IntoIter = <&'s T as IntoIterator>::IntoIter;

    fn into_iter(self) -> Self::IntoIter {
        (&**self).into_iter()
    }
}

impl<T: Serialize> Serialize for Shared<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        T::serialize(self, to)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Shared<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        T::deserialize(from).map(Self::from)
    }
}

/// Number of values that are compared with a new one. A sweep over sizes has some hundred metrics.
const MOST: usize = 1024;

/// The values seen so far.
#[derive(Debug)]
pub struct Known<T> {
    values: Vec<Shared<T>>,
    /// Index of the value expected next: records list the same values in the same order.
    next: usize,
}

impl<T> Default for Known<T> {
    fn default() -> Self {
        Known { values: Vec::new(), next: 0 }
    }
}

impl<T: PartialEq> Known<T> {
    /// Replaces the value by an equal one seen before, if there is one.
    pub fn share(&mut self, value: &mut Shared<T>) {
        let (before, after) = self.values.split_at(self.next.min(self.values.len()));
        let is_it = |known: &Shared<T>| **known == **value;
        let found = after.iter().position(is_it).map(|at| before.len() + at);
        if let Some(at) = found.or_else(|| before.iter().position(is_it)) {
            *value = self.values[at].clone();
            self.next = at + 1;
            return;
        }
        if self.values.len() == MOST {
            self.values.clear();
        }
        self.values.push(value.clone());
        self.next = self.values.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_are_held_once_and_changed_apart() {
        let mut known = Known::default();
        let mut all: Vec<Shared<String>> = ["a", "b", "a", "b"].map(|text| text.to_owned().into()).into();
        all.iter_mut().for_each(|value| known.share(value));
        assert!(Arc::ptr_eq(&all[0].0, &all[2].0) && Arc::ptr_eq(&all[1].0, &all[3].0));
        all[2].push('c');
        assert_eq!(all.iter().map(|value| value.as_str()).collect::<Vec<_>>(), ["a", "b", "ac", "b"]);
        assert_eq!(serde_json::to_string(&all[2]).unwrap(), "\"ac\"");
    }

    #[test]
    fn more_values_than_are_compared_are_kept_apart() {
        let mut known = Known::default();
        let mut all: Vec<Shared<usize>> = (0..=MOST).chain(0..=MOST).map(Shared::from).collect();
        all.iter_mut().for_each(|value| known.share(value));
        assert!(all.iter().map(|value| **value).eq((0..=MOST).chain(0..=MOST)));
    }
}
