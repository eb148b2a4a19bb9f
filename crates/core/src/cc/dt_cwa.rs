//! DT-CWA: the window falls when a mark comes, and is given part of its range back when all that was
//! outstanding has been acknowledged. Its double threshold is a queue discipline of its own.
//!
//! Source: Sreekumari 2018, "Multiple Congestion Points and Congestion Reaction Mechanisms for Improving
//! DCTCP", Information 9(6) 139, s.2.2, which prints
//!
//! ```text
//! CWstart = 1/a (CWmax CWmin) - CWcurrent       (1) on an acknowledgement with ECN-Echo
//! CWend   = CWcurrent + b (CWmax CWmin)         (2) when all outstanding packets are acknowledged
//! ```
//!
//! with a the packets outstanding, b = 0.2. The sign between CWmax and CWmin is lost, and four questions are
//! open; each is a setting, with the reading taken here first:
//!
//! - `operator`: the sign between them. A difference, as a share may be taken of the gap between the two;
//!   the others are signs that print could have lost too.
//! - `order`: as printed, eq. (1) is negative unless the gap exceeds a x CWcurrent, which a window that is
//!   in use never does, so that the lower clamp decides: every mark leaves the least window. Taken from the
//!   current window, the same terms are a gentle reduction.
//! - `react`: to the first mark of a window, as DCTCP does, or to each marked acknowledgement.
//! - `extremes`: the largest and smallest window since the last congestion, or of the connection's life.
//!
//! Clamped to [least window of the transport, CWcurrent], since a congestion notification never raises a
//! window. Between (1) and (2) the window does not grow. Loss and timeouts are DCTCP's, and end the wait
//! for (2). The packets outstanding are counted before the acknowledgement, so that there is one at least.

use super::dctcp;
use super::{Ack, CcSettings, Congestion, CongestionControl, Cx, EcnUse, FlowInfo, Window};

crate::choices! {
    /// The sign between CWmax and CWmin, in packets.
    pub enum Operator {
        /// CWmax - CWmin.
        Difference = "difference",
        /// CWmax x CWmin: the text as it is printed.
        Product = "product",
        /// CWmax + CWmin.
        Sum = "sum",
        /// CWmax / CWmin.
        Quotient = "quotient",
    }
}

crate::choices! {
    /// Which side of eq. (1) is subtracted from which.
    pub enum Order {
        /// (1 / a) x - CWcurrent.
        AsPrinted = "as-printed",
        /// CWcurrent - (1 / a) x.
        FromCurrent = "from-current",
    }
}

crate::choices! {
    /// The event that eq. (1) answers.
    pub enum React {
        /// The first mark of a window of data.
        Window = "window",
        /// Each marked acknowledgement.
        Ack = "ack",
    }
}

crate::choices! {
    /// The span over which CWmax and CWmin are taken.
    pub enum Extremes {
        /// The time since eq. (1) was last used, or a loss.
        Epoch = "epoch",
        /// The life of the connection.
        Life = "life",
    }
}

crate::params! {
    /// DT-CWA. The window falls to a floor on a mark and gets a share of its range back a window later
    /// (Sreekumari 2018).
    pub struct Settings {
        /// Share of the range that eq. (2) gives back.
        beta: f64 = 0.2, "[0, 1]", "Sreekumari 2018 s.2.2, figure 4";
        /// The sign between CWmax and CWmin in both equations.
        operator: Operator = "difference", "", "the sign is lost in print; beta can be a share of a gap";
        /// Which side of eq. (1) is subtracted.
        order: Order = "as-printed", "", "Sreekumari 2018 eq. (1)";
        /// The event that eq. (1) answers.
        react: React = "window", "", "as DCTCP, which it modifies; the text says the ACK with a notification";
        /// The span over which CWmax and CWmin are taken.
        extremes: Extremes = "epoch", "", "the window adjusted before the notification";
    }
}

impl CcSettings for Settings {}

/// One flow's control; windows in bytes.
#[derive(Debug, Clone)]
pub struct Control {
    window: Window,
    settings: Settings,
    most: f64,
    least: f64,
    /// CWmax (-) CWmin of the congestion under way, in bytes; a packet's worth a packet.
    range: f64,
    /// Bytes still to be acknowledged until eq. (2); 0 outside of a congestion.
    remaining: u64,
    /// Bytes that the last acknowledgement brought.
    acked: u64,
}

