//! Common parts of the tests of this directory: documents, runs, tables, random cases.
#![allow(dead_code)] // each test binary uses a part

pub mod cases;
pub mod documents;

use serde_json::{Map, Value};
use shallows_core::packet::DropWhy;
use shallows_core::params::Component;
use shallows_core::probe::{ColumnData, TableData};
use shallows_core::{Control, Simulation};
use std::collections::BTreeMap;

/// The run of `document`, ready.
pub fn load(document: &Value) -> Simulation {
    shallows_spec::load(&document.to_string()).unwrap_or_else(|faults| {
        let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
        panic!("{document}\n{}", faults.join("\n"))
    })
}

/// A component with the settings of its example, as a section of a document.
pub fn example(component: &Component) -> Value {
    let mut map: Map<String, Value> = serde_json::from_str(component.facts.example).expect("a JSON object");
    map.insert("kind".into(), component.name.into());
    Value::Object(map)
}

/// The faults of a document, each as a line.
pub fn faults(document: &Value) -> Vec<String> {
    let found = shallows_spec::load(&document.to_string()).err().unwrap_or_default();
    found.iter().map(ToString::to_string).collect()
}

/// The run of `document`, over.
pub fn run(document: &Value) -> Simulation {
    let mut simulation = load(document);
    simulation.run(&Control::new()).expect("the run ends");
    simulation
}

/// Sets the value at a dotted path, making tables on the way.
pub fn set(document: &mut Value, path: &str, value: Value) {
    *path.split('.').fold(document, |at, key| &mut at[key]) = value;
}

/// The tables of a run, by name and column.
pub struct Tables(Vec<TableData>);

impl Tables {
    /// Those of `simulation`.
    pub fn of(simulation: &Simulation) -> Self {
        Tables(simulation.tables())
    }

    /// A column's values.
    pub fn column(&self, table: &str, column: &str) -> &ColumnData {
        let found =
            self.0.iter().find(|t| t.name == table).and_then(|t| t.columns.iter().find(|c| c.name == column));
        &found.unwrap_or_else(|| panic!("no column {table}.{column}")).data
    }

    /// Whole numbers; `u64::MAX` stands for none.
    pub fn u64(&self, table: &str, column: &str) -> &[u64] {
        match self.column(table, column) {
            ColumnData::U64(values) => values,
            other => panic!("{table}.{column} is {other:?}"),
        }
    }

    /// Packets of a row of `queues` or `inner_queues` that were dropped at the port, by any cause.
    pub fn dropped_at_port(&self, table: &str, row: usize) -> u64 {
        let here = DropWhy::ALL.into_iter().filter(|why| !why.on_wire());
        here.map(|why| self.u64(table, why.column())[row]).sum()
    }

    /// Identifiers and flags.
    pub fn u32(&self, table: &str, column: &str) -> &[u32] {
        match self.column(table, column) {
            ColumnData::U32(values) => values,
            other => panic!("{table}.{column} is {other:?}"),
        }
    }

    /// Numbers; NaN stands for none.
    pub fn f64(&self, table: &str, column: &str) -> &[f64] {
        match self.column(table, column) {
            ColumnData::F64(values) => values,
            other => panic!("{table}.{column} is {other:?}"),
        }
    }

    /// Words.
    pub fn words(&self, table: &str, column: &str) -> Vec<&str> {
        match self.column(table, column) {
            ColumnData::Str { dictionary, codes } => {
                codes.iter().map(|c| dictionary[*c as usize].as_str()).collect()
            }
            other => panic!("{table}.{column} is {other:?}"),
        }
    }

    /// Rows of a table.
    pub fn rows(&self, table: &str) -> usize {
        self.0.iter().find(|t| t.name == table).expect("a table of that name").columns[0].data.len()
    }

    /// Place of `port` in the table `queues`.
    pub fn port(&self, port: &str) -> usize {
        let names = self.words("queues", "port");
        names.iter().position(|name| *name == port).unwrap_or_else(|| panic!("no port {port} in {names:?}"))
    }

    /// Every column by `table.column`, each as a hash of its bytes: equal hashes, equal results.
    pub fn hashes(&self) -> BTreeMap<String, u64> {
        let columns = self.0.iter().flat_map(|t| t.columns.iter().map(move |c| (t.name, c)));
        columns.map(|(table, column)| (format!("{table}.{}", column.name), hash(&column.data))).collect()
    }
}

/// FNV-1a over the bytes that leave the core.
fn hash(data: &ColumnData) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let mut add = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    match data {
        ColumnData::U64(values) => values.iter().for_each(|v| add(&v.to_le_bytes())),
        ColumnData::U32(values) => values.iter().for_each(|v| add(&v.to_le_bytes())),
        ColumnData::F64(values) => values.iter().for_each(|v| add(&v.to_bits().to_le_bytes())),
        ColumnData::Str { dictionary, codes } => {
            codes.iter().for_each(|c| add(&[dictionary[*c as usize].as_bytes(), b"\n"].concat()));
        }
    }
    hash
}
