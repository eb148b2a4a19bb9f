//! HPCC's sender: a window from the utilisation of each link on the path, and a rate from the window.
//!
//! Source: Li et al. 2019, "HPCC: High Precision Congestion Control" (SIGCOMM), algorithm 1. The switch's
//! half is `port_control/hpcc.rs`. Two points follow the simulator of its authors (rdma-hw.cc, 9f4be2a): U begins at
//! 1, and the first acknowledgement is only recorded. The window lies between one step W_AI and that of the card's rate.
//! T is one number for a whole network in the paper: set `base_rtt` where paths differ, so that their flows share alike.
//! maxStage is 5 in the paper's text; its simulations ran with 0, as the authors say on their page of results.
//! Losses are repaired by the transport and change no window; a timeout neither: the paper runs it over
//! lossless Ethernet, or with the repair of its cards.
//! On another path the records of the one before say nothing (s.4.1): they are thrown away, and the first header of the new path
//! is only recorded. So an experiment in which every packet may change its path is refused.
//! Left out: rates of their own for each hop (`multipleRate`).

use super::{Ack, CcSettings, Congestion, CongestionControl, Cx, EcnUse, FlowInfo, Outgoing, Room};
use crate::port_control::Feedback;
use crate::port_control::hpcc::{HOPS, Header, Hop};
use shallows_units::{Bytes, Rate, Span};

crate::choices! {
    /// The acknowledgements that move the window.
    pub enum Reaction {
        /// Each, from a reference that moves once a round trip (Li 2019 algorithm 1).
        Reference = "reference",
        /// Each, from the window itself.
        PerAck = "per-ack",
        /// One a round trip, by U that each acknowledgement has moved.
        PerRtt = "per-rtt",
        /// One a round trip, which alone is compared with the one of the round before.
        RttMeasured = "rtt-measured",
    }
}

crate::params! {
    /// HPCC. A window from the utilisation of each link on the path, which switches write into packets (Li 2019).
    pub struct Settings {
        /// Utilisation that it aims at.
        eta: f64 = 0.95, "(0, 2]", "Li 2019: 95 %; its authors later prefer 0.99";
        /// Additive steps before the next multiplicative one.
        max_stage: u64 = 0, "[0, 1000]", "the authors' results page and run.py: 0; the paper's text: 5";
        /// Step W_AI by which the window grows.
        step: Bytes = "80B", "[1B, ]", "Li 2019: 80 B, for 100 flows at 100 Gb/s and 13 us";
        /// Round-trip time T of the empty network, a little above the longest; "none": that of the flow's shortest path.
        base_rtt: Option<Span> = "none", "(0s, 1s]", "the authors' simulator works it out from the topology; Li 2019: 13 us in simulations, 9 us in the testbed";
        /// The acknowledgements that move the window.
        reaction: Reaction = "reference", "", "Li 2019 algorithm 1; the others are its figure 13, of which its authors' simulator runs rtt-measured (rdma-hw.cc, without fast_react)";
        /// Hops that the header has room for; "none": as many as the path has switches.
        header_hops: Option<u64> = "none", "[1, 7]", "Li 2019: 8 bytes a hop; the authors' simulator: always 5";
    }
}

impl CcSettings for Settings {
    fn protocol(&self) -> Option<&'static str> {
        Some("hpcc")
    }

    fn rdma(&self) -> bool {
        true
    }

    fn compares_hops(&self) -> bool {
        true
    }

    fn path_settings(&self) -> Vec<&'static str> {
        self.base_rtt.is_none().then_some("base_rtt").into_iter().collect()
    }

    fn header_room(&self) -> Option<Room> {
        let sized_by_path = self.header_hops.is_none().then_some("header_hops");
        Some(Room { most: self.header_hops.unwrap_or(HOPS as u64), sized_by_path })
    }
}

/// The last acknowledgement's record of each hop.
#[derive(Debug, Clone, Default)]
struct Path {
    hops: [Hop; HOPS],
    identity: u16,
    count: u8,
}

/// One flow's control.
#[derive(Debug, Clone)]
pub struct Control {
    last: Box<Path>,
    /// The newest header, where not each is compared.
    newest: Option<Box<Header>>,
    /// W, Wc and the most, in bytes.
    window: f64,
    reference: f64,
    most: f64,
    /// U.
    utilisation: f64,
    /// T in seconds.
    base_rtt: f64,
    eta: f32,
    step: f32,
    mss: u32,
    max_stage: u16,
    stage: u16,
    reaction: Reaction,
    /// A header has come since the window last moved.
    fresh: bool,
    header_hops: u8,
}

impl Control {
    /// The header says all.
    pub const ECN: EcnUse = EcnUse::Off;

