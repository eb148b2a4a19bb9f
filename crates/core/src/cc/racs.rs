//! RACS's sender: it tells the switches its weight, and sends at the rate that they assign.
//!
//! Source: Munir 2012, "Improving Flow Completion Times in Data Center Networks" (MS thesis, NUST), ch. 4:
//! eq. (4.1), s.4.1.1, s.4.2. The switch's half is `port_control/racs.rs`.
//! A SYN claims the weight (w_p = 0); the next round asks for a rate, with a header alone; data follows at
//! that rate, and one packet each t_trans carries a request. Where the rate leaves a round without a
//! packet, the request travels alone: the base rate of s.4.2.
//!
//! The thesis leaves losses, crashes and idle times open; see [`super::requests`]. Lost data is repaired
//! and changes no rate.

use super::{
    Ack, CcSettings, Congestion, CongestionControl, Cx, EcnUse, FlowInfo, Kind, Outgoing, RatePaced,
};
use crate::cc::parts::requests::{Requests, Turn};
use crate::port_control::Feedback;
use crate::port_control::racs::Header;
use crate::port_control::soft::Claim;
use shallows_units::{Bytes, Span, Time};

crate::params! {
    /// RACS. Sends at the rate that the switches assign to its weight, which grows as it drains.
    pub struct Settings {
        /// Least weight.
        w_min: f64 = 1.0, "(0, 1e6]", "not in the thesis: the unit of weight";
        /// The weight that a flow about to end has beyond it.
        w_max: f64 = 9.0, "[0, 1e6]", "not in the thesis: a gain of 10, beyond which ch. 3 finds diminishing returns";
        /// 1 / a: the remaining size at which that has fallen to a share of 1 / e.
        size_scale: Bytes = "100KB", "[1B, ]", "not in the thesis, which calls flows below 100 KB short (s.1.1)";
    }
}

impl CcSettings for Settings {
    fn protocol(&self) -> Option<&'static str> {
        Some("racs")
    }
}

/// One flow's control.
#[derive(Debug, Clone)]
pub struct Control {
    paced: RatePaced,
    requests: Requests,
    w_min: f64,
    w_max: f64,
    /// 1 / a.
    scale: f64,
    /// The weight last claimed.
    claimed: f64,
}

impl Control {
    /// The rate says all.
    pub const ECN: EcnUse = EcnUse::Off;

    /// At the start of a flow.
    pub fn start(s: &Settings, flow: &FlowInfo<'_>, cx: &Cx<'_>) -> Self {
        Control {
            paced: RatePaced::new(cx),
            w_min: s.w_min,
            w_max: s.w_max,
            scale: s.size_scale.as_u64() as f64,
            claimed: 0.0,
            requests: Requests::new(flow.bytes, cx.rules.mss, cx.now),
        }
    }

    /// Eq. (4.1): w = w_min + w_max exp(-a f_r).
    fn weight(&self) -> f64 {
        self.w_min + self.w_max * libm::exp(-(self.requests.remaining() as f64) / self.scale)
    }
}

