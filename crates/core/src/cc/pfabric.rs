//! pFabric's minimal rate control: a flow starts with a window of its path, and only a timeout makes it smaller.
//!
//! Source: Alizadeh et al. 2013, "pFabric: Minimal Near-Optimal Datacenter Transport" (SIGCOMM), s.4.3. The window begins at the
//! bandwidth-delay product and grows by a segment a round trip; a timeout leaves one segment, and slow start to half of
//! the window. The discipline `pfabric` does the rest. The profile `pfabric` sets the timers and finds losses by timeouts alone:
//! `transport = { profile = "pfabric", cc = "pfabric" }` with `queue = "pfabric"` is the whole.
//! Left out: the probe mode of a sender with five timeouts in a row.

use super::{Ack, CcSettings, Congestion, CongestionControl, Cx, EcnUse, FlowInfo, Window};
use shallows_units::Bytes;

crate::params! {
    /// pFabric. A window of the path from the start, which only timeouts cut (Alizadeh 2013).
    pub struct Settings {
        /// First window and slow-start threshold; "none": the rate of the host's link times the round trip of the flow's empty path, in whole
        /// segments.
        window: Option<Bytes> = "none", "[1B, ]", "Alizadeh 2013 s.4.3: the bandwidth-delay product";
    }
}

impl CcSettings for Settings {
    // The first window may be of any size.
    fn opens_freely(&self) -> bool {
        true
    }

    fn path_settings(&self) -> Vec<&'static str> {
        self.window.is_none().then_some("window").into_iter().collect()
    }
}

/// One flow's control.
#[derive(Debug, Clone)]
pub struct Control {
    window: Window,
}

impl Control {
    /// Timeouts say all.
    pub const ECN: EcnUse = EcnUse::Off;

    /// At the start of a flow.
    pub fn start(settings: &Settings, flow: &FlowInfo<'_>, cx: &Cx<'_>) -> Self {
        let mss = cx.rules.mss as f64;
        let product = flow.path.line_rate.as_bps() as f64 / 8.0 * flow.path.base_rtt.as_secs_f64();
        let wanted = settings.window.map_or((product / mss).ceil() * mss, |bytes| bytes.as_u64() as f64);
        let first = wanted.max(mss).min(cx.rules.cwnd_max);
        let mut window = Window::new(cx.rules);
        (window.cwnd, window.ssthresh) = (first, first);
        Control { window }
    }
}

impl CongestionControl for Control {
    fn on_ack(&mut self, ack: &Ack, cx: &Cx<'_>) {
        self.window.grow(ack, cx);
    }

    fn grow(&mut self, ack: &Ack, cx: &Cx<'_>) {
        self.window.grow(ack, cx);
    }

    fn on_congestion(&mut self, why: Congestion, flight: u64, cx: &Cx<'_>) {
        if why == Congestion::Timeout {
            self.window.on_timeout(flight, cx);
        }
    }

    fn cwnd(&self) -> Bytes {
        Bytes(self.window.cwnd as u64)
    }

    fn ssthresh(&self) -> Option<f64> {
        Some(self.window.ssthresh)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::parts::window::tests::{ack, cx, rules};
    use crate::params::Params;

    /// 10 Gb/s times 100 us are 125 000 bytes: 125 segments, then one more for a window of acknowledgements.
    #[test]
    fn the_window_starts_at_the_paths_and_only_a_timeout_cuts_it() {
        let rules = rules();
        let mut control = Control::start(&Settings::defaults(), &FlowInfo::default(), &cx(&rules));
        assert_eq!(control.cwnd(), Bytes(125_000));
        (0..125).for_each(|_| control.on_ack(&ack(1000), &cx(&rules)));
        control.on_congestion(Congestion::Loss, 100_000, &cx(&rules));
        control.on_congestion(Congestion::Ecn, 100_000, &cx(&rules));
        assert_eq!(control.cwnd(), Bytes(126_000));
        control.on_congestion(Congestion::Timeout, 100_000, &cx(&rules));
        assert_eq!((control.cwnd(), control.ssthresh()), (Bytes(1000), Some(50_000.0)));
        let set = Settings { window: Some(Bytes(18_000)) };
        assert_eq!(Control::start(&set, &FlowInfo::default(), &cx(&rules)).cwnd(), Bytes(18_000));
    }
}
