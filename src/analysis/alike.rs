//! Whether two candidates are of one kind. Then the instructions that both execute are the same code, and take both candidates the
//! same time at any instruction cost.
//!
//! ```text
//! one kind              the same row of the table of filesystems; versions of filesystem, kernel and tools may differ
//!   the same algorithms no option selects another algorithm for one of them, such as compress=lzo against compress=zstd
//!   the same layers     or no layer under one of them: a layer only adds instructions
//! ```
//! Two candidates of a kind that is not in the table are of one kind only if they have the same options.

use std::collections::BTreeSet;

use crate::filesystems;
use crate::schema::record::Record;

pub fn are_of_one_kind(a: &Record, b: &Record) -> bool {
    let layered = a.layers == b.layers || a.layers.is_empty() || b.layers.is_empty();
    a.kind == b.kind && layered && algorithms(a) == algorithms(b)
}

fn algorithms(record: &Record) -> BTreeSet<String> {
    let variant = &record.variant;
    match filesystems::find(&record.kind) {
        Some(kind) => filesystems::algorithms(kind, variant),
        None => variant.mkfs.iter().chain(&variant.mount).cloned().collect(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::tests::example::record;
    use super::*;
    use crate::schema::setup::Named;

    #[test]
    fn one_kind_with_the_same_options_is_one_and_another_kind_is_not() {
        let mut other = record();
        assert!(are_of_one_kind(&record(), &other));
        other.kind = "nobodys".into();
        assert!(!are_of_one_kind(&record(), &other));
        let mut unknown = other.clone();
        assert!(are_of_one_kind(&other, &unknown));
        unknown.variant.mount = vec!["noatime".into()];
        assert!(!are_of_one_kind(&other, &unknown), "nobody knows what its options choose");
        let with = |option: &str| {
            let mut one = record();
            one.variant.mount = vec![option.into()];
            one
        };
        assert!(are_of_one_kind(&record(), &with("noatime")));
        assert!(!are_of_one_kind(&record(), &with("data=journal")));
    }

    #[test]
    fn a_layer_under_one_of_two_adds_instructions_and_another_layer_exchanges_them() {
        let crypt = |cipher: &str| {
            let mut one = record();
            one.layers = vec![Named::new("crypt", &BTreeMap::from([("cipher", cipher)]))];
            one
        };
        assert!(are_of_one_kind(&record(), &crypt("aes")));
        assert!(are_of_one_kind(&crypt("aes"), &crypt("aes")));
        assert!(!are_of_one_kind(&crypt("serpent"), &crypt("aes")));
    }
}
