//! DCTCP's sawtooth: Alizadeh et al. 2010, "Data Center TCP (DCTCP)", s.3.3.
//!
//! The paper's fluid model: N flows with equal windows that move together. They grow by one packet a
//! round trip each until the queue passes K, are marked for one round trip, and shrink by alpha / 2 of
//! W* + 1, where W* = (C RTT + K) / N. It holds where windows are large (a packet is little) and the flows
//! do stay together. Both are so for N up to ten and W* above 30, the range of these tests; with W*
//! near 10 (N = 40 and more on these paths) queues swing wider here, as they do in the paper's figure 12.
//! g is a quarter of the bound of eq. (15), so that alpha hardly moves within a period.

use crate::bench::{FULL, HEADER, MSS, Run, close, near, run, with};
use serde_json::{Value, json};

/// N flows through a port of 10 Gb/s that marks above K, from hosts ten times as fast.
struct Sawtooth {
    /// Round trip without transmissions, in us.
    rtt_us: u64,
    /// Marking threshold in packets.
    k: u64,
    /// Flows.
    n: u64,
}

impl Sawtooth {
    /// Time of a packet at the port, in s.
    const PACKET: f64 = 1.2e-6;

    /// C RTT in packets: a packet's own transmissions belong to the round trip.
    fn pipe(&self) -> f64 {
        let port = (FULL + HEADER) as f64 / FULL as f64 * Self::PACKET;
        (self.rtt_us as f64 * 1e-6 + 1.1 * port) / Self::PACKET
    }

    fn n(&self) -> f64 {
        self.n as f64
    }

    /// W* = (C RTT + K) / N.
    fn window(&self) -> f64 {
        (self.pipe() + self.k as f64) / self.n()
    }

    /// alpha by eq. (6): alpha^2 (1 - alpha / 4) = (2 W* + 1) / (W* + 1)^2, which is sqrt(2 / W*) nearly.
    fn alpha(&self) -> f64 {
        let w = self.window();
        let share = (2.0 * w + 1.0) / ((w + 1.0) * (w + 1.0));
        (0..50).fold(share.sqrt(), |alpha, _| (share / (1.0 - alpha / 4.0)).sqrt())
    }

    /// Eq. (8): A = sqrt(2 N (C RTT + K)) / 2.
    fn amplitude(&self) -> f64 {
        0.5 * (2.0 * self.n() * (self.pipe() + self.k as f64)).sqrt()
    }

    /// Eq. (9): the period A / N in round trips.
    fn period(&self) -> f64 {
        self.amplitude() / self.n()
    }

    /// Eq. (10), (12): the queue swings between K + N - A and K + N.
    fn lowest(&self) -> f64 {
        (self.k + self.n) as f64 - self.amplitude()
    }

    /// Runs it; statistics cover the last 100 ms (200 ms for long round trips), some 15 periods or more.
    fn run(&self, changes: Value) -> Run {
        let measured = if self.rtt_us > 100 { 200 } else { 100 };
        let g = 1.386 / (2.0 * (self.pipe() + self.k as f64)).sqrt() / 4.0;
        let document = json!({
            "duration": format!("{}ms", 300 + measured),
            "warmup": "300ms",
            "topology": {"kind": "star", "senders": self.n, "rate": "10Gbps", "sender_rate": "100Gbps",
                "delay": format!("{}us", self.rtt_us / 4)},
            "queue": {"kind": "threshold", "limit": "none", "mark_at": format!("{}pkt", self.k),
                "measure": "after"},
            "transport": {"opening": "established",
                "initial_ssthresh": format!("{}B", (0.9 * self.window()) as u64 * MSS),
                "cc": {"kind": "dctcp", "g": g, "initial_alpha": self.alpha()}},
            "traffic": {"x": {"kind": "bulk", "from": "s*", "to": "r0"}},
            "probe": {"waits": false, "flow_trace": "1ms"},
        });
        run(with(document, changes))
    }
}

const PORT: &str = "switch->r0";

/// Cases with K > C RTT / 7 and W* > 30.
const CASES: [Sawtooth; 7] = [
    Sawtooth { rtt_us: 100, k: 65, n: 1 },
    Sawtooth { rtt_us: 100, k: 65, n: 2 },
    Sawtooth { rtt_us: 100, k: 65, n: 4 },
    Sawtooth { rtt_us: 400, k: 65, n: 1 },
    Sawtooth { rtt_us: 400, k: 65, n: 2 },
    Sawtooth { rtt_us: 400, k: 65, n: 10 },
    Sawtooth { rtt_us: 400, k: 52, n: 5 },
];

