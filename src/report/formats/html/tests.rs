//! The page of each example, stored beside the test programs for inspection.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use super::page;
use crate::analysis::dataset::counted;
use crate::report::examples::{self, model, published, verdict};
use crate::report::view::look::{Look, MARKS};
use crate::report::view::plane::Plane;
use crate::report::view::published::Beside;
use crate::schema::finding::Guard;
use crate::schema::metric::{Metric, Quantity};
use crate::schema::reason::Reason;

fn page_of(example: &examples::Example) -> String {
    page(&example.report()).expect("the page renders")
}

/// Stores the page beside the test programs, to inspect a change in a browser.
fn leave(name: &str, page: &str) {
    let folder: PathBuf = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    std::fs::write(folder.join(name), page).unwrap();
}

#[test]
fn the_page_loads_nothing() {
    let page = page_of(&examples::example());
    leave("report-example.html", &page);
    for loading in ["http:", "https:", "src=", "@import", "<script", "<link rel=\"stylesheet", "url(//"] {
        assert!(!page.contains(loading), "{loading}");
    }
}

#[test]
fn it_follows_the_light_or_dark_setting() {
    let page = page_of(&examples::example());
    assert!(page.contains("prefers-color-scheme: dark"));
    assert!(page.contains(r#"name="color-scheme" content="light dark""#));
    assert!(!page.contains("fill=\"#"), "colours belong into the style sheet");
}

#[test]
fn every_counted_trial_of_the_headline_is_a_point() {
    let example = examples::example();
    let page = page_of(&example);
    for record in counted(&example.run) {
        let point = format!("<title>{}, round {}:", record.filesystem, record.round);
        assert!(page.contains(&point), "{}", record.trial);
    }
}

#[test]
fn a_page_of_many_rounds_has_no_more_elements_than_one_of_some() {
    let [some, many] = [60, 180].map(examples::rounds);
    let pages = [&some, &many].map(page_of);
    leave("report-many.html", &pages[1]);
    let elements = pages.each_ref().map(|page| page.matches('<').count());
    // Overlapping marks are drawn once, which depends on the values, not on their number.
    assert!(elements[0].abs_diff(elements[1]) < 60, "{elements:?}");
    // Only the headlines' dots grow, by at most `M1000 100h0` for each trial.
    let report = many.report();
    let headlines: usize = report.summary.workloads.iter().map(|w| w.headlines().len()).sum();
    let more = counted(&many.run).len() - counted(&some.run).len();
    assert!(pages[1].len() - pages[0].len() < more * headlines * "M1000 100h0".len() + 4096);
}

/// The example with ten readings per second of each work, and a stall of four readings in the second round.
fn looked_at(mut example: examples::Example, looks: usize) -> examples::Example {
    for record in &mut example.run.records {
        let mut series = vec![[100, 7]; looks];
        series
            .iter_mut()
            .skip(looks / 2)
            .take(4)
            .for_each(|point| point[1] -= 7 * u64::from(record.round == 2));
        record.stages.iter_mut().for_each(|stage| drop(stage.series.insert("looks".into(), series.clone())));
    }
    example
}

#[test]
fn throughput_over_time_stands_after_the_order_of_the_values_with_the_longest_stall() {
    let page = page_of(&looked_at(examples::example(), 60));
    leave("report-over-time.html", &page);
    let at = |words: &str| page.find(words).unwrap_or_else(|| panic!("{words}"));
    assert!(at("Values in the order of measurement") < at("Throughput over time"));
    assert!(page.contains("longest stall 0.40 s in round 2, 3.00 s after its start"));
    assert!(page.contains(r#"<rect class="stall" x="500.0" y="0" width="66.7""#));
    assert!(!page_of(&looked_at(examples::example(), 9)).contains("Throughput over time"));
    let long = page_of(&looked_at(examples::example(), 240));
    assert!(long.len().abs_diff(page.len()) < 200 * 16, "a course of more looks is not longer");
}

#[test]
fn it_says_what_may_be_concluded() {
    let six = page_of(&examples::example());
    assert!(six.contains("No verdict yet (5 of 6 rounds)"));
    let two = page_of(&examples::rounds(2));
    leave("report-look.html", &two);
    assert!(two.contains("No verdict yet (2 of 6 rounds)"));
    assert!(two.contains("--resume"));
    for words in ["higher is better", "lower is better", "page cache and CPU", "What each kind can do"] {
        assert!(six.contains(words), "{words}");
    }
}

#[test]
fn a_modelled_disk_has_its_pictures_and_its_findings() {
    let page = page_of(&model::samples(13));
    leave("report-model.html", &page);
    for words in [
        "Where the time went",
        "Which factor decides",
        "not told apart from: depends on the model",
        "modelled CPU",
    ] {
        assert!(page.contains(words), "{words}");
    }
    assert!(!page.contains("significant") && !page.contains("Example Disk"));
    assert!(
        !page.contains("Values in the order of measurement"),
        "its rounds are other disks and no later moments"
    );
    assert!(!page_of(&examples::example()).contains("Where the time went"));
}

#[test]
fn the_page_opens_with_the_verdict_over_rounds() {
    let example = examples::rounds(12);
    let judged = |verdict, baseline| page(&example.judged(verdict, baseline)).expect("the page renders");
    let one = judged(verdict::of_one_workload(12), None);
    leave("report-verdict-one.html", &one);
    let opens = one.split_once("<nav").expect("there is a table of contents").0;
    assert!(opens.contains(
        "letters-quick (metric transactions): cedarfs is 1.11–6.32 times as fast as each of the other 7."
    ));
    assert!(opens.contains("class=\"bars ratios\"") && opens.contains("<i class=\"first\">"));
    leave("report-verdict-two.html", &judged(verdict::over_rounds(12), None));
    let beside = judged(verdict::over_rounds(12), Some("birchfs"));
    leave("report-verdict-baseline.html", &beside);
    assert!(
        beside.contains("times as good as birchfs, the baseline")
            && beside.contains("? not told apart from the candidate with ratio 1.00")
    );
    let six = examples::rounds(6);
    let preliminary = page(&six.judged(verdict::over_rounds(6), None)).expect("the page renders");
    leave("report-verdict-preliminary.html", &preliminary);
    assert!(
        preliminary.contains("too few to tell filesystems apart: a verdict takes 10 rounds.")
            && preliminary.contains("--rounds 1")
    );
    let mut void = verdict::over_rounds(12);
    void.guard = Some(Guard {
        copy: "rowanfs".into(),
        of: "maplefs".into(),
        rounds: 12,
        p: Some(0.0002),
        voids: true,
        credible: None,
    });
    let void = judged(void, None);
    leave("report-verdict-void.html", &void);
    assert!(
        void.contains("maplefs entered twice, and its two entries (maplefs and rowanfs) differ")
            && void.contains("p = 0.0002")
    );
}

#[test]
fn the_choice_and_the_plane_of_speed_and_cpu_stand_on_the_page() {
    let example = examples::needs::stated();
    let page = page_of(&example);
    leave("report-needs.html", &page);
    assert!(page.contains("<h2>Recommendation</h2>") && page.contains("href=\"#choose\""));
    let planes = example.report().summary.planes;
    let points: usize = planes.iter().map(|plane| plane.points.len()).sum();
    assert_eq!(page.matches("<text class=\"mark\"").count(), points);
    assert!(page.contains(Plane::NOTE) && points > planes.len());
    assert!(!page_of(&examples::example()).contains("Recommendation"));
}

#[test]
fn a_paper_stands_beside_the_run() {
    let page = page_of(&published::on_loop());
    leave("report-published.html", &page);
    leave("report-published-model.html", &page_of(&published::on_model()));
    assert!(page.contains("read, here ÷<small>published</small>") && page.contains(Beside::TITLE));
    assert!(!page_of(&examples::example()).contains(Beside::TITLE));
}

#[test]
fn trials_that_do_not_count_are_listed_with_their_reasons() {
    let page = page_of(&examples::example());
    for words in ["Input/output error", "did not hold", "this kernel has no", "cannot make"] {
        assert!(page.contains(words), "{words}");
    }
}

#[test]
fn a_label_cannot_become_markup() {
    let mut example = examples::example();
    let hostile = "<script>alert(1)</script>\"'&";
    example.run.plan.name = hostile.into();
    example.run.plan.candidates[0].label = hostile.into();
    for record in example.run.records.iter_mut().filter(|r| r.filesystem == "alderfs") {
        record.filesystem = hostile.into();
        record.reason = Some(Reason::Skipped { text: hostile.into() });
    }
    let page = page_of(&example);
    assert!(!page.contains("<script"));
    assert!(page.contains("&#60;script&#62;"));
}

#[test]
fn a_sweep_of_many_metrics_is_one_long_table() {
    let mut example = examples::example();
    for record in example.run.records.iter_mut().filter(|r| !r.metrics.is_empty()) {
        let like = record.metrics[0].clone();
        record.metrics.extend((0..40).map(|n| {
            let dimensions = BTreeMap::from([("record_bytes".to_owned(), (n * 4096).to_string())]);
            let name = "sweep.throughput".into();
            let quantity = Quantity { name, dimensions, headline: false, ..(*like.quantity).clone() };
            Metric { value: like.value, quantity: quantity.into() }
        }));
    }
    let page = page_of(&example);
    leave("report-sweep.html", &page);
    assert!(page.contains(">Metric</th>"));
    assert!(page.contains("sweep.throughput (record_bytes=159744)<small>per second</small>"));
    assert!(!page.contains("<b>sweep.throughput"), "a sweep is not drawn");
}

#[test]
fn what_was_measured_over_two_quantities_is_a_field_for_each_candidate() {
    let mut example = examples::example();
    let workload = example.run.plan.scenarios[0].label.clone();
    let done = |r: &&mut crate::schema::record::Record| !r.metrics.is_empty() && r.scenario == workload;
    for record in example.run.records.iter_mut().filter(done) {
        let like = record.metrics[0].clone();
        record.metrics.extend((0..6).map(|n| {
            let sizes = [("file_bytes", 1 << (20 + n / 3)), ("record_bytes", 4096 << (n % 3))];
            let dimensions = sizes.map(|(name, size): (&str, i32)| (name.to_owned(), size.to_string()));
            let value = like.value * f64::from(n + 1);
            let name = "field.throughput".into();
            let dimensions = dimensions.into();
            let quantity = Quantity { name, dimensions, headline: false, ..(*like.quantity).clone() };
            Metric { value, quantity: quantity.into() }
        }));
    }
    let page = page_of(&example);
    leave("report-fields.html", &page);
    let done = example.report().summary.workloads[0].headlines()[0].cells.iter().filter(|c| c.n > 0).count();
    let fields = page.matches("<table class=\"cells\">").count();
    assert_eq!(fields, 2 * done - 1, "figures of all that have any, and the ratios of all but one");
    assert!(page.contains("<th class=\"number\" scope=\"col\">16 KiB</th>"));
    assert!(page.contains("file × record") && page.contains("h8\">"));
    assert!(!page.contains("<figcaption><b>field.throughput"), "no bars of single cells");
}

#[test]
fn every_class_has_a_rule() {
    // These classes only name the content of an element and have no style.
    const NAMES: [&str; 4] = ["bars", "rows", "tails", "done"];
    for example in [examples::example(), examples::sixteen(), examples::all_skipped()] {
        let page = page_of(&example);
        let (style, body) = page.split_once("</style>").unwrap();
        let classes = body.split("class=\"").skip(1).map(|rest| rest.split_once('"').unwrap().0);
        let classes: HashSet<&str> = classes.flat_map(str::split_whitespace).collect();
        let is_ruled = |class: &str| {
            let rule = format!(".{class}");
            let ends = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '-');
            style.match_indices(&rule).any(|(at, _)| ends(&style[at + rule.len()..]))
        };
        let unruled: Vec<&&str> =
            classes.iter().filter(|class| !NAMES.contains(class) && !is_ruled(class)).collect();
        assert!(unruled.is_empty(), "{unruled:?}");
        assert!(!is_ruled("nowhere"), "else it would find any");
    }
}

#[test]
fn sixteen_filesystems_have_sixteen_looks() {
    let example = examples::sixteen();
    let page = page_of(&example);
    leave("report-sixteen.html", &page);
    let looks: HashSet<Look> = example.report().summary.filesystems.iter().map(|f| f.look).collect();
    assert_eq!(looks.len(), 16);
    assert!(looks.iter().all(|look| page.contains(&format!("bar c{}\"", look.hue))));
    assert!((1..MARKS).all(|mark| page.contains(&format!("class=\"m{mark}\""))));
}

#[test]
fn a_run_without_any_result_still_gives_a_page() {
    let page = page_of(&examples::all_skipped());
    leave("report-nothing.html", &page);
    assert!(page.contains("Nothing was measured"));
    assert!(page.contains("try: --on vm"));
}
