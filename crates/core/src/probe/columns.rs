//! Tables as columns, the form in which results leave the core.

/// One table.
#[derive(Debug)]
pub struct TableData {
    /// Name, such as `flows`.
    pub name: &'static str,
    /// Columns of equal length.
    pub columns: Vec<Column>,
}

/// One column; its unit is its name's suffix.
#[derive(Debug)]
pub struct Column {
    /// Name, such as `fct_ps`.
    pub name: &'static str,
    /// `u64::MAX` or NaN stands for "none".
    pub nullable: bool,
    /// The values.
    pub data: ColumnData,
}

/// Values of a column.
#[derive(Debug, PartialEq)]
pub enum ColumnData {
    /// Counts, bytes, times in ps.
    U64(Vec<u64>),
    /// Identifiers.
    U32(Vec<u32>),
    /// Means and ratios.
    F64(Vec<f64>),
    /// Words: `codes` index `dictionary`.
    Str {
        /// The distinct words.
        dictionary: Vec<String>,
        /// One a row.
        codes: Vec<u32>,
    },
}

impl ColumnData {
    /// Rows.
    pub fn len(&self) -> usize {
        match self {
            ColumnData::U64(v) => v.len(),
            ColumnData::U32(v) => v.len(),
            ColumnData::F64(v) => v.len(),
            ColumnData::Str { codes, .. } => codes.len(),
        }
    }

    /// No rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Builds a table column by column from rows held elsewhere.
#[derive(Debug)]
pub struct TableBuilder<'a, R> {
    rows: &'a [R],
    table: TableData,
}

impl<'a, R> TableBuilder<'a, R> {
    /// The table `name` over `rows`.
    pub fn new(name: &'static str, rows: &'a [R]) -> Self {
        TableBuilder { rows, table: TableData { name, columns: vec![] } }
    }

    fn add(mut self, name: &'static str, nullable: bool, data: ColumnData) -> Self {
        self.table.columns.push(Column { name, nullable, data });
        self
    }

    /// A column of whole numbers.
    pub fn u64(self, name: &'static str, value: impl Fn(&R) -> u64) -> Self {
        let data = ColumnData::U64(self.rows.iter().map(value).collect());
        self.add(name, false, data)
    }

    /// A column of whole numbers for each of `kinds`.
    pub fn each_u64<K: Copy>(
        self,
        kinds: impl IntoIterator<Item = K>,
        name: impl Fn(K) -> &'static str,
        value: impl Fn(&R, K) -> u64,
    ) -> Self {
        kinds.into_iter().fold(self, |table, kind| table.u64(name(kind), |row| value(row, kind)))
    }

    /// A column of whole numbers, some missing.
    pub fn maybe_u64(self, name: &'static str, value: impl Fn(&R) -> Option<u64>) -> Self {
        let data = ColumnData::U64(self.rows.iter().map(|r| value(r).unwrap_or(u64::MAX)).collect());
        self.add(name, true, data)
    }

    /// A column of identifiers.
    pub fn u32(self, name: &'static str, value: impl Fn(&R) -> u32) -> Self {
        let data = ColumnData::U32(self.rows.iter().map(value).collect());
        self.add(name, false, data)
    }

    /// A column of identifiers, some missing.
    pub fn maybe_u32(self, name: &'static str, value: impl Fn(&R) -> Option<u32>) -> Self {
        let data = ColumnData::U32(self.rows.iter().map(|r| value(r).unwrap_or(u32::MAX)).collect());
        self.add(name, true, data)
    }

    /// A column of numbers.
    pub fn f64(self, name: &'static str, value: impl Fn(&R) -> f64) -> Self {
        let data = ColumnData::F64(self.rows.iter().map(value).collect());
        self.add(name, false, data)
    }

    /// A column of numbers, some missing.
    pub fn maybe_f64(self, name: &'static str, value: impl Fn(&R) -> Option<f64>) -> Self {
        let finite = |r: &R| value(r).filter(|x| x.is_finite()).unwrap_or(f64::NAN);
        let data = ColumnData::F64(self.rows.iter().map(finite).collect());
        self.add(name, true, data)
    }

    /// A column of words out of `dictionary`.
    pub fn words(self, name: &'static str, dictionary: &[String], code: impl Fn(&R) -> u32) -> Self {
        let codes: Vec<u32> = self.rows.iter().map(code).collect();
        // Large networks have many names, and most tables no row.
        let dictionary = if codes.is_empty() { vec![] } else { dictionary.to_vec() };
        let data = ColumnData::Str { dictionary, codes };
        self.add(name, false, data)
    }

    /// The table.
    pub fn done(self) -> TableData {
        self.table
    }
}
