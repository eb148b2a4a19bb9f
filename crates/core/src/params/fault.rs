//! Faults of an experiment file: each with its path, rule and value, and what might have been meant.

use serde_json::Value;

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
