//! The questions to every random run: no panic, books that balance, the laws of all tables, the same bytes again, in
//! steps, and in one, two and three threads.

use super::draw::{Sections, mend};
use super::laws::Laws;
use serde_json::Value;
use shallows_core::events::random::Stream;
use shallows_core::experiment::Cut;
use shallows_core::params::Fault;
use shallows_core::probe::ColumnData;
use shallows_core::{Control, Experiment, Simulation};
use shallows_units::{Span, Time};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Most memory of a run; one that would take more is refused in words.
const MEMORY: u64 = 1 << 30;
/// Most connections and messages of a run.
const MOST_ROWS: u64 = 5_000;
/// A run that takes longer is stopped.
const MOST_S: f64 = 60.0;

/// The outcome of a random experiment.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Runs made.
    pub runs: u64,
    /// Runs among them whose network was cut into several cells.
    pub cut: u64,
    /// Runs that ended in words.
    pub ended: u64,
    /// Events of all.
    pub events: u64,
    /// The faults found.
    pub found: Vec<String>,
}

/// A legal experiment, or none where ten repairs do not make one.
pub fn legal(sections: &Sections, chance: &mut Stream) -> Option<(Value, Experiment)> {
    let mut document = sections.written(chance);
    for _ in 0..10 {
        match checked(&document) {
            Ok((experiment, rows)) if rows <= MOST_ROWS => return Some((document, experiment)),
            Ok((experiment, rows)) => shorten(&mut document, experiment.run.duration, rows),
            Err(faults) => {
                let mended = faults.iter().filter(|fault| mend(&mut document, fault)).count();
                if mended == 0 {
                    return None;
                }
            }
        }
    }
    None
}

/// Each connection takes some 4 us of CPU time and 2 KB to open: a load of 40 Gb/s in messages of a byte opens 2500 in
/// a microsecond. Such a run is made short.
fn shorten(document: &mut Value, duration: Span, rows: u64) {
    let duration = u128::from(duration.as_ps()) * u128::from(MOST_ROWS / 2) / u128::from(rows);
    document["duration"] = format!("{}ps", duration.max(1_000_000)).into();
    document["warmup"] = "0s".into();
}

/// The experiment of a document that the simulator can run, and how many connections and messages it will have.
pub fn checked(document: &Value) -> Result<(Experiment, u64), Vec<Fault>> {
    let experiment = shallows_spec::parse(&document.to_string())?;
    shallows_spec::simulable(&experiment)?;
    let estimate = experiment.check().map_err(|faults| faults.0)?;
    let rows = estimate.parts.iter().find(|part| part.what == "rows of results").map_or(0, |part| part.count);
    Ok((experiment, rows))
}

/// How a run is made.
struct Way {
    cut: Cut,
    threads: usize,
    /// The run stops so often on its way.
    stops: u64,
    /// Common packets take short ways through hosts and their ports.
    short_ways: bool,
}

/// Runs an experiment in several ways and compares.
pub fn judge(experiment: &mut Experiment, laws: &Laws, chance: &mut Stream) -> Outcome {
    let mut outcome = Outcome::default();
    let large = Way { cut: Cut::Large, threads: 1, stops: 0, short_ways: true };
    let Some(first) = run(experiment, &large, laws, &mut outcome) else { return outcome };
    let stops = if chance.chance(0.5) { 1 + chance.below(20) } else { 0 };
    let first = Some(first);
    let again = run(experiment, &Way { stops, ..large }, laws, &mut outcome);
    compare("again", &first, again, &mut outcome);
    let long = run(experiment, &Way { short_ways: false, ..large }, laws, &mut outcome);
    compare("without short ways", &first, long, &mut outcome);
    if chance.chance(0.4) {
        let before = outcome.runs;
        let alone = run(experiment, &Way { cut: Cut::Always, ..large }, laws, &mut outcome);
        for (threads, stops) in [(2, 0), (3, 0), (1, stops)] {
            let way = Way { cut: Cut::Always, threads, stops, ..large };
            let other = run(experiment, &way, laws, &mut outcome);
            compare(&format!("{threads} threads, {stops} stops"), &alone, other, &mut outcome);
        }
        outcome.cut += outcome.runs - before;
    }
    outcome
}

fn compare(what: &str, one: &Option<Digest>, other: Option<Digest>, outcome: &mut Outcome) {
    let (Some(one), Some(other)) = (one, other) else { return };
    let names = one.iter().zip(&other).filter(|(one, other)| one != other).map(|(one, _)| one.0.as_str());
    let names: Vec<&str> = names.collect();
    if !names.is_empty() {
        outcome.found.push(format!("{what}: the run has other bytes in {}", names.join(", ")));
    }
}