/// TCP's largest window (RFC 7323 s.2.3): products of windows have no bound of their own.
const MAX_WINDOW: f64 = (1u64 << 30) as f64;

impl Control {
    /// Needs each mark reported.
    pub const ECN: EcnUse = EcnUse::PerPacket;

    /// At the start of a flow.
    pub fn start(settings: &Settings, _flow: &FlowInfo<'_>, cx: &Cx<'_>) -> Self {
        let window = Window::new(cx.rules);
        let (most, least) = (window.cwnd, window.cwnd);
        Control { window, settings: settings.clone(), most, least, range: 0.0, remaining: 0, acked: 0 }
    }

    /// Takes CWmax and CWmin anew from here on, unless they are those of the connection's life.
    fn new_epoch(&mut self) {
        if self.settings.extremes == Extremes::Epoch {
            (self.most, self.least) = (self.window.cwnd, self.window.cwnd);
        }
        self.see_window();
    }

    fn see_window(&mut self) {
        self.most = self.most.max(self.window.cwnd);
        self.least = self.least.min(self.window.cwnd);
    }

    /// Eq. (1), with `flight` bytes outstanding before the marked acknowledgement came.
    fn begin(&mut self, flight: u64, cx: &Cx<'_>) {
        let mss = cx.rules.mss as f64;
        if self.remaining == 0 {
            let (most, least) = (self.most / mss, self.least / mss);
            self.range = mss
                * match self.settings.operator {
                    Operator::Difference => most - least,
                    Operator::Product => most * least,
                    Operator::Sum => most + least,
                    Operator::Quotient => most / least,
                };
        }
        let outstanding = flight.div_ceil(cx.rules.mss).max(1) as f64;
        let share = self.range / outstanding;
        let target = match self.settings.order {
            Order::AsPrinted => share - self.window.cwnd,
            Order::FromCurrent => self.window.cwnd - share,
        };
        self.window.shrink(target, cx); // both clamps
        self.remaining = flight.saturating_sub(self.acked).max(1);
        self.new_epoch();
    }

    /// Eq. (2).
    fn end(&mut self, cx: &Cx<'_>) {
        let end = self.window.cwnd + self.settings.beta * self.range;
        self.window.cwnd = end.min(MAX_WINDOW).min(cx.rules.cwnd_max);
        self.window.ssthresh = self.window.cwnd.max(cx.rules.ssthresh_floor);
    }
}

impl CongestionControl for Control {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, cx: &Cx<'_>) {
        if self.remaining > 0 {
            self.remaining = self.remaining.saturating_sub(ack.acked);
            if self.remaining == 0 {
                self.end(cx);
            }
        } else {
            self.window.grow(ack, cx);
        }
        self.see_window();
        self.acked = ack.acked;
        if ack.ece && self.settings.react == React::Ack {
            self.begin(ack.flight, cx);
        }
    }

    fn on_congestion(&mut self, why: Congestion, flight: u64, cx: &Cx<'_>) {
        match why {
            Congestion::Ecn if self.settings.react == React::Window => self.begin(flight, cx),
            Congestion::Ecn => {}
            _ => {
                dctcp::react(&mut self.window, why, 0.0, dctcp::OnLoss::Halve, flight, cx);
                self.remaining = 0;
                self.new_epoch();
            }
        }
    }

    crate::cc::parts::window::by_window!();
}

#[cfg(test)]
mod tests {
    use super::super::WindowRules;
    use super::*;
    use crate::cc::parts::window::tests::{ack, cx, rules};
    use crate::params::Params;

    /// One connection, driven in segments of 1000 bytes; it starts with a window of ten.
    struct Bench {
        control: Control,
        rules: WindowRules,
    }

    impl Bench {
        fn new(settings: Settings) -> Self {
            let rules = rules();
            let control = Control::start(&settings, &FlowInfo::default(), &cx(&rules));
            Bench { control, rules }
        }

        /// A control after ten acknowledgements of slow start: CWmax = 20, CWmin = 10.
        fn at_twenty(settings: Settings) -> Self {
            let mut bench = Bench::new(settings);
            bench.acks(10, true);
            assert_eq!(bench.window(), 20.0);
            bench
        }

