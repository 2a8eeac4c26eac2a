//! The comparison of two runs as Markdown.

use super::{escaped, table};
use crate::report::view::changes::{ChangesView, Line, Part};
use crate::report::view::number::ratio;
use crate::text::visible::{visible, visible_line};

pub fn text(view: &ChangesView) -> String {
    let mut out = vec![format!("# {}", escaped(&view.title))];
    let runs = ["first", "second"].iter().zip(&view.runs);
    let runs = runs
        .map(|(which, run)| format!("- {which}: `{}`: {}", visible_line(&run.folder), escaped(&run.said)));
    out.push(runs.collect::<Vec<_>>().join("\n"));
    out.push(format!("**{}**", escaped(&view.answer)));
    out.extend(view.confounded.iter().map(|warning| format!("**{}**", escaped(warning))));
    out.push(escaped(&view.basis.join(" ")));
    out.extend(view.missing.iter().map(|missing| format!("- **not compared:** {}", escaped(missing))));
    out.extend(view.parts.iter().map(part));
    if !view.parts.is_empty() {
        out.push(escaped(&view.note()));
    }
    if !view.differences.is_empty() {
        let each = view.differences.iter().map(|difference| format!("- {}", escaped(difference)));
        out.push(format!("## {}\n\n{}", ChangesView::DIFFERENCES, each.collect::<Vec<_>>().join("\n")));
    }
    out.push(format!("## {}\n\n{}", ChangesView::MORE, escaped(&view.advice)));
    out.extend(view.command.iter().map(|command| format!("```sh\n{}\n```", visible_line(command))));
    out.extend(view.notes.iter().map(|note| format!("**Note:** {}", escaped(note))));
    visible(&(out.join("\n\n") + "\n")).into_owned()
}

fn part(part: &Part) -> String {
    let titles = [
        "filesystem",
        ChangesView::FINDING,
        ChangesView::BEFORE,
        ChangesView::AFTER,
        ChangesView::TIMES,
        "interval",
    ];
    let titles = titles.map(|title| title.replace('\n', " "));
    let line = |line: &Line| {
        let cells = [escaped(&line.candidate), line.standing().to_owned()];
        let figures = [line.before.clone(), line.after.clone(), ratio(line.ratio), line.interval()];
        [cells.as_slice(), figures.as_slice()].concat()
    };
    let direction = if part.direction.is_empty() { String::new() } else { format!(" ({})", part.direction) };
    let heading = format!("## {}\n\n{}{direction}:", escaped(&part.scenario), escaped(&part.title));
    format!("{heading}\n\n{}", table(&titles, part.lines.iter().map(line), 2))
}
