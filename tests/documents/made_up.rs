//! One new file and one row add anything that has a table; `make nightly` runs the tests of what is added too.

use crate::support::made_up::{Commands, is_a_file_and_a_row_each};

#[test]
fn what_is_made_up_is_a_file_and_a_row_each() {
    is_a_file_and_a_row_each(Commands::OfTheProgram);
}