    /// At the start of a flow: Li 2019, W_init = B_NIC x T.
    pub fn start(settings: &Settings, flow: &FlowInfo<'_>, cx: &Cx<'_>) -> Self {
        let base_rtt = settings.base_rtt.unwrap_or(flow.path.base_rtt).as_secs_f64();
        let most = flow.path.line_rate.as_bps() as f64 / 8.0 * base_rtt;
        let hops = settings.header_hops.unwrap_or(u64::from(flow.path.switches)).min(HOPS as u64);
        Control {
            last: Box::default(),
            newest: None,
            window: most,
            reference: most,
            most,
            utilisation: 1.0,
            base_rtt,
            eta: settings.eta as f32,
            step: settings.step.as_u64() as f32,
            mss: cx.rules.mss as u32,
            max_stage: settings.max_stage as u16,
            stage: 0,
            reaction: settings.reaction,
            fresh: false,
            header_hops: hops as u8,
        }
    }

    /// Li 2019 algorithm 1, MeasureInflight: the link with the largest share of its capacity in flight. False where there is
    /// nothing to compare with: at first, and on another path.
    fn measure(&mut self, header: &Header) -> bool {
        let Header { hops, identity, count, .. } = *header;
        let old = std::mem::replace(&mut *self.last, Path { hops, identity, count });
        if old.count != count || old.identity != identity || count == 0 {
            return false;
        }
        let t = self.base_rtt;
        let (mut most, mut took) = (0.0, 0.0);
        for (new, old) in header.hops().iter().zip(&old.hops) {
            let seconds = new.seconds_since(old);
            // Two packets in a nanosecond.
            if seconds == 0.0 {
                continue;
            }
            let rate = f64::from(new.rate);
            let queue = new.queue_bytes().min(old.queue_bytes());
            let share = 8.0 * queue / (rate * t) + 8.0 * new.bytes_since(old) / (seconds * rate);
            if share > most {
                (most, took) = (share, seconds);
            }
        }
        let weight = took.min(t) / t;
        self.utilisation = (1.0 - weight) * self.utilisation + weight * most;
        true
    }

    /// Li 2019 algorithm 1, ComputeWind; `update` moves the reference.
    fn compute(&mut self, update: bool) {
        let (over, step) = (self.utilisation / f64::from(self.eta), f64::from(self.step));
        let multiplies = over >= 1.0 || self.stage >= self.max_stage;
        let next = if multiplies { self.reference / over + step } else { self.reference + step };
        // An idle path divides by nothing.
        self.window = next.clamp(step, self.most.max(step));
        if update {
            self.stage = if multiplies { 0 } else { self.stage + 1 };
            self.reference = self.window;
        }
    }
}

impl CongestionControl for Control {
    fn on_ack(&mut self, ack: &Ack, _cx: &Cx<'_>) {
        if ack.round_ended
            && let Some(newest) = self.newest.take()
        {
            self.fresh |= self.measure(&newest);
        }
        if !std::mem::take(&mut self.fresh) {
            return;
        }
        match self.reaction {
            Reaction::Reference => self.compute(ack.round_ended),
            Reaction::PerAck => self.compute(true),
            Reaction::PerRtt | Reaction::RttMeasured if ack.round_ended => self.compute(true),
            Reaction::PerRtt | Reaction::RttMeasured => {}
        }
    }

    fn on_congestion(&mut self, _why: Congestion, _flight: u64, _cx: &Cx<'_>) {}

    fn on_send(&mut self, _packet: &Outgoing, _cx: &Cx<'_>) -> Feedback {
        Feedback::Hpcc(Header { path: self.header_hops, ..Header::default() })
    }

    fn on_feedback(&mut self, header: &Feedback, _srtt: Span, _cx: &Cx<'_>) {
        let Feedback::Hpcc(header) = header else { return };
        if self.reaction == Reaction::RttMeasured {
            **self.newest.get_or_insert_default() = *header;
        } else {
            self.fresh |= self.measure(header);
        }
    }

    /// A segment at least: below that the rate alone holds it.
    #[inline]
    fn cwnd(&self) -> Bytes {
        Bytes((self.window as u64).max(u64::from(self.mss)))
    }

    /// Li 2019 algorithm 1: R = W / T.
    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        Some(Rate::bps(((8.0 * self.window / self.base_rtt).round() as u64).max(1)))
    }