        fn acks(&mut self, n: u64, may_grow: bool) {
            for _ in 0..n {
                self.control.on_ack(&Ack { may_grow, ..ack(1000) }, &cx(&self.rules));
            }
        }

        fn mark(&mut self, outstanding: u64) {
            let flight = 1000 * outstanding;
            let ack = Ack { ece: true, may_grow: false, flight, ..ack(1000) };
            self.control.on_ack(&ack, &cx(&self.rules));
            self.control.on_congestion(Congestion::Ecn, flight, &cx(&self.rules));
        }

        fn window(&self) -> f64 {
            self.control.window.cwnd / 1000.0
        }
    }

    fn settings() -> Settings {
        Settings::defaults()
    }

    #[test]
    fn as_printed_a_mark_leaves_the_floor_and_a_window_later_a_fifth_of_the_range() {
        let mut bench = Bench::at_twenty(settings());
        bench.mark(20); // 1/20 (20 - 10) - 20 < 0
        assert_eq!(bench.window(), 1.0);
        bench.acks(18, true); // of 19 outstanding; nothing grows meanwhile
        assert_eq!(bench.window(), 1.0);
        bench.acks(1, true);
        assert_eq!(bench.window(), 3.0); // 1 + 0.2 (20 - 10)
        bench.acks(3, true);
        assert_eq!(bench.window(), 4.0); // congestion avoidance
    }

    #[test]
    fn the_next_congestion_has_a_range_of_its_own() {
        let mut bench = Bench::at_twenty(settings());
        bench.mark(20);
        bench.acks(19, true); // 3, and since the mark at least 1
        bench.acks(3 + 4 + 5, true);
        assert_eq!(bench.window(), 6.0);
        bench.mark(6);
        bench.acks(5, true);
        assert_eq!(bench.window(), 2.0); // 1 + 0.2 (6 - 1)
    }

    #[test]
    fn eq_1_is_clamped_from_above_too_and_between_the_clamps_taken_as_it_is() {
        for (outstanding, window) in [(1, 3.0), (4, 1.75), (5, 1.0)] {
            let mut bench = Bench::at_twenty(Settings { extremes: Extremes::Life, ..settings() });
            bench.mark(20);
            bench.acks(19, true);
            bench.mark(outstanding); // 19 / outstanding - 3
            assert_eq!(bench.window(), window, "{outstanding} outstanding");
        }
    }

    #[test]
    fn every_operator_by_hand_with_twenty_outstanding() {
        use Operator::{Difference, Product, Quotient, Sum};
        // 20 - (20 . 10) / 20, then + 0.2 (20 . 10).
        for (operator, start, end) in
            [(Difference, 19.5, 21.5), (Product, 10.0, 50.0), (Sum, 18.5, 24.5), (Quotient, 19.9, 20.3)]
        {
            let mut bench = Bench::at_twenty(Settings { operator, order: Order::FromCurrent, ..settings() });
            bench.mark(20);
            assert!((bench.window() - start).abs() < 1e-9, "{operator:?}");
            bench.acks(19, true);
            assert!((bench.window() - end).abs() < 1e-9, "{operator:?}");
        }
    }

    #[test]
    fn each_marked_acknowledgement_takes_its_share_and_waits_for_what_is_then_outstanding() {
        let each = Settings { order: Order::FromCurrent, react: React::Ack, ..settings() };
        let mut bench = Bench::at_twenty(each);
        bench.mark(20);
        bench.mark(20);
        assert_eq!(bench.window(), 19.0); // 20 - 10 / 20 - 10 / 20
        bench.acks(18, true);
        assert_eq!(bench.window(), 19.0);
        bench.acks(1, true);
        assert_eq!(bench.window(), 21.0);
    }

    #[test]
    fn loss_is_answered_as_by_dctcp_and_ends_the_wait() {
        let mut bench = Bench::at_twenty(settings());
        bench.mark(20);
        bench.control.on_congestion(Congestion::Timeout, 8000, &cx(&bench.rules));
        assert_eq!(bench.window(), 1.0);
        bench.acks(3, true);
        assert_eq!(bench.window(), 4.0); // slow start to half the flight, and no eq. (2)
        assert_eq!(bench.control.ssthresh(), Some(4000.0));
    }
}
