//! Declared parameters: one place of truth for name, default, range, unit and source.
//!
//! Every component (queue discipline, congestion control, topology, workload, transport) declares
//! its settings with [`params!`](crate::params!). From that one declaration come the reader that checks an
//! experiment file, the resolved record in each manifest, `schema.json`, the typed Python classes,
//! the help texts and the reference pages.
//!
//! Reading never stops at the first fault: each one is collected with its path, rule and value.

pub mod custom;
mod fault;
mod macros;
mod table;
mod types;

pub use custom::{Beyond, Custom};
pub use fault::{Code, Fault, Faults, Rule, nearest, unknown};
pub use table::Table;
pub use types::{Names, ParamType, Row};

use serde_json::{Map, Value};

/// One declared setting of a component.
#[derive(Debug, Clone)]
pub struct Param {
    /// Key in the experiment file.
    pub name: &'static str,
    /// Meaning, in one or two sentences.
    pub doc: &'static str,
    /// The form of a value.
    pub kind: Kind,
    /// Default as it would be written in a file; `Value::Null` where the user must write one.
    pub default: Value,
    /// Interval of legal values, such as `[1pkt, ]`, or empty.
    pub range: &'static str,
    /// Where default and range come from: RFC section, paper equation, or the reason.
    pub source: &'static str,
}

/// The kinds of value an experiment file can hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A length of time: `"25us"`.
    Span,
    /// A link rate: `"10Gbps"`.
    Rate,
    /// An amount of data: `"150KB"`.
    Bytes,
    /// Bytes or packets: `"97500B"`, `"65pkt"`.
    Size,
    /// A whole number.
    Count,
    /// A real number without a unit.
    Real,
    /// `true` or `false`.
    Flag,
    /// Free text.
    Text,
    /// One or several names; `*` matches any text and `a..d` a numbered range.
    Names,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A word that another program decides about; these are known.
    Word(&'static [&'static str]),
    /// The kind, or `"none"`.
    OrNone(Box<Kind>),
    /// A list of the kind.
    List(Box<Kind>),
    /// A sub-table with keys of its own, described in the reference pages.
    Table,
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Kind::Span => write!(f, "a time such as \"25us\""),
            Kind::Rate => write!(f, "a rate such as \"10Gbps\""),
            Kind::Bytes => write!(f, "an amount of data such as \"150KB\""),
            Kind::Size => write!(f, "an amount such as \"150KB\" or \"65pkt\""),
            Kind::Count => write!(f, "a whole number"),
            Kind::Real => write!(f, "a number"),
            Kind::Flag => write!(f, "true or false"),
            Kind::Text => write!(f, "text"),
            Kind::Names => write!(f, "a name or a list of names"),
            Kind::Choice(words) => write!(f, "one of {}", words.join(", ")),
            Kind::Word(words) => write!(f, "a name such as {}", words.join(", ")),
            Kind::OrNone(kind) => write!(f, "{kind}, or \"none\""),
            Kind::List(kind) => write!(f, "a list, each {kind}"),
            Kind::Table => write!(f, "a table"),
        }
    }
}

/// A component that can be chosen by name in an experiment file.
#[derive(Debug, Clone)]
pub struct Component {
    /// Name in the file, such as `drop-tail`.
    pub name: &'static str,
    /// Its documentation; the first sentence is the summary.
    pub doc: &'static str,
    /// Its settings.
    pub params: Vec<Param>,
    /// The backend that alone runs it, if it is one alone.
    pub backend: Option<&'static str>,
    /// The facts that other places use.
    pub facts: Facts,
}

impl Component {
    /// The component with these declared settings.
    pub fn of<P: Params>(name: &'static str) -> Self {
        Component { name, doc: P::DOC, params: P::list(), backend: None, facts: P::FACTS }
    }
}

/// Facts about a component that metrics, backends, forms and tests use. A component's file states those that differ from
/// [`Facts::NONE`]; the schema hands them on, and the conformance suite compares them with the component at work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// Settings of a small working example, as a JSON object; the defaults work where it is `{}`. The conformance suite runs
    /// it, and forms suggest its values for required settings.
    pub example: &'static str,
    /// A load whose messages wait for deliveries (`Workload::listens`). All others
    /// send at times that are known beforehand, so that another backend can repeat them.
    pub closed_loop: bool,
    /// Tables that a load fills beside those of connections and messages: `rounds`, `steps`. Their metrics are the load's.
    pub fills: &'static [&'static str],
    /// Other backends that have the component too, each with its name there.
    pub elsewhere: &'static [(&'static str, &'static str)],
    /// A transport that no other backend has, in words; empty for TCP.
    pub not_tcp: &'static str,
    /// The profile that all connections of a load have, if the load decides it; no other load has that profile.
    pub transport: &'static str,
    /// Settings that have another name now: the old name, the new one, and the meaning, which ends the refusal.
    pub renamed: &'static [Renamed],
    /// A congestion control's answers to RFC 9743 s.5.3 and s.6.2, in words.
    pub words: Words,
}

/// Words that RFC 9743 asks of the author of a congestion control. An empty one is not given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Words {
    /// Where it differs from the principles of congestion control (s.5.3), and why that is safe.
    pub deviations: &'static str,
    /// The networks that it is meant for, and how it comes into them (s.5.3).
    pub scope: &'static str,
    /// How signals of congestion from inside a tunnel reach it (s.6.2).
    pub tunnels: &'static str,
}

