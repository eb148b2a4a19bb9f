//! NewReno: slow start, congestion avoidance, and half the window on congestion.
//!
//! Source: RFC 5681 s.3.1; RFC 3168 s.6.1.2 for ECN. Its recovery (RFC 6582, RFC 6675) is the
//! transport's.

use super::{Ack, CcSettings, Congestion, CongestionControl, Cx, EcnUse, FlowInfo, Window};
use crate::cc::parts::hystart::{FirstSlowStart, SlowStart};
use shallows_units::Span;

crate::params! {
    /// NewReno. One segment more a round trip, half the window on congestion (RFC 5681).
    pub struct Settings {
        /// Share of the window that an ECN-Echo leaves.
        ecn_beta: f64 = 0.5, "(0, 1)", "RFC 3168 s.6.1.2: as a loss; RFC 8511 s.3.1 suggests 0.8";
        /// How the first slow start ends.
        slow_start: SlowStart = "standard", "", "RFC 5681 s.3.1; hystart++: RFC 9406";
        /// HyStart++: least growth of a round trip that ends slow start.
        min_rtt_thresh: Span = "4ms", "(0s, ]", "RFC 9406 s.4.3; less than any growth in a shallow buffer tells";
        /// HyStart++: most growth that it waits for; between the two an eighth of the round trip.
        max_rtt_thresh: Span = "16ms", "(0s, ]", "RFC 9406 s.4.3";
    }
    facts {
        elsewhere: &[("linux", "reno"), ("ns3", "newreno")],
        words: crate::params::Words {
            deviations: "None: it is the standard of RFC 5681, with which others are compared.",
            scope: "Any path of the Internet. Each sender deploys it alone.",
            tunnels: "A loss inside a tunnel counts as any other. A mark set inside arrives if the tunnel's end copies it outwards (RFC 6040).",
        },
    }
}

impl CcSettings for Settings {
    // RFC 5681 eq. (3): a segment.
    fn round_gain(&self, _window: f64, mss: f64) -> Option<f64> {
        Some(mss)
    }

    fn resumes(&self) -> bool {
        true
    }
}

/// One flow's control.
#[derive(Debug, Clone)]
pub struct Control {
    window: Window,
    first: FirstSlowStart,
    ecn_beta: f64,
}

impl Control {
    /// Works on loss; ECN is an option of the transport.
    pub const ECN: EcnUse = EcnUse::Off;

    /// At the start of a flow.
    pub fn start(settings: &Settings, _flow: &FlowInfo<'_>, cx: &Cx<'_>) -> Self {
        let Settings { ecn_beta, slow_start, min_rtt_thresh, max_rtt_thresh } = *settings;
        let first = FirstSlowStart::new(slow_start, min_rtt_thresh, max_rtt_thresh);
        Control { window: Window::new(cx.rules), first, ecn_beta }
    }
}

impl CongestionControl for Control {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, cx: &Cx<'_>) {
        self.first.grow(&mut self.window, ack, cx);
    }

    fn on_congestion(&mut self, why: Congestion, flight: u64, cx: &Cx<'_>) {
        self.first.stop();
        match why {
            Congestion::Loss => self.window.on_loss(flight, cx),
            Congestion::LossAfterEcn => {} // RFC 3168 s.6.1.2: once a window
            Congestion::Ecn => {
                let share = cx.rules.arithmetic.share(self.window.cwnd, self.ecn_beta, cx.rules.mss);
                self.window.shrink(share, cx);
            }
            Congestion::Timeout => self.window.on_timeout(flight, cx),
        }
    }

    crate::cc::parts::window::by_window!();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::WindowRules;
    use crate::cc::parts::window::Arithmetic;
    use crate::cc::parts::window::tests::{cx, rules};
    use crate::params::Params;

    /// RFC 3168 s.6.1.2: half of the window. Linux `tcp_reno_ssthresh`, which answers marks and losses alike: 11 >> 1 = 5
    /// segments, 5 >> 1 = 2, and never fewer.
    #[test]
    fn a_marked_window_is_halved_in_whole_segments_where_it_is_counted_so() {
        let linux = WindowRules { arithmetic: Arithmetic::Linux, cwnd_floor: 2000.0, ..rules() };
        for (rules, expected) in [(rules(), [5500.0, 2750.0, 1375.0]), (linux, [5000.0, 2000.0, 2000.0])] {
            let mut control = Control::start(&Settings::defaults(), &FlowInfo::default(), &cx(&rules));
            control.window.cwnd = 11_000.0;
            let windows = [(); 3].map(|()| {
                control.on_congestion(Congestion::Ecn, 11_000, &cx(&rules));
                control.window.cwnd
            });
            assert_eq!(windows, expected);
        }
    }
}
