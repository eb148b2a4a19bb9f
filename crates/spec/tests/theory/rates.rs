//! Long-run rates against the share of marked packets, with windows between 8 and 80 segments and no
//! timeouts: Reno, CUBIC, DCTCP and Prague against the closed form for the mark process and the growth rule
//! that they really have.
//!
//! One flow on a path that it does not fill, so that the round trip R is constant; marks come from a wire,
//! every n-th ECN-capable packet, or each with probability p. Measured is W = rate x R in segments.
//!
//! Effects that the textbook's fluid leaves out, and these windows show:
//! - A mark reaches the sender a round trip after it was made: the window w of that moment sends w packets more.
//! - An answered mark is followed by (1 - b) R of silence, until the flight has shrunk to b w, and by a round
//!   trip at b w in which nothing grows: RFC 3168's ECE lasts until CWR has come.
//! - Reno grows in steps of a segment at the end of a round trip: half a segment less, on average. A fraction
//!   of a segment is not sent: half a segment less again (a quarter where windows are multiples of 1/2).

use crate::bench::{MSS, close, pair, run, watch, with};
use serde_json::{Value, json};

/// A flow's path, its marks and its sender; the mean window in segments.
fn mean_window(round_ms: u64, seconds: u64, marks: Value, transport: Value) -> f64 {
    let settings = json!({"opening": "established", "ecn": "on", "initial_ssthresh": "20pkt",
        "min_rto": format!("{}ms", 5 * round_ms)});
    let done = run(json!({
        "duration": format!("{seconds}s"),
        "warmup": format!("{}s", seconds / 3),
        "topology": {"kind": "star", "senders": 1, "rate": "100Gbps", "delay": format!("{}us", 250 * round_ms)},
        "queue": "drop-tail",
        "port": {"s0->switch": marks},
        "transport": with(settings, transport),
        "traffic": {"x": {"kind": "bulk", "from": "s0", "to": "r0"}},
        "probe": {"waits": false, "queues": false},
    }));
    assert_eq!([done.flow("timeouts"), done.flow("retransmissions")], [0.0, 0.0]);
    assert!(done.flow("ecn_reductions") > 50.0);
    let window = done.flow("goodput_bps") * round_ms as f64 * 1e-3 / (8.0 * MSS as f64);
    assert!((7.0..85.0).contains(&window), "{window} segments are outside of what the laws are for");
    window
}

/// Where a rising function is zero.
fn zero(f: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (1.0, 1e5);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if f(middle) > 0.0 { high = middle } else { low = middle }
    }
    low
}

/// Every n-th packet marked, growth of `a` segments a round trip, `b` of the window left. A cycle from w over
/// b w back to w: (1 - b) w / a round trips of growth with (1 + b) w / 2 - `less` packets each, 2 - b round
/// trips without, with b w packets; n packets in all. Its limit for large n is
/// sqrt(a (1 + b) / (2 (1 - b) p)): 1.22 / sqrt(p) for Reno, and for CUBIC's a = 3 (1 - b) / (1 + b) too.
fn aimd_periodic(n: f64, a: f64, b: f64, less: f64) -> f64 {
    let growing = |w: f64| (1.0 - b) * w / a;
    let w = zero(|w| growing(w) * ((1.0 + b) * w / 2.0 - less) + b * w - n);
    n / (growing(w) + 2.0 - b)
}

/// Independent marks. Between reductions come 1/p packets until a mark and w more until it reaches the sender; (1 - b) w
/// less of them, those at b w, make nothing grow. With v = w^2 growing by 2 a a packet, w^2 after a reduction
/// is b^2 times its value before, and E w = sqrt(2 a m) c for exponential m (Ott, Kemperman and Mathis 1996), where
/// c = Gamma(3/2) prod (1 - b^(2 k + 1)) / (1 - b^(2 k)): 1.31 / sqrt(p) for Reno in the limit. Steps of half
/// a segment count as (1 - b) w / (2 a) packets more.
fn aimd_random(p: f64, a: f64, b: f64) -> f64 {
    let gamma = std::f64::consts::PI.sqrt() / 2.0;
    let c = (1..200).fold(gamma, |c, k| {
        c * (1.0 - libm::pow(b, f64::from(2 * k + 1))) / (1.0 - libm::pow(b, f64::from(2 * k)))
    });
    let half = a * c * c * (1.0 - b) * (1.0 + 1.0 / (2.0 * a));
    let w = half + (half * half + 2.0 * a * c * c / p).sqrt();
    (1.0 / p + w) / ((1.0 - b) * w / a + 2.0 - b)
}