/// A setting's old name, its new one, and what it means.
pub type Renamed = (&'static str, &'static str, &'static str);

impl Facts {
    /// The defaults work, and nothing is special.
    pub const NONE: Facts = Facts {
        example: "{}",
        closed_loop: false,
        fills: &[],
        elsewhere: &[],
        not_tcp: "",
        transport: "",
        renamed: &[],
        words: Words { deviations: "", scope: "", tunnels: "" },
    };
}

/// A hint where `word` is no component but a value that the setting `name` of one may have.
pub fn by_name(components: &[Component], word: &str) -> Option<String> {
    let has = |param: &Param| matches!(&param.kind, Kind::Choice(words) | Kind::Word(words) if param.name == "name" && words.contains(&word));
    let found = components.iter().find(|component| component.params.iter().any(has))?;
    Some(format!("did you mean {{ kind = \"{}\", name = \"{word}\" }}?", found.name))
}

/// A set of declared settings.
pub trait Params: Sized {
    /// The component's documentation.
    const DOC: &'static str;
    /// The facts that other places use.
    const FACTS: Facts = Facts::NONE;
    /// The declarations, in order: made once, since every table of every document is read by them.
    fn declared() -> &'static [Param];
    /// A copy of the declarations.
    fn list() -> Vec<Param> {
        Self::declared().to_vec()
    }
    /// Reads the settings out of `table`, collecting faults.
    fn read(table: &mut Table<'_>) -> Self;
    /// Adds every setting, in canonical form, to `map`.
    fn show(&self, map: &mut Map<String, Value>);
    /// The settings with every default; used by tests and by code that builds experiments.
    fn defaults() -> Self {
        Self::read(&mut Table::new("", &Map::new(), &mut Faults::default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use shallows_units::{Rate, Size};

    crate::params! {
        /// A sample.
        pub struct Sample {
            /// A share.
            g: f64 = 0.0625, "(0, 1]", "RFC 8257 s.4.2";
            /// A threshold.
            mark_at: Size = "65pkt", "[1pkt, ]", "none";
            /// Needed.
            rate: Rate = required, "", "the user's network";
        }
    }

    crate::params! {
        /// A table with rows.
        pub struct Rows {
            /// Its rows.
            rows: Vec<Row<Sample>> = [], "", "none";
            /// No limit or at least a packet.
            limit: Option<Size> = "none", "[1pkt, ]", "none";
            /// Shares.
            shares: Vec<f64> = [], "[0, 1]", "none";
        }
    }

    fn read<P: Params>(value: Value) -> (P, Vec<String>) {
        let mut faults = Faults::default();
        let map = value.as_object().unwrap().clone();
        let mut table = Table::new("queue", &map, &mut faults);
        let sample = P::read(&mut table);
        table.finish();
        (sample, faults.0.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn defaults_fill_what_is_not_written() {
        let (sample, faults) = read::<Sample>(json!({"rate": "10Gbps"}));
        assert!(faults.is_empty(), "{faults:?}");
        assert_eq!((sample.g, sample.mark_at), (0.0625, Size::Packets(65)));
    }

    #[test]
    fn all_faults_come_at_once_each_with_path_rule_and_value() {
        let (_, faults) = read::<Sample>(json!({"g": 1.5, "mark_at": 65, "mark_att": "1pkt"}));
        assert_eq!(
            faults,
            [
                "queue.g: must be <= 1, got 1.5",
                "queue.mark_at: needs a unit: an amount such as \"150KB\" or \"65pkt\", got 65",
                "queue.rate: is required: a rate such as \"10Gbps\"",
                "queue.mark_att: unknown key; known: g, mark_at, rate, got \"mark_att\" (did you mean \"mark_at\"?)",
            ]
        );
    }

    #[test]
    fn rows_fault_where_they_stand() {
        let good = json!({"g": 0.0625, "mark_at": "65pkt", "rate": "10Gbps"});
        let (rows, faults) = read::<Rows>(json!({"rows": [good]}));
        assert_eq!(faults, [""; 0]);
        assert_eq!(rows.rows.show(), json!([good]));

        let (_, faults) = read::<Rows>(json!({
            "rows": [good, {"rate": "1Gbps", "g": 0}, {"gg": 1}, 7],
            "limit": "0pkt",
            "shares": [0.5, 1.5],
        }));
        assert_eq!(
            faults,
            [
                "queue.rows.1.g: must be > 0, got 0",
                "queue.rows.2.rate: is required: a rate such as \"10Gbps\"",
                "queue.rows.2.gg: unknown key; known: g, mark_at, rate, got \"gg\" (did you mean \"g\"?)",
                "queue.rows.3: must be a table, got 7",
                "queue.limit: must be >= 1pkt, or \"none\", got \"0pkt\"",
                "queue.shares: must be <= 1, got [0.5,1.5]",
            ]
        );
    }

    #[test]
    fn a_value_out_of_range_is_replaced_by_the_default() {
        let (sample, faults) = read::<Sample>(json!({"g": 1.5, "rate": "10Gbps"}));
        assert_eq!((sample.g, faults.len()), (0.0625, 1));
    }
}
