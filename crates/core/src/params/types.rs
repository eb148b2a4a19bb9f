//! The types that a parameter can have: how each is read, shown and held against its range.

use super::{Code, Faults, Kind, Params, Rule, Table};
use serde_json::{Map, Value};
use shallows_units::{Bytes, Rate, Size, Span};
use std::cmp::Ordering;

/// A Rust type that a parameter can have.
pub trait ParamType: Sized + PartialOrd {
    /// The form of a value, in the words of a fault.
    fn kind() -> Kind;
    /// Reads a value as written; the error is the rule it breaks.
    fn parse(value: &Value) -> Result<Self, Rule>;
    /// The value in canonical form, which parses back to itself.
    fn show(&self) -> Value;
    /// Any value at all, to go on with after a fault.
    fn stand_in() -> Self;

    /// Reads the value that stands at `path`, recording its faults, each where it stands; `None` if
    /// nothing can be made of it. Only types with parts of their own need more than this.
    fn read(value: &Value, path: &str, faults: &mut Faults) -> Option<Self> {
        let rule = match Self::parse(value) {
            Ok(read) => return Some(read),
            Err(rule) => rule,
        };
        match (Self::kind(), value) {
            (Kind::Choice(words), Value::String(s)) => faults.unknown(path, "choice", s, words),
            _ => faults.add(path, rule, value),
        }
        None
    }

    /// Holds the value against an interval such as `(0, 1]`; the error is the rule.
    fn within(&self, range: &str) -> Result<(), Rule> {
        in_range(self, range)
    }
}

fn must_be<T: ParamType>() -> Rule {
    Code::WrongType.rule(format!("must be {}", T::kind()))
}

macro_rules! quantity {
    ($($ty:ty, $kind:ident, $zero:expr);*) => { $(
        impl ParamType for $ty {
            fn kind() -> Kind { Kind::$kind }
            fn parse(value: &Value) -> Result<Self, Rule> {
                match value {
                    Value::String(s) => <$ty>::parse(s).map_err(Rule::from),
                    Value::Number(_) => Err(Code::WrongUnit.rule(format!("needs a unit: {}", Kind::$kind))),
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
    fn parse(value: &Value) -> Result<Self, Rule> {
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
    fn parse(value: &Value) -> Result<Self, Rule> {
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
    fn parse(value: &Value) -> Result<Self, Rule> {
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
    fn parse(value: &Value) -> Result<Self, Rule> {
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
    fn parse(value: &Value) -> Result<Self, Rule> {
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
    fn parse(value: &Value) -> Result<Self, Rule> {
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
    fn within(&self, range: &str) -> Result<(), Rule> {
        self.iter().try_for_each(|item| item.within(range))
    }
}

impl<T: ParamType> ParamType for Option<T> {
    fn kind() -> Kind {
        Kind::OrNone(Box::new(T::kind()))
    }
    fn parse(value: &Value) -> Result<Self, Rule> {
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
    fn read(value: &Value, path: &str, faults: &mut Faults) -> Option<Self> {
        if value.as_str() == Some("none") { Some(None) } else { T::read(value, path, faults).map(Some) }
    }
    fn within(&self, range: &str) -> Result<(), Rule> {
        let within = self.as_ref().map_or(Ok(()), |value| value.within(range));
        within.map_err(Rule::or_none)
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
    fn parse(value: &Value) -> Result<Self, Rule> {
        let mut faults = Faults::default();
        let row = Self::read(value, "", &mut faults);
        match faults.0.into_iter().next() {
            Some(fault) => Err(fault.into_rule()),
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
fn in_range<T: ParamType>(value: &T, range: &str) -> Result<(), Rule> {
    hold(range, &mut |bound| {
        let as_text = T::parse(&Value::from(bound)).ok();
        let bound = as_text.or_else(|| T::parse(&serde_json::from_str(bound).ok()?).ok());
        value.partial_cmp(&bound.expect("a declared bound parses"))
    })
}

/// Holds a value against `range`; `compare` holds it against a bound as written. One for all types, since a parameter's
/// type is compiled once for each of some hundred.
fn hold(range: &str, compare: &mut dyn FnMut(&str) -> Option<Ordering>) -> Result<(), Rule> {
    let Some((low, high)) = range.get(1..range.len().saturating_sub(1)).and_then(|s| s.split_once(','))
    else {
        return Ok(());
    };
    // Values of different units (bytes against packets) do not compare; they are checked by the component.
    use Ordering::{Equal, Greater, Less};
    let (low, high) = (low.trim(), high.trim());
    if !low.is_empty() {
        match (compare(low), range.starts_with('(')) {
            (Some(Less), false) => return Err(Code::OutOfRange.rule(format!("must be >= {low}"))),
            (Some(Less | Equal), true) => return Err(Code::OutOfRange.rule(format!("must be > {low}"))),
            _ => {}
        }
    }
    if !high.is_empty() {
        match (compare(high), range.ends_with(')')) {
            (Some(Greater), false) => return Err(Code::OutOfRange.rule(format!("must be <= {high}"))),
            (Some(Greater | Equal), true) => return Err(Code::OutOfRange.rule(format!("must be < {high}"))),
            _ => {}
        }
    }
    Ok(())
}
