//! Two thousand lists of hostile arguments, of new seeds each time.

use crate::support::neighbours::none_reaches_a_neighbour;

fn entropy() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs()
}

#[test]
fn of_a_first_thousand_no_argument_reaches_a_neighbour() {
    none_reaches_a_neighbour(1000, entropy());
}

#[test]
fn of_a_second_thousand_no_argument_reaches_a_neighbour() {
    none_reaches_a_neighbour(1000, entropy());
}
