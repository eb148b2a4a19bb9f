//! The bench of the tests: a run from its document, its tables by name, and the closed forms of an
//! empty path.

use serde_json::{Map, Value, json};
use shallows_core::probe::{ColumnData, TableData};
use shallows_core::{Control, Simulation};

/// Picoseconds in a microsecond.
pub const US: u64 = 1_000_000;
/// Picoseconds in a millisecond.
pub const MS: u64 = 1000 * US;
/// Picoseconds in a second.
pub const S: u64 = 1000 * MS;

/// Payload of a full segment.
pub const MSS: u64 = 1460;
/// A full packet on the wire.
pub const FULL: u64 = 1500;
/// Headers, and so an acknowledgement without options.
pub const HEADER: u64 = 40;

/// One sender and one receiver on a star, with `transport` and one load `traffic.x` from the one to the
/// other, for a second at most: 10 Gb/s, and 100 us for the round trip without transmissions.
pub fn pair(transport: Value, load: Value) -> Value {
    let mut document = json!({
        "duration": "1s",
        "topology": {"kind": "star", "senders": 1, "rate": "10Gbps", "delay": "25us"},
        "queue": {"kind": "drop-tail"},
        "transport": {"opening": "established", "cc": "newreno"},
        "traffic": {"x": {"kind": "bulk", "from": "s0", "to": "r0"}},
    });
    put(&mut document["transport"], transport);
    put(&mut document["traffic"]["x"], load);
    document
}

/// `document` with each of `changes` in place, tables merged.
pub fn with(mut document: Value, changes: Value) -> Value {
    put(&mut document, changes);
    document
}

fn put(document: &mut Value, changes: Value) {
    let Value::Object(changes) = changes else { panic!("changes are a table") };
    let map: &mut Map<String, Value> = document.as_object_mut().expect("a document is a table");
    for (key, value) in changes {
        match map.get_mut(&key) {
            Some(inner @ Value::Object(_)) if value.is_object() => put(inner, value),
            _ => _ = map.insert(key, value),
        }
    }
}

/// The path of [`pair`]: two links each way, all alike.
pub struct Line {
    /// Time that a byte takes on each link, in ps.
    pub byte: u64,
    /// Delay of each link, in ps.
    pub delay: u64,
}

/// The path of [`pair`] as it stands.
pub const LINE: Line = Line { byte: 800, delay: 25 * US };

impl Line {
    /// Time to transmit `bytes` on one link.
    pub fn transmission(&self, bytes: u64) -> u64 {
        self.byte * bytes
    }

    /// From the first of `packets` full packets, sent together, until the last has arrived: store and
    /// forward, so the burst is transmitted whole once and its last packet once more.
    pub fn burst(&self, packets: u64) -> u64 {
        self.transmission(FULL) * (packets + 1) + 2 * self.delay
    }

    /// From sending a packet of `bytes` until it has arrived.
    pub fn one_way(&self, bytes: u64) -> u64 {
        2 * (self.transmission(bytes) + self.delay)
    }

    /// From sending a full packet until its acknowledgement has arrived.
    pub fn round(&self) -> u64 {
        self.one_way(FULL) + self.one_way(HEADER)
    }
}

/// A finished run.
pub struct Run {
    /// For facts that no table has.
    pub simulation: Simulation,
    tables: Vec<TableData>,
}

/// A packet as it is handed to a port.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sent {
    /// When, in ps.
    pub at: u64,
    /// Its bytes on the wire.
    pub bytes: u64,
}

/// Runs `document`; its books must balance.
pub fn run(document: Value) -> Run {
    let mut simulation = shallows_spec::load(&document.to_string())
        .unwrap_or_else(|faults| panic!("{}", faults.iter().map(|f| format!("{f}\n")).collect::<String>()));
    simulation.run(&Control::new()).expect("the run ends");
    assert!(simulation.books().balance(), "{:?}", simulation.books());
    let tables = simulation.tables();
    Run { simulation, tables }
}

/// Runs `document` and records each packet that `ports` are handed.
pub fn watch(document: Value, ports: &[&str]) -> Run {
    run(with(document, json!({"probe": {"queue_trace": "change", "ports": ports, "flow_trace": "change"}})))
}

impl Run {
    fn data(&self, table: &str, column: &str) -> &ColumnData {
        let table = self.tables.iter().find(|t| t.name == table).expect("a table");
        &table.columns.iter().find(|c| c.name == column).expect("a column").data
    }

    /// A column of numbers; null is NaN. Times of these tests are whole in f64: below 2^53 ps.
    pub fn column(&self, table: &str, column: &str) -> Vec<f64> {
        match self.data(table, column) {
            ColumnData::U64(v) => {
                v.iter().map(|x| if *x == u64::MAX { f64::NAN } else { *x as f64 }).collect()
            }
            ColumnData::U32(v) => {
                v.iter().map(|x| if *x == u32::MAX { f64::NAN } else { f64::from(*x) }).collect()
            }
            ColumnData::F64(v) => v.clone(),
            ColumnData::Str { .. } => panic!("{table}.{column} holds words"),
        }
    }

    /// A column of words.
    pub fn words(&self, table: &str, column: &str) -> Vec<&str> {
        match self.data(table, column) {
            ColumnData::Str { dictionary, codes } => {
                codes.iter().map(|code| dictionary[*code as usize].as_str()).collect()
            }
            _ => panic!("{table}.{column} holds numbers"),
        }
    }

    /// The load of each flow.
    pub fn loads(&self) -> Vec<&str> {
        self.words("flows", "traffic")
    }

    /// The first connection's row of the table `flows`.
    pub fn flow(&self, column: &str) -> f64 {
        self.column("flows", column)[0]
    }

    /// The row of `port` in the table `queues`.
    pub fn port(&self, port: &str, column: &str) -> f64 {
        let row = self.words("queues", "port").iter().position(|name| *name == port).expect("a port");
        self.column("queues", column)[row]
    }

    /// Completion time of each message in ps, in order of completion.
    pub fn fct(&self) -> Vec<u64> {
        self.column("messages", "fct_ps").iter().map(|ps| *ps as u64).collect()
    }

    /// The packets that `port`, one of those watched, was handed.
    pub fn sent(&self, port: &str) -> Vec<Sent> {
        let columns = ["time_ps", "packets", "bytes"].map(|column| self.column("queue_trace", column));
        let (mut packets, mut bytes) = (0.0, 0.0);
        let mut sent = vec![];
        for (row, name) in self.words("queue_trace", "port").iter().enumerate() {
            if *name == port {
                let [at, p, b] = [0, 1, 2].map(|column| columns[column][row]);
                if p > packets {
                    sent.push(Sent { at: at as u64, bytes: (b - bytes) as u64 });
                }
                (packets, bytes) = (p, b);
            }
        }
        sent
    }

    /// Only when, of [`Run::sent`].
    pub fn times(&self, port: &str) -> Vec<u64> {
        self.sent(port).iter().map(|sent| sent.at).collect()
    }
}

/// Holds `got` to `want` within the share `tolerance` of it.
#[track_caller]
pub fn close(what: &str, got: f64, want: f64, tolerance: f64) {
    let off = (got - want).abs() / want.abs();
    assert!(off <= tolerance, "{what}: {got:.6}, by theory {want:.6}: {:.2} % apart", 100.0 * off);
}

/// Holds `got` to `want` within `slack`, in the same unit.
#[track_caller]
pub fn near(what: &str, got: f64, want: f64, slack: f64) {
    assert!((got - want).abs() <= slack, "{what}: {got:.6}, by theory {want:.6} within {slack}");
}