/// RFC 9438 s.4.3: CUBIC's growth in the Reno-friendly region.
const ALPHA: f64 = 3.0 * 0.3 / 1.7;

#[test]
fn reno_with_every_nth_packet_marked() {
    let transport = |beta: f64| json!({"cc": {"kind": "newreno", "ecn_beta": beta}});
    let delayed = json!({"ack_every": 2, "ack_delay": "1ms"});
    for n in [75, 150, 600, 2400] {
        let marks = json!({"mark_every": n});
        let measure = |transport: Value| mean_window(10, 60, marks.clone(), transport);
        let law = aimd_periodic(f64::from(n), 1.0, 0.5, 0.75);
        close(&format!("Reno, n = {n}"), measure(transport(0.5)), law, 0.1);
        // RFC 3465: counting bytes, delayed acknowledgements change nothing.
        close(
            &format!("the same delayed, n = {n}"),
            measure(with(transport(0.5), delayed.clone())),
            law,
            0.1,
        );
    }
    for n in [60, 150, 600] {
        // RFC 8511: windows are no longer multiples of 1/2.
        let law = aimd_periodic(f64::from(n), 1.0, 0.8, 1.0);
        close(
            &format!("ABE, n = {n}"),
            mean_window(10, 60, json!({"mark_every": n}), transport(0.8)),
            law,
            0.1,
        );
    }
    for n in [150, 600, 2400] {
        // Half the growth where acknowledgements are counted: 0.87 / sqrt(p) in the limit.
        let by_acks = with(with(transport(0.5), json!({"growth": "acks"})), delayed.clone());
        let law = aimd_periodic(f64::from(n), 0.5, 0.5, 0.75);
        close(&format!("by acks, n = {n}"), mean_window(10, 60, json!({"mark_every": n}), by_acks), law, 0.1);
    }
}

/// Some 250 reductions and more in a run: a standard error of 1 / (2 sqrt(250)) = 3.2 % at most.
#[test]
fn reno_with_independent_marks() {
    for n in [60.0, 150.0, 600.0, 2400.0] {
        let got = mean_window(10, 100, json!({"mark": 1.0 / n}), json!({"cc": "newreno"}));
        close(&format!("Reno, p = 1/{n}"), got, aimd_random(1.0 / n, 1.0, 0.5), 0.1);
    }
}

/// CUBIC on a short path is AIMD with a = 3 (1 - b) / (1 + b): its window never comes back above the last
/// one, so growth never becomes Reno's. It grows at each acknowledgement, so only the part of a segment
/// goes unsent. RFC 8312's window grows with time, also while it is reduced.
#[test]
fn cubic_with_every_nth_packet_marked() {
    for n in [75, 150, 600, 2400] {
        for ecn_beta in [0.7, 0.85] {
            let cc = json!({"cc": {"kind": "cubic", "ecn_beta": ecn_beta}});
            if ecn_beta == 0.85 && n > 600 {
                continue; // a window above 80
            }
            let law = aimd_periodic(f64::from(n), ALPHA, ecn_beta, 0.5);
            let got = mean_window(10, 60, json!({"mark_every": n}), cc);
            close(&format!("CUBIC, b = {ecn_beta}, n = {n}"), got, law, 0.1);
        }
    }
}

