//! The datagrams of a document's loads with their times, for a backend that sends them itself.

use serde_json::{Map, Value, json};
use shallows_core::params::{Fault, Faults};
use shallows_core::transport::datagram::{Due, Emitter};
use shallows_units::Time;

/// Most datagrams of a load that are listed.
const MOST: u64 = 20_000_000;

/// The datagrams of each load of the kind `datagrams`, by the load's name: `{name: [[[at, gap, count, bytes], ...], ...]}` has a list
/// for each pair of hosts, in the order of the rows of `flows`. A row stands for `count` datagrams of as many bytes, the first at `at`
/// and each of the others `gap` later, in ps. A load with more than 20 million of them has null.
pub fn emissions(document: &str) -> Result<String, Vec<Fault>> {
    let experiment = crate::parse(document)?;
    let checked = experiment.checked().map_err(Faults::into_list)?;
    let mut all = Map::new();
    for (spec, work) in experiment.loads.iter().zip(&checked.loads) {
        let Some(emission) = work.emission() else { continue };
        let pairs = work.expects(experiment.run.duration).in_all;
        let mut left = MOST;
        let rows = (0..pairs).map(|pair| listed(&mut *emission.start(pair), &mut left));
        let rows: Option<Vec<Value>> = rows.collect();
        all.insert(spec.name.clone(), rows.map_or(Value::Null, Value::from));
    }
    Ok(Value::Object(all).to_string())
}

/// All datagrams of a sender in rows; nothing if there are more than are `left`.
fn listed(emitter: &mut dyn Emitter, left: &mut u64) -> Option<Value> {
    let mut rows: Vec<Row> = vec![];
    while let Some(due) = emitter.next() {
        *left = left.checked_sub(1)?;
        if !rows.last_mut().is_some_and(|row| row.takes(due)) {
            rows.push(Row { at: due.at, last: due.at, gap: None, count: 1, bytes: due.bytes });
        }
    }
    let show =
        |row: &Row| json!([(row.at - Time::ZERO).as_ps(), row.gap.unwrap_or_default(), row.count, row.bytes]);
    Some(rows.iter().map(show).collect())
}

/// Datagrams of one size at equal distances.
struct Row {
    at: Time,
    last: Time,
    /// The distance in ps, once there are two.
    gap: Option<u64>,
    count: u64,
    bytes: u16,
}

impl Row {
    /// Whether the next datagram belongs to the row, which then has it.
    fn takes(&mut self, due: Due) -> bool {
        let gap = (due.at - self.last).as_ps();
        let same = due.bytes == self.bytes && self.gap.is_none_or(|before| before == gap);
        if same {
            (self.last, self.gap, self.count) = (due.at, Some(gap), self.count + 1);
        }
        same
    }
}
