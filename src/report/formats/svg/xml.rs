//! Checks whether a text is well-formed XML, for the subset that charts use: elements, quoted attributes, text, entities.

/// The first error of the text.
pub fn mistake(text: &str) -> Option<String> {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = text.trim_end();
    let mut roots = 0;
    while !rest.is_empty() {
        let (before, tag) = rest.split_once('<').unwrap_or((rest, ""));
        if let Some(wrong) = in_text(before) {
            return Some(wrong);
        }
        if open.is_empty() && !before.trim().is_empty() {
            return Some(format!("text outside of all elements: {before}"));
        }
        if tag.is_empty() {
            break;
        }
        let Some((tag, after)) = tag.split_once('>') else { return Some(format!("no end of <{tag}")) };
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop() != Some(name) {
                return Some(format!("</{name}> closes something else"));
            }
            continue;
        }
        let is_empty = tag.ends_with('/');
        let tag = tag.trim_end_matches('/');
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        if let Some(wrong) = in_attributes(attributes) {
            return Some(format!("<{name}>: {wrong}"));
        }
        roots += u32::from(open.is_empty());
        if !is_empty {
            open.push(name);
        }
    }
    if let Some(name) = open.first() {
        return Some(format!("<{name}> is not closed"));
    }
    (roots != 1).then(|| format!("{roots} elements that hold all"))
}

/// The first error in the attributes, which must be like `x="1" y="2"`, each name once.
fn in_attributes(attributes: &str) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    let mut rest = attributes.trim();
    while !rest.is_empty() {
        let Some((name, after)) = rest.split_once("=\"") else { return Some(format!("no value: {rest}")) };
        let Some((value, after)) = after.split_once('"') else { return Some(format!("no end: {after}")) };
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == ':';
        if name.is_empty() || !name.chars().all(is_name) || names.contains(&name) {
            return Some(format!("no name, or one twice: {name}"));
        }
        if let Some(wrong) = in_text(value) {
            return Some(wrong);
        }
        names.push(name);
        rest = after.trim_start();
    }
    None
}

/// The first error in the text between tags: a control character, or an `&` that does not begin an entity.
fn in_text(text: &str) -> Option<String> {
    const ENTITIES: [&str; 4] = ["amp;", "lt;", "gt;", "quot;"];
    let is_entity = |rest: &str| ENTITIES.iter().any(|entity| rest.starts_with(entity));
    let bare = text.split('&').skip(1).any(|rest| !is_entity(rest));
    let steers = text.chars().any(|c| c.is_control() && c != '\n');
    (bare || steers).then(|| format!("neither text nor entity: {text}"))
}

#[test]
fn what_is_no_xml_is_told() {
    for sound in ["<a/>", "<a b=\"c &amp; d\">e<f/></a>\n", "<a><b></b></a>"] {
        assert_eq!(mistake(sound), None, "{sound}");
    }
    let broken = [
        "",
        "a",
        "<a>",
        "<a></b>",
        "<a b=c/>",
        "<a b=\"c\" b=\"d\"/>",
        "<a>&</a>",
        "<a/><b/>",
        "<a>\u{1b}</a>",
        "<a b=\"&x\"/>",
    ];
    for broken in broken {
        assert!(mistake(broken).is_some(), "{broken}");
    }
}
