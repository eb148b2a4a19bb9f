//! D2TCP: DCTCP with a reduction that depends on the deadline.
//!
//! Source: Vamanan, Hasan and Vijaykumar, "Deadline-aware datacenter TCP (D2TCP)", SIGCOMM 2012, s.3.1-3.2.
//! A flow that needs longer than it has (d > 1) gives up less of its window, one with time to spare more.
//! Where several messages are under way on a connection, the one at the head and the one written last are
//! known; those between count as the last. Once its deadline has passed a message is as urgent as can be:
//! the paper does not say.
//! Left out: giving up flows that cannot meet their deadline, which the paper leaves to others.

use super::dctcp::{MarkEstimate, OnLoss, react};
use super::{Ack, CcSettings, Congestion, CongestionControl, Cx, EcnUse, FlowInfo, MessageInfo, Window};
use shallows_units::{Span, Time};

crate::params! {
    /// D2TCP. DCTCP that gives way the less, the nearer its deadline.
    pub struct Settings {
        /// Weight of a new window's share of marks in alpha.
        g: f64 = 0.0625, "(0, 1]", "Vamanan 2012 s.3.1, as DCTCP: 1/16";
        /// First alpha.
        initial_alpha: f64 = 1.0, "[0, 1]", "as DCTCP: RFC 8257 s.4.2";
        /// Least urgency d.
        d_min: f64 = 0.5, "(0, 1]", "Vamanan 2012 s.3.2";
        /// Greatest urgency d.
        d_max: f64 = 2.0, "[1, 100]", "Vamanan 2012 s.3.2";
    }
}

impl CcSettings for Settings {
    // RFC 5681 eq. (3): a segment.
    fn round_gain(&self, _window: f64, mss: f64) -> Option<f64> {
        Some(mss)
    }
}

/// A message under way: one beyond its last byte, and when it is due; [`Time::MAX`] without a deadline.
#[derive(Debug, Clone, Copy)]
struct Message {
    end: u64,
    due: Time,
}

/// One flow's control.
#[derive(Debug, Clone)]
pub struct Control {
    window: Window,
    marks: MarkEstimate,
    d_min: f64,
    d_max: f64,
    /// Bytes acknowledged so far.
    acked: u64,
    srtt: Span,
    /// The message at the head of the stream, and the one written last.
    head: Message,
    last: Message,
}

impl Control {
    /// Needs each mark reported.
    pub const ECN: EcnUse = EcnUse::PerPacket;

    /// At the start of a flow.
    pub fn start(settings: &Settings, _flow: &FlowInfo<'_>, cx: &Cx<'_>) -> Self {
        let none = Message { end: 0, due: Time::MAX };
        Control {
            window: Window::new(cx.rules),
            marks: MarkEstimate::new(settings.g, settings.initial_alpha),
            d_min: settings.d_min,
            d_max: settings.d_max,
            acked: 0,
            srtt: Span::ZERO,
            head: none,
            last: none,
        }
    }

    /// How urgent the message at the head is: d = Tc / D (s.3.2), 1 without a deadline.
    fn urgency(&self, now: Time) -> f64 {
        let Message { end, due } = self.head;
        if due == Time::MAX || self.acked >= end {
            return 1.0;
        }
        if due <= now {
            return self.d_max;
        }
        // s.3.2: a sawtooth between W/2 and W sends 3/4 W a round trip, so B bytes take
        // Tc = B / (3/4 W) round trips.
        let needed = (end - self.acked) as f64 / (0.75 * self.window.cwnd) * self.srtt.as_ps() as f64;
        (needed / (due - now).as_ps() as f64).clamp(self.d_min, self.d_max)
    }

    /// The penalty p = alpha^d (s.3.1 eq. (1)).
    fn penalty(&self, now: Time) -> f64 {
        let (alpha, d) = (self.marks.alpha(), self.urgency(now));
        // Without a deadline to the bit DCTCP's.
        if d == 1.0 { alpha } else { libm::pow(alpha, d) }
    }
}

