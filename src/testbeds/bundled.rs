//! The bundle from which a testbed's guests start, if one is named.

use std::sync::{Arc, OnceLock};

use super::Missing;
use crate::guest::bundle::{self, Bundle};

/// The bundle that a testbed's text names, if it names one.
#[derive(Default)]
pub struct Bundled {
    id: Option<String>,
    found: OnceLock<Result<Arc<Bundle>, Missing>>,
}

impl Bundled {
    /// `guest=ID` in a testbed's settings.
    ///
    /// # Errors
    /// If the text cannot be the beginning of a bundle's ID, or a kernel is named too.
    pub fn of(id: Option<&str>, kernel: Option<&str>) -> Result<Self, Missing> {
        match (id, kernel) {
            (Some(id), _) if !bundle::is_id(id) => Err(Missing {
                what: format!("guest={id} is unknown"),
                try_this: "one of fsderby guest list".into(),
            }),
            (Some(id), Some(kernel)) => Err(Missing {
                what: format!("the guest bundle {id} contains its own kernel"),
                try_this: format!("without kernel={kernel}, or without guest={id}"),
            }),
            (id, _) => Ok(Bundled { id: id.map(str::to_owned), found: OnceLock::new() }),
        }
    }

    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// The bundle, searched once.
    ///
    /// # Errors
    /// If the bundle is not in the cache, or is unusable.
    pub fn find(&self) -> Result<Option<&Arc<Bundle>>, Missing> {
        let Some(id) = &self.id else { return Ok(None) };
        let look = || {
            let found = bundle::named(id).and_then(|bundle| bundle.is_spoken_with().map(|()| bundle));
            found.map_err(|e| Missing {
                what: e.what,
                try_this: e.try_this.unwrap_or_else(|| {
                    "fsderby guest import FILE, with a bundle from whoever built it".into()
                }),
            })
        };
        self.found.get_or_init(look).as_ref().map(Some).map_err(Clone::clone)
    }

    /// The bundle, if it is in the cache.
    pub fn get(&self) -> Option<&Bundle> {
        self.find().ok().flatten().map(|bundle| &**bundle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_is_named_by_digits_and_without_a_kernel() {
        let said = |id: &str, kernel| {
            Bundled::of(Some(id), kernel).err().map_or_else(String::new, |e| e.to_string())
        };
        assert_eq!(said("0123456789abcdef", None), "");
        let long = "0".repeat(65);
        for id in ["", "0123", "../../0123456789", "0123456789ABCDEF", &long] {
            assert!(said(id, None).contains("fsderby guest list"), "{id}");
        }
        assert!(said("0123456789abcdef", Some("6.12")).contains("contains its own kernel"));
    }
}
