//! What a disk file can have wrong.

/// What is wrong with a disk file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    #[error("it is not TOML: {0}")]
    Syntax(String),
    #[error("`{key}` is missing")]
    Missing { key: String },
    #[error("`{key}` is unknown; allowed are {allowed}")]
    Unknown { key: String, allowed: String },
    #[error("`{key}` cannot be {value}; allowed is {allowed}")]
    Wrong { key: String, value: String, allowed: String },
    #[error(
        "`{key} = {value}` does not say where it comes from; allowed is \
         {{ is = VALUE, source = \"…\" }} or {{ is = VALUE, estimate = \"why\" }}"
    )]
    Unsourced { key: String, value: String },
    #[error("the values of `{keys}` do not fit together: {why}")]
    Contradiction { keys: String, why: String },
}
