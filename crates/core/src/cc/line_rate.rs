//! No congestion control: a flow sends at the rate of its network card from the first packet on. Losses, marks and delays
//! change nothing.
//!
//! Source: Mittal et al. 2018, "Revisiting Network Support for RDMA" (SIGCOMM), whose first comparisons run without congestion
//! control; lossless Ethernet or a bound on the data in flight holds such a flow back.
//! `cbr` is the same with a rate that is written.

use super::parts::own_rate::{OwnRate, by_own_rate};
use super::{Ack, CcSettings, Congestion, CongestionControl, Cx, EcnUse, FlowInfo};
use shallows_units::{Rate, Span};

crate::params! {
    /// No congestion control. Sends at the rate of its network card, whatever happens (Mittal 2018).
    pub struct Settings {
        /// A window of the rate times this bounds the data in flight, or "none".
        window_rtt: Option<Span> = "none", "(0s, 100s]", "none; Li 2019 (HPCC): \"+win\" has the base round-trip time";
    }
}

impl CcSettings for Settings {
    fn reacts(&self) -> bool {
        false
    }

    fn takes_trims(&self) -> bool {
        true // it reacts to nothing, and a receiver's credit bounds it over UEC
    }

    fn begins_at_line_rate(&self) -> bool {
        true
    }

    fn paces_wire(&self) -> bool {
        true
    }

    fn needs_no_acks(&self) -> bool {
        true
    }
}

/// One flow's control.
#[derive(Debug, Clone)]
pub struct Control {
    own: OwnRate,
}

impl Control {
    /// Asks for nothing.
    pub const ECN: EcnUse = EcnUse::Off;

    /// At the start of a flow.
    pub fn start(settings: &Settings, flow: &FlowInfo<'_>, cx: &Cx<'_>) -> Self {
        Control { own: OwnRate::new(None, Rate::bps(1), settings.window_rtt, flow, cx) }
    }
}

impl CongestionControl for Control {
    fn on_ack(&mut self, _ack: &Ack, _cx: &Cx<'_>) {}

    fn on_congestion(&mut self, _why: Congestion, _flight: u64, _cx: &Cx<'_>) {}

    by_own_rate!();
}
