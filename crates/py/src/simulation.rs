//! One simulation as a Python object: run in one thread, watched and cancelled from others.

use std::sync::{Arc, Mutex};

use crate::errors::{Shared, error, guarded, spec_error};
use crate::plugin::Objects;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use shallows_core::params::Fault;
use shallows_core::{Control, RunError, Simulation as Core};
use shallows_spec::NoMakers;
use shallows_units::{Span, Time};

/// A checked experiment, ready to run once.
#[pyclass(frozen, module = "shallows._core")]
pub struct Simulation {
    control: Arc<Control>,
    state: Mutex<State>,
    /// State that its Python components share; none where it has no such component.
    shared: Option<Arc<Shared>>,
}

/// The outcome of a part of a run: whether the run has ended.
type Part = Result<bool, RunError>;

enum State {
    Ready(Box<Core>),
    Done(Box<Core>),
    /// Ran and failed, or is running.
    Spent,
}

#[pymethods]
impl Simulation {
    /// Checks and builds; raises `SpecError` with all faults. `components` holds the Python objects that
    /// the document declares, by `module:class`. With `memory` a run that would take more bytes is refused, and one
    /// that comes to hold more ends with `RunError`.
    #[new]
    #[pyo3(signature = (document, components=None, memory=None))]
    fn new(
        py: Python<'_>,
        document: &str,
        components: Option<&Bound<'_, PyDict>>,
        memory: Option<u64>,
    ) -> PyResult<Self> {
        let Some(components) = components.filter(|table| !table.is_empty()) else {
            let loaded = py.detach(|| guarded(|| shallows_spec::load_with(document, &mut NoMakers, memory)));
            return Self::ready(py, loaded, Control::new(), None);
        };
        let shared = Arc::new(Shared::default());
        let mut objects = Objects::new(components, shared.clone())?;
        let loaded = guarded(|| shallows_spec::load_with(document, &mut objects, memory));
        if let Some(error) = shared.take_error() {
            return Err(error);
        }
        // A run that calls Python keeps the interpreter's lock, which costs less than taking it at every
        // call; at each pause others get it.
        let heard = shared.clone();
        let pause = move || {
            Python::attach(|py| {
                if let Err(signal) = py.check_signals() {
                    heard.fail(signal);
                }
                py.detach(|| ());
            });
        };
        Self::ready(py, loaded, Control::with_pause(pause), Some(shared))
    }

    /// So many threads work one large run; call before running. Their number changes no result.
    fn set_threads(&self, py: Python<'_>, threads: usize) {
        py.detach(|| {
            if let State::Ready(simulation) = &mut *self.lock() {
                simulation.set_threads(threads);
            }
        });
    }

    /// Into how many cells the network is cut: more threads than that gain nothing.
    fn cells(&self, py: Python<'_>) -> usize {
        py.detach(|| match &*self.lock() {
            State::Ready(simulation) | State::Done(simulation) => simulation.cells(),
            State::Spent => 1,
        })
    }

    /// Runs to the end, without the interpreter's lock unless it calls Python; raises `RunError`, or what
    /// the user's code raised.
    fn run(&self, py: Python<'_>) -> PyResult<()> {
        self.until(py, None).map(drop)
    }

    /// Runs until a simulated time, or to the end where that comes first; returns whether it has ended.
    /// However often a run stops, its tables are the same.
    fn advance(&self, py: Python<'_>, until_ps: u64) -> PyResult<bool> {
        self.until(py, Some(Time::ps(until_ps)))
    }

