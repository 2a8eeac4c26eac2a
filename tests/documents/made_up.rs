//! One new file and one row add anything that has a table; `make nightly` builds what is added and runs its commands and tests.

use crate::support::made_up;

#[test]
fn what_is_made_up_is_a_file_and_a_row_each() {
    made_up::is_a_file_and_a_row_each();
}
