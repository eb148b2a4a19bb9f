//! The laws of all tables, from the file that the Python part reads too.

use super::expression::{Expression, Value, cell, read};
use shallows_core::packet::{DropWhy, LostAt};
use shallows_core::probe::{Column, ColumnData, TableData};
use shallows_core::{Books, Simulation};
use std::collections::BTreeMap;

const DECLARED: &str = include_str!("../../../../python/shallows/tables/laws.toml");

/// Bounds and laws of one table.
struct Table {
    /// Name, type and range of each column.
    columns: Vec<(String, String, String)>,
    laws: Vec<String>,
}

/// All of them.
pub struct Laws {
    tables: BTreeMap<String, Table>,
}

/// Tables by name.
type Tables<'a> = BTreeMap<&'a str, &'a TableData>;

impl Laws {
    /// Those of `laws.toml`; panics where it has a relation that is not written here.
    pub fn read() -> Self {
        let declared: toml::Table = DECLARED.parse().expect("TOML");
        let mut tables = BTreeMap::new();
        for (name, table) in &declared {
            if name == "relations" {
                let mut here: Vec<&str> =
                    RELATIONS.iter().map(|(law, _)| *law).chain(BY_EXPERIMENT).collect();
                let mut there: Vec<&str> =
                    table.as_table().expect("a table").keys().map(String::as_str).collect();
                here.sort_unstable();
                there.sort_unstable();
                assert_eq!(there, here, "a relation of laws.toml stands in this file");
                continue;
            }
            let columns = table["columns"].as_table().expect("a table").iter();
            let word = |value: &toml::Value, i: usize| value[i].as_str().expect("a word").to_owned();
            let columns = columns.flat_map(|(key, value)| {
                let names = causes(key).unwrap_or_else(|| vec![key.as_str()]);
                names
                    .into_iter()
                    .map(|name| (name.to_owned(), word(value, 0), word(value, 1)))
                    .collect::<Vec<_>>()
            });
            let columns = columns.collect();
            let stated = table["laws"].as_table().expect("a table").keys().map(|law| with_sums(law));
            let laws = stated.chain(bounds_of(table["columns"].as_table().expect("a table"))).collect();
            tables.insert(name.clone(), Table { columns, laws });
        }
        Laws { tables }
    }

    /// Every law that a run breaks. `duration` and `warmup` are in ps.
    pub fn broken(&self, run: &Simulation, duration: u64, warmup: u64) -> Vec<String> {
        let tables = run.tables();
        let mut found = vec![];
        let names: Vec<&str> = tables.iter().map(|table| table.name).collect();
        for name in self.tables.keys().filter(|name| !names.contains(&name.as_str())) {
            found.push(format!("{name}: the table is missing"));
        }
        for table in &tables {
            match self.tables.get(table.name) {
                Some(laws) => laws.broken(table, duration, warmup, &mut found),
                None => found.push(format!("{}: the table is not declared", table.name)),
            }
        }
        let tables: Tables<'_> = tables.iter().map(|table| (table.name, table)).collect();
        for (law, breaks) in RELATIONS {
            if breaks(&tables, &run.books(), warmup) {
                found.push(format!("several tables: {law}"));
            }
        }
        found
    }
}

impl Table {
    fn broken(&self, table: &TableData, duration: u64, warmup: u64, found: &mut Vec<String>) {
        let rows = table.columns[0].data.len();
        let place = |name: &str| table.columns.iter().position(|column| column.name == name);
        if table.columns.len() != self.columns.len()
            || self.columns.iter().any(|(name, ..)| place(name).is_none())
            || table.columns.iter().any(|column| column.data.len() != rows)
        {
            found.push(format!("{}: columns are not the declared ones", table.name));
            return;
        }
        for (name, kind, range) in &self.columns {
            let column = &table.columns[place(name).expect("a column")];
            if column.nullable != kind.ends_with('?') || !kind.starts_with(type_of(column)) {
                found.push(format!("{}: {name} is not {kind}", table.name));
            }
            let within = bounds(range, column);
            if let Some(row) = (0..rows).find(|row| !within(cell(column, *row))) {
                let value = cell(column, row);
                found.push(format!("{}: {name} in {range}: {value:?} in row {row}", table.name));
            }
        }
        let place = |name: &str| match name {
            "duration_ps" => Expression::Constant(Value::Int(duration.into())),
            "warmup_ps" => Expression::Constant(Value::Int(warmup.into())),
            name => {
                Expression::Column(place(name).unwrap_or_else(|| panic!("{}: no column {name}", table.name)))
            }
        };
        for law in &self.laws {
            let holds = read(law, &place);
            let broken = |row: &usize| holds.value(&table.columns, *row) == Value::Truth(false);
            if let Some(row) = (0..rows).find(broken) {
                let shown = table.columns.iter().filter(|c| law.contains(c.name) || c.name == "port");
                let shown: Vec<String> = shown.map(|c| format!("{} = {}", c.name, show(c, row))).collect();
                found.push(format!("{}: {law}: row {row}, {}", table.name, shown.join(", ")));
            }
        }
    }
}