/// With independent marks some epochs are long: above the window before the reduction CUBIC grows as Reno
/// (RFC 9438 s.4.3). With u the packets to there, in units of their mean m, growth per packet is a until u and
/// 1 from there: on average a + (1 - a) e^-u, and stationary where u = 1 + (1 / a - 1) e^-u. So a effective
/// growth of a u, u = 1.254.
#[test]
fn cubic_with_independent_marks() {
    let u = (0..100).fold(1.0, |u: f64, _| 1.0 + (1.0 / ALPHA - 1.0) * libm::exp(-u));
    for n in [60.0, 150.0, 600.0, 2400.0] {
        let got = mean_window(10, 100, json!({"mark": 1.0 / n}), json!({"cc": "cubic"}));
        close(&format!("CUBIC, p = 1/{n}"), got, aimd_random(1.0 / n, ALPHA * u, 0.7), 0.1);
    }
}

/// CUBIC on a long path, without the Reno-friendly region: from b w at t = 0 to w at
/// K = cbrt(w (1 - b) / C) the curve has w (3 + b) / 4 on average (RFC 9438 s.5.1, eq. of AVG_W_cubic), then
/// the same 2 - b round trips as above. The curve is flat at K, so that a window above or below that of balance
/// comes back slowly, in some 50 cycles, and fast convergence, which acts on the way down, would keep it below:
/// it is off here. In the limit (C (3 + b) / (4 (1 - b)))^(1/4) (R / p)^(3/4) / R.
#[test]
fn cubic_on_a_long_path_with_every_nth_packet_marked() {
    let (b, c, round) = (0.7, 0.4, 0.1);
    for n in [250, 500, 1000, 2000] {
        let plateau = |w: f64| libm::cbrt(w * (1.0 - b) / c) / round;
        let w = zero(|w| plateau(w) * (w * (3.0 + b) / 4.0 - 0.5) + b * w - f64::from(n));
        let law = f64::from(n) / (plateau(w) + 2.0 - b);
        let cc = json!({"cc": {"kind": "cubic", "friendly": false, "fast_convergence": false}});
        close(&format!("CUBIC, n = {n}"), mean_window(100, 1500, json!({"mark_every": n}), cc), law, 0.1);
    }
}

/// DCTCP under independent marks, each echoed once. Alpha is p. A reduction by p / 2 is followed by w
/// acknowledgements that cannot cause another, and then by K more until the next mark, K geometric. Growth:
/// a segment once a window's worth of acknowledgements without a mark has been counted since the last
/// reduction, which begins the count anew. Of the first w, (1 - p) w count; so j segments grow where
/// K - 1 >= p w + (j - 1) w: on average (1 - p)^(p w) / (1 - (1 - p)^w). In balance that is w p / 2. Packets are
/// whole: w - 1/2 are in flight and w + 1/2 must be counted, which adds 1 - p / 2 to the first exponent, and
/// 1/2 to the second. In the limit w = 2.24 / p; 2 / p is the law for marks that each hit a round trip of their
/// own.
#[test]
fn dctcp_with_independent_marks() {
    for p in [0.17, 0.1, 0.05, 0.026] {
        let q: f64 = 1.0 - p;
        let w = zero(|w| w * p / 2.0 * (1.0 - libm::pow(q, w + 0.5)) - libm::pow(q, p * w + 1.0 - p / 2.0));
        let got = mean_window(10, 100, json!({"mark": p}), json!({"cc": "dctcp"}));
        close(&format!("DCTCP, p = {p}"), got, w - 0.5, 0.1);
    }
}

