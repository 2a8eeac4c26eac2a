//! Fields of a line; commas that were lost between fields are restored.

/// A field, and the column in which the field begins, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    pub column: usize,
    pub text: String,
}

/// The largest number of plus signs that Bonnie++ prints for a figure.
const MOST_PLUSES: usize = 5;
/// The number of plus signs that Bonnie++ prints for a CPU share.
const OF_SHARE: usize = 3;
/// Number of first fields with names and versions, which may hold any text.
const NAMES: usize = 3;

/// Splits a line into fields. `before` is the number of letters that were cut off before the line.
pub fn fields(line: &str, before: usize) -> Vec<Field> {
    let mut column = before + 1;
    let mut fields = Vec::new();
    for text in line.split(',') {
        fields.push(Field { column, text: text.trim().to_owned() });
        column += text.chars().count() + 1;
    }
    fields
}

/// The fields with lost commas restored, and the original text of the fields that were split.
pub fn mended(fields: Vec<Field>) -> (Vec<Field>, Vec<Field>) {
    let (mut whole, mut cut) = (Vec::new(), Vec::new());
    for (at, field) in fields.into_iter().enumerate() {
        let places = if at < NAMES { Vec::new() } else { joints(&field.text) };
        if places.is_empty() {
            whole.push(field);
            continue;
        }
        let ends = places.iter().copied().chain([field.text.len()]);
        let begins = [0].into_iter().chain(places.iter().copied());
        whole.extend(begins.zip(ends).map(|(begin, end)| Field {
            column: field.column + begin,
            text: field.text[begin..end].to_owned(),
        }));
        cut.push(field);
    }
    (whole, cut)
}

/// The positions at which to split a field that cannot be one figure; empty if the field can be one figure, or is no figure.
fn joints(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    if bytes.is_empty() || !bytes.iter().all(|b| matches!(b, b'+' | b'.' | b'0'..=b'9')) {
        return Vec::new();
    }
    let is_plus = |at: usize| bytes[at] == b'+';
    let mut joints: Vec<usize> = (1..bytes.len()).filter(|at| is_plus(*at) != is_plus(at - 1)).collect();
    let runs = bytes.split(|b| *b != b'+').filter(|run| !run.is_empty());
    if joints.is_empty() && is_plus(0) && (MOST_PLUSES + 2..=MOST_PLUSES + OF_SHARE).contains(&bytes.len()) {
        joints.push(bytes.len() - OF_SHARE);
    } else if runs.clone().any(|run| run.len() < 2 || run.len() > MOST_PLUSES) {
        joints.clear();
    }
    joints
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Vec<String> {
        let (whole, _) = mended(fields(&format!("a,b,c,{text}"), 0));
        whole.into_iter().skip(NAMES).map(|field| field.text).collect()
    }

    #[test]
    fn plus_signs_and_digits_are_cut_where_they_meet() {
        assert_eq!(cut("++++,+++1651,91"), ["++++", "+++", "1651", "91"]);
        assert_eq!(cut("96+++++,+++"), ["96", "+++++", "+++"]);
        assert_eq!(cut("96+++++"), ["96", "+++++"]);
        assert_eq!(cut("++++++++,5"), ["+++++", "+++", "5"]);
        assert_eq!(cut("316.6+++"), ["316.6", "+++"]);
    }

    #[test]
    fn what_may_be_one_figure_or_none_stays() {
        for whole in
            ["+++++", "+++", "316.6", "", "+5", "5+", "16:max/2", "67us", "++++++", "++++++12", "+++++++++"]
        {
            assert_eq!(cut(whole), [whole]);
        }
    }

    #[test]
    fn a_field_knows_its_column_before_and_after() {
        let (whole, cut) = mended(fields("é, b,c,+++16,9", 0));
        assert_eq!(whole.iter().map(|f| f.column).collect::<Vec<_>>(), [1, 3, 6, 8, 11, 14]);
        assert_eq!(cut, [Field { column: 8, text: "+++16".into() }]);
    }
}
