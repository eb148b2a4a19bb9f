//! Prague: DCTCP for the Internet. It sends ECT(1), is paced, counts marks by AccECN, grows while it
//! shrinks, and depends less on the round-trip time.
//!
//! Source: draft-briscoe-iccrg-prague-congestion-control-04 ("draft") s.2.4, and its reference
//! `tcp_prague.c` 0.6 (L4STeam, Linux) where the draft leaves a choice. Feedback is the transport's
//! (RFC 9768, `echo = "accecn"`).
//! Left out: windows below the transport's `cwnd_floor` (one segment at least, no fractions of one);
//! detection of a classic ECN AQM (draft s.3.2, off by default); pacing the first window, before any
//! round-trip time is known; the burst of 250 us that Linux makes for segmentation offload (a packet
//! here); the heuristic `RTT_CONTROL_SCALABLE`; undoing spurious reductions.

use super::dctcp::MarkEstimate;
use super::{Ack, CcSettings, Congestion, CongestionControl, Cx, EcnUse, FlowInfo, Window};
use crate::cc::parts::window::Arithmetic;
use shallows_units::{Rate, Span, Time};

crate::choices! {
    /// As if of which round-trip time a flow behaves, in its long run.
    pub enum RttVirt {
        /// Its own.
        Own = "own",
        /// Its own, but at least the floor: shorter ones share a link by rate.
        Floor = "floor",
        /// Its own and the floor together.
        Added = "added",
    }
}

crate::choices! {
    /// When a mark may shrink the window, where the virtual round trip is longer than the own one.
    pub enum ReduceAt {
        /// At the first mark of a round trip, if a virtual one has passed since the last reduction.
        Round = "round",
        /// At the first mark after a virtual round trip.
        Mark = "mark",
    }
}

crate::params! {
    /// Prague. DCTCP for the Internet: ECT(1), paced, marks counted by AccECN, growth while it shrinks, and
    /// less dependence on the round-trip time (draft-briscoe-iccrg-prague-congestion-control-04).
    pub struct Settings {
        /// Weight of a new round's share of marks in alpha.
        g: f64 = 0.0625, "(0, 1]", "draft s.2.4.1: 1/16";
        /// Alpha when the first mark comes.
        initial_alpha: f64 = 1.0, "[0, 1]", "draft s.2.4.1";
        /// Share of alpha by which a marked window shrinks.
        reduction: f64 = 0.5, "(0, 1]", "draft s.2.4.2: cwnd x (1 - alpha / 2)";
        /// Share of the window that a loss leaves.
        loss_beta: f64 = 0.5, "(0, 1)", "draft s.2.4.3: Reno's; CUBIC's is 0.7";
        /// As if of which round-trip time a flow behaves, in its long run.
        rtt_virt: RttVirt = "floor", "", "draft s.2.4.4: max(SRTT, 25 ms)";
        /// The floor of that.
        rtt_floor: Span = "25ms", "(0s, ]", "draft s.2.4.4; no data centre's, where \"own\" is meant";
        /// When a mark may shrink the window: "round", once an own round trip and only if a virtual one has passed, or
        /// "mark", as soon as a virtual one has passed. Growth follows the virtual round trip in both. With "round" the 25 ms
        /// become a multiple of the own round trip, and a flow between 2 and 24 ms exceeds the rate of a flow of 25 ms, which
        /// is the draft's aim. With every 50th packet marked that rate is 46 Mb/s; a flow of 10 ms has 64 Mb/s with "round"
        /// and 56 with "mark", which still waits for the next mark; one of 20 ms has 58 and 56.
        reduce_at: ReduceAt = "round", "", "tcp_prague.c prague_enter_cwr, called once a round; \"mark\": draft s.2.4.4, a reduction each RTT_virt";
        /// Rounds after slow start before it counts.
        rtt_after: u64 = 500, "[0, 60000]", "draft s.2.4.4: 500 rounds; Linux prague_rtt_transition";
    }
    facts {
        words: crate::params::Words {
            deviations: "A mark takes less of the window than a loss, as RFC 9331 s.4.3 allows to its experiment.",
            scope: "Paths whose marking queues know L4S (RFC 9331). Detection of a classic marking queue is left out here, which RFC 9331 s.4.3 item 3 demands on the Internet.",
            tunnels: "A tunnel has to carry ECT(1) inwards and marks outwards, as RFC 9331 s.6.1 says. Otherwise its queues answer by losses only.",
        },
    }
}