impl CongestionControl for Control {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, _cx: &Cx<'_>) {
        self.requests.acknowledged(ack.acked);
    }

    fn on_congestion(&mut self, why: Congestion, _flight: u64, cx: &Cx<'_>) {
        if why == Congestion::Timeout {
            self.requests.ask_now(true, cx.now);
        }
    }

    fn on_send(&mut self, packet: &Outgoing, cx: &Cx<'_>) -> Feedback {
        let Some((turn, then)) = self.requests.turn(packet, cx.now) else { return Feedback::None };
        // s.4.1.1: w_p = 0 at first, w_c = 0 with the FIN, in between the earlier claim.
        let before = if turn == Turn::Join { 0.0 } else { self.claimed };
        self.claimed = if turn == Turn::Leave { 0.0 } else { self.weight() };
        let claim = Claim { before, then, now: self.claimed, at: cx.now };
        let admits = packet.kind == Kind::Syn;
        Feedback::Racs(Header { claim, admits, rate: f64::INFINITY, rtt: packet.srtt, round: Span::s(100) })
    }

    fn on_feedback(&mut self, header: &Feedback, srtt: Span, cx: &Cx<'_>) {
        let Feedback::Racs(header) = header else { return };
        // The echo of the SYN admits, that of the FIN dismisses; only a request is answered with a rate.
        let rated = !header.admits && header.claim.now > 0.0;
        self.requests.echoed(header.round, rated, cx.now);
        if rated {
            self.paced.set(header.rate, srtt, cx);
        }
    }

    crate::cc::parts::rate_paced::by_rate!();

    fn paused(&self) -> bool {
        self.requests.paused()
    }

    fn request_at(&self) -> Time {
        self.requests.at(self.paced.rate())
    }

    fn on_idle(&mut self, _timeouts: u32, cx: &Cx<'_>) {
        self.requests.ask_now(false, cx.now);
    }

    fn observe(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("weight", self.claimed);
        self.paced.observe(put);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::parts::window::tests::{cx, rules};
    use crate::params::Params;
    use shallows_units::Rate;

    const RTT: Span = Span::us(100);

    /// The request in a packet that leaves at `us`, if it carries one: (w_p, w_c, age in us).
    fn send(control: &mut Control, us: u64, kind: Kind, remaining: u64) -> Option<(f64, f64, u64)> {
        let rules = rules();
        let cx = Cx { now: Time::ZERO + Span::us(us), rules: &rules };
        let srtt = if kind == Kind::Syn { Span::ZERO } else { RTT };
        match control.on_send(&Outgoing { kind, again: false, remaining, srtt }, &cx) {
            Feedback::Racs(header) => {
                let Claim { before, then, now, at } = header.claim;
                Some((before, now, (at - then).as_ps() / 1_000_000))
            }
            _ => None,
        }
    }

    fn echo(control: &mut Control, us: u64, before: f64, now: f64, rate: f64) {
        let rules = rules();
        let claim = Claim { before, then: Time::ZERO, now, at: Time::ZERO };
        let header = Feedback::Racs(Header { claim, admits: before == 0.0, rate, rtt: RTT, round: RTT });
        control.on_feedback(&header, RTT, &Cx { now: Time::ZERO + Span::us(us), rules: &rules });
    }

    fn start() -> Control {
        let settings = Settings { w_min: 1.0, w_max: 0.0, ..Settings::defaults() };
        Control::start(&settings, &FlowInfo { bytes: Some(20_000), ..FlowInfo::default() }, &cx(&rules()))
    }

    #[test]
    fn the_weight_is_eq_4_1() {
        let mut control = Control::start(&Settings::defaults(), &FlowInfo::default(), &cx(&rules()));
        for (remaining, weight) in [(0, 10.0), (100_000, 1.0 + 9.0 * 0.367_879_441_171), (u64::MAX, 1.0)] {
            control.requests = Requests::new(Some(remaining), 1000, Time::ZERO);
            assert!((control.weight() - weight).abs() < 1e-9);
        }
    }

    #[test]
    fn a_flow_is_admitted_then_asks_then_sends_and_asks_each_round() {
        let mut control = start();
        assert_eq!(send(&mut control, 0, Kind::Syn, 0), Some((0.0, 1.0, 0)));
        echo(&mut control, 100, 0.0, 1.0, 5e8);
        assert!(control.paused(), "admitted, not yet assigned");
        assert!(control.request_at() <= Time::ZERO + Span::us(100));
        assert_eq!(send(&mut control, 100, Kind::Probe, 20_000), Some((1.0, 1.0, 100)));
        echo(&mut control, 200, 1.0, 1.0, 5e8);
        assert_eq!((control.paused(), control.pacing_rate()), (false, Some(Rate::mbps(500))));
        assert_eq!(send(&mut control, 200, Kind::Data, 20_000), Some((1.0, 1.0, 100)));
        assert_eq!(send(&mut control, 250, Kind::Data, 19_000), None);
        assert_eq!(send(&mut control, 300, Kind::Data, 18_000), Some((1.0, 1.0, 100)));
        assert_eq!(send(&mut control, 310, Kind::Fin, 1000), Some((1.0, 0.0, 10)));
        assert_eq!(send(&mut control, 900, Kind::Fin, 1000), None, "repeated");
        assert_eq!(control.request_at(), Time::MAX);
    }

    #[test]
    fn a_rate_that_is_not_renewed_stands_for_four_rounds() {
        let mut control = start();
        send(&mut control, 0, Kind::Syn, 0);
        echo(&mut control, 100, 1.0, 1.0, 5e8);
        for us in [100, 200, 300, 400, 500] {
            send(&mut control, us, Kind::Data, 20_000);
            assert!(!control.paused(), "{us} us");
        }
        send(&mut control, 600, Kind::Data, 20_000);
        assert!(control.paused());
        assert_eq!(control.request_at(), Time::ZERO + Span::us(700));
    }

    /// A flow that sends at its rate, and whose next request is due at 300 us, or 10 us of its gap later.
    fn rated() -> Control {
        let mut control = start();
        send(&mut control, 0, Kind::Syn, 0);
        echo(&mut control, 100, 1.0, 1.0, 8e8);
        send(&mut control, 200, Kind::Data, 20_000);
        assert_eq!((control.paused(), control.request_at()), (false, Time::ZERO + Span::us(310)));
        control
    }

    fn meets(control: &mut Control, us: u64, why: Congestion) {
        let rules = rules();
        control.on_congestion(why, 10_000, &Cx { now: Time::ZERO + Span::us(us), rules: &rules });
    }

    /// A timeout may have lost the request and its answer (see `requests`): a request leaves at once, alone, and data wait for its rate.
    #[test]
    fn a_timeout_asks_at_once_and_pauses_until_a_rate_comes() {
        let mut control = rated();
        meets(&mut control, 250, Congestion::Timeout);
        assert_eq!((control.paused(), control.request_at()), (true, Time::ZERO + Span::us(250)));
        assert_eq!(send(&mut control, 250, Kind::Probe, 20_000), Some((1.0, 1.0, 50)));
        echo(&mut control, 350, 1.0, 1.0, 5e8);
        assert_eq!((control.paused(), control.pacing_rate()), (false, Some(Rate::mbps(500))));
    }

    /// Lost data is repaired and changes neither rate nor requests. An idle time asks at once, and the rate stands.
    #[test]
    fn losses_and_marks_change_nothing() {
        for why in [Congestion::Loss, Congestion::LossAfterEcn, Congestion::Ecn] {
            let mut control = rated();
            meets(&mut control, 250, why);
            assert_eq!((control.paused(), control.request_at()), (false, Time::ZERO + Span::us(310)));
            assert_eq!(send(&mut control, 250, Kind::Data, 19_000), None);
        }
        let mut control = rated();
        let rules = rules();
        control.on_idle(0, &Cx { now: Time::ZERO + Span::us(250), rules: &rules });
        assert!(!control.paused());
        assert_eq!(send(&mut control, 250, Kind::Data, 19_000), Some((1.0, 1.0, 50)));
    }
}
