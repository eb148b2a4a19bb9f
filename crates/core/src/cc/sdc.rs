//! SDC's sender: increase and decrease by the class that the remaining size puts a flow in.
//!
//! Source: Munir 2012, "Improving Flow Completion Times in Data Center Networks" (MS thesis, NUST), ch. 3:
//! s.3.2.1, eqs. (3.1)-(3.3). The switch's half is `port_control/sdc.rs`.
//!
//! Left open by the thesis, and chosen here. Parameters: see the table of settings. Loss: an overload that
//! no header lived to tell, answered as one. Timeout: one segment, and multiplicative increase again.
//! A lost claim: the next comes within a round trip. A repeated SYN claims anew; a repeated FIN claims
//! nothing. An idle flow renews nothing, so that its class fades.
//! "Once a round trip": an overload is measured over t_p, and for a round trip after a decrease packets
//! arrive that were sent before it; echoes of both report the same overload (`hold`).

use super::{Ack, CcSettings, Congestion, CongestionControl, Cx, EcnUse, FlowInfo, Kind, Outgoing};
use crate::params::{Code, Faults};
use crate::port_control::Feedback;
use crate::port_control::sdc::{CLASSES, Header, Membership, NO_CLASS};
use shallows_units::{Bytes, Size, Span, Time};
use std::sync::Arc;

crate::choices! {
    /// How classes map to behaviours.
    pub enum Mapping {
        /// The highest class that is active on the path behaves as class A.
        Dynamic = "dynamic",
        /// Each class behaves as itself, whatever else is active.
        Fixed = "fixed",
    }
}

crate::params! {
    /// SDC. Flows increase and decrease by the class that their remaining size puts them in.
    pub struct Settings {
        /// Most remaining size of class A.
        r_a: Size = "50pkt", "[1pkt, ]", "thesis s.3.4.5: 50 packets";
        /// Most remaining size of class B; above is class C. "none": there are two classes.
        r_b: Option<Size> = "100pkt", "[1pkt, ]", "thesis s.3.4.5: 100 packets";
        /// Most remaining size of class C, where there is a class D; "none": there is none.
        r_c: Option<Size> = "none", "[1pkt, ]", "thesis s.3.4.5: three classes, more give little";
        /// Most remaining size of class D, where there is a class E; "none": there is none.
        r_d: Option<Size> = "none", "[1pkt, ]", "as r_c";
        /// Multiplicative increase of class A a round trip, until the first overload.
        gamma_a: f64 = 1.0, "(0, 10]", "not in the thesis: doubling, as slow start";
        /// Multiplicative increase of class B a round trip.
        gamma_b: f64 = 1.0, "(0, 10]", "not in the thesis, which wants gamma_a >= gamma_b >= gamma_c";
        /// Multiplicative increase of class C a round trip.
        gamma_c: f64 = 1.0, "(0, 10]", "not in the thesis, as gamma_b";
        /// Multiplicative increase of class D a round trip.
        gamma_d: f64 = 1.0, "(0, 10]", "as gamma_c";
        /// Multiplicative increase of class E a round trip.
        gamma_e: f64 = 1.0, "(0, 10]", "as gamma_c";
        /// Additive increase of class A in segments a round trip.
        alpha_a: f64 = 0.9, "(0, 100]", "thesis s.3.3: below 1; note 1: that of class B";
        /// Additive increase of class B in segments a round trip.
        alpha_b: f64 = 0.9, "(0, 100]", "thesis s.3.4.5 note 1: that of class A";
        /// Additive increase of class C in segments a round trip.
        alpha_c: f64 = 0.5, "(0, 100]", "thesis tables 3.2, 3.3: class C (0.5, 0.5)";
        /// Additive increase of class D in segments a round trip.
        alpha_d: f64 = 0.5, "(0, 100]", "as alpha_c";
        /// Additive increase of class E in segments a round trip.
        alpha_e: f64 = 0.5, "(0, 100]", "as alpha_c";
        /// Share of the window that an overload leaves of class A.
        beta_a: f64 = 0.887, "(0, 1)", "eq. (3.18) for a gain of 10 over class C, where returns diminish (s.3.4.5)";
        /// Share of the window that an overload leaves of class B.
        beta_b: f64 = 0.538, "(0, 1)", "eq. (3.18) for a gain of 2 over class C (tables 3.2, 3.3)";
        /// Share of the window that an overload leaves of class C.
        beta_c: f64 = 0.5, "(0, 1)", "thesis tables 3.2, 3.3: class C (0.5, 0.5)";
        /// Share of the window that an overload leaves of class D.
        beta_d: f64 = 0.5, "(0, 1)", "as beta_c";
        /// Share of the window that an overload leaves of class E.
        beta_e: f64 = 0.5, "(0, 1)", "as beta_c";
        /// Whether classes behave otherwise while no higher one is active.
        mapping: Mapping = "dynamic", "", "thesis s.3.2.1: class C alone would leave a link unused";
        /// Whether the load factor travels in two bits: below 80 %, below 100 %, overload.
        quantised: bool = false, "", "thesis s.3.2.2 conveys it in the two ECN bits; in full it costs 4 bytes";
        /// Intervals t_p beside a round trip after a decrease during which overload is not answered again.
        hold: f64 = 1.0, "[0, 100]", "one decrease an overload; 0 is once a round trip, the thesis' words";
    }
}