impl CcSettings for Settings {
    // Draft s.2.4.4: a segment, or less.
    fn round_gain(&self, _window: f64, mss: f64) -> Option<f64> {
        Some(mss)
    }
}

/// One flow's control.
#[derive(Debug, Clone)]
pub struct Control {
    window: Window,
    marks: MarkEstimate,
    /// A mark has come: alpha is kept from then on.
    marked: bool,
    rtt_virt: RttVirt,
    reduce_at: ReduceAt,
    /// Rounds since slow start, and how many of them make a long run.
    rounds: (u16, u16),
    srtt: Span,
    rtt_floor: Span,
    /// When alpha was brought up last.
    alpha_at: Time,
    /// When marks last shrank the window, and by how many bytes.
    reduced: (Time, f64),
    /// In 32 bits, so that all fits two cache lines.
    reduction: f32,
    loss_beta: f32,
}

impl Control {
    /// Needs marks counted, and its own codepoint.
    pub const ECN: EcnUse = EcnUse::Counted;

    /// At the start of a flow.
    pub fn start(settings: &Settings, _flow: &FlowInfo<'_>, cx: &Cx<'_>) -> Self {
        Control {
            window: Window::new(cx.rules),
            marks: MarkEstimate::new(settings.g, settings.initial_alpha),
            marked: false,
            rtt_virt: settings.rtt_virt,
            reduce_at: settings.reduce_at,
            rounds: (0, settings.rtt_after as u16),
            srtt: Span::ZERO,
            rtt_floor: settings.rtt_floor,
            alpha_at: cx.now,
            reduced: (Time::ZERO, 0.0),
            reduction: settings.reduction as f32,
            loss_beta: settings.loss_beta as f32,
        }
    }

    /// Draft s.2.4.4: the round-trip time that the flow behaves by.
    fn virtual_rtt(&self) -> Span {
        if self.rounds.0 < self.rounds.1 {
            return self.srtt;
        }
        match self.rtt_virt {
            RttVirt::Own => self.srtt,
            RttVirt::Floor => self.srtt.max(self.rtt_floor),
            RttVirt::Added => self.srtt + self.rtt_floor,
        }
    }

    /// Whether a virtual round trip has passed since `since`. A real one has, as the transport counts
    /// them, so that nothing needs to be measured where the two are one.
    fn round_passed(&self, since: Time, now: Time) -> bool {
        let virtual_rtt = self.virtual_rtt();
        virtual_rtt <= self.srtt || now >= since + virtual_rtt
    }

    /// Loss: draft s.2.4.3. The reduction for marks in the same round trip is a part of the loss's reduction.
    fn lose(&mut self, flight: u64, after_marks: bool, cx: &Cx<'_>) {
        let in_use = flight as f64 + if after_marks { self.reduced.1 } else { 0.0 };
        self.window.shrink(f64::from(self.loss_beta) * in_use, cx);
        self.window.cwnd = self.window.ssthresh; // at least two segments (RFC 5681 eq. (4))
    }
}

