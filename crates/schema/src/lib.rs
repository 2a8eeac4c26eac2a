//! Plain data that fsderby's parts exchange and store: versioned, without I/O.
//!
//! ```text
//! setup ── plan ── job ──▶ agent ──▶ event ──▶ record
//! ```

/// The schema of types that are written as a text, or as a number.
macro_rules! written_as {
    ($($name:ident: $type:literal),+) => {$(
        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": $type })
            }
        }
    )+};
}

pub mod candidate;
pub mod change;
pub mod declared;
pub mod description;
pub mod drive;
pub mod event;
pub mod finding;
pub mod import;
pub mod job;
pub mod machine;
pub mod metric;
pub mod needs;
pub mod plan;
pub mod power_cut;
pub mod random;
pub mod reason;
pub mod recommendation;
pub mod record;
pub mod request;
pub mod scenario;
pub mod seal;
pub mod setup;
pub mod shard;
pub mod shared;
pub mod units;
pub mod work;
