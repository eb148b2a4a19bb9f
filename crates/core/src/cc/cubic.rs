//! CUBIC: the window grows as a cubic of the time since the last congestion.
//!
//! Source: RFC 9438, and RFC 8312, which it replaces, on request. RFC 9438 changed these: K from the window
//! after the reduction, the bounds of the target, the Reno-friendly window counted in acknowledged bytes
//! and not in time, its growth of one segment from the old window on, fast convergence against the plateau.
//! The window is in bytes, C in segments a second cubed. ECN is the transport's (`ecn = "on"`: ECT(0),
//! RFC 3168; without it a CUBIC is not ECN-capable) and is answered as loss (s.4.6), or by `ecn_beta`.
//! Where the transport's `arithmetic` is Linux's, so is all of this (`cubic/linux.rs`), and of the settings
//! `fast_convergence` counts.
//! Left out: the answer to spurious congestion (s.4.9).

mod linux;

use super::{Ack, CcSettings, Congestion, CongestionControl, Cx, EcnUse, FlowInfo, Window};
use crate::cc::parts::hystart::{FirstSlowStart, SlowStart};
use shallows_units::{Bytes, Span, Time};

crate::choices! {
    /// Which text is followed.
    pub enum Standard {
        /// The Standards Track one of 2023.
        Rfc9438 = "rfc9438",
        /// The informational one of 2018.
        Rfc8312 = "rfc8312",
    }
}

crate::params! {
    /// CUBIC. The window grows as a cubic of the time since the last congestion (RFC 9438).
    pub struct Settings {
        /// Which text is followed where the two differ.
        standard: Standard = "rfc9438", "", "RFC 9438 s.1 obsoletes RFC 8312";
        /// Share of the window that a loss leaves.
        beta: f64 = 0.7, "(0, 1)", "RFC 9438 s.4.6, RFC 8312 s.4.5";
        /// Share of the window that an ECN-Echo leaves.
        ecn_beta: f64 = 0.7, "(0, 1)", "RFC 9438 s.4.6: as a loss; RFC 8511 s.3.1 suggests 0.85";
        /// Steepness C of the cubic, in segments a second cubed.
        c: f64 = 0.4, "(0, ]", "RFC 9438 s.5.1";
        /// Whether a window reduced before it is as large as the last time makes room for others.
        fast_convergence: bool = true, "", "RFC 9438 s.4.7";
        /// Whether the window is at least Reno's (Reno-friendly region).
        friendly: bool = true, "", "RFC 9438 s.4.3";
        /// How the first slow start ends.
        slow_start: SlowStart = "auto", "", "RFC 5681 s.3.1, and as Linux where counted so; RFC 9438 s.4.10 suggests hystart++";
        /// HyStart++: least growth of a round trip that ends slow start.
        min_rtt_thresh: Span = "4ms", "(0s, ]", "RFC 9406 s.4.3; less than any growth in a shallow buffer tells";
        /// HyStart++: most growth that it waits for; between the two an eighth of the round trip.
        max_rtt_thresh: Span = "16ms", "(0s, ]", "RFC 9406 s.4.3";
    }
    facts {
        elsewhere: &[("linux", "cubic"), ("ns3", "cubic")],
        words: crate::params::Words {
            deviations: "The window grows with the time since the last congestion instead of round trips, and a loss leaves 0.7 of it instead of half (RFC 9438 s.4). Where Reno does well it grows at least as Reno does (s.4.3).",
            scope: "Any path of the Internet. Each sender deploys it alone (RFC 8312 s.5.10).",
            tunnels: "A loss inside a tunnel counts as any other. A mark set inside arrives if the tunnel's end copies it outwards (RFC 6040).",
        },
    }
}

impl CcSettings for Settings {
    // RFC 9438 s.4.4, fig. 1: the target is at most 1.5 windows. RFC 8312 has no such bound, and here it has the same one.
    fn round_gain(&self, window: f64, mss: f64) -> Option<f64> {
        Some((0.5 * window).max(mss)) // s.4.3: at least a segment, as Reno
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
    /// Where the plateau of the cubic lies, in bytes; 0 when no congestion has set it.
    w_max: f64,
    /// Window just before the last reduction.
    cwnd_prior: f64,
    /// Reno's window.
    w_est: f64,
    /// Seconds from the start of the epoch to the plateau.
    k: f64,
    /// Start of this stage of congestion avoidance, later by the time that did not count; `MAX`
    /// before there is one.
    epoch: Time,
    /// Last acknowledgement.
    last: Time,
    beta: f64,
    ecn_beta: f64,
    c: f64,
    standard: Standard,
    fast_convergence: bool,
    friendly: bool,
    /// In Linux's arithmetic.
    kernel: Option<Box<linux::Kernel>>,
}

impl Control {
    /// Works on loss; ECN is an option of the transport.
    pub const ECN: EcnUse = EcnUse::Off;

