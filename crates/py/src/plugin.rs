//! The Python objects behind declared components.

use crate::errors::Shared;
use crate::values::{Settings, settings};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Map, Value};
use shallows_core::cc::MakeControl;
use shallows_core::params::custom::Declared;
use shallows_core::params::{Custom, Faults, Params, Table};
use shallows_core::workload::MakeWorkload;
use shallows_spec::Makers;
use std::collections::HashMap;
use std::sync::Arc;

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
        return Err(crate::errors::spec_error(py, faults.0));
    }
    let dict = PyDict::new(py);
    for (name, value) in settings(py, &declared, &custom.values)? {
        dict.set_item(name, value)?;
    }
    Ok(dict)
}
