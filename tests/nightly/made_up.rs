//! One new file and one row add anything that has a table, and its tests hold it.

use crate::support::made_up::{Commands, is_a_file_and_a_row_each};

#[test]
fn what_is_made_up_is_a_file_and_a_row_each_and_its_tests_hold_it() {
    is_a_file_and_a_row_each(Commands::All);
}
