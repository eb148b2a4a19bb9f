//! Controls of RDMA fabrics against their closed forms: HPCC (Li et al. 2019), patched TIMELY and DCQCN (Zhu et al. 2016,
//! "ECN or Delay"). All run over TCP's reliability here, paced on the wire.

use crate::bench::{FULL, MSS, Run, close, run, with};
use serde_json::{Value, json};
use shallows_core::events::random::Stream;

const PORT: &str = "switch->r0";

/// N flows into a port of `gbps`, so many microseconds of delay on each of the two links, for 50 ms after `warmup`.
fn flows(n: u64, gbps: u64, delay_us: f64, transport: Value, changes: Value) -> Run {
    let document = json!({
        "duration": "80ms",
        "warmup": "40ms",
        "topology": {"kind": "star", "senders": n, "rate": format!("{gbps}Gbps"), "delay": format!("{delay_us}us")},
        "queue": {"kind": "drop-tail", "limit": "none"},
        "transport": with(json!({"opening": "established", "clock_grain": "0s"}), transport),
        "traffic": {"x": {"kind": "bulk", "from": "s*", "to": "r0", "jitter": "100us"}},
    });
    run(with(document, changes))
}

/// Bytes of HPCC's header behind one switch.
const INT: u64 = 10;

fn hpcc(n: u64, changes: Value) -> Run {
    flows(
        n,
        100,
        1.0,
        json!({"cc": {"kind": "hpcc", "base_rtt": "5us"}}),
        with(json!({"port_control": "hpcc"}), changes),
    )
}

/// Li 2019: the link carries eta of its rate; the queue is all but empty while N W_AI is less than (1 - eta) B T, here
/// 3125 bytes for 16 x 80. Each flow has its share where a step is not small beside its window: of 3900 bytes here.
#[test]
fn hpcc_fills_eta_of_the_link_and_leaves_no_queue() {
    for n in [1u64, 2, 16] {
        let done = hpcc(n, json!({}));
        let load = done.port(PORT, "utilisation");
        close(&format!("N = {n}: load"), load, 0.95, 0.02);
        // The packet in transmission counts.
        assert!(
            done.port(PORT, "mean_bytes") < 3125.0 + 1510.0,
            "N = {n}: {}",
            done.port(PORT, "mean_bytes")
        );
        let payload = MSS as f64 / (FULL + INT) as f64;
        let goodputs = done.column("flows", "goodput_bps");
        close("goodput", goodputs.iter().sum(), load * payload * 100e9, 0.001);
        if n != 2 {
            goodputs.iter().for_each(|each| close("a share", n as f64 * each, load * payload * 100e9, 0.03));
        }
    }
}

/// Li 2019: senders start with a window B T at the line rate. Of N windows one has left when the last packet comes, so that
/// (N - 1) windows and a packet wait at most. The link needs 77 us for them; some round trips later nothing waits.
#[test]
fn hpcc_drains_an_incast_within_some_round_trips() {
    let traced = json!({
        "duration": "200us", "warmup": "0s", "traffic": {"x": {"jitter": "0s"}},
        "probe": {"queue_trace": "1us", "ports": [PORT]},
    });
    let done = hpcc(16, traced);
    let bytes = done.column("queue_trace", "bytes");
    let times = done.column("queue_trace", "time_ps");
    let highest = bytes.iter().copied().fold(0.0, f64::max);
    let window = (100e9 / 8.0 * 5e-6 / MSS as f64).ceil();
    let bound = (15.0 * window + 1.0) * (FULL + INT) as f64;
    assert!((0.5 * bound..=bound).contains(&highest), "{highest} of {bound}");
    let late = times.iter().zip(&bytes).filter(|(time, _)| **time > 150e6).map(|(_, bytes)| *bytes);
    assert!(late.fold(0.0, f64::max) < 0.02 * bound);
}

/// Zhu 2016: q* = C t_low (1 + N delta / (beta C)), from which the round trip of the empty network is to be taken: four
/// wires, the transmission at the switch, and the acknowledgement's two. A packet more stands in the transmitter.
#[test]
fn patched_timely_rests_at_its_fixed_point() {
    for n in [2u64, 10] {
        let control = json!({"cc": {"kind": "timely", "law": "patched"}});
        let done = flows(n, 10, 2.0, control, json!({"duration": "3s", "warmup": "2s"}));
        let reference = 50e-6 * (1.0 + n as f64 * 10e6 / (0.008 * 10e9));
        let empty = 4.0 * 2e-6 + (2.0 * FULL as f64 + 2.0 * 40.0) * 8.0 / 10e9;
        let taken_off = MSS as f64 * 8.0 / 10e9;
        let bytes = 10e9 / 8.0 * (reference - empty + taken_off) + FULL as f64;
        close(&format!("N = {n}: queue"), done.port(PORT, "mean_bytes"), bytes, 0.01);
        for goodput in done.column("flows", "goodput_bps") {
            close("a share", n as f64 * goodput, 10e9 * MSS as f64 / FULL as f64, 0.001);
        }
    }
}

