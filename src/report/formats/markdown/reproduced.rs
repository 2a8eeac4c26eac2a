//! A paper's claims and tables beside runs, as Markdown.

use super::{compared, escaped, table};
use crate::report::view::reproduced::{ClaimShown, Column, Reproduced};
use crate::text::visible::{visible, visible_line};

pub fn text(page: &Reproduced) -> String {
    let mut out = vec![format!("# {}", escaped(&page.title))];
    out.push(format!("```sh\n{}\n```", visible_line(&page.command)));
    out.extend(page.answers().iter().map(|answer| format!("**{}**", escaped(answer))));
    out.push(escaped(Reproduced::HERE));
    out.push(table(
        &page.heads(),
        page.lines().into_iter().map(|line| line.iter().map(|c| escaped(c)).collect()),
        9,
    ));
    out.extend(page.columns.iter().map(column));
    if !page.why.is_empty() {
        let offers = page.why.iter().map(|offer| {
            format!("{}:\n\n```sh\n{}\n```", escaped(&offer.change), visible_line(&offer.command))
        });
        out.push(format!("## {}\n\n{}", Reproduced::WHY, offers.collect::<Vec<_>>().join("\n\n")));
    }
    visible(&(out.join("\n\n") + "\n")).into_owned()
}

fn column(column: &Column) -> String {
    let mut out = vec![format!("## {}", escaped(&column.title))];
    let runs =
        column.runs.iter().map(|run| format!("- `{}`: {}", visible_line(&run.folder), escaped(&run.said)));
    out.push(runs.collect::<Vec<_>>().join("\n"));
    for (heading, reasons) in column.reasons() {
        out.push(format!("### {heading}"));
        let lines = reasons.iter().map(|one| format!("- {}", escaped(&one.line())));
        out.push(lines.collect::<Vec<_>>().join("\n"));
    }
    out.push(format!("### {}", Reproduced::CLAIMS));
    out.extend(column.claims.iter().map(claim));
    out.push(format!("### {}", Reproduced::TABLES));
    for one in &column.tables {
        out.push(format!("`{}`", visible_line(&one.table.workload)));
        out.push(compared(one));
    }
    out.extend(column.order().iter().map(|order| escaped(order)));
    let missing = column.missing.iter().map(|missing| format!("- not compared: {}", escaped(missing)));
    out.push(missing.collect::<Vec<_>>().join("\n"));
    out.retain(|part| !part.is_empty());
    out.join("\n\n")
}

fn claim(claim: &ClaimShown) -> String {
    let sentences = claim.sentences().join(" ");
    let said = format!(
        "{}\\. {} **{}.** {}",
        claim.number,
        escaped(&claim.said()),
        claim.verdict(),
        escaped(&sentences)
    );
    let known = claim.known();
    let heads = ClaimShown::HEADS.map(str::to_owned);
    let lines = known.iter().map(|range| range.cells().iter().map(|cell| escaped(cell)).collect());
    let ranges = (!known.is_empty()).then(|| table(&heads, lines, 9));
    [said].into_iter().chain(ranges).chain(claim.notes()).collect::<Vec<_>>().join("\n\n")
}