/// The laws that bound columns from above: the fourth part of each column.
fn bounds_of(columns: &toml::Table) -> Vec<String> {
    let bound = |(key, value): (&String, &toml::Value)| {
        let most = value.get(3).and_then(toml::Value::as_str).filter(|most| !most.starts_with("free: "))?;
        let names = causes(key).unwrap_or_else(|| vec![key.as_str()]);
        Some(names.into_iter().map(|name| format!("{name} <= {most}")).collect::<Vec<_>>())
    };
    columns.iter().filter_map(bound).flatten().collect()
}

fn show(column: &Column, row: usize) -> String {
    match &column.data {
        ColumnData::Str { dictionary, codes } => dictionary[codes[row] as usize].clone(),
        _ => format!("{:?}", cell(column, row)),
    }
}

fn type_of(column: &Column) -> &'static str {
    match column.data {
        ColumnData::U64(_) => "u64",
        ColumnData::U32(_) => "u32",
        ColumnData::F64(_) => "f64",
        ColumnData::Str { .. } => "str",
    }
}

/// Whether a value is in the range that is written as `[a, b]`, `[a, )` or `{a, b}`.
fn bounds(range: &str, column: &Column) -> impl Fn(Value) -> bool {
    let inner = range.trim_matches(['[', ']', '{', '}', ')']).to_owned();
    let parts: Vec<String> = inner.split(',').map(|part| part.trim().to_owned()).collect();
    let dictionary = match &column.data {
        ColumnData::Str { dictionary, .. } => dictionary.clone(),
        _ => vec![],
    };
    let (is_set, is_free) = (range.starts_with('{'), range.is_empty());
    let numbers: Vec<Option<f64>> = parts.iter().map(|part| part.parse().ok()).collect();
    move |value| match value {
        Value::Real(number) if !number.is_finite() || number < 0.0 => false,
        Value::Null => true,
        _ if is_free => true,
        Value::Int(code) if !dictionary.is_empty() => parts.contains(&dictionary[code as usize]),
        Value::Int(number) if is_set => parts.contains(&number.to_string()),
        Value::Int(number) => between(number as f64, &numbers),
        Value::Real(number) => between(number, &numbers),
        Value::Truth(_) => false,
    }
}

fn between(number: f64, ends: &[Option<f64>]) -> bool {
    ends[0].is_none_or(|low| number >= low) && ends[1].is_none_or(|high| number <= high)
}

// ---- laws between tables ----

/// Words of `laws.toml` that stand for the columns of the causes of a loss.
const CAUSES: [&str; 3] = ["{drops}", "{drops at the port}", "{drops on the wire}"];

/// The columns that `word` stands for, if it is one of [`CAUSES`].
fn causes(word: &str) -> Option<Vec<&'static str>> {
    let place = match CAUSES.iter().position(|each| *each == word)? {
        0 => None,
        1 => Some(LostAt::Port),
        _ => Some(LostAt::Wire),
    };
    let wanted = |cause: &&DropWhy| place.is_none_or(|place| cause.lost_at() == place);
    Some(DropWhy::ALL.iter().filter(wanted).map(|cause| cause.column()).collect())
}

/// A law in which the words of [`CAUSES`] are sums of columns.
fn with_sums(law: &str) -> String {
    let sum =
        |law: String, word: &&str| law.replace(word, &causes(word).expect("a word of the list").join(" + "));
    CAUSES.iter().fold(law.to_owned(), sum)
}

/// Relations that ask for links or probes of the experiment, which this file does not read: `tables/laws.py` checks them in the
/// suite and in the soak of `python -m soak`.
const BY_EXPERIMENT: [&str; 5] = [
    "a goodput is at most the rate of the receiver's links",
    "a goodput is at most the rate of the sender's links",
    "a host receives no more than its links carry",
    "a host sends no more than its links carry",
    "packets of a recorded port are its departures",
];

