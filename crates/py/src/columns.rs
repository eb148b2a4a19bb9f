//! Columns as Python objects: numbers cross as little-endian bytes, words as a dictionary and codes.

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use shallows_core::probe::{Column, ColumnData, TableData};

/// All tables, each a list of `(name, dtype, data)`.
pub fn tables<'py>(py: Python<'py>, tables: &[TableData]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for table in tables {
        let columns = PyList::empty(py);
        for column in &table.columns {
            columns.append((column.name, dtype(column), data(py, &column.data)?))?;
        }
        dict.set_item(table.name, columns)?;
    }
    Ok(dict)
}

fn dtype(column: &Column) -> String {
    let word = match column.data {
        ColumnData::U64(_) => "u64",
        ColumnData::U32(_) => "u32",
        ColumnData::F64(_) => "f64",
        ColumnData::Str { .. } => "str",
    };
    format!("{word}{}", if column.nullable { "?" } else { "" })
}

fn data<'py>(py: Python<'py>, data: &ColumnData) -> PyResult<Bound<'py, PyAny>> {
    match data {
        ColumnData::U64(values) => bytes(py, values, |v| v.to_le_bytes())?.into_bound_py_any(py),
        ColumnData::U32(values) => bytes(py, values, |v| v.to_le_bytes())?.into_bound_py_any(py),
        ColumnData::F64(values) => bytes(py, values, |v| v.to_le_bytes())?.into_bound_py_any(py),
        ColumnData::Str { dictionary, codes } => {
            let codes = bytes(py, codes, |v| v.to_le_bytes())?;
            (PyList::new(py, dictionary)?, codes).into_bound_py_any(py)
        }
    }
}

fn bytes<'py, T: Copy, const N: usize>(
    py: Python<'py>,
    values: &[T],
    to_le: impl Fn(T) -> [u8; N],
) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, values.len() * N, |buffer| {
        for (place, value) in buffer.chunks_exact_mut(N).zip(values) {
            place.copy_from_slice(&to_le(*value));
        }
        Ok(())
    })
}
