//! The ways in which a run can fail.

use shallows_units::Time;

/// A cycle of waiting ports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deadlock {
    /// The ports by name, each waiting for the next, and the last for the first.
    pub cycle: Vec<String>,
    /// Their priority.
    pub priority: u8,
    /// The last of them began to wait then.
    pub since: Time,
    /// A link failed then, and ended it.
    pub until: Option<Time>,
    /// The ports as links.
    pub(super) links: Vec<u32>,
}

impl std::fmt::Display for Deadlock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Deadlock { cycle, priority, since, until, .. } = self;
        let (first, cycle) = (cycle.first().map_or("", String::as_str), cycle.join(", "));
        let since = *since - Time::ZERO;
        match until.map(|until| until - Time::ZERO) {
            None => write!(
                f,
                "a deadlock in priority {priority} since {since}: each of these ports waits for the next"
            )?,
            Some(until) => write!(
                f,
                "a deadlock in priority {priority} from {since} until {until}, when a link failed: each of these ports waited \
                 for the next"
            )?,
        }
        write!(f, ": {cycle}, {first}")
    }
}

/// The items of one kind that a run holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The kind of item.
    pub what: &'static str,
    /// How many there are.
    pub count: u64,
    /// Bytes of all.
    pub bytes: u64,
    /// A way to have fewer.
    pub cure: &'static str,
}

/// Why a run ended early.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunError {
    /// It was stopped on request.
    Cancelled,
    /// A trace grew beyond `probe.trace_rows`.
    TraceTooLong(u64),
    /// Ports wait for each other for ever.
    Deadlock(Deadlock),
    /// More connections stood at once than one run can hold.
    TooManyFlows(usize),
    /// The run's items would take more memory than allowed.
    TooMuchHeld {
        /// The largest part.
        held: Held,
        /// Bytes of all parts.
        bytes: u64,
        /// Bytes that they may take.
        most: u64,
    },
}

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RunError::Cancelled => write!(f, "the run was cancelled"),
            RunError::TraceTooLong(rows) => write!(
                f,
                "a trace grew beyond {rows} rows: trace at a longer interval, fewer ports or classes, or raise probe.trace_rows"
            ),
            RunError::Deadlock(found) => write!(
                f,
                "{found}. Route without such a cycle, or write pfc.deadlock = \"watchdog\" or \"go-on\""
            ),
            RunError::TooMuchHeld { held, bytes, most } => write!(
                f,
                "the run holds {}, more than the {} it may take, of it {} for {} {}: {}, or give it more memory \
                 (--allow-memory, allow_memory=True)",
                gb(*bytes),
                gb(*most),
                gb(held.bytes),
                held.count,
                held.what,
                held.cure
            ),
            RunError::TooManyFlows(most) => {
                write!(
                    f,
                    "more than {most} connections were open at once: the load exceeds the capacity of the network"
                )
            }
        }
    }
}

impl std::error::Error for RunError {}

/// Bytes as a person says them.
pub fn gb(bytes: u64) -> String {
    match bytes {
        0..1_000_000_000 => format!("{:.0} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}
