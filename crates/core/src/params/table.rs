//! A table of the file being read.

use super::{Faults, Param, ParamType};
use serde_json::{Map, Value};

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
