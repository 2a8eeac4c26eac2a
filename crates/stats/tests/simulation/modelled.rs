//! A verdict on a modelled disk: rates for equal builds and for planted differences.

use super::rates::{
    CPU, FLASH, FLUSH, HARD, NONE, Planted, QUEUED, SEEK, Shared, Study, Truth, least, named,
    of_equal_builds, planted, power, wrong,
};
use fsderby_stats::robust::Side;
use fsderby_stats::screening::RUNS;

/// `cargo run --release -p fsderby-stats --example modelled` prints all rates from 1,000 studies.
const STUDIES: usize = 200;

#[test]
fn the_same_twice_is_always_equivalent() {
    let mut study = Study::new(9, 0.1);
    for n in 0..STUDIES {
        let one = study.measure(Truth::with_cpu(n as f64 / STUDIES as f64), RUNS);
        // The corner is tried once for both, because it is the same trial.
        study.sigma = 0.0;
        assert_eq!(study.judge(&one, &one, Shared::Kind), Some(Side::Inside));
        study.sigma = 0.1;
    }
}

#[test]
fn builds_without_a_difference_are_equivalent() {
    for cpu in [0.1, 0.5, 0.9] {
        for sigma in [0.0025, 0.005] {
            let (equivalent, different) = of_equal_builds(STUDIES, sigma, cpu, QUEUED, 1);
            println!("σ {sigma}, CPU {cpu}: equivalent {equivalent:.3}, called different {different:.3}");
            assert!(
                equivalent >= 0.95 && different == 0.0,
                "σ {sigma}, CPU {cpu}: {equivalent}, {different}"
            );
        }
    }
}

#[test]
fn a_difference_that_is_there_at_its_least_favourable_end_is_found() {
    for part in [CPU, FLUSH, SEEK] {
        for shared in [Shared::Kind, Shared::Work(0.1)] {
            for cpu in [0.05, 0.5] {
                for misses in [NONE, FLASH, HARD] {
                    let of = Planted { a: Truth::with_cpu(cpu), part, reckoned: misses, judged: misses };
                    let Some(rate) = power(STUDIES, 0.005, of, 1.05, shared, 2) else { continue };
                    println!("part {part}, {shared:?}, CPU {cpu}, {misses:?}: found {rate:.3}");
                    assert!(rate >= 0.80, "part {part}, {shared:?}, CPU {cpu}, {misses:?}: {rate}");
                }
            }
        }
    }
}

/// A difference in queued seeks may be the model's error. A difference found on other disks is not found there.
#[test]
fn what_the_models_error_may_make_up_is_not_found_and_where_that_is_small_all_is() {
    for (part, misses, least, most) in [
        (SEEK, NONE, 0.95, 1.0),
        (SEEK, FLASH, 0.95, 1.0),
        (SEEK, HARD, 0.95, 1.0),
        (SEEK, QUEUED, 0.0, 0.1),
        (FLUSH, QUEUED, 0.95, 1.0),
        (CPU, QUEUED, 0.95, 1.0),
    ] {
        let of = Planted { a: Truth::with_cpu(0.05), part, reckoned: NONE, judged: misses };
        let rate = power(STUDIES, 0.005, of, 1.05, Shared::Kind, 2).unwrap();
        println!("part {part}, {misses:?}: found {rate:.3}");
        assert!((least..=most).contains(&rate), "part {part}, {misses:?}: {rate}");
    }
}

/// For any error of the model up to the one found in validation.
#[test]
fn few_findings_are_in_the_wrong_direction_for_the_real_disk() {
    for off in [FLASH, HARD, QUEUED] {
        let [plain, held] = [NONE, off].map(|judged| wrong(STUDIES, 0.005, 1.0, off, judged, 7));
        println!("{off:?}: wrong {plain:.3}, with the error held against them {held:.3}");
        assert!(held == 0.0 && (plain > 0.0 || off != QUEUED), "{off:?}: {held}, {plain}");
    }
}

#[test]
fn what_is_planted_is_what_it_says() {
    let a = Truth::with_cpu(0.5);
    let b = planted(a, FLUSH, 1.05, Shared::Kind, &NONE).unwrap();
    assert!((least(&a, &b, Shared::Kind, &NONE) - 1.05_f64.ln()).abs() < 1e-9);
    assert!(
        planted(a, CPU, 1.05, Shared::Work(0.0), &NONE).is_some()
            && least(&a, &a, Shared::Kind, &HARD) == 0.0
    );
}

#[test]
fn few_reports_find_anything_in_the_wrong_direction() {
    for sigma in [0.005, 0.02, 0.1] {
        for spread in [0.02, 0.2] {
            let rate = wrong(STUDIES / 4, sigma, spread, NONE, NONE, 3);
            println!("σ {sigma}, spread {spread}: wrong {rate:.3}");
            assert!(rate <= 0.05, "σ {sigma}, spread {spread}: {rate}");
        }
    }
}

/// 5 % of 200 is 10; 15 is about two standard deviations more.
#[test]
fn reports_without_any_effect_name_no_factor() {
    for deviations in [[0.02; 8], [0.01, 0.01, 0.02, 0.02, 0.03, 0.05, 0.07, 0.07]] {
        let (any, _) = named(STUDIES, deviations, 0.0, 4);
        println!("{deviations:?}: a factor is named in {any:.3}");
        assert!(any <= 0.075, "{any}");
        let (found, false_names) = named(STUDIES / 4, deviations, 0.04, 5);
        println!("{deviations:?}: an effect of 0.04 is named in {found:.3}, false {false_names:.3}");
        assert!(found > 0.9 && false_names < 0.1, "{found} {false_names}");
    }
}
