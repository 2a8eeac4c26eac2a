//! Which file imports which, by `use` and by paths written out, and where they go round in a circle.
//!
//! A name that a module only passes on (`pub use child::Name`) counts as the child's. A module that declares its children
//! (`mod child;`) or has them in a table (`&child::Row`) does not import them.

use std::collections::{BTreeMap, BTreeSet};

/// Files by their path from the project's root, with their program: no tests.
pub struct Sources(pub BTreeMap<String, String>);

/// A path of names from a crate: `["crate", "report", "view"]` of this one, `["fsderby_stats"]` of a leaf crate.
type Path = Vec<String>;

struct Module {
    file: String,
    /// What it makes public under another path: the name, and where it comes from.
    passes_on: BTreeMap<String, Path>,
    imports: Vec<Path>,
}

/// Each circle once: its files, sorted.
pub fn circles(sources: &Sources) -> Vec<Vec<String>> {
    let modules = modules(sources);
    let mut graph: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for module in modules.values() {
        let files = module.imports.iter().filter_map(|path| file_of(path, &modules, 0));
        graph.insert(&module.file, files.filter(|file| *file != module.file).collect());
    }
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        graph.keys().map(|file| (*file, reachable(file, &graph))).collect();
    let mut circles: BTreeSet<Vec<String>> = BTreeSet::new();
    for (file, files) in &reached {
        let back = |other: &&&str| reached.get(**other).is_some_and(|theirs| theirs.contains(file));
        let circle: Vec<String> = files.iter().filter(back).map(|f| (*f).to_owned()).collect();
        if !circle.is_empty() {
            circles.insert(circle);
        }
    }
    circles.into_iter().collect()
}

/// All files that this one imports, and those that they import.
fn reachable<'g>(from: &str, graph: &BTreeMap<&'g str, BTreeSet<&'g str>>) -> BTreeSet<&'g str> {
    let mut found = BTreeSet::new();
    let mut next: Vec<&str> = graph.get(from).into_iter().flatten().copied().collect();
    while let Some(file) = next.pop() {
        if found.insert(file) {
            next.extend(graph.get(file).into_iter().flatten());
        }
    }
    found
}

fn modules(sources: &Sources) -> BTreeMap<Path, Module> {
    let paths: BTreeMap<&String, Path> =
        sources.0.keys().filter_map(|file| Some((file, module_path(file)?))).collect();
    let known: BTreeSet<&Path> = paths.values().collect();
    let module = |(file, path): (&&String, &Path)| {
        let mut module = Module { file: (*file).clone(), passes_on: BTreeMap::new(), imports: Vec::new() };
        for (is_public, used, name) in uses(&sources.0[*file]) {
            let Some(used) = absolute(used, path, &known) else { continue };
            let is_childs = used.starts_with(path);
            if let Some(last) = used.last().filter(|_| is_public) {
                module.passes_on.insert(name.unwrap_or_else(|| last.clone()), used.clone());
            }
            if !(is_public && is_childs) {
                module.imports.push(used);
            }
        }
        let written_out = inline(&sources.0[*file]).into_iter();
        module.imports.extend(written_out.filter_map(|used| absolute(used, path, &known)));
        (path.clone(), module)
    };
    paths.iter().map(module).collect()
}

/// `src/report/view/mod.rs` → `crate::report::view`.
fn module_path(file: &str) -> Option<Path> {
    let inside = file.strip_suffix(".rs")?;
    let (root, inside) = match inside.strip_prefix("crates/") {
        Some(rest) => {
            let (name, inside) = rest.split_once("/src/")?;
            (format!("fsderby_{name}"), inside)
        }
        None => ("crate".to_owned(), inside.strip_prefix("src/")?),
    };
    let inside = inside.strip_suffix("mod").map_or(inside, |folder| folder.trim_end_matches('/'));
    let names = inside.split('/').filter(|name| !name.is_empty() && *name != "lib");
    Some(std::iter::once(root).chain(names.map(str::to_owned)).collect())
}

