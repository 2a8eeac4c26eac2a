//! A run's folder: versioned, append-only, checksummed records that survive death at any moment.

pub mod record;
