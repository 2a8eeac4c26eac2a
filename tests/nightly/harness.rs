//! Two thousand lists of hostile arguments, errors that panic among them, where a kernel may panic: in a guest that is the host.

use crate::support::harness;
use crate::support::harness_battery::no_list_harms_the_host;

/// The init of these machines, which anywhere else does nothing.
#[test]
fn inside() {
    assert!(!harness::is_inside(), "only a machine of ours has it as its first process");
}

pub fn entropy() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs()
}

mod first {
    #[test]
    fn none_of_five_hundred_lists_harms_the_host() {
        super::no_list_harms_the_host(500, super::entropy());
    }
}

mod second {
    #[test]
    fn none_of_five_hundred_lists_harms_the_host() {
        super::no_list_harms_the_host(500, super::entropy());
    }
}

mod third {
    #[test]
    fn none_of_five_hundred_lists_harms_the_host() {
        super::no_list_harms_the_host(500, super::entropy());
    }
}

mod fourth {
    #[test]
    fn none_of_five_hundred_lists_harms_the_host() {
        super::no_list_harms_the_host(500, super::entropy());
    }
}
