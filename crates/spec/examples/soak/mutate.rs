//! Mutated documents through the checker: an answer in words, soon, and never a panic.
//!
//! A mutation keeps the structure: a value of another kind or at an edge, a key that moves, is lost or is doubled,
//! two experiments grafted. One in eight mutates bytes. `soak/documents.py` does the same.

use super::draw::one;
use super::judge::caught;
use serde_json::{Map, Value, json};
use shallows_core::events::random::Stream;
use shallows_core::params::Faults;
use std::path::Path;

/// Odd values as JSON.
const ODD: [&str; 56] = [
    "\"\"",
    "\" \"",
    "\"0\"",
    "\"-1\"",
    "\"none\"",
    "\"NaN\"",
    "\"1e999\"",
    "\"0s\"",
    "\"1ps\"",
    "\"99999999999s\"",
    "\"-5us\"",
    "\"0bps\"",
    "\"1Tbps\"",
    "\"400Gbps\"",
    "\"1B\"",
    "\"0B\"",
    "\"18446744073709551615B\"",
    "\"1pkt\"",
    "\"0pkt\"",
    "\"1e3pkt\"",
    "\"*\"",
    "\"s*\"",
    "\"s0..s99999\"",
    "\"[\"",
    "\"a->b\"",
    "\"\\u0000\"",
    "\"\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\"",
    "0",
    "1",
    "-1",
    "2",
    "3",
    "10",
    "1000",
    "2147483648",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "0.0",
    "-0.0",
    "0.5",
    "1e-300",
    "1e300",
    "true",
    "false",
    "[]",
    "[[]]",
    "[\"s0\"]",
    "[1, 2]",
    "{}",
    "{\"kind\": \"dctcp\"}",
    "{\"\": 1}",
    "null",
    "99999999999999999999",
];

/// Keys that a table may get.
const KEYS: [&str; 5] = ["kind", "limit", "rate", "from", "seed"];

/// A network of more ports is drawn rarely: building it takes a hundred times as long as the rest of the check.
const MANY_PORTS: usize = 300;

/// Seeds of mutations: the experiments of the project, those with small networks and those with large ones.
pub struct Seeds([Vec<Value>; 2]);

impl Seeds {
    /// All experiments below a directory, without the tables that make several runs of one.
    pub fn read(place: &Path) -> Self {
        let mut found = [vec![], vec![]];
        let mut places = vec![place.to_owned()];
        while let Some(place) = places.pop() {
            let Ok(entries) = std::fs::read_dir(&place) else { continue };
            let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
            paths.sort();
            for path in paths {
                if path.is_dir() {
                    places.push(path);
                } else if path.extension().is_some_and(|extension| extension == "toml") {
                    let text = std::fs::read_to_string(&path).unwrap_or_default();
                    let Ok(Value::Object(mut document)) = toml::from_str::<Value>(&text) else { continue };
                    if document.contains_key("topology") {
                        document
                            .retain(|key, _| !["sweep", "seeds", "tune", "compare"].contains(&key.as_str()));
                        document.insert("seed".into(), 1.into());
                        let document = Value::Object(document);
                        found[usize::from(is_large(&document))].push(document);
                    }
                }
            }
        }
        Seeds(found)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.iter().map(Vec::len).sum()
    }

    /// A mutated document as JSON, or as text that was JSON before its mutation.
    pub fn draw(&self, chance: &mut Stream) -> String {
        let mut document = self.pick(chance).clone();
        for _ in 0..one(chance, &[1, 1, 2, 3, 6]) {
            self.mutate(chance, &mut document);
        }
        let mut text = document.to_string();
        if chance.chance(0.125) && !text.is_empty() {
            let mut at = chance.below(text.len() as u64) as usize;
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            let long = "9".repeat(400);
            let put = one(chance, &["", "\0", "\"", "{", "}", "[", &long, "\\ud800", "\u{e9}"]);
            let width = text[at..].chars().next().map_or(0, char::len_utf8);
            text.replace_range(at..at + width, put);
        }
        text
    }

    fn pick(&self, chance: &mut Stream) -> &Value {
        let [small, large] = &self.0;
        let from = if chance.chance(0.002) && !large.is_empty() { large } else { small };
        &from[chance.below(from.len() as u64) as usize]
    }

