//! Messages for unknown names, with the nearest known names.

/// Most names suggested.
const OFFERED: usize = 3;
/// A shorter piece would occur in too many names.
const SHORTEST_PIECE: usize = 3;

/// `unknown filesystem 'ext5'; did you mean 'ext2' or 'ext4'? known: …`
pub fn unknown<'a>(what: &str, given: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let near: Vec<String> = near(given, &known).into_iter().map(|name| format!("'{name}'")).collect();
    let hint = match near.split_last() {
        None => String::new(),
        Some((only, [])) => format!("did you mean {only}? "),
        Some((last, others)) => format!("did you mean {} or {last}? ", others.join(", ")),
    };
    format!("unknown {what} '{given}'; {hint}known: {}", known.join(", "))
}

/// The nearest names; if none is near, the names that contain the given text.
fn near<'a>(given: &str, known: &[&'a str]) -> Vec<&'a str> {
    let distance = |name: &&str| strsim::damerau_levenshtein(given, name);
    let least = known.iter().map(distance).min().unwrap_or(0);
    let is_near = |name: &&&str| distance(name) == least && least <= 1 + name.len() / 3;
    let has_piece = |name: &&&str| given.len() >= SHORTEST_PIECE && name.contains(given);
    let nearest: Vec<&str> = known.iter().filter(is_near).copied().collect();
    let offered =
        if nearest.is_empty() { known.iter().filter(has_piece).copied().collect() } else { nearest };
    offered.into_iter().take(OFFERED).collect()
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

    #[test]
    fn names_that_are_equally_near_or_have_the_piece_are_offered_together() {
        let known = [
            "ext2",
            "ext4",
            "quick",
            "mail-2008",
            "mailserver",
            "mailserver-2002",
            "mbox-2002",
            "webmail-2010",
        ];
        assert!(unknown("filesystem", "ext5", known).contains("did you mean 'ext2' or 'ext4'?"));
        let said = unknown("experiment", "mail", known);
        assert!(said.contains("did you mean 'mail-2008', 'mailserver' or 'mailserver-2002'?"), "{said}");
        assert!(!unknown("experiment", "m", known).contains("did you mean"));
    }
}