impl CcSettings for Settings {
    fn protocol(&self) -> Option<&'static str> {
        Some("sdc")
    }

    /// Thesis s.3.2.1: the order of the classes.
    fn check(&self, path: &str, faults: &mut Faults) {
        let classes = 2 + [self.r_b, self.r_c, self.r_d].iter().flatten().count();
        for (key, values) in self.tables() {
            for (pair, name) in values[..classes.min(CLASSES)].windows(2).zip(["b", "c", "d", "e"]) {
                if pair[0] < pair[1] {
                    let rule = format!("must not grow from class to class: at most {}", pair[0]);
                    faults.add(&format!("{path}.{key}_{name}"), Code::Conflict.rule(rule), &pair[1].into());
                }
            }
        }
        let sizes = [("r_a", Some(self.r_a)), ("r_b", self.r_b), ("r_c", self.r_c), ("r_d", self.r_d)];
        for pair in sizes.windows(2) {
            let ((below, least), (key, most)) = (pair[0], pair[1]);
            let Some(most) = most else { continue };
            let rule = match least {
                None => format!("needs {below}: classes must follow each other"),
                Some(least) if least.partial_cmp(&most).is_none_or(|order| order.is_gt()) => {
                    format!("must be >= {below} ({least}), in the same unit")
                }
                Some(_) => continue,
            };
            faults.add(&format!("{path}.{key}"), Code::Conflict.rule(rule), &most.to_string().into());
        }
    }
}

impl Settings {
    /// Increase until the first overload, increase, and the share that an overload leaves, from class to class.
    fn tables(&self) -> [(&'static str, [f64; CLASSES]); 3] {
        [
            ("gamma", [self.gamma_a, self.gamma_b, self.gamma_c, self.gamma_d, self.gamma_e]),
            ("alpha", [self.alpha_a, self.alpha_b, self.alpha_c, self.alpha_d, self.alpha_e]),
            ("beta", [self.beta_a, self.beta_b, self.beta_c, self.beta_d, self.beta_e]),
        ]
    }
}

/// How a class behaves.
#[derive(Debug, Clone, Copy)]
struct Behaviour {
    gamma: f32,
    alpha: f32,
    beta: f32,
}

/// The classes as set, apart from the changing state.
#[derive(Debug)]
struct Classes {
    behaviours: [Behaviour; CLASSES],
    /// Bytes remaining up to which a flow belongs to each class; the last class has no bound.
    sizes: Vec<u64>,
    mapping: Mapping,
    quantised: bool,
}

/// One flow's control; window in bytes.
#[derive(Debug, Clone)]
pub struct Control {
    cwnd: f64,
    classes: Arc<Classes>,
    hold: f32,
    /// Bytes announced at the start.
    announced: u64,
    /// Bytes that remained after the last packet that left.
    remaining: u64,
    /// Last echoed: overload, and the highest class active.
    overload: bool,
    highest: u8,
    /// Multiplicative increase is over.
    met_overload: bool,
    /// The class last claimed, and when.
    claimed: (u8, Time),
    /// The FIN has withdrawn the claim.
    withdrawn: bool,
    /// No decrease before this.
    held_until: Time,
    srtt: Span,
    /// t_p of the port whose load was last echoed.
    interval: Span,
}

impl Control {
    /// The header says all.
    pub const ECN: EcnUse = EcnUse::Off;

    /// At the start of a flow.
    pub fn start(s: &Settings, flow: &FlowInfo<'_>, cx: &Cx<'_>) -> Self {
        let bytes = |size: Size| match size {
            Size::Bytes(bytes) => bytes.as_u64(),
            Size::Packets(packets) => packets.saturating_mul(cx.rules.mss),
        };
        Control {
            cwnd: cx.rules.initial_window,
            classes: Arc::new(Classes {
                behaviours: std::array::from_fn(|class| {
                    let [gamma, alpha, beta] = s.tables().map(|(_, values)| values[class] as f32);
                    Behaviour { gamma, alpha, beta }
                }),
                sizes: [Some(s.r_a), s.r_b, s.r_c, s.r_d].into_iter().flatten().map(bytes).collect(),
                mapping: s.mapping,
                quantised: s.quantised,
            }),
            hold: s.hold as f32,
            announced: flow.bytes.unwrap_or(0),
            remaining: flow.bytes.unwrap_or(u64::MAX),
            overload: false,
            highest: NO_CLASS,
            met_overload: false,
            claimed: (NO_CLASS, Time::ZERO),
            withdrawn: false,
            held_until: Time::ZERO,
            srtt: Span::ZERO,
            interval: Span::ZERO,
        }
    }

