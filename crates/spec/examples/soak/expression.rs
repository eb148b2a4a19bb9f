//! Laws of a table, read from their SQL and judged row by row. Integers are exact; null means that a law does not apply.

use shallows_core::probe::{Column, ColumnData};

/// A value of an expression.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// Nothing is known.
    Null,
    /// A whole number.
    Int(i128),
    /// A number.
    Real(f64),
    /// Whether something holds.
    Truth(bool),
}

impl Value {
    fn real(self) -> f64 {
        match self {
            Value::Int(number) => number as f64,
            Value::Real(number) => number,
            other => panic!("{other:?} is not a number"),
        }
    }

    fn truth(self) -> Option<bool> {
        match self {
            Value::Truth(truth) => Some(truth),
            Value::Null => None,
            other => panic!("{other:?} is not a truth value"),
        }
    }
}

/// An expression over the columns of a table.
#[derive(Debug)]
pub enum Expression {
    Constant(Value),
    /// By the column's place.
    Column(usize),
    Absolute(Box<Expression>),
    IsNull(Box<Expression>),
    Two(String, Box<Expression>, Box<Expression>),
}

/// Operators from the loosest to the tightest.
const LEVELS: [&[&str]; 5] = [&["OR"], &["AND"], &["<=", ">=", "<", ">", "="], &["+", "-"], &["*", "/"]];

/// Reads an expression; `place` knows columns and constants by name.
pub fn read(text: &str, place: &dyn Fn(&str) -> Expression) -> Expression {
    let words = words(text);
    let mut reader = Reader { words: &words, place };
    let whole = reader.level(0);
    assert!(reader.words.is_empty(), "{text}: {:?} is left over", reader.words);
    whole
}

fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![];
    let mut last = ' ';
    for letter in text.chars() {
        let word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let joins = word(letter) && word(last) || letter == '=' && "<>".contains(last);
        match words.last_mut().filter(|_| joins) {
            Some(open) => open.push(letter),
            None if !letter.is_whitespace() => words.push(letter.into()),
            None => {}
        }
        last = letter;
    }
    words
}

struct Reader<'a> {
    words: &'a [String],
    place: &'a dyn Fn(&str) -> Expression,
}

impl Reader<'_> {
    fn level(&mut self, level: usize) -> Expression {
        let Some(operators) = LEVELS.get(level) else { return self.single() };
        let mut left = self.level(level + 1);
        loop {
            if self.words.len() >= 2 && self.words[..2] == ["IS", "NULL"] && operators.contains(&"=") {
                self.words = &self.words[2..];
                left = Expression::IsNull(left.into());
                continue;
            }
            let Some(word) = self.words.first().filter(|word| operators.contains(&word.as_str())) else {
                return left;
            };
            self.words = &self.words[1..];
            left = Expression::Two(word.clone(), left.into(), self.level(level + 1).into());
        }
    }

    fn single(&mut self) -> Expression {
        let (word, rest) = self.words.split_first().expect("a value");
        self.words = rest;
        match word.as_str() {
            "(" => self.closed(),
            "ABS" => {
                self.words = &self.words[1..];
                Expression::Absolute(self.closed().into())
            }
            number if number.starts_with(|c: char| c.is_ascii_digit()) => {
                let real = || Value::Real(number.parse().expect("a number"));
                Expression::Constant(number.parse().map_or_else(|_| real(), Value::Int))
            }
            name => (self.place)(name),
        }
    }

    fn closed(&mut self) -> Expression {
        let inner = self.level(0);
        assert_eq!(self.words.first().map(String::as_str), Some(")"));
        self.words = &self.words[1..];
        inner
    }
}

impl Expression {
    /// Its value in a row.
    pub fn value(&self, columns: &[Column], row: usize) -> Value {
        match self {
            Expression::Constant(value) => *value,
            Expression::Column(place) => cell(&columns[*place], row),
            Expression::IsNull(inner) => Value::Truth(inner.value(columns, row) == Value::Null),
            Expression::Absolute(inner) => match inner.value(columns, row) {
                Value::Int(number) => Value::Int(number.abs()),
                Value::Real(number) => Value::Real(number.abs()),
                other => other,
            },
            Expression::Two(operator, left, right) => {
                two(operator, left.value(columns, row), right.value(columns, row))
            }
        }
    }
}

/// A column's value in a row; words are known by their number.
pub fn cell(column: &Column, row: usize) -> Value {
    match &column.data {
        ColumnData::U64(values) if column.nullable && values[row] == u64::MAX => Value::Null,
        ColumnData::U64(values) => Value::Int(values[row].into()),
        ColumnData::U32(values) if column.nullable && values[row] == u32::MAX => Value::Null,
        ColumnData::U32(values) => Value::Int(values[row].into()),
        ColumnData::F64(values) if column.nullable && values[row].is_nan() => Value::Null,
        ColumnData::F64(values) => Value::Real(values[row]),
        ColumnData::Str { codes, .. } => Value::Int(codes[row].into()),
    }
}

fn two(operator: &str, left: Value, right: Value) -> Value {
    let of = |truth: Option<bool>| truth.map_or(Value::Null, Value::Truth);
    match operator {
        "OR" => match (left.truth(), right.truth()) {
            (Some(true), _) | (_, Some(true)) => Value::Truth(true),
            (a, b) => of(a.and(b)),
        },
        "AND" => match (left.truth(), right.truth()) {
            (Some(false), _) | (_, Some(false)) => Value::Truth(false),
            (a, b) => of(a.and(b)),
        },
        _ if left == Value::Null || right == Value::Null => Value::Null,
        "+" | "-" | "*" | "/" => arithmetic(operator, left, right),
        _ => Value::Truth(compare(operator, left, right)),
    }
}

fn arithmetic(operator: &str, left: Value, right: Value) -> Value {
    if let (Value::Int(a), Value::Int(b)) = (left, right) {
        return Value::Int(match operator {
            "+" => a + b,
            "-" => a - b,
            "*" => a * b,
            _ => a / b,
        });
    }
    let (a, b) = (left.real(), right.real());
    Value::Real(match operator {
        "+" => a + b,
        "-" => a - b,
        "*" => a * b,
        _ => a / b,
    })
}

fn compare(operator: &str, left: Value, right: Value) -> bool {
    let order = match (left, right) {
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(&b)),
        (Value::Truth(a), Value::Truth(b)) => Some(a.cmp(&b)),
        (a, b) => a.real().partial_cmp(&b.real()),
    };
    let Some(order) = order else { return false };
    match operator {
        "=" => order.is_eq(),
        "<" => order.is_lt(),
        ">" => order.is_gt(),
        "<=" => order.is_le(),
        _ => order.is_ge(),
    }
}
