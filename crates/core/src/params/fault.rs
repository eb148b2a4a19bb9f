//! Faults of an experiment file: each with its code, path, rule and value, and a hint at a likely meaning.

use super::Kind;
use serde_json::Value;
use shallows_units::{UnitError, UnitFault};

macro_rules! codes {
    ($( $(#[doc = $doc:literal])* $name:ident = $word:literal ),* $(,)?) => {
        /// The rule that is broken, as a stable word for programs.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Code { $( $(#[doc = $doc])* $name ),* }

        impl Code {
            /// Every code with its meaning.
            pub const ALL: &[(Code, &str)] = &[$( (Code::$name, concat!($($doc),*)) ),*];

            /// The word.
            pub fn word(self) -> &'static str {
                match self { $( Code::$name => $word ),* }
            }
        }
    };
}

codes! {
    /// No chosen component has this setting.
    UnknownKey = "unknown-key",
    /// The value is not one of the listed words.
    UnknownWord = "unknown-word",
    /// A required setting is absent.
    Missing = "missing",
    /// The value has another type.
    WrongType = "wrong-type",
    /// The text has another form.
    WrongForm = "wrong-form",
    /// The quantity has no unit, or one that its dimension does not have.
    WrongUnit = "wrong-unit",
    /// The value is outside the range.
    OutOfRange = "out-of-range",
    /// The value contradicts another setting.
    Conflict = "conflict",
    /// The value names a host, port, switch, class or node that does not exist.
    NotFound = "not-found",
    /// No links lead from one host to the other.
    NoPath = "no-path",
    /// A list or table has too few entries.
    TooFew = "too-few",
    /// The settings together make more than the simulator can hold.
    TooMany = "too-many",
    /// The run needs more memory than is free.
    TooMuchMemory = "too-much-memory",
    /// One thing is written in two places.
    WrittenTwice = "written-twice",
    /// The backend does not have it; another one may.
    Unsupported = "unsupported",
    /// There are more faults than are listed.
    More = "more",
}

impl Code {
    /// A rule of this kind, as a sentence part: `must be >= 1`.
    pub fn rule(self, text: impl Into<String>) -> Rule {
        Rule { code: self, text: text.into(), hint: String::new(), judged_by: &[] }
    }
}

/// A rule that a value breaks, wherever it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The rule's code, for programs.
    pub code: Code,
    /// The rule, as a part of a sentence.
    pub text: String,
    /// The remedy or a likely meaning, or empty.
    pub hint: String,
    /// Keys of the same table that the rule was judged from; none where any of them may have been.
    judged_by: &'static [&'static str],
}

impl Rule {
    /// This rule with a hint.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Rule { hint: hint.into(), ..self }
    }

    /// This rule for a value that may be absent.
    #[must_use]
    pub fn or_none(self) -> Self {
        Rule { text: format!("{}, or \"none\"", self.text), ..self }
    }

    /// This rule with the nearest of `known` to `name` as its hint, if there is one.
    #[must_use]
    pub fn near(self, name: &str, known: &[&str]) -> Self {
        match nearest(name, known) {
            Some(near) => self.hint(format!("did you mean \"{near}\"?")),
            None => self,
        }
    }

    /// This rule, judged from these keys of its table alone.
    #[must_use]
    pub fn judged_by(self, keys: &'static [&'static str]) -> Self {
        Rule { judged_by: keys, ..self }
    }
}

impl std::fmt::Display for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)?;
        if self.hint.is_empty() { Ok(()) } else { write!(f, "; {}", self.hint) }
    }
}

impl From<UnitError> for Rule {
    fn from(error: UnitError) -> Self {
        let code = match error.fault {
            UnitFault::Form => Code::WrongForm,
            UnitFault::Unit => Code::WrongUnit,
            UnitFault::Range => Code::OutOfRange,
        };
        code.rule(error.rule).hint(error.hint)
    }
}

/// A rule that a value breaks, its place, and a hint at a likely meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The rule's code, for programs.
    pub code: Code,
    /// Dotted path of the key: `traffic.long.bytes`.
    pub path: String,
    /// The rule, as a sentence part: `must be >= 1`.
    pub rule: String,
    /// The value as written, or empty.
    pub value: String,
    /// `did you mean ...?`, or empty.
    pub hint: String,
    /// The form of the setting, where a default stands in for it.
    pub kind: Option<Kind>,
    judged_by: &'static [&'static str],
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

/// Sections whose settings are held against the hosts, ports and switches of the network.
const JUDGED_BY_NETWORK: [&str; 5] = ["traffic", "port", "switch", "probe", "topology"];

impl Fault {
    /// A fault at `path`.
    pub fn new(path: &str, rule: Rule, value: &Value) -> Self {
        let value = if value.is_null() { String::new() } else { shorten(&value.to_string(), LONGEST_VALUE) };
        Fault {
            code: rule.code,
            path: shorten(path, LONGEST_PATH),
            rule: shorten(&rule.text, LONGEST_RULE),
            value,
            hint: shorten(&rule.hint, LONGEST_RULE),
            kind: None,
            judged_by: rule.judged_by,
        }
    }