    /// Advances `looks` times by `every_ps`, or to the end, and looks each time: whether the run has ended,
    /// and tables `ports` and `flows`, of the first `flows` connections, a row a look.
    fn watch<'py>(
        &self,
        py: Python<'py>,
        every_ps: u64,
        looks: usize,
        flows: u32,
    ) -> PyResult<(bool, Bound<'py, PyDict>)> {
        let mut seen = vec![];
        let ended = self.go_on(py, |simulation, control| {
            let (ended, tables) = simulation.watch(Span::ps(every_ps), looks, flows, control)?;
            seen = tables;
            Ok(ended)
        })?;
        Ok((ended, crate::columns::tables(py, &seen)?))
    }

    /// Tables of the present of a run that was advanced: `ports`, `flows`, and up to `packets` of the
    /// packets under way. Looking changes nothing.
    #[pyo3(signature = (packets=0))]
    fn observe<'py>(&self, py: Python<'py>, packets: usize) -> PyResult<Bound<'py, PyDict>> {
        let tables = py
            .detach(|| match &*self.lock() {
                State::Ready(simulation) | State::Done(simulation) => guarded(|| simulation.observe(packets)),
                State::Spent => Err("the simulation is running or has failed".into()),
            })
            .map_err(|message| error(py, "RunError", message))?;
        crate::columns::tables(py, &tables)
    }

    /// Simulated time that the run has reached, in ps.
    fn now(&self, py: Python<'_>) -> PyResult<u64> {
        py.detach(|| match &*self.lock() {
            State::Ready(simulation) | State::Done(simulation) => Ok(simulation.now().as_ps()),
            State::Spent => Err("the simulation is running or has failed"),
        })
        .map_err(|message| error(py, "RunError", message))
    }

    /// Stops a run soon; it then raises `RunError`. From any thread.
    fn cancel(&self) {
        self.control.cancel();
    }

    /// Share of the simulated time that has passed, 0 to 1. From any thread.
    fn progress(&self) -> f64 {
        self.control.progress()
    }

    /// Counts and memory of a finished run, as JSON.
    fn manifest(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| match &*self.lock() {
            State::Done(simulation) => Ok(simulation.manifest_counts().to_string()),
            _ => Err("the simulation has not run"),
        })
        .map_err(|message| error(py, "RunError", message))
    }

    /// The tables of a finished run: name to columns `(name, dtype, data)`.
    fn tables<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let tables = py
            .detach(|| match &*self.lock() {
                State::Done(simulation) => guarded(|| simulation.tables()),
                _ => Err("the simulation has not run".into()),
            })
            .map_err(|message| error(py, "RunError", message))?;
        crate::columns::tables(py, &tables)
    }
}

impl Simulation {
    fn ready(
        py: Python<'_>,
        loaded: Result<Result<Core, Vec<Fault>>, String>,
        control: Control,
        shared: Option<Arc<Shared>>,
    ) -> PyResult<Self> {
        let simulation = loaded
            .map_err(|message| error(py, "RunError", message))?
            .map_err(|faults| spec_error(py, faults))?;
        let control = Arc::new(control);
        if let Some(shared) = &shared {
            shared.watch(&control);
        }
        Ok(Simulation { control, state: Mutex::new(State::Ready(Box::new(simulation))), shared })
    }

    /// Runs until a time, or to the end.
    fn until(&self, py: Python<'_>, stop: Option<Time>) -> PyResult<bool> {
        if stop.is_none() && matches!(&*self.lock(), State::Done(_)) {
            return Err(error(py, "RunError", "this simulation has run; make a new one"));
        }
        let stop = stop.unwrap_or(Time::MAX);
        self.go_on(py, |simulation, control| simulation.advance(stop, control))
    }

    /// Lets `part` of the run happen, which says whether that was all; without the interpreter's lock
    /// unless the run calls Python.
    fn go_on(&self, py: Python<'_>, part: impl FnOnce(&mut Core, &Control) -> Part + Send) -> PyResult<bool> {
        let result = match &self.shared {
            None => py.detach(|| self.go_on_here(part)),
            Some(shared) => {
                let result = self.go_on_here(part);
                if let Some(error) = shared.take_error() {
                    return Err(error);
                }
                result
            }
        };
        result.map_err(|message: String| error(py, "RunError", message))
    }

    fn go_on_here(&self, part: impl FnOnce(&mut Core, &Control) -> Part) -> Result<bool, String> {
        // Apart from the match, which would hold the lock to its end.
        let state = std::mem::replace(&mut *self.lock(), State::Spent);
        let (State::Ready(mut simulation) | State::Done(mut simulation)) = state else {
            return Err("this simulation is running or has failed; make a new one".into());
        };
        let ended = guarded(|| part(&mut simulation, &self.control))
            .and_then(|result| result.map_err(|e| e.to_string()))?;
        *self.lock() = if ended { State::Done(simulation) } else { State::Ready(simulation) };
        Ok(ended)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