impl CongestionControl for Control {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, cx: &Cx<'_>) {
        self.acked += ack.acked;
        self.srtt = ack.srtt;
        if self.acked >= self.head.end {
            self.head = self.last;
        }
        self.marks.on_ack(ack, cx.rules.arithmetic);
        self.window.grow(ack, cx);
    }

    fn on_congestion(&mut self, why: Congestion, flight: u64, cx: &Cx<'_>) {
        // s.3.1 eq. (2): W = W (1 - p / 2).
        let cut = 0.5 * self.penalty(cx.now);
        react(&mut self.window, why, cut, OnLoss::Halve, flight, cx);
    }

    crate::cc::parts::window::by_window!();

    fn on_message(&mut self, message: &MessageInfo, _cx: &Cx<'_>) {
        self.last = Message { end: message.end, due: message.due.unwrap_or(Time::MAX) };
        if self.acked >= self.head.end {
            self.head = self.last;
        }
    }

    fn observe(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("alpha", self.marks.alpha());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::parts::window::tests::{ack, cx, rules};
    use crate::params::Params;

    /// Urgency and window of a flow of 10 segments of 1000 bytes in flight, alpha 1/4 and an RTT of 100 us,
    /// `bytes` left and `due` after its start, when a mark comes at 1 ms.
    fn marked(bytes: u64, due: Option<Span>) -> (f64, f64) {
        let rules = rules();
        let settings = Settings { initial_alpha: 0.25, ..Settings::defaults() };
        let mut control = Control::start(&settings, &FlowInfo::default(), &cx(&rules));
        control.on_message(
            &MessageInfo { end: bytes + 1000, due: due.map(|due| Time::ZERO + due) },
            &cx(&rules),
        );
        let ack = Ack { may_grow: false, round_ended: false, srtt: Span::us(100), ..ack(1000) };
        control.on_ack(&ack, &cx(&rules));
        let late = Cx { now: Time::ZERO + Span::ms(1), rules: &rules };
        let urgency = control.urgency(late.now);
        control.on_congestion(Congestion::Ecn, 10_000, &late);
        (urgency, control.window.cwnd)
    }

    /// By hand: the window is 10 000 bytes, so 75 000 bytes take 10 round trips or 1 ms.
    #[test]
    fn urgency_is_time_needed_over_time_left() {
        for (due_ms, d) in
            [(2.0, 1.0), (1.8, 1.25), (1.5, 2.0), (1.1, 2.0), (3.0, 0.5), (9.0, 0.5), (1.0, 2.0)]
        {
            let (urgency, cwnd) = marked(75_000, Some(Span::us((due_ms * 1e3) as u64)));
            assert!((urgency - d).abs() < 1e-9, "due {due_ms} ms: {urgency}");
            // alpha^d: 0.25^0.5 = 0.5, 0.25^1 = 0.25, 0.25^2 = 0.0625.
            let wanted = 10_000.0 * (1.0 - libm::pow(0.25, d) / 2.0);
            assert!((cwnd - wanted).abs() < 1e-6, "due {due_ms} ms: {cwnd}, {wanted}");
        }
        assert_eq!(marked(75_000, Some(Span::ms(2))).1, 8750.0);
        assert_eq!(marked(75_000, Some(Span::ms(9))).1, 7500.0);
        assert_eq!(marked(75_000, Some(Span::us(1500))).1, 9687.5);
    }

    #[test]
    fn without_a_deadline_or_bytes_left_it_is_dctcp() {
        assert_eq!(marked(75_000, None), (1.0, 8750.0));
        assert_eq!(marked(0, Some(Span::us(1))), (1.0, 8750.0));
    }

    #[test]
    fn the_next_message_counts_once_the_first_is_acknowledged() {
        let rules = rules();
        let mut control = Control::start(&Settings::defaults(), &FlowInfo::default(), &cx(&rules));
        let due = |end, ms| MessageInfo { end, due: Some(Time::ZERO + Span::ms(ms)) };
        control.on_message(&due(5000, 1), &cx(&rules));
        control.on_message(&due(9000, 2), &cx(&rules));
        assert_eq!((control.head.end, control.last.end), (5000, 9000));
        control.on_ack(&ack(4999), &cx(&rules));
        assert_eq!(control.head.end, 5000);
        control.on_ack(&ack(1), &cx(&rules));
        assert_eq!(control.head.end, 9000);
    }
}
