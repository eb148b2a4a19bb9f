//! D3's sender: it asks the switches for the rate that its deadline needs, and sends at the granted rate.
//!
//! Source: Wilson, Ballani, Karagiannis, Rowstron 2011, "Better Never than Late: Meeting Deadlines in Datacenter
//! Networks" (SIGCOMM), s.4.1 and s.5.1. The switch's half is `port_control/d3.rs`.
//! The SYN asks; data follows at the least rate that any port of the path gave, and once a round trip a packet takes the next
//! request along, with each port's previous grant. A flow that is given the base rate sends headers alone.
//! The paper was not at hand. All of that agrees with the implementation in the Aequitas simulator (SymbioticLab/Aequitas,
//! `ext/d3_flow.cpp`), and so does that no deadline, or one that has passed, asks for nothing. Not confirmed: s.5.1's
//! deductions from the remaining size and time (that one deducts nothing).
//!
//! The paper leaves losses, crashes and idle times open; see [`super::requests`]. A request that is still
//! unanswered when the flow ends would leave its ports with an allocation that the FIN cannot take back, so none
//! is made for the last rounds, and the last data waits for an answer. A lost one leaves it, until its claim fades. Once a deadline has
//! passed, a flow asks as one without. Of several messages under way on a connection all must arrive by the
//! deadline of the last.
//! Left out: giving up flows that cannot meet their deadline (s.6.1.3, "quenching": a demand beyond the sender's link, or a
//! deadline that has passed), so that all transports do the same work.

use super::{
    Ack, CcSettings, Congestion, CongestionControl, Cx, EcnUse, FlowInfo, Kind, MessageInfo, Outgoing,
    RatePaced,
};
use crate::cc::parts::requests::{Requests, Turn};
use crate::port_control::Feedback;
use crate::port_control::d3::{HOPS, Header};
use crate::port_control::soft::Claim;
use shallows_units::{Span, Time};

crate::params! {
    /// D3. Asks for the rate that its deadline needs, and sends at the rate that the switches grant.
    pub struct Settings {
    }
}

impl CcSettings for Settings {
    fn protocol(&self) -> Option<&'static str> {
        Some("d3")
    }
}

/// One flow's control.
#[derive(Debug, Clone)]
pub struct Control {
    paced: RatePaced,
    requests: Requests,
    /// The rate that each port gave, in kb/s.
    given: [u32; HOPS],
    /// The last demand, in kb/s.
    demand: u32,
    /// When all must have arrived; [`Time::MAX`] without a deadline.
    due: Time,
}

/// Bytes of TCP's and IP's headers, which rates include.
const HEADERS: u64 = 40;

impl Control {
    /// The rate says all.
    pub const ECN: EcnUse = EcnUse::Off;

    /// At the start of a flow.
    pub fn start(_settings: &Settings, flow: &FlowInfo<'_>, cx: &Cx<'_>) -> Self {
        Control {
            paced: RatePaced::new(cx),
            requests: Requests::new(flow.bytes, cx.rules.mss, cx.now).patient(),
            given: [0; HOPS],
            demand: 0,
            due: Time::MAX,
        }
    }

    /// The rate that the deadline needs, in kb/s: s.5.1, r = (remaining size - s T) / (deadline - 2 T), where s T is
    /// under way by then, and T a round trip; nearer than that the last demand stands.
    fn desired(&self, srtt: Span, cx: &Cx<'_>) -> u32 {
        if self.due == Time::MAX || self.due <= cx.now {
            return 0;
        }
        let left = (self.due - cx.now).as_secs_f64() - 2.0 * srtt.as_secs_f64();
        if left <= 0.0 {
            return self.demand;
        }
        let full = (cx.rules.mss + HEADERS) as f64 / cx.rules.mss as f64;
        let under_way = self.paced.rate().map_or(0.0, |rate| rate.as_bps() as f64 * srtt.as_secs_f64());
        let bits = (8.0 * full * self.requests.remaining() as f64 - under_way).max(0.0);
        libm::ceil(bits / left / 1e3).min(f64::from(u32::MAX)) as u32
    }
}

