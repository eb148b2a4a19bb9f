//! Films of runs: states of the ports and of the first flows, look by look, as bytes that a page draws.
//!
//! A chunk is a JSON head, its length before it in four bytes, and little-endian 32-bit floats: for each metric a row a
//! look, a column a port or a flow. `shallows/web/live/film.py` makes the same bytes of a run on the server; a test compares both.

use crate::layout::Ends;
use serde_json::{Value, json};
use shallows_core::probe::{ColumnData, TableData};
use shallows_core::{Control, RunError, Simulation};
use shallows_units::Span;
use std::collections::BTreeMap;

/// Connections in a chunk: those that get most bytes in it, so that answers show and not their requests.
const MOST_FLOWS: usize = 64;
/// Connections among which it chooses: the first ones.
const MOST_WATCHED: u32 = 512;
const MOST_LOOKS: u64 = 2000;
const FEWEST_LOOKS: u64 = 500;
const LOOK_EVERY_PS: u64 = 100_000_000;
/// Looks times ports: bounds a film's memory (10 MB) and its time, also of a fabric of a thousand hosts.
const MOST_CELLS: u64 = 600_000;
const CHUNK_CELLS: u64 = 40_000;
const FIRST_LOOKS: u64 = 125;
/// The first chunk covers at most so much, so that a long run shows something at once.
const FIRST_PS: u64 = 12_500_000_000;
/// An interval of no length counts as so much, in seconds.
const SHORTEST_S: f64 = 1e-15;

/// Runs a simulation to its end, a chunk of its film at a time.
pub struct Filming {
    duration_ps: u64,
    every_ps: u64,
    looks: u64,
    done: u64,
    most_looks: u64,
    ends: Vec<Ends>,
    rates: Vec<f64>,
    /// Transmission in ps, marks and drops of each port up to the last look.
    before: [Vec<f64>; 3],
    arrived: BTreeMap<u32, f64>,
}

/// A connection of a chunk: its number, its first row, and the bytes that had arrived before.
struct Kept {
    id: u32,
    row: usize,
    before: f64,
}

/// Time between two looks in ps, and their number: fine enough to see a sawtooth, few enough to keep.
fn steps(duration_ps: u64, ports: u64) -> (u64, u64) {
    let wanted = (duration_ps / LOOK_EVERY_PS).clamp(FEWEST_LOOKS, MOST_LOOKS);
    let looks = wanted.min(MOST_CELLS / ports.max(1)).min(duration_ps).max(1);
    let every = duration_ps.div_ceil(looks);
    (every, duration_ps.div_ceil(every))
}

/// A column of whole numbers as floats.
fn numbers(table: &TableData, name: &str) -> Vec<f64> {
    let column = table.columns.iter().find(|column| column.name == name).expect("a column of the look");
    match &column.data {
        ColumnData::U64(values) => values.iter().map(|value| *value as f64).collect(),
        ColumnData::U32(values) => values.iter().map(|value| f64::from(*value)).collect(),
        ColumnData::F64(values) => values.clone(),
        ColumnData::Str { .. } => vec![],
    }
}

/// A column of times, exactly.
fn times(table: &TableData) -> &[u64] {
    match &table.columns[0].data {
        ColumnData::U64(values) => values,
        _ => &[],
    }
}

impl Filming {
    /// The film of a run of so long over ports with these ends and rates (bit/s).
    pub fn new(duration_ps: u64, ends: Vec<Ends>, rates: Vec<f64>) -> Self {
        let ports = ends.len();
        let (every_ps, looks) = steps(duration_ps, ports as u64);
        let most_looks = (CHUNK_CELLS / (ports as u64).max(1)).clamp(1, MOST_LOOKS);
        let before = [vec![0.0; ports], vec![0.0; ports], vec![0.0; ports]];
        Filming {
            duration_ps,
            every_ps,
            looks,
            done: 0,
            most_looks,
            ends,
            rates,
            before,
            arrived: BTreeMap::new(),
        }
    }

    /// Time between two looks, in ps.
    pub fn every_ps(&self) -> u64 {
        self.every_ps
    }

