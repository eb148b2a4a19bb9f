//! The arguments of a congestion control written in Python: its connection, and acknowledgements.

use crate::values::random;
use pyo3::prelude::*;

/// The facts of its connection that an algorithm gets at the start.
///
/// Data are in bytes, times in seconds.
#[pyclass(frozen, module = "shallows._core")]
pub struct FlowStart {
    /// Running number of the connection in the run.
    #[pyo3(get)]
    pub id: u32,
    /// Present time in seconds.
    #[pyo3(get)]
    pub now: f64,
    /// Payload of a full segment.
    #[pyo3(get)]
    pub mss: u64,
    /// First window.
    #[pyo3(get)]
    pub initial_window: f64,
    /// First slow-start threshold; infinity for none.
    #[pyo3(get)]
    pub initial_ssthresh: f64,
    /// Window after an idle time.
    #[pyo3(get)]
    pub restart_window: f64,
    /// Least window after an ECN reduction.
    #[pyo3(get)]
    pub cwnd_floor: f64,
    /// Most window; infinity for none.
    #[pyo3(get)]
    pub cwnd_max: f64,
    /// Least slow-start threshold.
    #[pyo3(get)]
    pub ssthresh_floor: f64,
    /// Most segments that an acknowledgement adds in slow start.
    #[pyo3(get)]
    pub slow_start_limit: f64,
    /// The unit in which acknowledgements let the window grow: `bytes`, `delivered` or `acks`.
    #[pyo3(get)]
    pub growth: String,
    /// Bytes that the application has announced, if it has.
    #[pyo3(get)]
    pub bytes: Option<u64>,
    /// Declared class of the traffic.
    #[pyo3(get)]
    pub traffic_class: String,
    /// Seed of the run.
    pub seed: u64,
}

#[pymethods]
impl FlowStart {
    /// A `random.Random` of this connection alone: the same for equal seeds.
    #[getter]
    fn random<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        random(py, self.seed, "transport.cc", u64::from(self.id))
    }
}

/// An acknowledgement, or a round trip of them, as an algorithm sees it. Bytes and seconds.
#[pyclass(frozen, get_all, module = "shallows._core")]
#[derive(Clone, Default)]
pub struct Ack {
    /// Present time.
    pub now: f64,
    /// Bytes newly acknowledged.
    pub acked: u64,
    /// Bytes that it is the first to report, by number or by SACK.
    pub delivered: u64,
    /// Bytes among them that are acknowledged with ECN-Echo.
    pub marked: u64,
    /// It carries ECN-Echo.
    pub ece: bool,
    /// It ends a round trip.
    pub round_ended: bool,
    /// The window may grow.
    pub may_grow: bool,
    /// Its round-trip time, where it gives one.
    pub rtt: Option<f64>,
    /// Smoothed round-trip time; 0 before the first sample.
    pub srtt: f64,
    /// Bytes in flight before it came.
    pub flight: u64,
    /// Bytes of the stream sent so far.
    pub sent: u64,
}
