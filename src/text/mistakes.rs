//! Errors of the TOML parser in words for TOML authors instead of Rust programmers.

/// A quoted line of a file is cut after this many characters.
const WIDEST: usize = 120;

/// The parser's type names, and the words printed instead.
const TYPES: [(&str, &str); 7] = [
    ("expected u32", "expected a whole number up to 4294967295"),
    ("expected u64", "expected a whole number"),
    ("expected i64", "expected a whole number"),
    ("expected usize", "expected a whole number"),
    ("expected f64", "expected a number"),
    ("expected a sequence", "expected a list, [\"…\", \"…\"]"),
    ("expected a boolean", "expected true or false"),
];

/// The message: position, quoted line and error, without a line end at the end.
pub fn in_words(error: &toml::de::Error) -> String {
    let shown: Vec<String> = error.to_string().trim_end().lines().map(cut).collect();
    TYPES.iter().fold(shown.join("\n"), |text, (theirs, ours)| text.replace(theirs, ours))
}

fn cut(line: &str) -> String {
    match line.char_indices().nth(WIDEST) {
        None => line.to_owned(),
        Some((end, _)) => format!("{}…", &line[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_has_a_plain_name_and_a_long_line_an_end() {
        let wrong = |text: &str| toml::from_str::<std::collections::BTreeMap<String, u32>>(text).unwrap_err();
        assert!(in_words(&wrong("a = 'six'")).ends_with("expected a whole number up to 4294967295"));
        assert!(in_words(&wrong(&"x".repeat(1 << 20))).len() < 1000);
    }
}
