//! The extension module between Python and the simulator: documents in, columns out, errors. No logic.

mod columns;
mod control;
mod drill;
mod errors;
mod facts;
mod plugin;
mod simulation;
mod values;
mod workload;

use pyo3::prelude::*;

/// The compiled part of Shallows.
#[pymodule]
mod _core {
    use pyo3::exceptions::PyValueError;
    use pyo3::prelude::*;
    use shallows_units::{Bytes, Rate, Span};
    use std::collections::BTreeMap;

    #[pymodule_export]
    use crate::drill::ScriptedHost;
    #[pymodule_export]
    use crate::facts::{Ack, FlowStart};
    #[pymodule_export]
    use crate::simulation::Simulation;
    #[pymodule_export]
    use crate::workload::{FlowDone, Network};

    /// Checks a document; `python/shallows/_core.pyi` has the form of the answer.
    #[pyfunction]
    fn check(py: Python<'_>, document: &str) -> PyResult<String> {
        py.detach(|| crate::errors::guarded(|| shallows_spec::check(document)))
            .map_err(|message| crate::errors::error(py, "RunError", message))
    }

    /// Nodes, ports and routes of a document as JSON; `python/shallows/_core.pyi` has its form.
    #[pyfunction]
    fn plan(py: Python<'_>, document: &str) -> PyResult<String> {
        py.detach(|| crate::errors::guarded(|| shallows_spec::plan(document)))
            .map_err(|message| crate::errors::error(py, "RunError", message))?
            .map_err(|faults| crate::errors::spec_error(py, faults))
    }

    /// Groups of equal next hops of a document as JSON; `python/shallows/_core.pyi` has its form.
    #[pyfunction]
    fn ways(py: Python<'_>, document: &str) -> PyResult<String> {
        py.detach(|| crate::errors::guarded(|| shallows_spec::ways(document)))
            .map_err(|message| crate::errors::error(py, "RunError", message))?
            .map_err(|faults| crate::errors::spec_error(py, faults))
    }

    /// The datagrams of a document's loads with their times as JSON; `python/shallows/_core.pyi` has its form.
    #[pyfunction]
    fn emissions(py: Python<'_>, document: &str) -> PyResult<String> {
        py.detach(|| crate::errors::guarded(|| shallows_spec::emissions(document)))
            .map_err(|message| crate::errors::error(py, "RunError", message))?
            .map_err(|faults| crate::errors::spec_error(py, faults))
    }

    /// Every time, rate and amount of data of a resolved record by its path: ps, bit/s, bytes.
    #[pyfunction]
    fn numbers(py: Python<'_>, record: &str) -> PyResult<BTreeMap<String, u64>> {
        shallows_spec::numbers(record).map_err(|faults| crate::errors::spec_error(py, faults))
    }

    /// Raises `SpecError` for each part of a document that only another backend runs.
    #[pyfunction]
    fn simulable(py: Python<'_>, document: &str) -> PyResult<()> {
        let held = || shallows_spec::simulable(&shallows_spec::parse(document)?);
        py.detach(|| crate::errors::guarded(held))
            .map_err(|message| crate::errors::error(py, "RunError", message))?
            .map_err(|faults| crate::errors::spec_error(py, faults))
    }

    /// Every section of an experiment file with its components and their settings, as JSON.
    #[pyfunction]
    fn schema() -> String {
        shallows_spec::schema()
    }

    /// The settings that `table` gives a declared component as Python values; raises `SpecError`.
    #[pyfunction]
    fn read_settings<'py>(
        py: Python<'py>,
        declared: &str,
        path: &str,
        table: &str,
    ) -> PyResult<Bound<'py, pyo3::types::PyDict>> {
        crate::plugin::read_settings(py, declared, path, table)
    }

    /// A unit string that a user wrote as an exact integer: ps, bit/s or bytes. A record's are in `numbers`.
    #[pyfunction]
    fn parse_quantity(kind: &str, text: &str) -> PyResult<u64> {
        let parsed = match kind {
            "span" => Span::parse(text).map(|q| q.as_ps()).map_err(|e| e.to_string()),
            "rate" => Rate::parse(text).map(|q| q.as_bps()).map_err(|e| e.to_string()),
            "bytes" => Bytes::parse(text).map(|q| q.0).map_err(|e| e.to_string()),
            _ => Err(format!("kind must be span, rate or bytes, got {kind:?}")),
        };
        parsed.map_err(PyValueError::new_err)
    }

    /// Hash of the sources that this extension was built from.
    #[pyfunction]
    fn source_hash() -> &'static str {
        shallows_spec::SOURCE_HASH
    }
}