/// By name as in `laws.toml`: whether a run breaks it.
type Relation = (&'static str, fn(&Tables<'_>, &Books, u64) -> bool);

const RELATIONS: [Relation; 8] = [
    ("each share is some connection's", |tables, _, warmup| {
        let known: Vec<u64> = sorted(tables, "flows", "id");
        warmup == 0 && numbers(tables, "shares", "flow").any(|flow| known.binary_search(&flow).is_err())
    }),
    ("each message is some connection's", |tables, _, _| {
        let known: Vec<u64> = sorted(tables, "flows", "id");
        numbers(tables, "messages", "flow").any(|flow| known.binary_search(&flow).is_err())
    }),
    ("each flow traced after `warmup` is in `flows`", |tables, _, warmup| {
        let known: Vec<u64> = sorted(tables, "flows", "id");
        let rows = numbers(tables, "flow_trace", "time_ps").zip(numbers(tables, "flow_trace", "flow"));
        rows.filter(|(at, _)| *at >= warmup).any(|(_, flow)| known.binary_search(&flow).is_err())
    }),
    ("a histogram covers the time of the statistics", |tables, _, _| {
        let sums = sums(tables, "queue_histogram", "time_ps");
        let over = by_port(tables, "queues", "over_ps");
        sums.iter().any(|(port, sum)| over.get(port) != Some(sum))
    }),
    ("a histogram counts each departure", |tables, _, _| {
        let sums = sums(tables, "queue_histogram", "at_dequeue");
        let out = by_port(tables, "queues", "packets_out");
        sums.iter().any(|(port, sum)| *sum > 0 && out.get(port) != Some(sum))
    }),
    ("an inner queue is a part of its port", |tables, _, _| {
        let all = by_port(tables, "queues", "packets_in");
        sums(tables, "inner_queues", "packets_in").iter().any(|(port, sum)| all.get(port) < Some(sum))
    }),
    ("a sender's datagrams are its connection's packets", |tables, _, warmup| {
        let of_flow = |name| {
            numbers(tables, "flows", "id").zip(numbers(tables, "flows", name)).collect::<BTreeMap<_, _>>()
        };
        let (packets, drops) = (of_flow("packets_sent"), of_flow("drops"));
        let sent = numbers(tables, "datagrams", "sent").zip(numbers(tables, "datagrams", "lost"));
        numbers(tables, "datagrams", "flow").zip(sent).any(|(flow, (sent, lost))| {
            packets.get(&flow) != Some(&sent) || warmup == 0 && drops.get(&flow) < Some(&lost)
        })
    }),
    ("packets sent are delivered, dropped or in flight", |_, books, _| !books.balance()),
];

fn column<'a>(tables: &Tables<'a>, table: &str, name: &str) -> &'a Column {
    tables[table].columns.iter().find(|column| column.name == name).expect("a declared column")
}

fn numbers<'a>(tables: &Tables<'a>, table: &str, name: &str) -> impl Iterator<Item = u64> + 'a {
    let column = column(tables, table, name);
    (0..column.data.len()).map(move |row| match cell(column, row) {
        Value::Int(number) => number as u64,
        other => panic!("{other:?} is not a whole number"),
    })
}

fn sorted(tables: &Tables<'_>, table: &str, name: &str) -> Vec<u64> {
    let mut all: Vec<u64> = numbers(tables, table, name).collect();
    all.sort_unstable();
    all
}

fn ports<'a>(tables: &Tables<'a>, table: &str) -> impl Iterator<Item = &'a str> {
    match &column(tables, table, "port").data {
        ColumnData::Str { dictionary, codes } => codes.iter().map(|code| dictionary[*code as usize].as_str()),
        other => panic!("{other:?} is not a list of words"),
    }
}

fn by_port<'a>(tables: &Tables<'a>, table: &str, name: &str) -> BTreeMap<&'a str, u64> {
    ports(tables, table).zip(numbers(tables, table, name)).collect()
}

fn sums<'a>(tables: &Tables<'a>, table: &str, name: &str) -> BTreeMap<&'a str, u64> {
    let mut sums = BTreeMap::new();
    for (port, number) in ports(tables, table).zip(numbers(tables, table, name)) {
        *sums.entry(port).or_default() += number;
    }
    sums
}
