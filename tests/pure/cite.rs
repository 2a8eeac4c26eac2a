//! A run as a reference: what identifies it stands in each form, and a run that nothing identifies is refused.

use fsderby::report::cite::Citation;
use fsderby::runner::experiment::Experiment;
use fsderby::store::Run;

use crate::support::carry::carry_out;
use crate::support::scripted::Scripted;

fn run(folder: &std::path::Path) -> Run {
    let text = "name = 'a \"mail\" & more'\nworkloads = ['postmark-quick']\nrounds = 2\nseed = 1\nfilesystem = [{ kind = 'ext2' }, \
                { kind = 'ext2', label = '100% {bare}', mount = ['noatime'] }]";
    let plan = Experiment::parse(text, "test").unwrap().plan("loop".into(), 1).unwrap();
    carry_out(&folder.join("run"), &plan, &Scripted::well(), &[], None)
}

#[test]
fn each_form_has_the_hashes_and_its_own_quotes() {
    let folder = tempfile::tempdir().unwrap();
    let run = run(folder.path());
    let seal = run.seal.clone().unwrap();
    let citation = Citation::of(&run, &["A. & B.".to_owned(), "C".to_owned()]).unwrap();
    let (bibtex, cff, appendix) = (citation.bibtex(), citation.cff(), citation.appendix());
    for form in [&bibtex, &cff, &appendix] {
        assert!(form.contains(&seal.trials_blake3) && form.contains(&seal.plan_blake3), "{form}");
    }
    assert!(bibtex.contains(r"{A. \& B.} and {C}") && bibtex.contains(r"100\% \{bare\}"), "{bibtex}");
    let unescaped = bibtex.replace(r"\{", "").replace(r"\}", "");
    assert_eq!(unescaped.matches('{').count(), unescaped.matches('}').count(), "{bibtex}");
    assert!(cff.contains(r#"title: "Comparison 'a \"mail\" & more' of ext2"#), "{cff}");
    assert!(cff.contains("  - name: \"A. & B.\"\n  - name: \"C\"\n"), "{cff}");
    assert!(
        appendix.contains("fsderby run RUN/plan.toml") && appendix.contains("the machine's own clock"),
        "{appendix}"
    );
    assert!(!citation.lacks_authors() && Citation::of(&run, &[]).unwrap().lacks_authors());
}

#[test]
fn what_has_not_ended_is_not_cited() {
    let folder = tempfile::tempdir().unwrap();
    let whole = run(folder.path());
    let killed = Run { unsealed: 7, ..run(&folder.path().join("other")) };
    let without = Run { seal: None, ..whole };
    for run in [killed, without] {
        let why = Citation::of(&run, &[]).err().unwrap();
        assert!(why.contains("has not ended") && why.contains("--resume"), "{why}");
    }
}
