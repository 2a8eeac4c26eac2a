//! What the documents say: their code blocks, and their text without them.

use std::fs;
use std::path::Path;

use super::project;

/// A fenced block: ```` ```INFO ````.
#[derive(Clone, Debug)]
pub struct Block {
    /// `sh`, or `rust src/filesystems/x.rs`.
    pub info: String,
    pub text: String,
    /// Where it stands, for messages: `README.md:12`.
    pub place: String,
}

impl Block {
    /// What stands behind the language: `rust src/x.rs` → `src/x.rs`.
    pub fn title(&self, language: &str) -> Option<&str> {
        self.info.strip_prefix(language)?.strip_prefix(' ')
    }
}

pub struct Document {
    /// Its path in the project: `docs/guide/choose.md`.
    pub name: String,
    pub blocks: Vec<Block>,
    /// The lines outside of blocks.
    pub prose: String,
}

/// Every Markdown file in the project's root and below `docs`, by name.
pub fn all() -> Vec<Document> {
    let mut names = Vec::new();
    below(&project(), "", &mut names);
    let mut folders = vec!["docs".to_owned()];
    while let Some(folder) = folders.pop() {
        folders.extend(below(&project().join(&folder), &format!("{folder}/"), &mut names));
    }
    names.sort();
    names.iter().map(|name| document(name)).collect()
}

/// Adds the documents in this folder; returns the folders in it.
fn below(folder: &Path, prefix: &str, names: &mut Vec<String>) -> Vec<String> {
    let entries: Vec<_> = fs::read_dir(folder).expect("a folder of documents").flatten().collect();
    let name = |entry: &fs::DirEntry| format!("{prefix}{}", entry.file_name().to_string_lossy());
    names.extend(entries.iter().map(name).filter(|name| name.ends_with(".md")));
    entries.iter().filter(|entry| entry.path().is_dir()).map(name).collect()
}

pub fn document(name: &str) -> Document {
    let text = fs::read_to_string(project().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    let (mut blocks, mut prose) = (Vec::<Block>::new(), String::new());
    let mut open = false;
    for (number, line) in (1..).zip(text.lines()) {
        match (line.strip_prefix("```"), open) {
            (Some(info), false) => {
                let place = format!("{name}:{number}");
                blocks.push(Block { info: info.trim().to_owned(), text: String::new(), place });
                open = true;
            }
            (Some(_), true) => open = false,
            (None, true) => blocks.last_mut().expect("a block is open").text.push_str(&format!("{line}\n")),
            (None, false) => prose.push_str(&format!("{line}\n")),
        }
    }
    assert!(!open, "{name}: a block is not closed");
    Document { name: name.to_owned(), blocks, prose }
}