/// Two flows whose first rates are 7 and 3 Gb/s have the same in the end under the patched law. The original one has no
/// fixed point to draw them together (Zhu 2016).
#[test]
fn patched_timely_draws_unequal_flows_together_and_the_original_does_not() {
    for (law, together) in [("patched", true), ("original", false)] {
        let from = |gbps: u64| {
            let first = format!("{gbps}Gbps");
            json!({"cc": {"kind": "timely", "law": law, "initial_rate": first}})
        };
        let changes = json!({"duration": "1s", "warmup": "500ms", "traffic": {
            "x": {"from": "s0", "transport": from(7)},
            "y": {"kind": "bulk", "from": "s1", "to": "r0", "transport": from(3)},
        }});
        let done = flows(2, 10, 2.0, json!({"cc": "timely"}), changes);
        let goodputs = done.column("flows", "goodput_bps");
        let ratio = goodputs[0] / goodputs[1];
        assert_eq!((ratio - 1.0).abs() < 0.02, together, "{law}: {goodputs:?}");
    }
}

/// DCQCN's reaction point alone, as Zhu 2016 prints it, packet by packet: its mean rate in packets a second where each
/// is marked with `p`. Packets of 1000 bytes at 40 Gb/s, 5 million a second.
fn mean_rate(p: f64) -> f64 {
    const LINE: f64 = 5e6;
    let (g, period, spacing) = (1.0 / 256.0, 55e-6, 50e-6);
    let mut random = Stream::new(7, "reaction point", 0);
    let (mut rate, mut target, mut alpha) = (LINE / 4.0, LINE / 4.0, 0.1);
    let (mut now, mut free, mut decay, mut timer, mut left) = (0.0, 0.0, period, period, 10_000);
    let (mut by_time, mut by_bytes) = (0, 0);
    let mut measured = (0.0, 0.0);
    for packet in 0..1_000_000 {
        now += 1.0 / rate;
        left -= 1;
        while decay <= now {
            alpha *= 1.0 - g;
            decay += period;
        }
        let mut fires = 0;
        while timer <= now {
            (timer, by_time, fires) = (timer + period, by_time + 1, fires + 1);
        }
        if left == 0 {
            (left, by_bytes, fires) = (10_000, by_bytes + 1, fires + 1);
        }
        for _ in 0..fires {
            let both = i64::min(by_time, by_bytes) - 5;
            let step = if by_time.max(by_bytes) <= 5 {
                0.0
            } else if both > 0 {
                both as f64 * 25e3
            } else {
                5e3
            };
            target = f64::min(target + step, LINE);
            rate = f64::midpoint(rate, target);
        }
        if random.unit() < p && now >= free {
            (target, rate) = (rate, rate * (1.0 - alpha / 2.0));
            alpha = (1.0 - g) * alpha + g;
            (free, decay, timer, left) = (now + spacing, now + period, now + period, 10_000);
            (by_time, by_bytes) = (0, 0);
        }
        if packet == 200_000 {
            measured = (f64::from(packet), now);
        }
    }
    (1e6 - measured.0) / (now - measured.1)
}

/// The queue at which N reaction points share the link, each marked with the probability of that queue: Kmin + p / Pmax
/// (Kmax - Kmin), by bisection over p.
pub fn shared_queue(n: u64) -> f64 {
    let (mut low, mut high) = (1e-4f64, 2e-2f64);
    for _ in 0..8 {
        let middle = (low * high).sqrt();
        if mean_rate(middle) > 5e6 / n as f64 { low = middle } else { high = middle }
    }
    5e3 + (low * high).sqrt() / 0.01 * 195e3
}

/// The fluid model of Zhu 2016 gives 20.2, 53.9 and 122.6 KB for N = 2, 5 and 10, its printed cube root 23, 66 and 158. Both
/// take means of products for products of means. The reaction point alone, run with its marks drawn, says what
/// the whole network must: at 40 Gb/s, marked from 5 to 200 KB with at most 1 %.
#[test]
fn dcqcn_rests_where_its_reaction_points_share_the_link() {
    for n in [2u64, 5, 10] {
        let transport = json!({"cc": "dcqcn", "ack_every": 1, "mss": "960B"});
        let changes = json!({"queue": {"kind": "ramp"}, "duration": "500ms", "warmup": "200ms"});
        let done = flows(n, 40, 1.0, transport, changes);
        close(&format!("N = {n}: queue"), done.port(PORT, "mean_bytes"), shared_queue(n), 0.1);
        assert!(done.port(PORT, "utilisation") > 0.995);
        for goodput in done.column("flows", "goodput_bps") {
            close("a share", n as f64 * goodput, 40e9 * 0.96, 0.1);
        }
    }
}

/// Zhu 2016 s.5.2: a mark made at arrival is older by the queue. Ten flows at 40 Gb/s then swing between an empty queue and
/// one at Kmax, and the link is idle some of the time; marked at departure by the same ramp they rest and fill it.
#[test]
fn ten_dcqcn_flows_rest_if_marked_at_departure_and_swing_if_at_arrival() {
    let at_arrival = json!({
        "kind": "red", "limit": "none", "min": "5KB", "max": "200KB", "w_q": 1.0, "max_p": 0.01, "gentle": false,
        "spacing": "independent",
    });
    let idle = |queue: Value| {
        let transport = json!({"cc": "dcqcn", "ack_every": 1, "mss": "960B"});
        let changes = json!({"queue": queue, "duration": "300ms", "warmup": "150ms"});
        let done = flows(10, 40, 1.0, transport, changes);
        1.0 - done.port(PORT, "utilisation")
    };
    let (departure, arrival) = (idle(json!({"kind": "ramp"})), idle(at_arrival));
    assert!(departure < 0.001, "{departure}");
    assert!((0.01..0.2).contains(&arrival), "{arrival}");
}
