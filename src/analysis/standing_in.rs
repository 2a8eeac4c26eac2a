//! What a verdict is about where no time says anything, as on an emulated CPU: counts that are declared to stand in for the
//! workload's own headline metrics.

use super::dataset::Series;
use super::metrics;
use crate::schema::declared;
use crate::schema::metric::Of;
use crate::schema::record::Record;
use crate::schema::setup::ClockKind;
use crate::schema::units::MIB;

/// Of fewer nobody chooses: two flushes beside three are no finding worth its place in the family.
const FEWEST_COUNTED: f64 = 100.0;
const FEWEST_BYTES: f64 = MIB as f64;

/// Makes headlines of them where no trial's times say anything and the workload has no other headline.
pub fn mark(series: &mut [Series], counted: &[&Record]) {
    let is_timeless = !counted.is_empty() && counted.iter().all(|record| !record.fidelity.times_count());
    if !is_timeless || series.iter().any(|one| one.headline) {
        return;
    }
    let declared = metrics::standing_in();
    // There each sample must have a ratio for each pair.
    let is_modelled = counted.iter().any(|record| record.clock == ClockKind::Virtual);
    let is_one = |one: &&mut Series| {
        let is_declared = !one.once && declared::find(&declared, &one.name).is_some();
        is_declared && is_much_of_any(one) && (!is_modelled || is_never_none(one))
    };
    for one in series.iter_mut().filter(is_one) {
        (one.headline, one.stands_in) = (true, true);
    }
}

fn is_much_of_any(series: &Series) -> bool {
    let fewest = if series.of == Of::Bytes { FEWEST_BYTES } else { FEWEST_COUNTED };
    series.cells.iter().filter_map(|cell| cell.median).any(|median| median >= fewest)
}

fn is_never_none(series: &Series) -> bool {
    series.cells.iter().flat_map(|cell| &cell.values).all(|value| value.value > 0.0)
}
