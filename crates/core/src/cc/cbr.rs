//! A constant bit rate without reaction: unresponsive traffic, to overload a queue.
//!
//! Source: RFC 9332 s.4.2, which asks how a queue treats traffic that does not respond. Paced at
//! the rate from the first packet on; marks and losses change nothing, and neither does a timeout.
//!
//! Left out: UDP. The transport still repairs losses, so that lost data is sent again within
//! the same rate and unique bytes arrive later (ECN-capable only with `ect_on_control`, RFC 3168 s.6.1.5);
//! and its receive window, if it has one, still bounds the flight.

use super::{Ack, CcSettings, Congestion, CongestionControl, Cx, EcnUse, FlowInfo};
use shallows_units::{Bytes, Rate};

crate::params! {
    /// Constant bit rate. Paced, whatever is marked or lost. The transport repairs losses all the same: lost data are sent again
    /// within this rate. Traffic without repair is a load of the kind `datagrams`.
    pub struct Settings {
        /// Rate on the wire, headers included.
        rate: Rate = required, "", "the user's load";
    }
    facts {
        example: r#"{"rate": "4Gbps"}"#,
    }
}

impl CcSettings for Settings {
    fn steady_rate(&self) -> Option<Rate> {
        Some(self.rate)
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
    rate: Rate,
    cwnd: u64,
}

impl Control {
    /// Asks for nothing; with ECN in the transport its packets are ECN-capable all the same.
    pub const ECN: EcnUse = EcnUse::Off;

    /// At the start of a flow.
    pub fn start(settings: &Settings, _flow: &FlowInfo<'_>, cx: &Cx<'_>) -> Self {
        let most = (1u64 << 40) as f64;
        Control { rate: settings.rate, cwnd: cx.rules.cwnd_max.min(most) as u64 }
    }
}

impl CongestionControl for Control {
    fn on_ack(&mut self, _ack: &Ack, _cx: &Cx<'_>) {}

    fn on_congestion(&mut self, _why: Congestion, _flight: u64, _cx: &Cx<'_>) {}

    fn cwnd(&self) -> Bytes {
        Bytes(self.cwnd)
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(self.rate)
    }
}
