//! What the documents in the project's root say: their code blocks, and their text without them.

use std::fs;

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
    pub name: String,
    pub blocks: Vec<Block>,
    /// The lines outside of blocks.
    pub prose: String,
}

/// Every Markdown file in the project's root, by name.
pub fn all() -> Vec<Document> {
    let entries = fs::read_dir(project()).expect("the project").flatten();
    let names = entries.map(|e| e.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".md")).collect();
    names.sort();
    names.iter().map(|name| document(name)).collect()
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