    /// Looks of the whole film.
    pub fn looks(&self) -> u64 {
        self.looks
    }

    /// Looks of the first chunk, and of the largest.
    pub fn chunks(&self) -> [u64; 2] {
        [FIRST_LOOKS.min(FIRST_PS / self.every_ps).clamp(1, self.most_looks), self.most_looks]
    }

    /// Whether the run is over.
    pub fn ended(&self) -> bool {
        self.done >= self.looks
    }

    /// Advances the run by so many looks, and gives their chunk.
    pub fn chunk(
        &mut self,
        simulation: &mut Simulation,
        looks: u64,
        control: &Control,
    ) -> Result<Vec<u8>, RunError> {
        let (first, wanted) = (self.done, looks.clamp(1, self.most_looks).min(self.looks - self.done));
        let (ended, tables) =
            simulation.watch(Span::ps(self.every_ps), wanted as usize, MOST_WATCHED, control)?;
        self.done = if ended { self.looks } else { first + wanted };
        Ok(self.encode(first, &tables[0], &tables[1]))
    }

    fn encode(&mut self, first: u64, ports: &TableData, flows: &TableData) -> Vec<u8> {
        let count = self.ends.len();
        let looked: Vec<u64> = times(ports).iter().copied().step_by(count.max(1)).collect();
        let mut from = (first * self.every_ps).min(self.duration_ps);
        let mut spans = vec![];
        for time in &looked {
            spans.push(((*time - from) as f64 / 1e12).max(SHORTEST_S));
            from = *time;
        }
        let rates = numbers(ports, "rate_bps");
        // The higher rate of an interval in which an event changes it.
        let bears: Vec<f64> =
            rates.iter().zip(self.rates.iter().chain(&rates)).map(|(now, before)| now.max(*before)).collect();
        if !looked.is_empty() {
            self.rates = rates[rates.len() - count..].to_vec();
        }
        let (ends, per_flow) = self.flows(flows, &looked, &spans, &bears);
        let [mut busy, marks, drops] = self.ports(ports, looked.len());
        for (look, span) in spans.iter().enumerate() {
            busy[look * count..][..count].iter_mut().for_each(|value| *value = *value / 1e12 / span);
        }
        let head = json!({"flows": ends, "from": first, "looks": looked.len()});
        let of_ports = [numbers(ports, "packets"), busy, marks, drops];
        pack(&head, of_ports.iter().chain(&per_flow))
    }

    /// The transmission, marks and drops of each interval.
    fn ports(&mut self, table: &TableData, looks: usize) -> [Vec<f64>; 3] {
        let count = self.ends.len();
        let mut found = [vec![], vec![], vec![]];
        for ((name, before), out) in
            ["busy_ps", "marks", "drops"].iter().zip(&mut self.before).zip(&mut found)
        {
            let totals = numbers(table, name);
            *out = totals.iter().zip(before.iter().chain(&totals)).map(|(now, then)| now - then).collect();
            if looks > 0 {
                *before = totals[totals.len() - count..].to_vec();
            }
        }
        found
    }

