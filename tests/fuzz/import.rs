//! What every import must be, whatever its file holds.

use std::path::Path;

use fsderby::exit;
use fsderby::imports::{Given, collected, find};
use fsderby::report::compose::imported::{Loaded, alone};
use fsderby::report::formats::{TABLE, terminal};
use fsderby::schema::import::{Asked, Figure, Import};

/// Longer lists are not shown here: that takes its time and is the same for each line.
const SHOWN: usize = 40;

/// It is refused with its place, or it can be stored, read again and shown.
pub fn check(tool: &str, input: &[u8]) {
    let asked = Asked { tool: tool.to_owned(), labels: Vec::new(), set: None };
    let files = [Given { name: "file.txt", bytes: input }];
    let import = match collected(asked.clone(), &files) {
        Ok(import) => import,
        Err(refused) => return assert_refused(&refused),
    };
    let lines = String::from_utf8_lossy(input).lines().count();
    let tool = find(tool).unwrap();
    for entry in &import.entries {
        assert!((1..=lines).contains(&entry.line) && !entry.label.is_empty() && entry.label.len() <= 100);
        entry.figures.iter().for_each(assert_sound);
        assert_eq!(
            tool.unlike(&entry.work, &entry.work).unwrap_or_default(),
            Vec::<String>::new().as_slice()
        );
    }
    let json = serde_json::to_vec(&import).unwrap();
    assert_eq!(serde_json::from_slice::<Import>(&json).unwrap(), import, "it is stored as another");
    assert_eq!(collected(asked, &files).unwrap(), import, "it is read as another the second time");
    if import.entries.len() <= SHOWN {
        show(import);
    }
}

fn assert_refused(refused: &exit::Failure) {
    assert_eq!(refused.code, exit::USAGE, "{refused}");
    let first = refused.what.lines().next().unwrap();
    let place = first.strip_prefix("file.txt:").unwrap_or_else(|| panic!("it names no file: {first}"));
    assert!(
        place.contains(" result found") || place.starts_with(" more than") || has_place(place),
        "{first}"
    );
    assert!(refused.try_this.is_some(), "{refused}");
}

/// `12:85: what`
fn has_place(text: &str) -> bool {
    let mut numbers = text.splitn(3, ':');
    let mut number = || numbers.next().and_then(|n| n.parse::<usize>().ok()).is_some_and(|n| n > 0);
    number() && number()
}

fn assert_sound(figure: &Figure) {
    let all = [figure.least, figure.value, figure.most];
    let known: Vec<f64> = all.into_iter().flatten().collect();
    assert!(known.iter().all(|v| v.is_finite() && *v >= -1.0), "{figure:?}");
    assert!(known.windows(2).all(|pair| pair[0] <= pair[1]), "{figure:?}");
}

fn show(import: Import) {
    let shown = alone(&Loaded { folder: Path::new("x").display().to_string(), import });
    assert!(!shown.is_empty() && shown.iter().all(|imported| !imported.filesystems.is_empty()));
    assert!(!terminal::imported::text(&shown, 80).is_empty());
    for format in TABLE {
        let mut to = Vec::new();
        if let Err(refused) = format.write_imported(&shown, &mut to) {
            // Some formats are of a run alone.
            assert!(refused.to_string().contains("\n  try: --beside"), "{refused}");
            continue;
        }
        assert!(String::from_utf8(to).unwrap().contains("mported"), "{} does not mark it", format.name());
    }
}
