//! The host of a packet script as a Python object.

use crate::errors::{error, guarded, spec_error};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use shallows_core::drill::{Host, Segment};
use shallows_units::Time;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A segment: when it left in ps, its flags, its codepoint of ECN, number, length, acknowledgement, SACK blocks.
type Shown = (u64, String, &'static str, u64, u64, u64, Vec<(u64, u64)>);

/// One host whose peer is a packet script. Times are in ps of simulated time.
#[pyclass(frozen, module = "shallows._core")]
pub struct ScriptedHost(Mutex<Host>);

#[pymethods]
impl ScriptedHost {
    /// A host with the settings of a `[transport]` table, as JSON; raises `SpecError`.
    #[new]
    fn new(py: Python<'_>, transport: &str, passive: bool) -> PyResult<Self> {
        let host = shallows_spec::drill(transport, passive).map_err(|faults| spec_error(py, faults))?;
        Ok(ScriptedHost(Mutex::new(host)))
    }

    fn connect(&self, py: Python<'_>) -> PyResult<()> {
        self.act(py, Host::connect)
    }

    fn write(&self, py: Python<'_>, bytes: u64) -> PyResult<()> {
        self.act(py, |host| host.write(bytes))
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.act(py, Host::close)
    }

    fn set_nagle(&self, py: Python<'_>, waits: bool) -> PyResult<()> {
        self.act(py, |host| host.set_nagle(waits))
    }

    fn advance(&self, py: Python<'_>, until_ps: u64) -> PyResult<()> {
        self.act(py, |host| host.advance(Time::ps(until_ps)))
    }

    /// The next segment that leaves by that time, or None.
    fn next(&self, py: Python<'_>, until_ps: u64) -> PyResult<Option<Shown>> {
        let shown = |one: Segment| {
            (one.at.as_ps(), one.letters(), one.codepoint(), one.seq, one.length, one.ack, one.sack)
        };
        self.act(py, |host| host.next(Time::ps(until_ps)).map(shown))
    }

    /// A segment of the peer arrives now; returns why the simulator does not know it, or None.
    #[pyo3(signature = (flags, codepoint, seq, length, ack, sack, window))]
    #[expect(clippy::too_many_arguments, reason = "the parts of a segment, by name in Python")]
    fn arrive(
        &self,
        py: Python<'_>,
        flags: &str,
        codepoint: &str,
        seq: u64,
        length: u64,
        ack: u64,
        sack: Vec<(u64, u64)>,
        window: Option<u64>,
    ) -> PyResult<Option<&'static str>> {
        let bits = Segment::flags(flags, codepoint);
        let bits =
            bits.ok_or_else(|| PyValueError::new_err(format!("flags {flags:?}, ECN {codepoint:?}")))?;
        let segment = Segment { at: Time::ZERO, flags: bits, seq, length, ack, sack };
        self.act(py, |host| host.arrive(&segment, window).err())
    }

    fn now(&self) -> u64 {
        self.lock().now().as_ps()
    }

    fn is_open(&self) -> bool {
        self.lock().is_open()
    }

    fn delivered(&self) -> u64 {
        self.lock().delivered()
    }

    fn refused(&self) -> Option<&'static str> {
        self.lock().refused()
    }

    /// The values of Linux's tcp_info that the host knows, by name.
    fn info(&self) -> std::collections::BTreeMap<&'static str, u64> {
        self.lock().info().into_iter().collect()
    }
}

impl ScriptedHost {
    fn lock(&self) -> MutexGuard<'_, Host> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A panic within, which is a defect of the simulator, becomes a `RunError`.
    fn act<T: Send>(&self, py: Python<'_>, act: impl FnOnce(&mut Host) -> T + Send) -> PyResult<T> {
        py.detach(|| guarded(|| act(&mut self.lock()))).map_err(|message| error(py, "RunError", message))
    }
}
