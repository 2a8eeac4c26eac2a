//! Colour and mark of a filesystem. They follow from its kind's place in the table, not from the other candidates, so that
//! reports can be compared. Several entries of one kind take the remaining marks.

use crate::report::view::look::{HUES, Look, MARKS};

/// One look for each entered kind, in the order of `entered`. `table` lists all kinds.
pub fn of(table: &[&str], entered: &[&str]) -> Vec<Look> {
    let mut looks: Vec<Look> = Vec::new();
    for kind in entered {
        let own = of_kind(table, kind);
        let mut marks = (0..MARKS).map(|more| Look { mark: (own.mark + more) % MARKS, ..own });
        let free = marks.find(|look| !looks.contains(look));
        looks.push(free.unwrap_or(own));
    }
    looks
}

/// Kinds of one family, such as one filesystem with different journals, share a colour.
fn of_kind(table: &[&str], kind: &str) -> Look {
    let mut families: Vec<&str> = Vec::new();
    for known in table.iter().map(|known| family(known)).chain([family(kind)]) {
        if !families.contains(&known) {
            families.push(known);
        }
    }
    let place = families.iter().position(|known| *known == family(kind)).unwrap_or(0);
    let modes = table.iter().filter(|known| family(known) == family(kind));
    let mode = modes.into_iter().position(|known| *known == kind).unwrap_or(0);
    Look { hue: place % HUES, mark: (mode + place / HUES) % MARKS }
}

/// `birchfs-journal` and `birchfs-ordered` are one family.
fn family(kind: &str) -> &str {
    kind.split('-').next().unwrap_or(kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: [&str; 4] = ["alderfs", "birchfs", "birchfs-journal", "cedarfs"];

    fn look(hue: usize, mark: usize) -> Look {
        Look { hue, mark }
    }

    #[test]
    fn a_kind_looks_the_same_whoever_else_takes_part() {
        assert_eq!(of(&TABLE, &["cedarfs"]), of(&TABLE, &["alderfs", "cedarfs"])[1..]);
        assert_eq!(of(&TABLE, &["birchfs-journal"]), [look(1, 1)]);
    }

    #[test]
    fn entries_of_one_kind_share_its_colour_and_have_marks_of_their_own() {
        let entered = ["birchfs", "birchfs", "birchfs-journal", "birchfs"];
        assert_eq!(of(&TABLE, &entered), [look(1, 0), look(1, 1), look(1, 2), look(1, 3)]);
    }

    #[test]
    fn the_families_after_the_last_colour_have_another_mark() {
        let many: Vec<String> = (0..14).map(|n| format!("fs{n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let looks = of(&many, &many);
        assert_eq!((looks[0], looks[12], looks[13]), (look(0, 0), look(0, 1), look(1, 1)));
    }
}