/// From the crate on; `None` for what is none of ours.
fn absolute(mut used: Path, within: &Path, known: &BTreeSet<&Path>) -> Option<Path> {
    let mut base = match used.first()?.as_str() {
        "crate" => vec![within[0].clone()],
        "self" | "super" => within.clone(),
        name if name.starts_with("fsderby_") => return Some(used),
        // A child by its bare name.
        name => {
            let child = [within.as_slice(), &[name.to_owned()]].concat();
            return known.contains(&child).then(|| [within.as_slice(), &used].concat());
        }
    };
    while used.first().is_some_and(|name| name == "super") {
        used.remove(0);
        base.pop();
    }
    if used.first().is_some_and(|name| name == "self" || name == "crate") {
        used.remove(0);
    }
    Some([base, used].concat())
}

/// The file of the innermost module in a path, past modules that only pass the next name on.
fn file_of<'m>(path: &[String], modules: &'m BTreeMap<Path, Module>, depth: usize) -> Option<&'m str> {
    let length = (1..=path.len()).rev().find(|n| modules.contains_key(&path[..*n]))?;
    let module = &modules[&path[..length]];
    let passed = path.get(length).and_then(|name| module.passes_on.get(name));
    match passed.filter(|_| depth < 8) {
        Some(from) => file_of(&[from, &path[length + 1..]].concat(), modules, depth + 1),
        None => Some(&module.file),
    }
}

/// Each `use` of a program: whether it is public, the path, and the name it gets by `as`.
fn uses(program: &str) -> Vec<(bool, Path, Option<String>)> {
    let mut found = Vec::new();
    let mut lines = program.lines();
    while let Some(line) = lines.next() {
        let declared = line.trim_start();
        let (is_public, rest) = match declared.strip_prefix("pub") {
            Some(rest) => (true, rest.strip_prefix("(crate)").unwrap_or(rest).trim_start()),
            None => (false, declared),
        };
        let Some(tree) = rest.strip_prefix("use ") else { continue };
        let mut tree = tree.to_owned();
        while !tree.contains(';') {
            let Some(line) = lines.next() else { break };
            tree.push_str(line.trim());
        }
        let tree = tree.split(';').next().unwrap_or_default();
        for path in expanded(tree) {
            let (path, name) = path.split_once(" as ").unwrap_or((&path, ""));
            let names: Path = path.split("::").map(|name| name.trim().to_owned()).collect();
            let name = (!name.is_empty()).then(|| name.trim().to_owned());
            found.push((is_public, names, name));
        }
    }
    found
}

/// Paths written out in the program, outside comments: `crate::a::B`, `super::c::f()`, `fsderby_d::E`.
fn inline(program: &str) -> Vec<Path> {
    let is_use = |line: &str| {
        let line = line.trim_start();
        let line = line.strip_prefix("pub(crate)").or(line.strip_prefix("pub")).unwrap_or(line);
        line.trim_start().starts_with("use ")
    };
    let mut found = Vec::new();
    let mut within_use = false;
    for line in program.lines().filter(|line| !line.trim_start().starts_with("//")) {
        if within_use || is_use(line) {
            within_use = !line.contains(';');
            continue;
        }
        let names = line.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
        let paths = names.map(|path| path.trim_matches(':')).filter(|path| path.contains("::"));
        let paths = paths.map(|path| path.split("::").map(str::to_owned).collect::<Path>());
        let is_ours = |path: &Path| {
            ["crate", "self", "super"].contains(&path[0].as_str()) || path[0].starts_with("fsderby_")
        };
        found.extend(paths.filter(is_ours));
    }
    found
}

/// `a::{b, c::{d, self}}` → `a::b`, `a::c::d`, `a::c`.
fn expanded(tree: &str) -> Vec<String> {
    let Some(open) = tree.find('{') else {
        return vec![tree.trim().trim_end_matches("::self").to_owned()];
    };
    let (before, within) = (&tree[..open], &tree[open + 1..tree.rfind('}').unwrap_or(tree.len())]);
    let mut depth = 0;
    let parts = within.split(|c| {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    });
    let parts = parts.map(str::trim).filter(|part| !part.is_empty());
    parts.flat_map(|part| expanded(&format!("{}{part}", before.trim_start()))).collect()
}