impl CongestionControl for Control {
    fn on_ack(&mut self, ack: &Ack, cx: &Cx<'_>) {
        self.srtt = ack.srtt;
        let slow_start = self.window.cwnd < self.window.ssthresh;
        if ack.round_ended && !slow_start {
            self.rounds.0 = self.rounds.0.saturating_add(1);
        }
        self.marked |= ack.marked > 0; // draft s.2.4.1: no alpha before there is proof of an AQM
        if self.marked {
            let round_ended = ack.round_ended && self.round_passed(self.alpha_at, cx.now);
            self.marks.on_ack(&Ack { round_ended, ..*ack }, Arithmetic::Exact);
            if round_ended {
                self.alpha_at = cx.now;
            }
        }
        if !ack.may_grow {
            return;
        }
        // Draft s.2.4.4: unmarked data makes the window grow, marks elsewhere or not.
        let unmarked = ack.acked - ack.marked;
        if slow_start {
            let ack = Ack { acked: unmarked, delivered: ack.delivered.min(unmarked), ..*ack };
            self.window.slow_start(&ack, cx.rules.slow_start_limit, 1.0, cx);
        } else {
            let ratio = match self.virtual_rtt() {
                Span::ZERO => 1.0,
                rtt => self.srtt.as_ps() as f64 / rtt.as_ps() as f64,
            };
            // (SRTT / RTT_virt)^2 segments a round trip: one a virtual round trip, of the virtual window.
            let step = ratio * ratio * cx.rules.mss as f64;
            self.window.cwnd += step * unmarked as f64 / self.window.cwnd;
            self.window.cwnd = self.window.cwnd.min(cx.rules.cwnd_max);
        }
    }

    fn on_congestion(&mut self, why: Congestion, flight: u64, cx: &Cx<'_>) {
        match why {
            Congestion::Ecn if !self.round_passed(self.reduced.0, cx.now) => {}
            Congestion::Ecn => {
                let before = self.window.cwnd;
                self.window.shrink(before * (1.0 - f64::from(self.reduction) * self.marks.alpha()), cx);
                self.reduced = (cx.now, before - self.window.cwnd);
            }
            Congestion::Loss => self.lose(flight, false, cx),
            Congestion::LossAfterEcn => self.lose(flight, true, cx),
            Congestion::Timeout => {
                self.lose(flight, false, cx);
                self.window.begin_again(cx);
            }
        }
    }

    fn answers_marks(&self, now: Time) -> bool {
        self.reduce_at == ReduceAt::Round || self.round_passed(self.reduced.0, now)
    }

    /// Draft s.2.4.5 (Linux `prague_update_pacing_rate`): a window a round trip, two in slow start.
    fn pacing_rate(&self) -> Option<Rate> {
        let gain = if self.window.cwnd < self.window.ssthresh / 2.0 { 2.0 } else { 1.0 };
        let bits = gain * 8.0 * self.window.cwnd;
        (self.srtt > Span::ZERO).then(|| Rate::bps((bits / self.srtt.as_secs_f64()).max(1.0) as u64))
    }

    fn observe(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("alpha", self.marks.alpha());
    }

    crate::cc::parts::window::by_window!();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::parts::window::tests::{ack, rules};
    use crate::params::Params;

    const RTT: Span = Span::ms(5);

    fn started(settings: &Settings) -> Control {
        let rules = rules();
        let cx = Cx { now: Time::ZERO, rules: &rules };
        let mut control = Control::start(settings, &FlowInfo::default(), &cx);
        control.window.ssthresh = 10_000.0; // out of slow start
        control
    }

    /// Ten acknowledgements of a segment at the end of round `n`, `marked` of them of marked segments.
    fn round(control: &mut Control, n: u64, marked: u64) {
        let rules = rules();
        let cx = Cx { now: Time::ZERO + Span::ps(n * RTT.as_ps()), rules: &rules };
        for i in 0..10 {
            let bytes = if i < marked { 1000 } else { 0 };
            let round_ended = i == 9;
            control.on_ack(&Ack { ece: bytes > 0, marked: bytes, round_ended, srtt: RTT, ..ack(1000) }, &cx);
        }
    }

    #[test]
    fn alpha_begins_with_the_first_mark_and_tends_to_the_share() {
        let mut control = started(&Settings::defaults());
        for n in 0..50 {
            round(&mut control, n, 0);
        }
        assert_eq!(control.marks.alpha(), 1.0);
        for n in 50..450 {
            round(&mut control, n, 3);
        }
        assert!((control.marks.alpha() - 0.3).abs() < 1e-9);
    }

