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
        let value = if value.is_null() { String::new() } else { shorten(&value.to_string(), LONGEST_VALUE) };
        let rule = rule.into();
        let (rule, hint) = match rule.split_once("; did you mean ") {
            Some((rule, meant)) => (rule.to_owned(), format!("did you mean {meant}")),
            None => (rule, String::new()),
        };
        self.push(path, rule, value, hint);
    }

    fn push(&mut self, path: &str, rule: String, value: String, hint: String) {
        let (path, hint) = (shorten(path, LONGEST_PATH), shorten(&hint, LONGEST_RULE));
        self.0.push(Fault { path, rule: shorten(&rule, LONGEST_RULE), value, hint });
    }

    /// Sets the hint of the last fault.
    pub fn hint(&mut self, hint: &str) {
        if let Some(last) = self.0.last_mut() {
            last.hint = hint.into();
        }
    }

    /// There are so many that more would help nobody: who goes over a long list stops here.
    pub fn enough(&self) -> bool {
        self.0.len() >= ENOUGH
    }

    /// The first ones, and how many more there are.
    pub fn told(self) -> Vec<Fault> {
        let mut faults = self.0;
        let more = faults.len().saturating_sub(TOLD);
        if more > 0 {
            let least = if faults.len() >= ENOUGH { "at least " } else { "" };
            faults.truncate(TOLD);
            let rule = format!("has {least}{more} more faults");
            faults.push(Fault { path: "document".into(), rule, value: String::new(), hint: String::new() });
        }
        faults
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
        self.push(path, rule, shorten(&value, LONGEST_VALUE), hint.unwrap_or_default());
    }
}

/// Faults that are told; of more, their number is.
const TOLD: usize = 50;
/// Faults after which no more are looked for.
const ENOUGH: usize = 1000;
/// Characters of a value, a rule and a path that are told.
const LONGEST_VALUE: usize = 120;
const LONGEST_RULE: usize = 1000;
const LONGEST_PATH: usize = 200;

fn shorten(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((cut, _)) => format!("{} ...", &text[..cut]),
        None => text.into(),
    }
}

/// The name in `known` that `name` most likely meant: few letters differ, best not the first ones.
pub fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let plain = |s: &str| s.to_lowercase().replace(['_', '-'], "");
    // Each letter more is one that differs, so that long texts need not be compared.
    let comparable = |k: &&&str| name.len() <= 4 * (k.len() + 1) + 8;
    known
        .iter()
        .filter(comparable)
        .map(|k| (strsim::damerau_levenshtein(&plain(name), &plain(k)), *k))
        .filter(|(distance, k)| *distance <= 1 + k.len() / 4)
        .min_by_key(|(distance, k)| {
            let same_start = name.bytes().zip(k.bytes()).take_while(|(a, b)| a == b).count();
            (*distance, std::cmp::Reverse(same_start))
        })
        .map(|(_, k)| k)
}