/// A hash of each column, and of the counts.
type Digest = Vec<(String, u64)>;

/// A hash of the run's tables and counts, or none where it ended in words.
fn run(experiment: &mut Experiment, way: &Way, laws: &Laws, outcome: &mut Outcome) -> Option<Digest> {
    outcome.runs += 1;
    (experiment.cut, experiment.short_ways) = (way.cut, way.short_ways);
    let (duration, warmup) = (experiment.run.duration, experiment.run.warmup);
    let attempt = caught(|| -> Result<(Digest, u64, Vec<String>), String> {
        let mut simulation =
            experiment.build_within(Some(MEMORY)).map_err(|faults| faults.0[0].to_string())?;
        simulation.set_threads(way.threads);
        let control = control();
        let every = Span::ps(duration.as_ps() / (way.stops + 1) + 1);
        let mut until = if way.stops == 0 { Time::MAX } else { Time::ZERO + every };
        while !simulation.advance(until, &control).map_err(|error| error.to_string())? {
            until += every;
        }
        let mut found = laws.broken(&simulation, duration.as_ps(), warmup.as_ps());
        let (books, outstanding) = (simulation.books(), simulation.outstanding());
        if outstanding != books.in_flight {
            found.push(format!(
                "{outstanding} packets are under way for the hosts, {} for the network",
                books.in_flight
            ));
        }
        Ok((digest(&simulation), books.events, found))
    });
    match attempt {
        Ok(Ok((digest, events, found))) => {
            outcome.events += events;
            outcome.found.extend(found);
            Some(digest)
        }
        Ok(Err(words)) => {
            outcome.ended += 1;
            if words.is_empty() {
                outcome.found.push("an error without a word".into());
            }
            None
        }
        Err(panic) => {
            outcome.found.push(panic);
            None
        }
    }
}

/// Message and place of the last panic.
static PANIC: Mutex<String> = Mutex::new(String::new());

/// A panic is an answer now.
pub static JUDGING: AtomicBool = AtomicBool::new(false);

/// Calls `act`; an error says how it panicked.
pub fn caught<T>(act: impl FnOnce() -> T) -> Result<T, String> {
    JUDGING.store(true, Ordering::Relaxed);
    let answer = catch_unwind(AssertUnwindSafe(act));
    JUDGING.store(false, Ordering::Relaxed);
    answer.map_err(|_| format!("a panic: {}", PANIC.lock().map(|said| said.clone()).unwrap_or_default()))
}

/// Keeps the messages of panics instead of printing them, where a panic is an answer.
pub fn catch_panics() {
    std::panic::set_hook(Box::new(|info| {
        if !JUDGING.load(Ordering::Relaxed) {
            eprintln!("{info}");
        }
        if let Ok(mut said) = PANIC.lock() {
            *said = info.to_string();
        }
    }));
}

/// Stops a run that takes too long.
fn control() -> Arc<Control> {
    let begun = Instant::now();
    Arc::new_cyclic(|weak: &std::sync::Weak<Control>| {
        let weak = weak.clone();
        Control::with_pause(move || {
            if begun.elapsed().as_secs_f64() > MOST_S
                && let Some(control) = weak.upgrade()
            {
                control.cancel();
            }
        })
    })
}

/// FNV-1a over each column, a word at a time, and over the counts that do not depend on threads.
fn digest(simulation: &Simulation) -> Digest {
    let hash = |words: &mut dyn Iterator<Item = u64>| {
        words.fold(0xcbf2_9ce4_8422_2325u64, |hash, word| (hash ^ word).wrapping_mul(0x0100_0000_01b3))
    };
    let column = |data: &ColumnData| match data {
        ColumnData::U64(values) => hash(&mut values.iter().copied()),
        ColumnData::U32(values) => hash(&mut values.iter().map(|value| (*value).into())),
        ColumnData::F64(values) => hash(&mut values.iter().map(|value| value.to_bits())),
        ColumnData::Str { codes, .. } => hash(&mut codes.iter().map(|code| (*code).into())),
    };
    let books = simulation.books();
    let counts = [books.sent, books.duplicated, books.delivered, books.dropped, books.in_flight, books.hops];
    let mut digest = vec![("counts".to_owned(), hash(&mut counts.into_iter()))];
    for table in simulation.tables() {
        digest.extend(table.columns.iter().map(|c| (format!("{}.{}", table.name, c.name), column(&c.data))));
    }
    digest
}