    /// The rule that it breaks, to be given at another place.
    pub fn into_rule(self) -> Rule {
        Rule { code: self.code, text: self.rule, hint: self.hint, judged_by: &[] }
    }

    /// Whether the default in place of this faulty value may be the only cause of `other`, which was found
    /// across settings.
    pub fn may_explain(&self, other: &Fault) -> bool {
        let ((table, key), (its_table, _)) = (split(&self.path), split(&other.path));
        let judged_by_it =
            if other.judged_by.is_empty() { !table.is_empty() } else { other.judged_by.contains(&key) };
        // Another rate or delay leaves hosts and links as they are.
        let network = section(&self.path) == "topology" && !self.kind.as_ref().is_some_and(is_rate_or_span);
        let within =
            self.path.strip_prefix(&other.path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        (table == its_table && judged_by_it)
            || (network && JUDGED_BY_NETWORK.contains(&section(&other.path)))
            || (within && other.code == Code::TooFew)
    }
}

fn is_rate_or_span(kind: &Kind) -> bool {
    match kind {
        Kind::Rate | Kind::Span => true,
        Kind::OrNone(inner) => is_rate_or_span(inner),
        _ => false,
    }
}

/// Table and key of a path.
fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('.').unwrap_or(("", path))
}

fn section(path: &str) -> &str {
    path.split('.').next().unwrap_or_default()
}

/// All faults found so far.
#[derive(Debug, Default)]
pub struct Faults(pub Vec<Fault>);

impl Faults {
    /// Records that `value`, at `path`, breaks `rule`.
    pub fn add(&mut self, path: &str, rule: Rule, value: &Value) {
        self.0.push(Fault::new(path, rule, value));
    }

    /// There are so many that more would not help: nobody reads on.
    pub fn enough(&self) -> bool {
        self.0.len() >= ENOUGH
    }

    /// The first ones, and how many more there are.
    pub fn into_list(self) -> Vec<Fault> {
        let mut faults = self.0;
        let more = faults.len().saturating_sub(TOLD);
        if more > 0 {
            let least = if faults.len() >= ENOUGH { "at least " } else { "" };
            faults.truncate(TOLD);
            let rule = Code::More.rule(format!("has {least}{more} more faults"));
            faults.push(Fault::new("document", rule, &Value::Null));
        }
        faults
    }

    /// Records that `name` is not among the `known` words, with the nearest of them as a hint.
    pub fn unknown(&mut self, path: &str, what: &str, name: &str, known: &[&str]) {
        self.add(path, unknown(Code::UnknownWord, what, name, known), &name.into());
    }
}

/// The rule that a name is not among the `known` ones, with the nearest of them as a hint.
pub fn unknown(code: Code, what: &str, name: &str, known: &[&str]) -> Rule {
    let rule = if known.len() <= 40 {
        format!("unknown {what}; known: {}", known.join(", "))
    } else {
        format!("unknown {what}")
    };
    code.rule(rule).near(name, known)
}

/// Most faults that are listed; the others are counted.
const TOLD: usize = 50;
/// Faults after which no more are looked for.
const ENOUGH: usize = 1000;
/// Most characters of a value, a rule and a path in a fault.
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
    let mut wanted = None;
    known
        .iter()
        .filter(comparable)
        .filter_map(|k| {
            let wanted: &String = wanted.get_or_insert_with(|| plain(name));
            let (most, plain) = (1 + k.len() / 4, plain(k));
            // A network has thousands of names, nearly none of which is near.
            let far = least_distance(wanted, &plain) > most;
            (!far).then(|| (strsim::damerau_levenshtein(wanted, &plain), *k))
        })
        .filter(|(distance, k)| *distance <= 1 + k.len() / 4)
        .min_by_key(|(distance, k)| {
            let same_start = name.bytes().zip(k.bytes()).take_while(|(a, b)| a == b).count();
            (*distance, std::cmp::Reverse(same_start))
        })
        .map(|(_, k)| k)
}

/// No edit distance of two texts is below this: each edit changes the count of one letter, or of one for another.
fn least_distance(a: &str, b: &str) -> usize {
    // Letters fall into bins; several in one only make the bound smaller.
    let mut counts = [0i32; 64];
    a.chars().for_each(|c| counts[c as usize % 64] += 1);
    b.chars().for_each(|c| counts[c as usize % 64] -= 1);
    let more: i32 = counts.iter().filter(|count| **count > 0).sum();
    let fewer: i32 = counts.iter().filter(|count| **count < 0).sum();
    more.max(-fewer) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bound is one, for words that are near and far, and it is exact where letters are only added or changed.
    #[test]
    fn no_distance_is_below_its_bound() {
        let words = [
            "",
            "h1",
            "h12",
            "h21",
            "s0",
            "marks",
            "mark_at",
            "limit",
            "limits",
            "tiiml",
            "\u{e9}\u{e9}",
            "rack0.h3",
        ];
        for a in words {
            for b in words {
                let distance = strsim::damerau_levenshtein(a, b);
                assert!(least_distance(a, b) <= distance, "{a} {b}");
            }
        }
        assert_eq!(
            [least_distance("h1", "h12"), least_distance("h1", "s1"), least_distance("h1", "h1")],
            [1, 1, 0]
        );
    }
}
