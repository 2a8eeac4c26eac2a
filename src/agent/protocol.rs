pub use crate::schema::event::*;
pub use crate::schema::job::*;
pub use crate::schema::setup::*;
