//! A table of the file being read.

use super::custom::{Declared, Plugins, Section};
use super::{Code, Fault, Faults, Kind, Param, ParamType, Renamed, unknown};
use serde_json::{Map, Value};
use std::sync::Arc;

/// A table of the file being read: hands out values, remembers which keys were asked for.
pub struct Table<'a> {
    /// Dotted path of this table, empty at the top.
    pub path: String,
    map: &'a Map<String, Value>,
    known: Vec<&'a str>,
    /// Where faults go.
    pub faults: &'a mut Faults,
    /// Components that the document declares.
    pub plugins: &'a Plugins,
    /// Settings that have another name now.
    pub renamed: &'static [Renamed],
}

impl<'a> Table<'a> {
    /// A reader over `map`, which stands at `path`.
    pub fn new(path: &str, map: &'a Map<String, Value>, faults: &'a mut Faults) -> Self {
        Table { path: path.into(), map, known: vec![], faults, plugins: &[], renamed: &[] }
    }

    /// This reader, in a document that declares `plugins`.
    #[must_use]
    pub fn with(self, plugins: &'a Plugins) -> Self {
        Table { plugins, ..self }
    }

    /// The component that the document declares by this name.
    pub fn declared(&self, section: Section, name: &str) -> Option<&'a Arc<Declared>> {
        self.plugins.iter().find(|declared| declared.section == section && declared.name == name)
    }

    /// Full path of `key`.
    pub fn at(&self, key: &str) -> String {
        if self.path.is_empty() { key.into() } else { format!("{}.{key}", self.path) }
    }

    /// The value as written; the key then counts as known.
    pub fn raw(&mut self, key: &'a str) -> Option<&'a Value> {
        self.known.push(key);
        self.map.get(key)
    }

    /// The checked value of `param`: as written, else its default. A faulty value is recorded and
    /// the default stands in, so that reading goes on.
    pub fn get<T: ParamType>(&mut self, param: &'a Param) -> T {
        self.get_at(param.name, &param.default, param.range)
    }

    /// The checked value of a setting known by its name, default and range.
    pub fn get_at<T: ParamType>(&mut self, name: &'a str, default: &Value, range: &str) -> T {
        if !self.map.contains_key(name) && default.is_null() {
            self.miss(name, T::kind());
        }
        let written = self.written_at(name, range);
        written.unwrap_or_else(|| T::parse(default).unwrap_or_else(|_| T::stand_in()))
    }

    /// The checked value of `param` if it was written. A faulty value is recorded and counts as not written.
    pub fn written<T: ParamType>(&mut self, param: &'a Param) -> Option<T> {
        self.written_at(param.name, param.range)
    }

    fn written_at<T: ParamType>(&mut self, name: &'a str, range: &str) -> Option<T> {
        let written = self.raw(name)?;
        let path = self.at(name);
        let before = self.faults.0.len();
        let value = T::read(written, &path, self.faults).and_then(|value| match value.within(range) {
            Ok(()) => Some(value),
            Err(rule) => {
                self.faults.add(&path, rule, written);
                None
            }
        });
        if self.faults.0.len() > before {
            self.explain(before, &path, T::kind(), written);
        }
        value
    }

    /// Records that the setting `name`, which has no default, was not written.
    fn miss(&mut self, name: &str, kind: Kind) {
        let rule = Code::Missing.rule(format!("is required: {kind}"));
        let mut fault = Fault::new(&self.at(name), rule, &Value::Null);
        fault.kind = Some(kind);
        self.faults.0.push(fault);
    }

    /// Gives the faults from number `before` on, which a value `written` at `path` has, their kind and their remedy.
    fn explain(&mut self, before: usize, path: &str, kind: Kind, written: &Value) {
        // Faults of a row inside already know the default behind them.
        for fault in &mut self.faults.0[before..] {
            if fault.path == path && fault.hint.is_empty() {
                fault.hint = hint(&kind, written, path).into();
            }
            fault.kind.get_or_insert_with(|| kind.clone());
        }
    }

    /// Reports every key that nobody asked for.
    pub fn finish(self) {
        let mut known: Vec<&str> = vec![];
        for key in self.map.keys().filter(|key| !self.known.contains(&key.as_str())) {
            if known.is_empty() {
                for key in &self.known {
                    if !known.contains(key) {
                        known.push(key);
                    }
                }
            }
            let path = self.at(key);
            let rule = match self.renamed.iter().find(|(old, ..)| old == key) {
                Some((_, new, meaning)) => Code::UnknownKey.rule(format!("is called {new} now: {meaning}")),
                None => unknown(Code::UnknownKey, "key", key, &known),
            };
            self.faults.add(&path, rule, &key.as_str().into());
        }
    }
}

/// Words of other programs and languages for a value that is not there.
const NO_VALUE: [&str; 14] = [
    "disabled",
    "false",
    "inf",
    "infinite",
    "infinity",
    "never",
    "nil",
    "no",
    "null",
    "off",
    "unbounded",
    "undefined",
    "unlimited",
    "-",
];

/// The remedy for a faulty value at `path`, where its meaning is plain.
fn hint(kind: &Kind, written: &Value, path: &str) -> &'static str {
    let (or_none, inner) = match kind {
        Kind::OrNone(inner) => (true, inner.as_ref()),
        kind => (false, kind),
    };
    if *inner == Kind::Rate && is_zero(written) {
        return match path.split('.').next() {
            _ if path.contains(".trace.") => "write \"none\" where the link carries nothing",
            Some("event") => "for a link that carries nothing, write state = \"down\"",
            Some("topology" | "port") => {
                "for a link that carries nothing, write [event.NAME] with at = \"0s\", link and state = \"down\""
            }
            Some("traffic" | "transport") => "leave the load out if it sends nothing, or set its start",
            _ => "",
        };
    }
    let absent = match written {
        Value::String(word) => NO_VALUE.contains(&word.to_lowercase().as_str()),
        Value::Bool(is) => !is,
        Value::Number(number) => number.as_f64().is_some_and(|number| number < 0.0),
        _ => false,
    };
    if or_none && absent { "did you mean \"none\"?" } else { "" }
}

/// Whether a quantity is zero, whatever its unit.
fn is_zero(written: &Value) -> bool {
    let number = match written {
        Value::String(text) => {
            text.trim_end_matches(|c: char| c.is_alphabetic() || c == '/').trim().parse().ok()
        }
        other => other.as_f64(),
    };
    number == Some(0.0)
}
