//! What Python-written components share: the objects behind declarations, their settings as Python
//! values, and the first error, which ends the run.

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use serde_json::{Map, Value};
use shallows_core::Control;
use shallows_core::cc::MakeControl;
use shallows_core::params::custom::{Declared, DeclaredKind};
use shallows_core::params::{Custom, Faults, Params, Row, Table};
use shallows_core::workload::MakeWorkload;
use shallows_spec::Makers;
use shallows_units::{Bytes, Rate, Span, Time};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// How a run and its Python components end together.
#[derive(Default)]
pub struct Shared {
    failed: AtomicBool,
    error: Mutex<Option<PyErr>>,
    control: OnceLock<Arc<Control>>,
}

impl Shared {
    /// Which run to stop.
    pub fn watch(&self, control: &Arc<Control>) {
        _ = self.control.set(control.clone());
    }

    /// Something has failed: nothing in Python is called any more.
    pub fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// Keeps the first error and stops the run.
    pub fn fail(&self, error: PyErr) {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.failed.store(true, Ordering::Relaxed);
        if let Some(control) = self.control.get() {
            control.cancel();
        }
    }

    /// The error that ended the run, if one did.
    pub fn take_error(&self) -> Option<PyErr> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// An exception of the user's code, with a note of where it came from.
pub fn noted(py: Python<'_>, error: PyErr, note: &str) -> PyErr {
    // An exception that refuses notes is told as it is.
    _ = error.value(py).call_method1("add_note", (note,));
    error
}

/// A bad answer of the user's code.
pub fn bad(py: Python<'_>, text: String) -> PyErr {
    crate::simulation::error(py, "PluginError", text)
}

/// A moment as people read it.
pub fn moment(at: Time) -> String {
    (at - Time::ZERO).to_string()
}

/// The Python objects that stand behind declared components.
pub struct Objects {
    objects: HashMap<String, Py<PyAny>>,
    shared: Arc<Shared>,
}

impl Objects {
    /// From a table of `module:class`.
    pub fn new(table: &Bound<'_, PyDict>, shared: Arc<Shared>) -> PyResult<Self> {
        let pair =
            |(key, object): (Bound<'_, PyAny>, Bound<'_, PyAny>)| Ok((key.extract()?, object.unbind()));
        Ok(Objects { objects: table.iter().map(pair).collect::<PyResult<_>>()?, shared })
    }

    /// The object behind a declaration and its settings.
    fn find(
        &self,
        py: Python<'_>,
        declared: &Declared,
        values: &Map<String, Value>,
    ) -> Option<(Py<PyAny>, Settings)> {
        let object = self.objects.get(&format!("{}:{}", declared.module, declared.class))?;
        let settings = settings(py, declared, values).ok()?;
        Some((object.clone_ref(py), settings))
    }
}

impl Makers for Objects {
    fn control(
        &mut self,
        declared: &Declared,
        values: &Map<String, Value>,
        seed: u64,
    ) -> Option<Arc<dyn MakeControl>> {
        Python::attach(|py| {
            let (class, settings) = self.find(py, declared, values)?;
            match crate::control::Maker::new(py, class, settings, seed, self.shared.clone()) {
                Ok(maker) => Some(Arc::new(maker) as Arc<dyn MakeControl>),
                Err(error) => {
                    self.shared.fail(error);
                    None
                }
            }
        })
    }

    fn workload(
        &mut self,
        declared: &Declared,
        values: &Map<String, Value>,
    ) -> Option<Arc<dyn MakeWorkload>> {
        Python::attach(|py| {
            let (class, settings) = self.find(py, declared, values)?;
            Some(Arc::new(crate::workload::Maker { class, settings, shared: self.shared.clone() }) as _)
        })
    }
}

/// Attributes to set on a new object.
pub type Settings = Vec<(Py<PyString>, Py<PyAny>)>;

/// An object of a user's class, its settings in place.
pub fn instance<'py>(py: Python<'py>, class: &Py<PyAny>, settings: &Settings) -> PyResult<Bound<'py, PyAny>> {
    let object = class.bind(py).call0()?;
    for (name, value) in settings {
        object.setattr(name.bind(py), value.bind(py))?;
    }
    Ok(object)
}

/// Settings as Python values: seconds, bits a second and bytes are numbers.
fn settings(py: Python<'_>, declared: &Declared, values: &Map<String, Value>) -> PyResult<Settings> {
    let one = |Row(param): &Row<shallows_core::params::custom::DeclaredParam>| {
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

/// The settings that `table` (JSON, at `path`) gives a declared component (JSON), checked: Python
/// values, or all faults.
pub fn read_settings<'py>(
    py: Python<'py>,
    declared: &str,
    path: &str,
    table: &str,
) -> PyResult<Bound<'py, PyDict>> {
    let parse = |text: &str| -> Map<String, Value> { serde_json::from_str(text).unwrap_or_default() };
    let (declared, table) = (parse(declared), parse(table));
    let mut faults = Faults::default();
    let declared = Arc::new(Declared::read(&mut Table::new("", &declared, &mut faults)));
    let mut reader = Table::new(path, &table, &mut faults);
    for key in ["kind", "graph"] {
        reader.raw(key);
    }
    let custom = Custom::<dyn MakeControl>::read(&declared, &mut reader);
    reader.finish();
    if !faults.0.is_empty() {
        return Err(crate::simulation::spec_error(py, faults.0));
    }
    let dict = PyDict::new(py);
    for (name, value) in settings(py, &declared, &custom.values)? {
        dict.set_item(name, value)?;
    }
    Ok(dict)
}

/// `random.Random`, seeded by what names the stream.
pub fn random<'py>(py: Python<'py>, seed: u64, component: &str, index: u64) -> PyResult<Bound<'py, PyAny>> {
    py.import("random")?.getattr("Random")?.call1((format!("{seed}/{component}/{index}"),))
}