    /// Thesis s.3.2.1, flow-to-class mapping.
    fn class(&self) -> u8 {
        let sizes = &self.classes.sizes;
        sizes.iter().position(|most| self.remaining <= *most).unwrap_or(sizes.len()) as u8
    }

    /// The behaviour of the flow's class. With a dynamic mapping the highest class that is active, alone or over others, behaves as A (one class
    /// alone; B over C). A flow that no port has seen yet behaves by its class.
    fn behaviour(&self) -> Behaviour {
        let class = self.class();
        let is_highest = class <= self.highest && self.highest != NO_CLASS;
        let acts_as = if is_highest && self.classes.mapping == Mapping::Dynamic { 0 } else { class };
        self.classes.behaviours[acts_as as usize]
    }

    /// Eq. (3.3), once an overload.
    fn decrease(&mut self, cx: &Cx<'_>) {
        self.met_overload = true;
        if cx.now < self.held_until {
            return;
        }
        self.cwnd = (self.cwnd * f64::from(self.behaviour().beta)).max(cx.rules.cwnd_floor);
        let measured = f64::from(self.hold) * self.interval.as_ps() as f64;
        self.held_until = cx.now + self.srtt + Span::ps(measured as u64);
    }

    /// The claim of this packet, if one is due.
    fn claim(&mut self, packet: &Outgoing, now: Time) -> Option<Membership> {
        let (before, then) = self.claimed;
        let class = match packet.kind {
            Kind::Fin if !packet.again => NO_CLASS,
            // No size yet: the first data will tell.
            Kind::Syn if self.announced == 0 && packet.remaining == 0 => return None,
            _ => self.class(),
        };
        let from = if packet.kind == Kind::Syn { NO_CLASS } else { before };
        let due = class != from || (packet.srtt > Span::ZERO && now >= then + packet.srtt);
        if self.withdrawn || !due {
            return None;
        }
        self.withdrawn = class == NO_CLASS;
        self.claimed = (class, now);
        Some(Membership { from, then, to: class, at: now })
    }
}

impl CongestionControl for Control {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, cx: &Cx<'_>) {
        self.srtt = ack.srtt;
        if self.overload {
            return self.decrease(cx);
        }
        if !ack.may_grow {
            return;
        }
        let Behaviour { gamma, alpha, .. } = self.behaviour();
        let mss = cx.rules.mss as f64;
        self.cwnd += if self.met_overload {
            // Eq. (3.2), spread over the round trip: alpha segments for a window of acknowledgements.
            f64::from(alpha) * mss * (cx.rules.counted(ack) / self.cwnd).min(1.0)
        } else {
            // Eq. (3.1), likewise.
            f64::from(gamma) * cx.rules.counted(ack)
        };
        self.cwnd = self.cwnd.min(cx.rules.cwnd_max);
    }

    fn on_congestion(&mut self, why: Congestion, _flight: u64, cx: &Cx<'_>) {
        if why == Congestion::Timeout {
            self.cwnd = cx.rules.mss as f64;
            (self.met_overload, self.overload) = (false, false);
        } else {
            self.decrease(cx);
        }
    }

    fn on_send(&mut self, packet: &Outgoing, cx: &Cx<'_>) -> Feedback {
        self.remaining =
            if packet.kind == Kind::Syn && packet.remaining == 0 { self.announced } else { packet.remaining };
        let claim = self.claim(packet, cx.now);
        let quantised = self.classes.quantised;
        Feedback::Sdc(Header { load: 0.0, quantised, interval: Span::ZERO, highest: NO_CLASS, claim })
    }

    /// "Once per round trip" (s.3.2.1) goes by the clock of the transport (`Ack::srtt`), not by the exact round trip
    /// given here: the thesis' sender is ns-2's TCP. With the default, an exact clock, both are the same;
    /// `clock_grain = "10ms"` is ns-2's own (tcpTick_).
    fn on_feedback(&mut self, header: &Feedback, _srtt: Span, _cx: &Cx<'_>) {
        if let Feedback::Sdc(header) = header {
            self.overload = header.load >= 1.0;
            self.interval = header.interval;
            self.highest = header.highest;
        }
    }

    #[inline]
    fn cwnd(&self) -> Bytes {
        Bytes(self.cwnd as u64)
    }

    fn on_idle(&mut self, _timeouts: u32, cx: &Cx<'_>) {
        self.cwnd = self.cwnd.min(cx.rules.restart_window);
        self.overload = false;
    }

    fn observe(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("class", f64::from(self.class()));
    }
}

#[cfg(test)]
mod tests;