/// Prague under independent marks, counted. Growth goes on with each unmarked segment, by 1 / w of a segment,
/// whether the window was reduced or not; a reduction by p / 2 comes every w + 1 / p acknowledgements. So
/// w p / 2 = (1 - p) (1 + 1 / (p w)), with w - 1/2 for the whole packets in flight: (1 + sqrt 3) / p in the
/// limit. With a virtual round trip of v R growth is 1 / v^2 of that, and reductions come at the first chance
/// after v R: chances come every S = w + 1 / p acknowledgements at random times, so after a wait of
/// E S^2 / (2 E S).
#[test]
fn prague_with_independent_marks() {
    let law = |p: f64, v: f64| {
        zero(|w| {
            let (flight, variance) = (w - 0.5, (1.0 - p) / (p * p));
            let chance = flight + 1.0 / p;
            let cycle =
                if v == 1.0 { chance } else { v * flight + (chance * chance + variance) / (2.0 * chance) };
            w * p / 2.0 - (1.0 - p) * cycle / w / (v * v)
        }) - 0.5
    };
    for p in [0.2, 0.1, 0.05, 0.034] {
        let got =
            mean_window(10, 100, json!({"mark": p}), json!({"cc": {"kind": "prague", "rtt_virt": "own"}}));
        close(&format!("Prague, p = {p}"), got, law(p, 1.0), 0.1);
    }
    for p in [0.05, 0.02, 0.01] {
        let cc = json!({"cc": {"kind": "prague", "rtt_floor": "20ms", "rtt_after": 10}});
        let got = mean_window(5, 200, json!({"mark": p}), cc);
        close(&format!("Prague by 20 ms, p = {p}"), got, law(p, 4.0), 0.1);
    }
}

/// RFC 8312 s.4.2 divides by the round-trip time. A clock of 10 ms over a path of 100 us shows a tick, not nothing, and so the
/// window goes up by a segment an acknowledgement at most and not at once to its bound.
#[test]
fn cubic_of_rfc_8312_stands_a_clock_coarser_than_the_round_trip() {
    for profile in ["ns2", "rfc"] {
        let cc = json!({"kind": "cubic", "standard": "rfc8312"});
        let transport = json!({"profile": profile, "clock_grain": "10ms", "cc": cc, "cwnd_max": "1256pkt",
            "receive_window": "1256pkt", "initial_ssthresh": "20pkt"});
        let document = with(pair(transport, json!({})), json!({"duration": "50ms"}));
        let windows = watch(document, &["s0->switch"]).column("flow_trace", "cwnd_bytes");
        let steps = windows.windows(2).map(|pair| (pair[1] - pair[0]) / MSS as f64);
        let most = steps.fold(0.0, f64::max);
        let last = windows.last().expect("it grows") / MSS as f64;
        assert!(most <= 2.0 && last < 60.0, "{profile}: {most} segments at once, {last} at the end");
    }
}

/// Draft-briscoe-iccrg-prague-congestion-control s.2.4.4: with a virtual round trip of v R a flow has the window of one of v R,
/// divided by v. Reductions come v w + 1 / p segments apart where the next mark makes them: w p / 2 = (1 - p) (v w + 1 / p) / (w v^2).
/// Linux's tcp_prague asks once an own round trip, and makes three of two and a half.
#[test]
fn prague_by_its_virtual_round_trip() {
    let law = |p: f64, v: f64| {
        zero(|w| {
            let flight = w - 0.5;
            w * p / 2.0 - (1.0 - p) * (v * flight + 1.0 / p) / (w * v * v)
        }) - 0.5
    };
    let window = |round_ms: u64, marks: Value, reduce_at: &str| {
        let cc = json!({"kind": "prague", "rtt_virt": "floor", "reduce_at": reduce_at, "rtt_after": 10});
        mean_window(round_ms, 100, marks, json!({"cc": cc}))
    };
    for (round_ms, p) in [(5, 0.02), (10, 0.02), (10, 0.05)] {
        let got = window(round_ms, json!({"mark": p}), "mark");
        close(
            &format!("Prague at the next mark, {round_ms} ms, p = {p}"),
            got,
            law(p, 25.0 / round_ms as f64),
            0.1,
        );
    }
    // The next round comes later than the next mark: reductions are rarer, and the window is greater.
    let [round, mark] = ["round", "mark"].map(|at| window(10, json!({"mark": 0.02}), at));
    assert!(round > 1.03 * mark, "{round:.1} and {mark:.1} segments");
}