impl CongestionControl for Control {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, _cx: &Cx<'_>) {
        self.requests.acknowledged(ack.acked);
        if ack.flight.saturating_sub(ack.acked) >= self.requests.remaining() {
            self.requests.rest();
        }
    }

    fn on_congestion(&mut self, why: Congestion, _flight: u64, cx: &Cx<'_>) {
        if why == Congestion::Timeout {
            self.requests.ask_now(true, cx.now);
        }
    }

    fn on_send(&mut self, packet: &Outgoing, cx: &Cx<'_>) -> Feedback {
        self.requests.see(packet);
        if packet.kind == Kind::Data && self.requests.ends_within_a_round(self.paced.rate()) {
            return Feedback::None;
        }
        let Some((turn, then)) = self.requests.turn(packet, cx.now) else { return Feedback::None };
        let (joins, leaves) = (turn == Turn::Join, turn == Turn::Leave);
        let before = if joins { 0 } else { self.demand };
        self.demand = if leaves { 0 } else { self.desired(packet.srtt, cx) };
        let demand = Claim { before: before.into(), then, now: self.demand.into(), at: cx.now };
        let rates = if joins { [0; HOPS] } else { self.given };
        Feedback::D3(Header { demand, joins, leaves, base: false, rates, hops: 0, rtt: packet.srtt })
    }

    fn on_feedback(&mut self, header: &Feedback, srtt: Span, cx: &Cx<'_>) {
        let Feedback::D3(header) = header else { return };
        if header.leaves {
            return;
        }
        self.given = header.rates;
        self.requests.echoed(srtt, !header.base, cx.now);
        if header.base {
            self.requests.hold();
        } else {
            self.paced.set(header.rate(), srtt, cx);
        }
    }

    crate::cc::parts::rate_paced::by_rate!();

    fn paused(&self) -> bool {
        self.requests.paused()
    }

    fn request_at(&self) -> Time {
        let rate = self.paced.rate();
        if self.requests.ends_within_a_round(rate) { Time::MAX } else { self.requests.at(rate) }
    }

    fn on_idle(&mut self, _timeouts: u32, cx: &Cx<'_>) {
        self.requests.ask_now(false, cx.now);
    }

    fn on_message(&mut self, message: &MessageInfo, cx: &Cx<'_>) {
        self.due = message.due.unwrap_or(Time::MAX);
        self.requests.ask_now(false, cx.now);
    }

    fn observe(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("demand_bps", 1e3 * f64::from(self.demand));
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

    /// A flow of 96 000 bytes, 100 segments of which are 100 000 on the wire, with this deadline.
    fn start(due: Option<Span>) -> Control {
        let rules = rules();
        let info = FlowInfo { bytes: Some(96_000), ..FlowInfo::default() };
        let mut control = Control::start(&Settings::defaults(), &info, &cx(&rules));
        let due = due.map(|due| Time::ZERO + due);
        control.on_message(&MessageInfo { end: 96_000, due }, &cx(&rules));
        control
    }

    /// The header of a packet that leaves at `us`, if it carries one.
    fn send(control: &mut Control, us: u64, kind: Kind, remaining: u64) -> Option<Header> {
        let rules = rules();
        let cx = Cx { now: Time::ZERO + Span::us(us), rules: &rules };
        let srtt = if kind == Kind::Syn { Span::ZERO } else { RTT };
        match control.on_send(&Outgoing { kind, again: false, remaining, srtt }, &cx) {
            Feedback::D3(header) => Some(header),
            _ => None,
        }
    }

    /// One port answers.
    fn answer(control: &mut Control, us: u64, kbps: u32, base: bool) {
        let rules = rules();
        let at = Time::ZERO;
        let mut rates = [0; HOPS];
        rates[0] = kbps;
        let demand = Claim { before: 0.0, then: at, now: 0.0, at };
        let header = Header { demand, joins: false, leaves: false, base, rates, hops: 1, rtt: RTT };
        control.on_feedback(&Feedback::D3(header), RTT, &Cx { now: at + Span::us(us), rules: &rules });
    }

    #[test]
    fn the_demand_is_what_is_left_over_the_time_that_is_left() {
        // Segments of 1000 bytes and 40 of headers: 96 000 bytes are 99 840 on the wire.
        let mut control = start(Some(Span::ms(10)));
        let syn = send(&mut control, 0, Kind::Syn, 0).expect("a request");
        assert_eq!((syn.joins, syn.demand.now, syn.demand.before), (true, 79_872.0, 0.0));
        answer(&mut control, 100, 80_000, false);
        // 8000 of 798 720 bits are under way; 9.9 ms less two round trips are left.
        let next = send(&mut control, 100, Kind::Data, 96_000).expect("a request");
        assert_eq!((next.demand.before, next.demand.now), (79_872.0, f64::ceil(790_720.0 / 9.7)));
        assert_eq!((next.rates[0], next.joins, next.hops), (80_000, false, 0));
    }

    #[test]
    fn without_a_deadline_or_after_it_nothing_is_demanded_and_shortly_before_it_the_same() {
        assert_eq!(send(&mut start(None), 0, Kind::Syn, 0).expect("a request").demand.now, 0.0);
        let mut control = start(Some(Span::ms(1)));
        control.demand = 5000;
        assert_eq!(send(&mut control, 900, Kind::Probe, 96_000).expect("a request").demand.now, 5000.0);
        let mut control = start(Some(Span::ms(1)));
        assert_eq!(send(&mut control, 1000, Kind::Probe, 96_000).expect("a request").demand.now, 0.0);
    }

    /// One question at a time, once a round trip; and none in the last, so that the FIN knows the grants to take back.
    #[test]
    fn the_next_request_waits_for_the_answer() {
        let mut control = start(None);
        assert!(send(&mut control, 0, Kind::Syn, 0).is_some());
        answer(&mut control, 100, 80_000, false);
        assert!(!control.paused());
        assert!(send(&mut control, 100, Kind::Data, 96_000).is_some());
        assert!(send(&mut control, 230, Kind::Data, 93_000).is_none(), "unanswered");
        answer(&mut control, 240, 400_000, false);
        assert!(send(&mut control, 250, Kind::Data, 92_000).is_some(), "a round after the last");
        answer(&mut control, 350, 400_000, false);
        // 10 000 bytes take two round trips at 400 Mb/s.
        assert!(send(&mut control, 360, Kind::Data, 10_000).is_none());
        assert_eq!(control.request_at(), Time::MAX);
        let fin = send(&mut control, 400, Kind::Fin, 1000).expect("a request");
        assert_eq!((fin.leaves, fin.rates[0], fin.demand.then), (true, 400_000, Time::ZERO + Span::us(250)));
    }

    /// s.4.3: the base rate is for headers alone, one a round trip.
    #[test]
    fn the_base_rate_holds_data_back() {
        let mut control = start(None);
        send(&mut control, 0, Kind::Syn, 0);
        answer(&mut control, 100, 2400, true);
        assert!(control.paused());
        assert!(control.request_at() <= Time::ZERO + Span::us(100));
        assert!(send(&mut control, 100, Kind::Probe, 96_000).is_some());
        answer(&mut control, 200, 2400, true);
        assert!(control.paused());
        assert_eq!(control.request_at(), Time::ZERO + Span::us(200));
        send(&mut control, 200, Kind::Probe, 96_000);
        answer(&mut control, 300, 500_000, false);
        assert_eq!((control.paused(), control.pacing_rate()), (false, Some(Rate::mbps(500))));
    }
}
