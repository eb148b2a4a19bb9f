//! Failures as Python exceptions: all faults of a document, exceptions of `shallows.errors`, and panics as messages.

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use shallows_core::Control;
use shallows_core::params::Fault;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Once, OnceLock, PoisonError};

/// A `SpecError` with all faults.
pub fn spec_error(py: Python<'_>, faults: Vec<Fault>) -> PyErr {
    let faults: Vec<_> =
        faults.into_iter().map(|f| (f.path, f.rule, f.value, f.hint, f.code.word())).collect();
    error(py, "SpecError", faults)
}

/// An exception of `shallows.errors`.
pub fn error<'py, T>(py: Python<'py>, class: &str, argument: T) -> PyErr
where
    T: IntoPyObject<'py>,
{
    let made = (|| {
        let class = py.import("shallows.errors")?.getattr(class)?;
        let argument = argument.into_bound_py_any(py)?;
        class.call1((argument,))
    })();
    match made {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

thread_local! {
    /// The message of a panic during a guarded call.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Calls `f`; a panic in it, which is a defect of the simulator, becomes a message with its place.
pub fn guarded<T>(f: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let default = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let ours = PANIC.with(|said| said.borrow_mut().as_mut().map(|said| *said = info.to_string()));
            if ours.is_none() {
                default(info);
            }
        }));
    });
    PANIC.with(|said| *said.borrow_mut() = Some(String::new()));
    let result = catch_unwind(AssertUnwindSafe(f));
    let said = PANIC.with(|said| said.borrow_mut().take()).unwrap_or_default();
    result.map_err(|_| format!("defect in the simulator: {said}"))
}

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
    // An exception that refuses notes is reported as it is.
    _ = error.value(py).call_method1("add_note", (note,));
    error
}

/// A bad answer of the user's code.
pub fn bad(py: Python<'_>, text: String) -> PyErr {
    error(py, "PluginError", text)
}
