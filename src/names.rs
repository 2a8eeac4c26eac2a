//! What to say when a name is not known: the nearest one that is.

/// `unknown filesystem 'ext5'; did you mean 'ext4'? Known: …`
pub fn unknown<'a>(what: &str, given: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let nearest = known.iter().map(|name| (strsim::damerau_levenshtein(given, name), *name)).min();
    let hint = match nearest {
        Some((distance, name)) if distance <= 1 + name.len() / 3 => format!("did you mean '{name}'? "),
        _ => String::new(),
    };
    format!("unknown {what} '{given}'; {hint}known: {}", known.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_offered_and_a_far_one_is_not() {
        let known = ["ext3-journal", "ext4", "xfs"];
        assert!(unknown("filesystem", "ext5", known).contains("did you mean 'ext4'?"));
        assert!(!unknown("filesystem", "hammer2", known).contains("did you mean"));
    }
}
