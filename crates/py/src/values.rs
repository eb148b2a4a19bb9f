//! Values as Python has them: settings of a declared component, moments, random numbers, objects of a class.

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyString;
use serde_json::{Map, Value};
use shallows_core::params::Row;
use shallows_core::params::custom::{Declared, DeclaredKind, DeclaredParam};
use shallows_units::{Bytes, Rate, Span, Time};

/// Attributes to set on a new object.
pub type Settings = Vec<(Py<PyString>, Py<PyAny>)>;

/// Settings as Python values: seconds, bits a second and bytes are numbers.
pub fn settings(py: Python<'_>, declared: &Declared, values: &Map<String, Value>) -> PyResult<Settings> {
    let one = |Row(param): &Row<DeclaredParam>| {
        let value = values.get(&param.name).unwrap_or(&Value::Null);
        let text = value.as_str().unwrap_or_default();
        let object = match param.kind {
            DeclaredKind::Span => Span::parse(text).unwrap_or(Span::ZERO).as_secs_f64().into_py_any(py)?,
            DeclaredKind::Rate => Rate::parse(text).map_or(0, Rate::as_bps).into_py_any(py)?,
            DeclaredKind::Bytes => Bytes::parse(text).map_or(0, Bytes::as_u64).into_py_any(py)?,
            DeclaredKind::Real => value.as_f64().into_py_any(py)?,
            DeclaredKind::Count => value.as_u64().into_py_any(py)?,
            DeclaredKind::Flag => value.as_bool().into_py_any(py)?,
            DeclaredKind::Text | DeclaredKind::Choice => text.into_py_any(py)?,
            DeclaredKind::Names => match value.as_array() {
                Some(all) => all.iter().filter_map(Value::as_str).collect::<Vec<_>>().into_py_any(py)?,
                None => vec![text].into_py_any(py)?,
            },
        };
        Ok((PyString::intern(py, &param.name).unbind(), object))
    };
    declared.params.iter().map(one).collect()
}

/// An object of a user's class, its settings in place.
pub fn instance<'py>(py: Python<'py>, class: &Py<PyAny>, settings: &Settings) -> PyResult<Bound<'py, PyAny>> {
    let object = class.bind(py).call0()?;
    for (name, value) in settings {
        object.setattr(name.bind(py), value.bind(py))?;
    }
    Ok(object)
}

/// A moment as people read it.
pub fn moment(at: Time) -> String {
    (at - Time::ZERO).to_string()
}

/// `random.Random` with a seed from the run's seed, the component's name and the stream's index.
pub fn random<'py>(py: Python<'py>, seed: u64, component: &str, index: u64) -> PyResult<Bound<'py, PyAny>> {
    py.import("random")?.getattr("Random")?.call1((format!("{seed}/{component}/{index}"),))
}
