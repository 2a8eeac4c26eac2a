//! Messages for unknown names, with the nearest known names.

/// The largest number of names that a message suggests.
const OFFERED: usize = 3;
/// The least length of a piece that is searched in names; a shorter piece would occur in too many names.
const SHORTEST_PIECE: usize = 3;

/// Up to this many known names, the message lists all of them.
const ALL_NAMED: usize = 6;

/// The subcommand that lists names of a sort; a sort of names that only one file has (parts, keys) has none.
const LISTS: [(&str, &str); 14] = [
    ("name", "fsderby list"),
    ("filesystem", "fsderby list filesystems"),
    ("workload", "fsderby list workloads"),
    ("testbed", "fsderby list testbeds"),
    ("layer", "fsderby list layers"),
    ("stage", "fsderby list stages"),
    ("state", "fsderby list states"),
    ("experiment", "fsderby list experiments"),
    ("disk", "fsderby list disks"),
    ("machine", "fsderby list machines"),
    ("paper", "fsderby list papers"),
    ("profile of needs", "fsderby list profiles"),
    ("era", "fsderby list eras"),
    ("metric", "fsderby list metrics"),
];

/// The message about an unknown name: `unknown filesystem 'ext5'; did you mean 'ext2' or 'ext4'?`. If few names are known, it lists
/// all of them; otherwise it has the most similar names, and the command that lists all names.
pub fn unknown<'a>(what: &str, given: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let mut known: Vec<&str> = known.into_iter().collect();
    let near = near(given, &known);
    let meant =
        if near.is_empty() { String::new() } else { format!(" did you mean {}?", listing(&near, "or")) };
    if known.is_empty() {
        return format!("unknown {what} '{given}': there is none");
    }
    if known.len() <= ALL_NAMED {
        return format!("unknown {what} '{given}';{meant} known: {}", known.join(", "));
    }
    // The names of a `metric of ext4` are among those that the command for `metric` lists.
    let sort = what.split(" of ").next().unwrap_or(what);
    let listed = LISTS.iter().find(|(listed, _)| *listed == what || *listed == sort);
    let all = listed.map_or_else(String::new, |(_, command)| format!(" ({command} shows all)"));
    if !meant.is_empty() {
        return format!("unknown {what} '{given}';{meant}{all}");
    }
    let many = known.len();
    known.sort_by_key(|name| strsim::damerau_levenshtein(given, name));
    known.truncate(OFFERED);
    format!("unknown {what} '{given}'; of {many} names, the most similar are {}{all}", listing(&known, "and"))
}

/// The names as a list: `'ext2', 'ext3' or 'ext4'`.
pub fn listing(names: &[&str], last: &str) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    match quoted.split_last() {
        None => String::new(),
        Some((only, [])) => only.clone(),
        Some((end, others)) => format!("{} {last} {end}", others.join(", ")),
    }
}

/// The known names to suggest: names that begin with the given text; if there are none, the most similar names; if there are none,
/// names that contain the given text.
fn near<'a>(given: &str, known: &[&'a str]) -> Vec<&'a str> {
    let distance = |name: &&str| strsim::damerau_levenshtein(given, name);
    let least = known.iter().map(distance).min().unwrap_or(0);
    let is_piece = given.len() >= SHORTEST_PIECE;
    let those = |is: &dyn Fn(&str) -> bool| -> Vec<&'a str> {
        known.iter().copied().filter(|name| is(name)).take(OFFERED).collect()
    };
    let begun = those(&|name| is_piece && name.starts_with(given));
    let nearest = those(&|name| distance(&name) == least && least <= 1 + name.len() / 3);
    let held = those(&|name| is_piece && name.contains(given));
    [begun, nearest, held].into_iter().find(|some| !some.is_empty()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_offered_and_a_far_one_is_not() {
        let known = ["ext3-journal", "ext4", "xfs"];
        assert!(unknown("filesystem", "ext5", known).contains("did you mean 'ext4'?"));
        assert!(!unknown("filesystem", "hammer2", known).contains("did you mean"));
        let begun = unknown("filesystem", "ext3", ["ext2", "ext3-journal", "ext3-ordered", "ext4"]);
        assert!(begun.contains("did you mean 'ext3-journal' or 'ext3-ordered'?"), "{begun}");
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

    #[test]
    fn many_names_are_never_printed_and_few_are() {
        let many: Vec<String> = (0..40).map(|at| format!("kind-{at}")).collect();
        let many = || many.iter().map(String::as_str);
        for given in ["kind-99", "kind-1", "zzz", "", "knd-7", "kind-7x"] {
            let said = unknown("workload", given, many());
            assert!(
                (1..=OFFERED).contains(&many().filter(|name| said.contains(&format!("'{name}'"))).count())
            );
            assert!(said.ends_with("(fsderby list workloads shows all)"), "{said}");
        }
        let said = unknown("key", "zzz", many());
        assert_eq!(
            said,
            "unknown key 'zzz'; of 40 names, the most similar are 'kind-0', 'kind-1' and 'kind-2'"
        );
        assert!(unknown("metric of ext4", "zzz", many()).contains("fsderby list metrics"));
        assert_eq!(
            unknown("level", "raid9", ["raid0", "far"]),
            "unknown level 'raid9'; did you mean 'raid0'? known: raid0, far"
        );
        assert_eq!(unknown("level", "z", ["raid0", "far"]), "unknown level 'z'; known: raid0, far");
    }
}
