//! A congestion control of the Linux kernel, by the kernel's name for it.
//!
//! Source: the kernel itself (`net/ipv4/tcp_NAME.c`), which `--backend linux` runs.
//! Left out: all of it. Nothing here simulates it, and the simulator refuses it before anything runs.

use super::{Ack, CcSettings, Congestion, CongestionControl, Cx, EcnUse, FlowInfo};
use shallows_units::Bytes;

crate::choices! {
    /// The kernel's names.
    pub enum Name {
        /// BBR, version 1.
        Bbr = "bbr",
        /// Binary increase.
        Bic = "bic",
        /// By the gradient of delays.
        Cdg = "cdg",
        /// As the simulator's `cubic`.
        Cubic = "cubic",
        /// As the simulator's `dctcp`.
        Dctcp = "dctcp",
        /// RFC 3649.
        HighSpeed = "highspeed",
        /// H-TCP.
        HTcp = "htcp",
        /// For long round trips.
        Hybla = "hybla",
        /// By loss and delay.
        Illinois = "illinois",
        /// Low priority.
        LowPriority = "lp",
        /// New Vegas.
        NewVegas = "nv",
        /// As the simulator's `newreno`.
        Reno = "reno",
        /// A share of the window, whatever its size.
        Scalable = "scalable",
        /// By the difference of expected and actual rate.
        Vegas = "vegas",
        /// Reno that tells random loss from congestion.
        Veno = "veno",
        /// Reno whose window after a loss is the estimated rate's.
        Westwood = "westwood",
        /// Yet another highspeed one.
        Yeah = "yeah",
    }
}

crate::params! {
    /// Any of the Linux kernel's congestion controls by its name, with `--backend linux` alone. The simulator has
    /// none of them and refuses this before anything runs.
    pub struct Settings {
        /// Its name in the kernel.
        name: Name = required, "", "the controls built into the Linux backend's kernel";
    }
}

impl CcSettings for Settings {}

/// There is none: nothing in the simulator has this type.
#[derive(Debug, Clone)]
pub enum Control {}

impl Control {
    /// Nothing of it is the simulator's.
    pub const ECN: EcnUse = EcnUse::Off;

    /// Never called.
    pub fn start(_settings: &Settings, _flow: &FlowInfo<'_>, _cx: &Cx<'_>) -> Self {
        unreachable!("a run is built of components that the simulator has")
    }
}

impl CongestionControl for Control {
    fn on_ack(&mut self, _ack: &Ack, _cx: &Cx<'_>) {
        match *self {}
    }
    fn on_congestion(&mut self, _why: Congestion, _flight: u64, _cx: &Cx<'_>) {
        match *self {}
    }
    fn cwnd(&self) -> Bytes {
        match *self {}
    }
}
