//! Output of PostMark that is imported: any text is, and gives sound figures or its place and what is wrong there.

use crate::engine::{Target, USUAL};
use crate::import;

#[test]
fn any_text_gives_figures_of_postmark_or_the_place_that_is_wrong() {
    target().run();
}

pub fn target() -> Target {
    let projects = crate::support::project();
    let find =
        |below: &str| projects.ancestors().map(|above| above.join(below)).find(|at| at.is_dir()).unwrap();
    let stored = ["tests/tools/postmark/golden", "tests/tools/postmark/clocked"].map(find);
    let files = stored
        .iter()
        .flat_map(|folder| std::fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.filter(|path| path.extension().is_some_and(|e| e == "stdout")).collect();
    files.sort();
    let mut seeds: Vec<Vec<u8>> = files.into_iter().map(|path| std::fs::read(path).unwrap()).collect();
    seeds.push(
        b"1 1 1000.00 544.00 50.00 494.00 530.00 430.00 544.00 38.00 506.00 83915.00 89621.00\n".to_vec(),
    );
    let words = [
        "Time:",
        "Files:",
        "Data:",
        " seconds total",
        "Mixed with transactions: ",
        "created",
        "kilobytes",
        "megabytes",
        "0.000000 bytes",
        "(0 per second)",
        "PostMark v1.53 : ",
        "out of files!",
        "4294967295",
        "0.00",
        "99999999.99",
    ];
    let words = words.map(str::to_owned).to_vec();
    let check = |input: &[u8]| import::check("postmark", input);
    Target { name: "postmark_reports", seeds, words, inputs: 1000, limits: USUAL, check: Box::new(check) }
}