    /// At the start of a flow.
    pub fn start(settings: &Settings, _flow: &FlowInfo<'_>, cx: &Cx<'_>) -> Self {
        let Settings { standard, beta, ecn_beta, c, fast_convergence, friendly, .. } = *settings;
        let counts_as_linux = cx.rules.arithmetic.in_segments();
        let slow_start = match settings.slow_start {
            SlowStart::Auto if counts_as_linux => SlowStart::Hystart,
            chosen => chosen,
        };
        Control {
            window: Window::new(cx.rules),
            first: FirstSlowStart::new(slow_start, settings.min_rtt_thresh, settings.max_rtt_thresh),
            w_max: 0.0,
            cwnd_prior: 0.0,
            w_est: 0.0,
            k: 0.0,
            epoch: Time::MAX,
            last: cx.now,
            beta,
            ecn_beta,
            c,
            standard,
            fast_convergence,
            friendly,
            kernel: counts_as_linux.then(Box::default),
        }
    }

    /// A stage of congestion avoidance begins.
    fn begin_epoch(&mut self, cx: &Cx<'_>) {
        let cwnd = self.window.cwnd;
        self.epoch = cx.now;
        self.w_est = cwnd; // RFC 9438 s.4.3
        // RFC 9438 s.4.2 fig. 2: K = cbrt((W_max - cwnd_epoch) / C); RFC 8312 eq. 2: cbrt(W_max (1 - beta)
        // / C). RFC 9438 s.4.8, s.4.10: after a timeout, and where slow start ended without congestion,
        // K = 0 and W_max is the present window.
        let to_plateau = match self.standard {
            Standard::Rfc8312 => self.w_max * (1.0 - self.beta),
            Standard::Rfc9438 => (self.w_max - cwnd).max(0.0),
        };
        self.w_max = if self.w_max == 0.0 { cwnd } else { self.w_max.max(cwnd) };
        self.k = libm::cbrt(to_plateau / cx.rules.mss as f64 / self.c);
    }

    /// RFC 9438 s.4.2 fig. 1: C (t - K)^3 + W_max, in bytes, `t` seconds after the epoch's start.
    fn w_cubic(&self, t: f64, mss: f64) -> f64 {
        let from_plateau = t - self.k;
        self.c * mss * from_plateau * from_plateau * from_plateau + self.w_max
    }

    /// RFC 9438 s.4.3: segments a round trip that give an AIMD flow with this beta Reno's mean window.
    fn alpha(&self) -> f64 {
        3.0 * (1.0 - self.beta) / (1.0 + self.beta)
    }

    /// Reno's window, `t` seconds after the epoch's start, `counted` more bytes acknowledged.
    fn estimate(&mut self, counted: f64, t: f64, srtt: f64, mss: f64) -> f64 {
        self.w_est = match self.standard {
            // RFC 9438 s.4.3 fig. 4: W_est += alpha_cubic x segments_acked / cwnd; 1 from the old window on.
            Standard::Rfc9438 => {
                let alpha = if self.w_est >= self.cwnd_prior { 1.0 } else { self.alpha() };
                self.w_est + alpha * mss * counted / self.window.cwnd
            }
            // RFC 8312 eq. 4; before there is a round-trip time nothing has grown.
            Standard::Rfc8312 if srtt > 0.0 => self.w_max * self.beta + self.alpha() * mss * t / srtt,
            Standard::Rfc8312 => self.w_est,
        };
        self.w_est
    }

    fn avoid(&mut self, counted: f64, srtt: f64, cx: &Cx<'_>) {
        if self.epoch == Time::MAX {
            self.begin_epoch(cx);
        }
        let (mss, cwnd) = (cx.rules.mss as f64, self.window.cwnd);
        let t = cx.now.saturating_sub(self.epoch).as_secs_f64();
        let w_est = self.estimate(counted, t, srtt, mss);
        if self.friendly && self.w_cubic(t, mss) < w_est {
            self.window.cwnd = w_est.max(cwnd); // s.4.3; a bounded window is not taken back
        } else {
            // RFC 9438 s.4.4, 4.5: (target - cwnd) / cwnd a segment acknowledged; s.4.2: the target is
            // bounded to [cwnd, 1.5 cwnd], in RFC 8312 not.
            let most = if self.standard == Standard::Rfc9438 { 1.5 * cwnd } else { f64::INFINITY };
            let target = self.w_cubic(t + srtt, mss).clamp(cwnd, most);
            self.window.cwnd += (target - cwnd) / cwnd * counted.min(cwnd); // never beyond the target
        }
        self.window.cwnd = self.window.cwnd.min(cx.rules.cwnd_max);
    }

