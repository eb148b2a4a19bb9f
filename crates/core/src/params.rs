//! Declared parameters: one place of truth for name, default, range, unit and source.
//!
//! Every component (queue discipline, congestion control, topology, workload, transport) declares
//! its settings with [`params!`](crate::params!). From that one declaration come the reader that checks an
//! experiment file, the resolved record in each manifest, `schema.json`, the typed Python classes,
//! the help texts and the reference pages.
//!
//! Reading never stops at the first fault: each one is collected with its path, rule and value.

use serde_json::{Map, Value};
use shallows_units::{Bytes, Rate, Size, Span};

/// One declared setting of a component.
#[derive(Debug, Clone)]
pub struct Param {
    /// Key in the experiment file.
    pub name: &'static str,
    /// Meaning, in one or two sentences.
    pub doc: &'static str,
    /// What a value looks like.
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
}

/// A rule that a value breaks, where it stands, and what might have been meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Dotted path of the key: `traffic.long.bytes`.
    pub path: String,
    /// The rule, as a sentence part: `must be >= 1`.
    pub rule: String,
    /// The value as written, or empty.
    pub value: String,
    /// `did you mean ...?`, or empty.
    pub hint: String,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.path, self.rule)?;
        if !self.value.is_empty() {
            write!(f, ", got {}", self.value)?;
        }
        if !self.hint.is_empty() {
            write!(f, " ({})", self.hint)?;
        }
        Ok(())
    }
}

/// All faults found so far.
#[derive(Debug, Default)]
pub struct Faults(pub Vec<Fault>);

impl Faults {
    /// Records a fault at `path`. What follows `; ` in a rule that ends in `did you mean ...?` is
    /// its hint.
    pub fn add(&mut self, path: &str, rule: impl Into<String>, value: &Value) {
        let value = if value.is_null() { String::new() } else { shorten(&value.to_string()) };
        let rule = rule.into();
        let (rule, hint) = match rule.split_once("; did you mean ") {
            Some((rule, meant)) => (rule.to_owned(), format!("did you mean {meant}")),
            None => (rule, String::new()),
        };
        self.0.push(Fault { path: path.into(), rule, value, hint });
    }

    /// Records that `name` is not among the `known` names, with the nearest of them as a hint.
    pub fn unknown(&mut self, path: &str, what: &str, name: &str, known: &[&str]) {
        let rule = if known.len() <= 24 {
            format!("unknown {what}; known: {}", known.join(", "))
        } else {
            format!("unknown {what}")
        };
        let hint = nearest(name, known).map(|n| format!("did you mean \"{n}\"?"));
        let value = Value::from(name).to_string();
        let hint = hint.unwrap_or_default();
        self.0.push(Fault { path: path.into(), rule, value: shorten(&value), hint });
    }
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(120) {
        Some((cut, _)) => format!("{} ...", &text[..cut]),
        None => text.into(),
    }
}

/// The name in `known` that `name` most likely meant: few letters differ, best not the first ones.
pub fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let plain = |s: &str| s.to_lowercase().replace(['_', '-'], "");
    known
        .iter()
        .map(|k| (strsim::damerau_levenshtein(&plain(name), &plain(k)), *k))
        .filter(|(distance, k)| *distance <= 1 + k.len() / 4)
        .min_by_key(|(distance, k)| {
            let same_start = name.bytes().zip(k.bytes()).take_while(|(a, b)| a == b).count();
            (*distance, std::cmp::Reverse(same_start))
        })
        .map(|(_, k)| k)
}

/// A table of the file being read: hands out values, remembers which keys were asked for.
pub struct Table<'a> {
    /// Dotted path of this table, empty at the top.
    pub path: String,
    map: &'a Map<String, Value>,
    known: Vec<&'static str>,
    /// Where faults go.
    pub faults: &'a mut Faults,
}

