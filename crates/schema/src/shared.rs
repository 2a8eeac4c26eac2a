//! Values that many records have in common, held in memory once.
//!
//! A run's records repeat the names of their metrics and the parameters of their works. A report holds all records, so these
//! texts took most of its memory. Sharing is invisible: a shared value is read, compared and stored as the value itself, and
//! a change of one record's value makes a copy first.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut, Index};
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator};
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

impl<I, T: FromIterator<I>> FromIterator<I> for Shared<T> {
    fn from_iter<A: IntoIterator<Item = I>>(all: A) -> Self {
        T::from_iter(all).into()
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

impl<T: JsonSchema> JsonSchema for Shared<T> {
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }

    fn inline_schema() -> bool {
        T::inline_schema()
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

/// A map whose keys many records have in common: the names of counters. It is read, compared and stored as a sorted map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keyed<V> {
    /// In ascending order.
    keys: Shared<Vec<String>>,
    /// One for each key.
    values: Vec<V>,
}

impl<V> Default for Keyed<V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V> Keyed<V> {
    pub fn new() -> Self {
        Keyed { keys: Shared::default(), values: Vec::new() }
    }

    pub fn get(&self, key: &str) -> Option<&V> {
        self.values.get(self.place(key).ok()?)
    }

    pub fn get_mut(&mut self, key: &str) -> Option<&mut V> {
        let at = self.place(key).ok()?;
        self.values.get_mut(at)
    }

    pub fn contains_key(&self, key: &str) -> bool {
        self.place(key).is_ok()
    }

    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    pub fn len(&self) -> usize {
        self.values.len()
    }

    pub fn keys(&self) -> impl Iterator<Item = &String> {
        self.keys.iter()
    }

    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.values.iter()
    }

    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.values.iter_mut()
    }

    /// In ascending order of the keys.
    pub fn iter(&self) -> <&Self as IntoIterator>::IntoIter {
        self.into_iter()
    }

    /// The value of this key, which is added if it is not there.
    pub fn or_default(&mut self, key: &str) -> &mut V
    where
        V: Default,
    {
        let at = self.place(key).unwrap_or_else(|at| {
            self.keys.insert(at, key.to_owned());
            self.values.insert(at, V::default());
            at
        });
        &mut self.values[at]
    }

    pub fn insert(&mut self, key: String, value: V) {
        match self.place(&key) {
            Ok(at) => self.values[at] = value,
            Err(at) => {
                self.keys.insert(at, key);
                self.values.insert(at, value);
            }
        }
    }

    pub fn remove(&mut self, key: &str) -> Option<V> {
        let at = self.place(key).ok()?;
        self.keys.remove(at);
        Some(self.values.remove(at))
    }

    /// Holds the keys once if earlier maps have the same.
    pub fn share(&mut self, known: &mut Known<Vec<String>>) {
        known.share(&mut self.keys);
        self.values.shrink_to_fit();
    }

    /// Where the key is, or where it belongs.
    fn place(&self, key: &str) -> Result<usize, usize> {
        self.keys.binary_search_by(|known| known.as_str().cmp(key))
    }
}

impl<V> From<BTreeMap<String, V>> for Keyed<V> {
    fn from(map: BTreeMap<String, V>) -> Self {
        let (keys, values): (Vec<String>, Vec<V>) = map.into_iter().unzip();
        Keyed { keys: keys.into(), values }
    }
}

impl<V> FromIterator<(String, V)> for Keyed<V> {
    fn from_iter<I: IntoIterator<Item = (String, V)>>(all: I) -> Self {
        all.into_iter().collect::<BTreeMap<String, V>>().into()
    }
}

impl<V> Index<&str> for Keyed<V> {
    type Output = V;

    /// # Panics
    /// Without this key, as a map does.
    fn index(&self, key: &str) -> &V {
        self.get(key).expect("a key of this map")
    }
}

impl<V> Extend<(String, V)> for Keyed<V> {
    fn extend<I: IntoIterator<Item = (String, V)>>(&mut self, all: I) {
        all.into_iter().for_each(|(key, value)| self.insert(key, value));
    }
}

impl<V, const N: usize> From<[(String, V); N]> for Keyed<V> {
    fn from(all: [(String, V); N]) -> Self {
        all.into_iter().collect()
    }
}

impl<'k, V> IntoIterator for &'k Keyed<V> {
    type Item = (&'k String, &'k V);
    type IntoIter = std::iter::Zip<std::slice::Iter<'k, String>, std::slice::Iter<'k, V>>;

    fn into_iter(self) -> Self::IntoIter {
        self.keys.iter().zip(&self.values)
    }
}

impl<V> IntoIterator for Keyed<V> {
    type Item = (String, V);
    type IntoIter = std::iter::Zip<std::vec::IntoIter<String>, std::vec::IntoIter<V>>;

    fn into_iter(self) -> Self::IntoIter {
        let keys = Arc::try_unwrap(self.keys.0).unwrap_or_else(|shared| (*shared).clone());
        keys.into_iter().zip(self.values)
    }
}

impl<V: Serialize> Serialize for Keyed<V> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.iter())
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Keyed<V> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        BTreeMap::deserialize(from).map(Self::from)
    }
}

impl<V: JsonSchema> JsonSchema for Keyed<V> {
    fn schema_name() -> Cow<'static, str> {
        BTreeMap::<String, V>::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        BTreeMap::<String, V>::json_schema(generator)
    }

    fn inline_schema() -> bool {
        true
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
    fn a_map_is_the_sorted_map_of_its_keys_and_shares_them() {
        let mut known = Known::default();
        let given = [("b", 2), ("a", 1), ("c", 3), ("a", 4)];
        let (mut map, mut plain) = (Keyed::new(), BTreeMap::new());
        for (key, value) in given {
            map.insert(key.to_owned(), value);
            plain.insert(key.to_owned(), value);
        }
        assert_eq!(serde_json::to_string(&map).unwrap(), serde_json::to_string(&plain).unwrap());
        let mut read: Keyed<i32> = serde_json::from_str(&serde_json::to_string(&plain).unwrap()).unwrap();
        assert!(read == map && read == plain.into());
        map.share(&mut known);
        read.share(&mut known);
        assert!(Arc::ptr_eq(&map.keys.0, &read.keys.0));
        *read.or_default("aa") += 7;
        assert_eq!((read.get("aa"), map.get("aa"), read["b"], map.len()), (Some(&7), None, 2, 3));
        assert_eq!((read.remove("a"), read.get("a"), map.get("a")), (Some(4), None, Some(&4)));
    }

    #[test]
    fn more_values_than_are_compared_are_kept_apart() {
        let mut known = Known::default();
        let mut all: Vec<Shared<usize>> = (0..=MOST).chain(0..=MOST).map(Shared::from).collect();
        all.iter_mut().for_each(|value| known.share(value));
        assert!(all.iter().map(|value| **value).eq((0..=MOST).chain(0..=MOST)));
    }
}