    /// Number, load and ends of each flow of the looks; window, rate, estimate, round-trip time, data in flight and
    /// arrived data of each look.
    fn flows(
        &mut self,
        table: &TableData,
        looked: &[u64],
        spans: &[f64],
        bears: &[f64],
    ) -> (Vec<Value>, [Vec<f64>; 6]) {
        let id = numbers(table, "id");
        let kept = self.chosen(&id, &numbers(table, "arrived_bytes"));
        let wide = kept.len();
        let cells: Vec<(usize, usize)> = times(table)
            .iter()
            .zip(&id)
            .enumerate()
            .filter_map(|(row, (time, id))| {
                let column = kept.binary_search_by_key(&(*id as u32), |kept| kept.id).ok()?;
                Some((row, looked.partition_point(|other| other < time) * wide + column))
            })
            .collect();
        let spread = |name: &str| {
            let mut grid = vec![f64::NAN; looked.len() * wide];
            let values = numbers(table, name);
            cells.iter().for_each(|(row, cell)| grid[*cell] = values[*row]);
            grid
        };
        let arrived = spread("arrived_bytes");
        let columns: Vec<Vec<f64>> =
            ["id", "load", "src", "dst"].iter().map(|name| numbers(table, name)).collect();
        let mut rate = vec![f64::NAN; arrived.len()];
        let mut ends = vec![];
        for (column, flow) in kept.iter().enumerate() {
            let [_, _, src, dst]: [usize; 4] =
                std::array::from_fn(|number| columns[number][flow.row] as usize);
            ends.push(columns.iter().map(|values| Value::from(values[flow.row] as u64)).collect::<Value>());
            let at = |is: &dyn Fn(&Ends) -> bool| -> Vec<usize> {
                (0..self.ends.len()).filter(|port| is(&self.ends[*port])).collect()
            };
            let (out, into) = (at(&|ends| ends.from == src), at(&|ends| ends.to == dst));
            let mut before = flow.before;
            for (look, span) in spans.iter().enumerate() {
                let now = arrived[look * wide + column];
                // A flow's first look may come within the chunk.
                let moved = if before.is_nan() { now } else { now - before };
                before = now;
                if moved.is_nan() {
                    continue;
                }
                let row = &bears[look * self.ends.len()..];
                let [most, other] =
                    [&out, &into].map(|ports| ports.iter().map(|port| row[*port]).sum::<f64>());
                let most = most.min(other);
                rate[look * wide + column] = (moved * 8.0 / span).min(most);
            }
        }
        let srtt = spread("srtt_ps").into_iter().map(|ps| ps / 1e6).collect();
        (ends, [spread("cwnd_bytes"), rate, spread("alpha"), srtt, spread("flight_bytes"), arrived])
    }

    /// The connections that the chunk shows, by their numbers: those that get most bytes in it.
    fn chosen(&mut self, id: &[f64], arrived: &[f64]) -> Vec<Kept> {
        let mut rows: BTreeMap<u32, (usize, usize)> = BTreeMap::new();
        for (row, id) in id.iter().enumerate() {
            rows.entry(*id as u32).or_insert((row, row)).1 = row;
        }
        let mut kept: Vec<(f64, Kept)> = rows
            .into_iter()
            .map(|(id, (row, last))| {
                let before = self.arrived.insert(id, arrived[last]).unwrap_or(0.0);
                (arrived[last] - before, Kept { id, row, before })
            })
            .collect();
        kept.sort_by(|a, b| b.0.total_cmp(&a.0));
        kept.truncate(MOST_FLOWS);
        let mut kept: Vec<Kept> = kept.into_iter().map(|(_, kept)| kept).collect();
        kept.sort_unstable_by_key(|kept| kept.id);
        kept
    }
}

/// A chunk: its head, padded so that the floats are aligned, and its metrics one after the other.
fn pack<'a>(head: &Value, body: impl Iterator<Item = &'a Vec<f64>>) -> Vec<u8> {
    let mut text = head.to_string();
    while !text.len().is_multiple_of(4) {
        text.push(' ');
    }
    let mut chunk = (text.len() as u32).to_le_bytes().to_vec();
    chunk.extend(text.as_bytes());
    for value in body.flatten() {
        chunk.extend((*value as f32).to_le_bytes());
    }
    chunk
}

/// Packets under way, their landing told from `at_ps` on, as rows of port, flow, size, landing and flags.
pub fn packets(table: &TableData, at_ps: u64) -> Value {
    let columns: Vec<Vec<f64>> = ["port", "flow", "size", "reverse", "ce", "ece", "retransmitted"]
        .iter()
        .map(|name| numbers(table, name))
        .collect();
    let lands = table.columns.iter().find(|column| column.name == "lands_ps");
    let Some(ColumnData::U64(lands)) = lands.map(|column| &column.data) else { return Value::Null };
    let row = |(row, lands): (usize, &u64)| {
        let of = |column: usize| columns[column][row] as i64;
        json!([of(0), of(1), of(2), *lands as i64 - at_ps as i64, of(3) + 2 * of(4) + 4 * of(5) + 8 * of(6)])
    };
    json!({"at_ps": at_ps, "packets": lands.iter().enumerate().map(row).collect::<Vec<_>>()})
}