/// Eq. (10): Qmax = K + N, exactly, where the packet that arrives counts towards K. Eq. (8): the amplitude,
/// and with it the mean K + N - A / 2, within one packet and half of one a flow: windows are whole packets.
/// Eq. (13): K > C RTT / 7 keeps the link full.
#[test]
fn the_queue_swings_below_k_plus_n_by_the_amplitude_and_the_link_is_full() {
    for case in CASES {
        let done = case.run(json!({}));
        let port = |column: &str| done.port(PORT, column);
        let what = format!("RTT {} us, K = {}, N = {}", case.rtt_us, case.k, case.n);
        assert_eq!(port("max_packets"), (case.k + case.n) as f64, "{what}: Qmax");
        let slack = 1.0 + case.n() / 2.0;
        near(&format!("{what}: A"), port("max_packets") - port("min_packets"), case.amplitude(), slack);
        near(&format!("{what}: mean"), port("mean_packets"), case.lowest() + case.amplitude() / 2.0, slack);
        assert!(case.k as f64 > case.pipe() / 7.0);
        close(&format!("{what}: utilisation"), port("utilisation"), 1.0, 1e-4);
    }
}

/// Alizadeh 2010 s.3.1 marks an arrival that finds more than K: one packet later than the model's queue,
/// which counts it.
#[test]
fn a_threshold_that_does_not_count_the_arrival_stands_one_packet_higher() {
    let done = CASES[1].run(json!({"queue": {"measure": "before"}}));
    assert_eq!(done.port(PORT, "max_packets"), 65.0 + 2.0 + 1.0);
}

/// Eq. (9): the period is A / N round trips, of (C RTT + mean queue) packets each. The model's windows grow
/// in each of them; acknowledgements with ECN-Echo let none grow (RFC 8257 s.3.3, RFC 3168 s.6.1.2), which
/// lengthens the period by up to a round trip. Flows have one reduction in each.
#[test]
fn the_period_is_amplitude_over_n_round_trips() {
    for case in CASES {
        let done = case.run(json!({}));
        let reductions = done.column("flows", "ecn_reductions");
        let mean = reductions.iter().sum::<f64>() / case.n();
        let measured = if case.rtt_us > 100 { 0.2 } else { 0.1 };
        let round = (case.pipe() + done.port(PORT, "mean_packets")) * Sawtooth::PACKET;
        let excess = measured / mean / round - case.period();
        // A period more or less at the ends of the measured time: 1 / mean of it.
        let end = case.period() / mean;
        assert!((-end..=1.0 + end).contains(&excess), "{excess:.2} longer than {:.2}", case.period());
    }
}

/// Eq. (6): alpha, averaged over time; lower by up to 1 / (D + 1) of it, D the period, since that is up to
/// one round trip longer (as above). The law neglects alpha / 4 beside 1 in places: 2 %. Where D > 6.
#[test]
fn alpha_is_the_root_of_two_over_the_window() {
    for case in CASES.iter().filter(|case| case.period() > 6.0) {
        let done = case.run(json!({}));
        let (times, alphas) = (done.column("flow_trace", "time_ps"), done.column("flow_trace", "alpha"));
        let measured: Vec<f64> =
            times.iter().zip(&alphas).filter(|(time, _)| **time > 0.3e12).map(|(_, alpha)| *alpha).collect();
        let mean = measured.iter().sum::<f64>() / measured.len() as f64;
        let law = case.alpha();
        close("sqrt(2 / W*)", (2.0 / case.window()).sqrt(), law, 0.02);
        let least = law * (1.0 - 1.0 / (case.period() + 1.0)) * 0.98;
        assert!((least..=1.02 * law).contains(&mean), "alpha {mean:.4}, by theory {law:.4}");
    }
}

/// Eq. (13) the other way: with K far below C RTT / 7 = 48 the queue runs empty. The model's queue falls to
/// Qmin = K + N - A < 0, for |Qmin| / A of the period, so that a share Qmin^2 / (2 A C RTT) of the link's
/// time is lost. It is a limit of many packets, and here some two to twenty are missing: not less is lost, and
/// not more than twice that and a thousandth.
#[test]
fn a_threshold_far_below_a_seventh_of_the_pipe_loses_throughput() {
    for (k, n) in [(2, 1), (2, 2), (2, 5), (10, 1), (10, 2)] {
        let case = Sawtooth { rtt_us: 400, k, n };
        let lowest = case.lowest();
        assert!(lowest < 0.0);
        let law = lowest * lowest / (2.0 * case.amplitude() * case.pipe());
        let done = case.run(json!({}));
        let lost = 1.0 - done.port(PORT, "utilisation");
        assert!(
            (law..=2.0 * law + 0.001).contains(&lost),
            "K = {k}, N = {n}: lost {lost:.5}, by theory {law:.5}"
        );
        assert_eq!(done.port(PORT, "max_packets"), (k + n) as f64);
    }
}