    fn observe(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("utilisation", self.utilisation);
        put("rate_bps", 8.0 * self.window / self.base_rtt);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::parts::window::tests::{ack, rules};
    use crate::params::Params;
    use shallows_units::Time;

    /// T = 10 us at 10 Gb/s: W_init = 12 500 bytes.
    fn started(settings: Settings) -> Control {
        let rules = rules();
        let cx = Cx { now: Time::ZERO, rules: &rules };
        let settings = Settings { base_rtt: Some(Span::us(10)), step: Bytes(100), ..settings };
        Control::start(&settings, &FlowInfo::default(), &cx)
    }

    /// An acknowledgement with the record of one hop of 10 Gb/s at `ns`, `sent` units of 128 bytes and a queue of 80 x `queue`.
    fn echo(control: &mut Control, ns: u32, sent: u32, queue: u16, round_ended: bool) {
        let rules = rules();
        let cx = Cx { now: Time::ZERO, rules: &rules };
        let mut header = Header { count: 1, path: 1, ..Header::default() };
        header.hops[0] = Hop { rate: 10e9, time: ns, sent, queue, factor: 1 };
        control.on_feedback(&Feedback::Hpcc(header), Span::us(10), &cx);
        control.on_ack(&Ack { round_ended, ..ack(1000) }, &cx);
    }

    /// By hand: in T = 10 us the link sent 10 240 bytes, a share of 0.8192, and at least 1600 bytes waited, 0.128 of B T.
    #[test]
    fn a_window_follows_from_queue_and_rate_by_algorithm_1() {
        let mut control = started(Settings::defaults());
        assert_eq!(control.pacing_rate(), Some(Rate::gbps(10)));
        echo(&mut control, 0, 0, 50, true);
        assert!((control.window - 12_500.0).abs() < 1e-9);
        echo(&mut control, 10_000, 80, 20, false);
        let want: f64 = 12_500.0 / ((0.8192 + 0.128) / 0.95) + 100.0;
        assert!((control.window - want.min(12_500.0)).abs() < 1e-2, "{}", control.window);
        assert!((control.utilisation - 0.9472).abs() < 1e-9);
        assert!((control.reference - 12_500.0).abs() < 1e-9);
    }

    /// Half of T moves U by half; the reference moves with the round trip alone.
    #[test]
    fn a_reference_window_keeps_acknowledgements_of_one_round_from_adding_up() {
        let mut control = started(Settings::defaults());
        echo(&mut control, 0, 0, 500, true);
        for half in 1..=4u32 {
            echo(&mut control, half * 5000, half * 49, 500, false); // 6272 bytes in 5 us: 1.00352; 40 000 waiting: 3.2
        }
        let u = (0..4).fold(1.0, |u, _| 0.5 * u + 0.5 * 4.20352);
        assert!((control.utilisation - u).abs() < 1e-9);
        assert!((control.window - (12_500.0 / (u / 0.95) + 100.0)).abs() < 1e-2);
        let mut each = started(Settings { reaction: Reaction::PerAck, ..Settings::defaults() });
        echo(&mut each, 0, 0, 500, true);
        (1..=4u32).for_each(|half| echo(&mut each, half * 5000, half * 49, 500, false));
        assert!(each.window < control.window / 5.0, "{} beside {}", each.window, control.window);
    }

    /// Four halves of T as above: measured once, U is that of the whole round and not an average of its parts.
    #[test]
    fn a_round_may_be_measured_as_a_whole_or_by_its_acknowledgements() {
        let after = |reaction: Reaction| {
            let mut control = started(Settings { reaction, ..Settings::defaults() });
            echo(&mut control, 0, 0, 500, true);
            for half in 1..=4u32 {
                // The first half of the round is all but idle, the rest full.
                let sent = half + half.saturating_sub(2) * 48;
                echo(&mut control, half * 5000, sent, 0, half == 4);
            }
            control.utilisation
        };
        // One unit of 128 bytes in 5 us is a share of 0.02048, 49 are 1.00352.
        let parts = [0.02048, 0.02048, 1.00352, 1.00352];
        let want = parts.iter().fold(1.0, |u, part| 0.5 * u + 0.5 * part);
        assert!((after(Reaction::PerRtt) - want).abs() < 1e-9, "{}", after(Reaction::PerRtt));
        // 100 units in 20 us; a time above T counts as T.
        assert!((after(Reaction::RttMeasured) - 0.512).abs() < 1e-9, "{}", after(Reaction::RttMeasured));
    }

    #[test]
    fn stages_of_additive_steps_come_before_a_multiplicative_one() {
        let mut control = started(Settings { max_stage: 2, ..Settings::defaults() });
        (control.reference, control.window) = (5000.0, 5000.0);
        echo(&mut control, 0, 0, 0, true);
        let windows: Vec<f64> = (1..=3u32)
            .map(|round| {
                echo(&mut control, round * 10_000, round * 49, 0, true); // half of the capacity
                control.window
            })
            .collect();
        assert_eq!(windows[..2], [5100.0, 5200.0]);
        assert!(windows[2] > 9000.0, "{windows:?}");
    }

    #[test]
    fn another_path_is_only_recorded() {
        let mut control = started(Settings::defaults());
        echo(&mut control, 0, 0, 500, true);
        echo(&mut control, 10_000, 98, 500, true);
        let before = (control.window, control.utilisation);
        let rules = rules();
        let cx = Cx { now: Time::ZERO, rules: &rules };
        for (count, identity) in [(3, 0), (3, 77), (1, 77), (1, 78)] {
            let header = Header { count, path: 3, identity, ..Header::default() };
            control.on_feedback(&Feedback::Hpcc(header), Span::us(10), &cx);
            control.on_ack(&ack(1000), &cx);
            assert_eq!((control.window, control.utilisation), before, "{count} {identity}");
        }
    }
}