    /// Draft s.2.4.4: growth is a segment a round trip, times the share that is not marked.
    #[test]
    fn unmarked_segments_grow_the_window_though_others_are_marked() {
        let mut control = started(&Settings::defaults());
        round(&mut control, 1, 4);
        // Each of 6 segments adds 1000 x 1000 / cwnd: the product telescopes to cwnd^2 + 2 x 6 x 10^6 nearly.
        let law = (1e8_f64 + 12e6).sqrt();
        assert!((control.window.cwnd - law).abs() < 5.0, "{}", control.window.cwnd);
    }

    /// Draft s.2.4.4: (RTT / RTT_virt)^2 of a segment a round trip, after `rtt_after` rounds; a reduction
    /// and a step of alpha at most once a virtual round trip.
    #[test]
    fn a_short_round_trip_grows_and_shrinks_as_a_long_one_would() {
        let settings = Settings { rtt_after: 3, initial_alpha: 0.5, ..Settings::defaults() };
        let growth = |rounds_before: u64, settings: &Settings| {
            let mut control = started(settings);
            (1..=rounds_before).for_each(|n| round(&mut control, n, 0));
            control.window.cwnd = 10_000.0;
            round(&mut control, rounds_before + 1, 0);
            control.window.cwnd - 10_000.0
        };
        let whole = growth(1, &settings);
        // A segment a window, acknowledgement by acknowledgement.
        let by_steps = (0..10).fold(10_000.0, |w: f64, _| w + 1e6 / w) - 10_000.0;
        assert!((whole - by_steps).abs() < 1e-9, "{whole}");
        for (rtt_virt, share) in
            [(RttVirt::Own, 1.0), (RttVirt::Floor, 1.0 / 25.0), (RttVirt::Added, 1.0 / 36.0)]
        {
            let got = growth(3, &Settings { rtt_virt, ..settings.clone() });
            assert!((got / whole - share).abs() < 0.05 * share, "{rtt_virt:?}: {got}");
        }
        // Marks in each round of 5 ms: with a virtual round trip of 25 ms every fifth shrinks the window.
        let mut control = started(&settings);
        let rules = rules();
        let mut cuts = 0;
        for n in 1..=53 {
            round(&mut control, n, 1);
            let before = control.window.cwnd;
            let cx = Cx { now: Time::ZERO + Span::ps(n * RTT.as_ps()), rules: &rules };
            control.on_congestion(Congestion::Ecn, before as u64, &cx);
            cuts += u64::from(n > 3 && control.window.cwnd < before);
        }
        assert_eq!(cuts, 10);
    }

    #[test]
    fn marks_and_a_loss_in_one_round_trip_take_what_the_loss_takes() {
        let rules = rules();
        let cx = Cx { now: Time::ZERO + Span::s(1), rules: &rules };
        for (loss_beta, left) in [(0.5, 5000.0), (0.75, 7500.0)] {
            let settings = Settings { initial_alpha: 0.2, loss_beta, ..Settings::defaults() };
            let mut control = started(&settings);
            control.on_congestion(Congestion::Ecn, 10_000, &cx);
            assert_eq!(control.window.cwnd, 9000.0);
            control.on_congestion(Congestion::LossAfterEcn, 9000, &cx);
            assert_eq!(control.window.cwnd, left);
            let mut control = started(&settings);
            control.on_congestion(Congestion::Loss, 10_000, &cx);
            assert_eq!(control.window.cwnd, left);
            control.on_congestion(Congestion::Timeout, 10_000, &cx);
            assert_eq!((control.window.cwnd, control.window.ssthresh), (1000.0, left));
        }
    }

    #[test]
    fn it_is_paced_at_a_window_a_round_trip_and_twice_that_in_slow_start() {
        let mut control = started(&Settings::defaults());
        assert_eq!(control.pacing_rate(), None);
        control.srtt = RTT;
        assert_eq!(control.pacing_rate(), Some(Rate::bps(16_000_000))); // 80 kbit in 5 ms
        control.window.ssthresh = f64::INFINITY;
        assert_eq!(control.pacing_rate(), Some(Rate::bps(32_000_000)));
    }
}