    fn mutate(&self, chance: &mut Stream, document: &mut Value) {
        let way = chance.unit();
        if (0.75..0.9).contains(&way) {
            let graft = self.pick(chance).as_object().expect("a table");
            let (name, value) = graft.iter().nth(chance.below(graft.len() as u64) as usize).expect("a key");
            document[name] = value.clone();
            return;
        }
        let table = descend(chance, document);
        let number = chance.below(table.len().max(1) as u64) as usize;
        let key = table.keys().nth(number).cloned().unwrap_or_default();
        if way < 0.5 {
            table.insert(key, odd(chance));
        } else if way < 0.6 {
            table.remove(&key);
        } else if way < 0.75 {
            let cut: String = key.chars().skip(1).collect();
            let names = [key.clone() + "x", cut, key.to_uppercase()];
            let number = chance.below((names.len() + KEYS.len()) as u64) as usize;
            let name = names.get(number).cloned().unwrap_or_else(|| KEYS[number - names.len()].into());
            table.insert(name, odd(chance));
        } else {
            let value = table.get(&key).cloned().unwrap_or_default();
            let changed = match chance.chance(0.5) {
                true => repeated(value, one(chance, &[0, 1, 2, 1000])),
                false => json!({key.as_str(): value}),
            };
            table.insert(key, changed);
        }
    }
}

fn is_large(document: &Value) -> bool {
    let Ok(experiment) = shallows_spec::parse(&document.to_string()) else { return false };
    experiment.topology.build(&mut Faults::default()).links.len() > MANY_PORTS
}

/// A list of `copies` of a value. A long one is there twice at most: a thousand of a thousand of a thousand fill any memory.
fn repeated(value: Value, copies: usize) -> Value {
    let copies = if value.to_string().len() > 10_000 { copies.min(2) } else { copies };
    vec![value; copies].into()
}

fn odd(chance: &mut Stream) -> Value {
    serde_json::from_str(one(chance, &ODD)).expect("JSON")
}

/// Some table of the document.
fn descend<'a>(chance: &mut Stream, document: &'a mut Value) -> &'a mut Map<String, Value> {
    let mut table = document.as_object_mut().expect("a table");
    loop {
        let full = |value: &Value| value.as_object().is_some_and(|inner| !inner.is_empty());
        let inner: Vec<String> = table.iter().filter(|(_, v)| full(v)).map(|(key, _)| key.clone()).collect();
        if inner.is_empty() || chance.chance(0.3) {
            return table;
        }
        let key = &inner[chance.below(inner.len() as u64) as usize];
        table = table[key].as_object_mut().expect("a table");
    }
}

/// The faults of the checker's answer; none for a good one. `legal` counts documents without a fault.
pub fn faults(text: &str, legal: &mut u64) -> Vec<String> {
    let answer = match caught(|| shallows_spec::check(text)) {
        Ok(answer) => answer,
        Err(panic) => return vec![panic],
    };
    let answer: Value = match serde_json::from_str(&answer) {
        Ok(answer) => answer,
        Err(error) => return vec![format!("the answer is not JSON: {error}")],
    };
    let faults = answer["faults"].as_array().map_or(0, Vec::len);
    let mut found = vec![];
    if answer["experiment"].is_null() == (faults == 0) {
        found.push("neither an experiment nor a fault, or both".into());
    }
    let rules = answer["faults"].as_array().into_iter().flatten();
    if rules.clone().any(|fault| fault["rule"].as_str().is_none_or(str::is_empty)) {
        found.push("a fault without a rule".into());
    }
    if rules.map(|fault| fault.to_string().len()).sum::<usize>() > 10 * text.len() + 100_000 {
        found.push("the faults are far longer than the document".into());
    }
    if faults == 0 {
        *legal += 1;
        let again: Value = serde_json::from_str(&shallows_spec::check(&answer["experiment"].to_string()))
            .unwrap_or_default();
        if again["experiment"] != answer["experiment"] {
            found.push("a resolved document does not resolve to itself".into());
        }
    }
    found
}