impl<'a> Table<'a> {
    /// A reader over `map`, which stands at `path`.
    pub fn new(path: &str, map: &'a Map<String, Value>, faults: &'a mut Faults) -> Self {
        Table { path: path.into(), map, known: vec![], faults }
    }

    /// Full path of `key`.
    pub fn at(&self, key: &str) -> String {
        if self.path.is_empty() { key.into() } else { format!("{}.{key}", self.path) }
    }

    /// The value as written; the key then counts as known.
    pub fn raw(&mut self, key: &'static str) -> Option<&'a Value> {
        self.known.push(key);
        self.map.get(key)
    }

    /// The checked value of `param`: as written, else its default. A faulty value is recorded and
    /// the default stands in, so that reading goes on.
    pub fn get<T: ParamType>(&mut self, param: &Param) -> T {
        let path = self.at(param.name);
        match self.raw(param.name) {
            Some(written) => {
                if let Some(value) = T::read(written, &path, self.faults) {
                    match value.within(param.range) {
                        Ok(()) => return value,
                        Err(rule) => self.faults.add(&path, rule, written),
                    }
                }
            }
            None if param.default.is_null() => {
                self.faults.add(&path, format!("is required: {}", param.kind), &Value::Null);
            }
            None => {}
        }
        T::parse(&param.default).unwrap_or_else(|_| T::stand_in())
    }

    /// Reports every key that nobody asked for.
    pub fn finish(self) {
        for key in self.map.keys() {
            if !self.known.contains(&key.as_str()) {
                let path = self.at(key);
                self.faults.unknown(&path, "key", key, &self.known);
            }
        }
    }
}

/// A Rust type that a parameter can have.
pub trait ParamType: Sized + PartialOrd {
    /// What to tell the user that a value looks like.
    fn kind() -> Kind;
    /// Reads a value as written; the error is the rule it breaks.
    fn parse(value: &Value) -> Result<Self, String>;
    /// The value in canonical form, which parses back to itself.
    fn show(&self) -> Value;
    /// Any value at all, to go on with after a fault.
    fn stand_in() -> Self;

    /// Reads the value that stands at `path`, recording its faults, each where it stands; `None` if
    /// nothing can be made of it. Only types with parts of their own need more than this.
    fn read(value: &Value, path: &str, faults: &mut Faults) -> Option<Self> {
        match (Self::parse(value), Self::kind(), value) {
            (Ok(read), _, _) => return Some(read),
            (Err(_), Kind::Choice(words), Value::String(s)) => faults.unknown(path, "choice", s, words),
            (Err(rule), _, _) => faults.add(path, rule, value),
        }
        None
    }

