//! Output of Bonnie++ that is imported: any text is, and gives sound figures or its place and what is wrong there.

use crate::engine::{Target, USUAL};
use crate::import;

#[test]
fn any_text_gives_figures_of_bonnie_or_the_place_that_is_wrong() {
    target().run();
}

pub fn target() -> Target {
    let old = "black,250M,1460,86,10171,64,4242,18,1563,83,8216,27,316.6,12,16,1706,96,+++++,+++,1651,91,1581,90,25493,31,1562,92";
    let v197 = "1.97,1.97,host,1,42,2G,64k,722,29,268820,13,335600,11,629,21,1136333,25,7442,24,16,300,20,3,,15932,17,+++++,+++,15445,13,\
                16501,18,+++++,+++,16886,16,67548us,79567us,29516us,54512us,20639us,52457us,56061us,24072us,107ms,2s,18058us,29286us";
    let v198 = v197.replacen("1.97,1.97", "1.98,2.00a", 1).replacen("2G,64k", "2G,,8192,5", 1);
    let damaged = old.replace("+++++,+++,", "++++,+++");
    let twice = format!(
        "Machine   Size K/sec\nblack    250M  1460  86\n{old}\n{}\n",
        damaged.replace("4242", "3001")
    );
    let small = "a,,,,,,,,,,,,,,1:3000:100/2,31935,37,30502,37,1,2,3,4,5,6,7,8";
    let texts = [old.to_owned(), v197.to_owned(), v198, damaged, twice, small.to_owned()];
    let seeds = texts.into_iter().map(String::into_bytes).collect();
    let words = [
        "+++++",
        "+++",
        "++++",
        ",",
        ",,,,,",
        "1.97",
        "1.98",
        "2.00a",
        "1.96",
        "2G",
        "1M:64k",
        "16:link",
        "16:0:0/9",
        "us",
        "ms",
        "file_size",
        "4294967295",
    ];
    let words = words.map(str::to_owned).to_vec();
    let check = |input: &[u8]| import::check("bonnie", input);
    Target { name: "bonnie_lines", seeds, words, inputs: 1000, limits: USUAL, check: Box::new(check) }
}
