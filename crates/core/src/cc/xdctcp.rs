//! xDCTCP: DCTCP whose reduction differs for short and for long flows.
//!
//! Source: "xDCTCP - Extended DCTCP", eqs. (3) and (4): cwnd x (1 - ns alpha) for short flows,
//! cwnd x (1 - nl alpha) for long ones; ns = nl = 0.5 is DCTCP. The report classes flows by
//! declaration; classes by size and by bytes sent so far are ours.

use super::dctcp::{MarkEstimate, OnLoss, react};
use super::{Ack, CcSettings, Congestion, CongestionControl, Cx, EcnUse, FlowInfo, Window};
use crate::params::Names;
use shallows_units::Bytes;

crate::choices! {
    /// How a flow's class is known.
    pub enum ClassBy {
        /// By the class that its traffic declares.
        Declared = "declared",
        /// By the bytes that its application announces; unbounded flows are long.
        Size = "size",
        /// By the bytes sent so far: every flow starts short (least attained service).
        Sent = "sent",
    }
}

crate::params! {
    /// xDCTCP. DCTCP whose reduction differs for short and for long flows.
    pub struct Settings {
        /// Weight of a new window's share of marks in alpha.
        g: f64 = 0.095, "(0, 1]", "xDCTCP report, optimum";
        /// Share of alpha by which a marked window of a short flow shrinks.
        ns: f64 = 0.4, "[0, 1]", "xDCTCP report, optimum";
        /// Share of alpha by which a marked window of a long flow shrinks.
        nl: f64 = 1.0, "[0, 1]", "xDCTCP report, optimum";
        /// First alpha.
        initial_alpha: f64 = 1.0, "[0, 1]", "RFC 8257 s.4.2; ns-2 inputs use 0";
        /// The effect of a loss on the window.
        on_loss: OnLoss = "halve", "", "RFC 8257 s.3.5, as DCTCP";
        /// How a flow's class is known.
        class_by: ClassBy = "declared", "", "xDCTCP report: senders are labelled";
        /// Declared classes that are long; all others are short.
        long_classes: Names = "long", "", "xDCTCP report: senders 5 to 7";
        /// Bytes, announced or sent, from which a flow is long.
        long_from: Bytes = "1MB", "[1B, ]", "above the report's 500 KB messages";
    }
}

impl CcSettings for Settings {
    // RFC 5681 eq. (3): a segment.
    fn round_gain(&self, _window: f64, mss: f64) -> Option<f64> {
        Some(mss)
    }

    fn classes(&self) -> Option<(&'static str, &Names)> {
        (self.class_by == ClassBy::Declared).then_some(("long_classes", &self.long_classes))
    }
}

/// One flow's control.
#[derive(Debug, Clone)]
pub struct Control {
    window: Window,
    marks: MarkEstimate,
    ns: f64,
    nl: f64,
    on_loss: OnLoss,
    sent: u64,
    /// The flow is long once it has sent this much.
    long_from: u64,
}

impl Control {
    /// Needs each mark reported.
    pub const ECN: EcnUse = EcnUse::PerPacket;

    /// At the start of a flow.
    pub fn start(settings: &Settings, flow: &FlowInfo<'_>, cx: &Cx<'_>) -> Self {
        let threshold = settings.long_from.as_u64();
        let known_long = match settings.class_by {
            ClassBy::Declared => Some(settings.long_classes.0.iter().any(|c| c == flow.class)),
            ClassBy::Size => Some(flow.bytes.is_none_or(|bytes| bytes >= threshold)),
            ClassBy::Sent => None,
        };
        Control {
            window: Window::new(cx.rules),
            marks: MarkEstimate::new(settings.g, settings.initial_alpha),
            ns: settings.ns,
            nl: settings.nl,
            on_loss: settings.on_loss,
            sent: 0,
            long_from: match known_long {
                Some(true) => 0,
                Some(false) => u64::MAX,
                None => threshold,
            },
        }
    }

    /// The share of alpha by which this flow's window shrinks now.
    fn reduction(&self) -> f64 {
        if self.sent >= self.long_from { self.nl } else { self.ns }
    }
}

impl CongestionControl for Control {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, cx: &Cx<'_>) {
        self.sent = ack.sent;
        self.marks.on_ack(ack, cx.rules.arithmetic);
        self.window.grow(ack, cx);
    }

    fn on_congestion(&mut self, why: Congestion, flight: u64, cx: &Cx<'_>) {
        // Report eqs. (3), (4).
        let cut = self.reduction() * self.marks.alpha();
        react(&mut self.window, why, cut, self.on_loss, flight, cx);
    }

    crate::cc::parts::window::by_window!();

    fn observe(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("alpha", self.marks.alpha());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::parts::window::tests::{ack, cx, echo, rules};
    use crate::params::Params;

    /// Window left of 10 000 bytes after a fully marked round.
    fn left(class_by: ClassBy, class: &str, bytes: Option<u64>, sent: u64) -> u64 {
        let rules = rules();
        let settings = Settings { class_by, ..Settings::defaults() };
        let mut control =
            Control::start(&settings, &FlowInfo { class, bytes, ..FlowInfo::default() }, &cx(&rules));
        control.on_ack(&Ack { sent, may_grow: false, ..ack(0) }, &cx(&rules));
        control.on_congestion(Congestion::Ecn, 10_000, &cx(&rules));
        control.cwnd().as_u64()
    }

    #[test]
    fn short_flows_lose_ns_and_long_flows_nl_of_alpha() {
        use ClassBy::{Declared, Sent, Size};
        let (short, long) = (6000, 1000); // ns = 0.4; nl = 1 leaves the floor of one segment
        assert_eq!(left(Declared, "query", None, 0), short);
        assert_eq!(left(Declared, "long", Some(1), 0), long);
        assert_eq!(left(Size, "any", Some(999_999), 5_000_000), short);
        assert_eq!(left(Size, "any", Some(1_000_000), 0), long);
        assert_eq!(left(Size, "any", None, 0), long);
        assert_eq!(left(Sent, "any", None, 999_999), short);
        assert_eq!(left(Sent, "any", Some(10), 1_000_000), long);
    }

    #[test]
    fn equal_halves_are_dctcp() {
        let rules = rules();
        let settings = Settings { g: 0.0625, ns: 0.5, nl: 0.5, ..Settings::defaults() };
        let flow = FlowInfo { class: "long", ..FlowInfo::default() };
        let mut mine = Control::start(&settings, &flow, &cx(&rules));
        let mut dctcp = super::super::dctcp::Control::start(&Params::defaults(), &flow, &cx(&rules));
        for i in 0..10_000u32 {
            let ack = Ack { round_ended: i % 10 == 0, ..echo(1000, i % 7 < 2) };
            mine.on_ack(&ack, &cx(&rules));
            dctcp.on_ack(&ack, &cx(&rules));
            if i % 50 == 0 {
                mine.on_congestion(Congestion::Ecn, 0, &cx(&rules));
                dctcp.on_congestion(Congestion::Ecn, 0, &cx(&rules));
            }
            assert_eq!(mine.cwnd(), dctcp.cwnd());
        }
    }
}
