//! A table of the file being read.

use super::custom::{Declared, Plugins, Section};
use super::{Code, Fault, Faults, Param, ParamType, unknown};
use serde_json::{Map, Value};
use std::sync::Arc;

/// A table of the file being read: hands out values, remembers which keys were asked for.
pub struct Table<'a> {
    /// Dotted path of this table, empty at the top.
    pub path: String,
    map: &'a Map<String, Value>,
    known: Vec<String>,
    /// Where faults go.
    pub faults: &'a mut Faults,
    /// Components that the document declares.
    pub plugins: &'a Plugins,
}

impl<'a> Table<'a> {
    /// A reader over `map`, which stands at `path`.
    pub fn new(path: &str, map: &'a Map<String, Value>, faults: &'a mut Faults) -> Self {
        Table { path: path.into(), map, known: vec![], faults, plugins: &[] }
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
    pub fn raw(&mut self, key: &str) -> Option<&'a Value> {
        self.known.push(key.into());
        self.map.get(key)
    }

    /// The checked value of `param`: as written, else its default. A faulty value is recorded and
    /// the default stands in, so that reading goes on.
    pub fn get<T: ParamType>(&mut self, param: &Param) -> T {
        self.get_at(param.name, &param.default, param.range)
    }

    /// The checked value of a setting known by its name, default and range.
    pub fn get_at<T: ParamType>(&mut self, name: &str, default: &Value, range: &str) -> T {
        if !self.map.contains_key(name) && default.is_null() {
            let rule = Code::Missing.rule(format!("is required: {}", T::kind()));
            let mut fault = Fault::new(&self.at(name), rule, &Value::Null);
            fault.kind = Some(T::kind());
            self.faults.0.push(fault);
        }
        let written = self.written_at(name, range);
        written.unwrap_or_else(|| T::parse(default).unwrap_or_else(|_| T::stand_in()))
    }

    /// The checked value of `param` if it was written. A faulty value is recorded and counts as not written.
    pub fn written<T: ParamType>(&mut self, param: &Param) -> Option<T> {
        self.written_at(param.name, param.range)
    }

    fn written_at<T: ParamType>(&mut self, name: &str, range: &str) -> Option<T> {
        let path = self.at(name);
        let written = self.raw(name)?;
        let before = self.faults.0.len();
        let value = T::read(written, &path, self.faults).and_then(|value| match value.within(range) {
            Ok(()) => Some(value),
            Err(rule) => {
                self.faults.add(&path, rule, written);
                None
            }
        });
        // Faults of a row inside already know the default behind them.
        for fault in &mut self.faults.0[before..] {
            fault.kind.get_or_insert_with(T::kind);
        }
        value
    }

    /// Reports every key that nobody asked for.
    pub fn finish(self) {
        let known: Vec<&str> = self.known.iter().map(String::as_str).collect();
        for key in self.map.keys() {
            if !known.contains(&key.as_str()) {
                let path = self.at(key);
                let rule = unknown(Code::UnknownKey, "key", key, &known);
                self.faults.add(&path, rule, &key.as_str().into());
            }
        }
    }
}
