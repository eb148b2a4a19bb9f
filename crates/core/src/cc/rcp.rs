//! RCP's sender: it sends at the rate that the switches wrote into the header.
//!
//! Source: Dukkipati, Kobayashi, Zhang-Shen, McKeown 2005, "Processor Sharing Flows in the Internet"
//! (IWQoS), s.3. The switch's half is `port_control/rcp.rs`.
//! The window is twice the rate's data on the path, so that it never limits a sender that learns
//! from the switches, and bounds a sender that does not.
//! A sender whose rate leaves a round trip without a packet asks with a header alone, as the authors'
//! ns-2 code does with its reference packets; else a low rate, once received, would stand for long.
//! Loss is repaired by the transport and changes no rate: the queue that caused it has. A timeout or an
//! idle time means that the rate is out of date; one segment then asks for another.

use super::{Ack, CcSettings, Congestion, CongestionControl, Cx, EcnUse, FlowInfo, Outgoing, RatePaced};
use crate::port_control::{Feedback, rcp::Header};
use shallows_units::{Span, Time};

crate::params! {
    /// RCP. Sends at the rate that the switches offer to all flows alike.
    pub struct Settings {
    }
}

impl CcSettings for Settings {
    fn protocol(&self) -> Option<&'static str> {
        Some("rcp")
    }
}

/// One flow's control.
#[derive(Debug, Clone)]
pub struct Control {
    paced: RatePaced,
    /// The next header leaves by then.
    request_at: Time,
}

impl Control {
    /// The rate says all.
    pub const ECN: EcnUse = EcnUse::Off;

    /// At the start of a flow.
    pub fn start(_settings: &Settings, _flow: &FlowInfo<'_>, cx: &Cx<'_>) -> Self {
        Control { paced: RatePaced::new(cx), request_at: Time::MAX }
    }
}

impl CongestionControl for Control {
    #[inline]
    fn on_ack(&mut self, _ack: &Ack, _cx: &Cx<'_>) {}

    fn on_congestion(&mut self, why: Congestion, _flight: u64, cx: &Cx<'_>) {
        if why == Congestion::Timeout {
            self.paced.forget(cx);
        }
    }

    fn on_send(&mut self, packet: &Outgoing, cx: &Cx<'_>) -> Feedback {
        self.request_at = if packet.srtt > Span::ZERO { cx.now + packet.srtt } else { Time::MAX };
        // Dukkipati 2005 s.3: the sender asks for as much as there is.
        Feedback::Rcp(Header { rate: f64::INFINITY, rtt: packet.srtt })
    }

    fn on_feedback(&mut self, header: &Feedback, srtt: Span, cx: &Cx<'_>) {
        if let Feedback::Rcp(header) = header {
            self.paced.set(header.rate, srtt, cx);
        }
    }

    crate::cc::parts::rate_paced::by_rate!();

    fn request_at(&self) -> Time {
        self.request_at
    }

    fn on_idle(&mut self, _timeouts: u32, cx: &Cx<'_>) {
        self.paced.forget(cx);
    }

    fn observe(&self, put: &mut dyn FnMut(&'static str, f64)) {
        self.paced.observe(put);
    }
}