    /// RFC 9438 s.4.6, 4.7, to a share of `beta`. A window without room for another segment is in use
    /// whole; else the flight counts.
    fn reduce(&mut self, beta: f64, flight: u64, cx: &Cx<'_>) {
        self.first.stop();
        let cwnd = self.window.cwnd;
        let in_use = if (flight + cx.rules.mss) as f64 > cwnd { cwnd } else { flight as f64 };
        // RFC 9438 s.4.7 compares with the plateau, RFC 8312 s.4.6 with the window before the last reduction.
        let last = if self.standard == Standard::Rfc9438 { self.w_max } else { self.cwnd_prior };
        self.w_max = if self.fast_convergence && cwnd < last { cwnd * (1.0 + self.beta) / 2.0 } else { cwnd };
        self.cwnd_prior = cwnd;
        self.epoch = Time::MAX;
        self.window.shrink(in_use * beta, cx);
    }
}

impl CongestionControl for Control {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, cx: &Cx<'_>) {
        if let Some(kernel) = &mut self.kernel {
            if !self.first.grow_or_detect(&mut self.window, ack, cx) {
                kernel.on_ack(&mut self.window, ack, cx);
            }
        } else if !ack.may_grow {
            // RFC 9438 s.4.2, 5.8: time in which the window may not grow is not part of t.
            if self.epoch != Time::MAX {
                self.epoch += cx.now - self.last;
            }
        } else if self.window.cwnd < self.window.ssthresh {
            self.first.grow(&mut self.window, ack, cx); // s.4.10: slow start of RFC 5681
        } else {
            self.avoid(cx.rules.counted(ack), ack.srtt.as_secs_f64(), cx);
        }
        self.last = cx.now;
    }

    fn on_congestion(&mut self, why: Congestion, flight: u64, cx: &Cx<'_>) {
        if let Some(kernel) = self.kernel.as_mut().filter(|_| why != Congestion::LossAfterEcn) {
            if why == Congestion::Timeout {
                self.first.begin_again();
            }
            return kernel.reduce(&mut self.window, self.fast_convergence, why == Congestion::Timeout, cx);
        }
        match why {
            Congestion::LossAfterEcn => {} // RFC 3168 s.6.1.2: once a window
            Congestion::Ecn => self.reduce(self.ecn_beta, flight, cx),
            Congestion::Loss => {
                self.reduce(self.beta, flight, cx);
                self.window.cwnd = self.window.ssthresh; // s.4.6: at least 2 segments
            }
            Congestion::Timeout => {
                // s.4.8: as Reno, with this beta; the next stage has K = 0 and its own window as W_max.
                self.reduce(self.beta, flight, cx);
                self.window.begin_again(cx);
                self.w_max = 0.0;
            }
        }
    }

    #[inline]
    fn cwnd(&self) -> Bytes {
        Bytes(self.window.cwnd as u64)
    }

    fn ssthresh(&self) -> Option<f64> {
        Some(self.window.ssthresh)
    }

    fn on_lost_syn(&mut self, cx: &Cx<'_>) {
        self.window.on_lost_syn(cx);
    }

    fn set_window(&mut self, cwnd: f64, ssthresh: Option<f64>) {
        self.window.set(cwnd, ssthresh);
        // No plateau was found: as where slow start ends without congestion (RFC 9438 s.4.10).
        (self.w_max, self.cwnd_prior, self.epoch) = (0.0, 0.0, Time::MAX);
    }

    fn on_idle(&mut self, timeouts: u32, cx: &Cx<'_>) {
        self.window.on_idle(timeouts, cx);
    }

    fn on_transmit_start(&mut self, last_sent: Time, cx: &Cx<'_>) {
        if let Some(kernel) = &mut self.kernel {
            kernel.transmit_start(last_sent, cx.now);
        }
        if self.epoch != Time::MAX {
            self.epoch += cx.now - self.last; // RFC 9438 s.4.2: idle time is not part of t
        }
        self.last = cx.now;
    }
}

#[cfg(test)]
mod tests;
