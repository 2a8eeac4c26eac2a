//! The shipped parameter sets.

use fsderby::schema::units::{GIB, KIB, MIB, Scale};
use fsderby::workloads::iozone::IoZone;
use fsderby::workloads::iozone::parameters::Parameters;
use fsderby::workloads::iozone::table::Test;
use fsderby::workloads::{ParamSet, Work, Workload};

fn set(name: &str) -> &'static ParamSet {
    IoZone.sets().iter().find(|set| set.name == name).unwrap()
}

fn parameters(name: &str) -> Parameters {
    Parameters::parse(&set(name).file().parameters).unwrap()
}

#[test]
fn every_set_parses_scales_and_says_where_it_comes_from() {
    for set in IoZone.sets() {
        let file = set.file();
        assert!(!file.story.trim().is_empty() && !file.source.trim().is_empty(), "{}", set.name);
        for by in [2, 64, 4096] {
            let scaled = IoZone.scale(&file.parameters, Scale { of: 1, by }).expect(set.name);
            let (whole, part) = (IoZone.parse(&file.parameters).unwrap(), IoZone.parse(&scaled).unwrap());
            assert!(part.amount(1).bytes_written < whole.amount(1).bytes_written, "{}, 1/{by}", set.name);
        }
    }
}

#[test]
fn the_papers_sets_differ_in_their_records_alone() {
    let (read, printed) = (parameters("provao-iozone"), parameters("provao-iozone-as-printed"));
    assert_eq!((read.tests.clone(), read.ways), (printed.tests.clone(), printed.ways));
    let records = |p: &Parameters, file| {
        let of_file = p.pairs.iter().filter(|pair| pair.file == file);
        of_file.map(|pair| pair.record).collect::<Vec<u64>>()
    };
    for file in [GIB, 2 * GIB, 4 * GIB] {
        let doubled = |first: u64| (0..9).map(|n| first << n).collect::<Vec<u64>>();
        assert_eq!(records(&read, file), doubled(64 * KIB));
        assert_eq!(records(&printed, file), doubled(64));
    }
    let numbers = read.tests.iter().map(|test| *test as usize).collect::<Vec<_>>();
    assert_eq!(numbers, [0, 1, 2, 5, 6, 7]);
    assert!(!read.tests.contains(&Test::Mixed));
}

/// What fits into memory alone says nothing about a disk.
#[test]
fn the_quick_set_outgrows_the_memory_that_it_names() {
    assert!(parameters("iozone-quick").amount(1).bytes_peak > 24 * MIB);
}