    /// Holds the value against an interval such as `(0, 1]`; the error is the rule.
    fn within(&self, range: &str) -> Result<(), String> {
        in_range(self, range)
    }
}

fn must_be<T: ParamType>() -> String {
    format!("must be {}", T::kind())
}

macro_rules! quantity {
    ($($ty:ty, $kind:ident, $zero:expr);*) => { $(
        impl ParamType for $ty {
            fn kind() -> Kind { Kind::$kind }
            fn parse(value: &Value) -> Result<Self, String> {
                match value {
                    Value::String(s) => <$ty>::parse(s).map_err(|e| e.to_string()),
                    Value::Number(_) => Err(format!("needs a unit: {}", Kind::$kind)),
                    _ => Err(must_be::<Self>()),
                }
            }
            fn show(&self) -> Value { self.to_string().into() }
            fn stand_in() -> Self { $zero }
        }
    )* };
}
quantity!(Span, Span, Span::ZERO; Rate, Rate, Rate::bps(1); Bytes, Bytes, Bytes(0); Size, Size, Size::Packets(0));

impl ParamType for u64 {
    fn kind() -> Kind {
        Kind::Count
    }
    fn parse(value: &Value) -> Result<Self, String> {
        value.as_u64().ok_or_else(must_be::<Self>)
    }
    fn show(&self) -> Value {
        (*self).into()
    }
    fn stand_in() -> Self {
        1
    }
}

impl ParamType for f64 {
    fn kind() -> Kind {
        Kind::Real
    }
    fn parse(value: &Value) -> Result<Self, String> {
        value.as_f64().filter(|x| x.is_finite()).ok_or_else(must_be::<Self>)
    }
    fn show(&self) -> Value {
        (*self).into()
    }
    fn stand_in() -> Self {
        1.0
    }
}

impl ParamType for bool {
    fn kind() -> Kind {
        Kind::Flag
    }
    fn parse(value: &Value) -> Result<Self, String> {
        value.as_bool().ok_or_else(must_be::<Self>)
    }
    fn show(&self) -> Value {
        (*self).into()
    }
    fn stand_in() -> Self {
        false
    }
}

impl ParamType for String {
    fn kind() -> Kind {
        Kind::Text
    }
    fn parse(value: &Value) -> Result<Self, String> {
        value.as_str().map(String::from).ok_or_else(must_be::<Self>)
    }
    fn show(&self) -> Value {
        self.as_str().into()
    }
    fn stand_in() -> Self {
        String::new()
    }
}

/// One or several names or patterns, written as a string or a list of strings.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Default)]
pub struct Names(pub Vec<String>);

impl ParamType for Names {
    fn kind() -> Kind {
        Kind::Names
    }
    fn parse(value: &Value) -> Result<Self, String> {
        match value {
            Value::String(s) => Ok(Names(vec![s.clone()])),
            _ => Vec::<String>::parse(value).map(Names).map_err(|_| must_be::<Self>()),
        }
    }
    fn show(&self) -> Value {
        match self.0.as_slice() {
            [one] => one.as_str().into(),
            _ => self.0.show(),
        }
    }
    fn stand_in() -> Self {
        Names::default()
    }
}

impl<T: ParamType> ParamType for Vec<T> {
    fn kind() -> Kind {
        Kind::List(Box::new(T::kind()))
    }
    fn parse(value: &Value) -> Result<Self, String> {
        value.as_array().ok_or_else(must_be::<Self>)?.iter().map(T::parse).collect()
    }
    fn show(&self) -> Value {
        self.iter().map(T::show).collect()
    }
    fn stand_in() -> Self {
        vec![]
    }
    fn read(value: &Value, path: &str, faults: &mut Faults) -> Option<Self> {
        let Some(items) = value.as_array() else {
            faults.add(path, must_be::<Self>(), value);
            return None;
        };
        let items: Vec<_> =
            items.iter().enumerate().map(|(i, item)| T::read(item, &format!("{path}.{i}"), faults)).collect();
        items.into_iter().collect()
    }
    fn within(&self, range: &str) -> Result<(), String> {
        self.iter().try_for_each(|item| item.within(range))
    }
}

impl<T: ParamType> ParamType for Option<T> {
    fn kind() -> Kind {
        Kind::OrNone(Box::new(T::kind()))
    }
    fn parse(value: &Value) -> Result<Self, String> {
        match value.as_str() {
            Some("none") => Ok(None),
            _ => T::parse(value).map(Some),
        }
    }
    fn show(&self) -> Value {
        self.as_ref().map_or_else(|| "none".into(), T::show)
    }
    fn stand_in() -> Self {
        None
    }
    fn within(&self, range: &str) -> Result<(), String> {
        self.as_ref().map_or(Ok(()), |value| value.within(range))
    }
}

/// A table inside a parameter, such as one link of a list: its keys are the settings of `P`.
#[derive(Debug, Clone, PartialEq)]
pub struct Row<P>(pub P);

/// Tables have no order.
impl<P: PartialEq> PartialOrd for Row<P> {
    fn partial_cmp(&self, _: &Self) -> Option<std::cmp::Ordering> {
        None
    }
}

impl<P: Params + PartialEq> ParamType for Row<P> {
    fn kind() -> Kind {
        Kind::Table
    }
    fn parse(value: &Value) -> Result<Self, String> {
        let mut faults = Faults::default();
        let row = Self::read(value, "", &mut faults);
        match faults.0.into_iter().next() {
            Some(fault) => Err(fault.rule),
            None => row.ok_or_else(must_be::<Self>),
        }
    }
    fn show(&self) -> Value {
        let mut map = Map::new();
        self.0.show(&mut map);
        map.into()
    }
    fn stand_in() -> Self {
        Row(P::defaults())
    }
    /// A faulty setting is replaced by its default, as in any table.
    fn read(value: &Value, path: &str, faults: &mut Faults) -> Option<Self> {
        let Some(map) = value.as_object() else {
            faults.add(path, must_be::<Self>(), value);
            return None;
        };
        let mut table = Table::new(path, map, faults);
        let row = P::read(&mut table);
        table.finish();
        Some(Row(row))
    }
}

/// Holds `value` against an interval such as `(0, 1]` or `[1pkt, ]`; the error is the rule.
fn in_range<T: ParamType>(value: &T, range: &str) -> Result<(), String> {
    let Some((low, high)) = range.get(1..range.len().saturating_sub(1)).and_then(|s| s.split_once(','))
    else {
        return Ok(());
    };
    let bound = |text: &str| -> Option<(T, String)> {
        let text = text.trim();
        let as_text = T::parse(&Value::from(text));
        let value = as_text
            .or_else(|_| serde_json::from_str(text).map_err(|e| e.to_string()).and_then(|v| T::parse(&v)));
        if text.is_empty() { None } else { Some((value.expect("a declared bound parses"), text.into())) }
    };
    // Values of different units (bytes against packets) do not compare; they are checked by the component.
    use std::cmp::Ordering::{Equal, Greater, Less};
    if let Some((low, text)) = bound(low) {
        match (value.partial_cmp(&low), range.starts_with('(')) {
            (Some(Less), false) => return Err(format!("must be >= {text}")),
            (Some(Less | Equal), true) => return Err(format!("must be > {text}")),
            _ => {}
        }
    }
    if let Some((high, text)) = bound(high) {
        match (value.partial_cmp(&high), range.ends_with(')')) {
            (Some(Greater), false) => return Err(format!("must be <= {text}")),
            (Some(Greater | Equal), true) => return Err(format!("must be < {text}")),
            _ => {}
        }
    }
    Ok(())
}

/// A set of declared settings.
pub trait Params: Sized {
    /// The component's documentation.
    const DOC: &'static str;
    /// The declarations, in order.
    fn list() -> Vec<Param>;
    /// Reads the settings out of `table`, collecting faults.
    fn read(table: &mut Table<'_>) -> Self;
    /// Adds every setting, in canonical form, to `map`.
    fn show(&self, map: &mut Map<String, Value>);
    /// The settings with every default; used by tests and by code that builds experiments.
    fn defaults() -> Self {
        Self::read(&mut Table::new("", &Map::new(), &mut Faults::default()))
    }
}

/// Declares a component's settings: `name: Type = default, "range", "source";`.
///
/// The default is written as in a file (`"65pkt"`, `0.0625`, `true`), or `required`. The range is
/// an interval (`"[0, 1)"`, either end may be left out) or empty.
#[macro_export]
macro_rules! params {
    (
        $(#[doc = $doc:literal])*
        pub struct $name:ident {
            $( $(#[doc = $fdoc:literal])* $field:ident : $ty:ty = $default:tt, $range:literal, $source:literal; )*
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, PartialEq)]
        #[allow(missing_docs)] // a component without settings has an empty struct
        pub struct $name { $( $(#[doc = $fdoc])* pub $field: $ty, )* }

        impl $crate::params::Params for $name {
            const DOC: &'static str = concat!($($doc, "\n"),*);
            fn list() -> Vec<$crate::params::Param> {
                vec![ $( $crate::params::Param {
                    name: stringify!($field),
                    doc: concat!($($fdoc, "\n"),*),
                    kind: <$ty as $crate::params::ParamType>::kind(),
                    default: $crate::param_default!($default),
                    range: $range,
                    source: $source,
                } ),* ]
            }
            #[allow(unused_variables, unused_mut)]
            fn read(table: &mut $crate::params::Table<'_>) -> Self {
                let mut list = Self::list().into_iter();
                $name { $( $field: table.get::<$ty>(&list.next().expect("one declaration a field")) ),* }
            }
            #[allow(unused_variables)]
            fn show(&self, map: &mut serde_json::Map<String, serde_json::Value>) {
                $( map.insert(stringify!($field).into(), $crate::params::ParamType::show(&self.$field)); )*
            }
        }
    };
}

/// The default of a parameter as a file would hold it.
#[macro_export]
#[doc(hidden)]
macro_rules! param_default {
    (required) => {
        serde_json::Value::Null
    };
    ($value:tt) => {
        serde_json::json!($value)
    };
}

/// Declares an enumeration that a file spells as one of several words.
#[macro_export]
macro_rules! choices {
    ( $(#[$meta:meta])* pub enum $name:ident { $( $(#[$vmeta:meta])* $variant:ident = $word:literal ),* $(,)? } ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
        pub enum $name { $( $(#[$vmeta])* $variant ),* }

        impl $crate::params::ParamType for $name {
            fn kind() -> $crate::params::Kind { $crate::params::Kind::Choice(&[$($word),*]) }
            fn parse(value: &serde_json::Value) -> Result<Self, String> {
                match value.as_str() {
                    $( Some($word) => Ok($name::$variant), )*
                    _ => Err(format!("must be {}", Self::kind())),
                }
            }
            fn show(&self) -> serde_json::Value {
                match self { $( $name::$variant => $word.into() ),* }
            }
            fn stand_in() -> Self { [$( $name::$variant ),*][0] }
        }
    };
}

/// Declares the list of components of one kind: an enum over their settings, read by `kind`.
///
/// A bare word may stand for a component with all its defaults: `cc = "dctcp"`.
#[macro_export]
macro_rules! components {
    ( $(#[$meta:meta])* pub enum $name:ident, $what:literal { $( $word:literal => $variant:ident($params:ty) ),* $(,)? } ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        #[allow(missing_docs)]
        pub enum $name { $( $variant($params) ),* }

        impl $name {
            /// What there is, with every setting.
            pub fn list() -> Vec<$crate::params::Component> {
                vec![ $( $crate::params::Component {
                    name: $word,
                    doc: <$params as $crate::params::Params>::DOC,
                    params: <$params as $crate::params::Params>::list(),
                } ),* ]
            }

            /// The name in the file.
            pub fn kind(&self) -> &'static str {
                match self { $( $name::$variant(_) => $word ),* }
            }

            /// Reads the component that `table.kind` names; the caller finishes the table.
            pub fn read(table: &mut $crate::params::Table<'_>) -> Option<Self> {
                let known = [$($word),*];
                let path = table.at("kind");
                match table.raw("kind") {
                    $( Some(serde_json::Value::String(s)) if s == $word =>
                        Some($name::$variant(<$params as $crate::params::Params>::read(table))), )*
                    Some(serde_json::Value::String(s)) => {
                        table.faults.unknown(&path, $what, s, &known);
                        None
                    }
                    other => {
                        let rule = format!("must name a {}: {}", $what, known.join(", "));
                        table.faults.add(&path, rule, other.unwrap_or(&serde_json::Value::Null));
                        None
                    }
                }
            }

            /// The component with every setting, in canonical form.
            pub fn show(&self) -> serde_json::Map<String, serde_json::Value> {
                let mut map = serde_json::Map::new();
                map.insert("kind".into(), self.kind().into());
                match self { $( $name::$variant(p) => $crate::params::Params::show(p, &mut map) ),* }
                map
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    params! {
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

    params! {
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
                "queue.limit: must be >= 1pkt, got \"0pkt\"",
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
