//! Careful resume: RFC 9959, by closed forms and step by step.

use crate::bench::{FULL, Line, MS, MSS, near, pair, run, watch, with};
use serde_json::{Value, json};

/// A path whose round trip is long beside all transmissions: 100 Gb/s, and 25 ms on each of two links.
const LONG: Line = Line { byte: 80, delay: 25 * MS };

/// A transfer of `segments` over it.
fn transfer(segments: u64, transport: Value) -> Value {
    let path = json!({"topology": {"delay": "25ms", "rate": "100Gbps"}, "duration": "3s"});
    let transport = with(json!({"small_queues": "none"}), transport);
    with(pair(transport, json!({"bytes": format!("{}B", segments * MSS)})), path)
}

fn saved(cwnd: &str, rtt: &str) -> Value {
    json!({"saved_cwnd": cwnd, "saved_rtt": rtt})
}

/// RFC 9959 s.3.2 to s.3.4, without loss. A window of 10 is sent, and the last of its acknowledgements comes 9 transmissions after a round
/// trip: then 20 segments are in flight, and the path is confirmed. The window jumps to half of the saved 800. The 380 segments that fit
/// go one by one in a 400th of the round trip that the last acknowledgement measured. They are all sent before any acknowledgement
/// comes, so the window of 400 is in flight whole and holds. In the next round trip it doubles by slow start.
/// So 10 + 20 + 380 + 2 x 400 = 1210 segments take less than four round trips; a slow start takes six and the sixth round.
// req: RFC9959 s3.3 MUST jump
// req: RFC9959 s3.3 MUST paced
#[test]
fn a_transfer_with_a_right_saved_window_ends_sooner_by_the_predicted_round_trips() {
    let (round, hop) = (LONG.round(), LONG.transmission(FULL));
    let confirmed = round + 9 * hop;
    let gap = (round + 9 * hop).div_ceil(400);
    let resumed = confirmed + 379 * gap + round + LONG.one_way(FULL) + hop;
    // Rounds 0 to 5 send 10 (2^6 - 1) = 630 segments, and the next one the other 580.
    let slow = 6 * round + LONG.burst(580);
    assert_eq!(run(transfer(1210, json!({}))).fct(), [slow]);
    assert_eq!(run(transfer(1210, saved("800pkt", "100ms"))).fct(), [resumed]);
    assert!((3.0..3.1).contains(&((slow - resumed) as f64 / round as f64)));

    let times = watch(transfer(1210, saved("800pkt", "100ms")), &["s0->switch"]).times("s0->switch");
    let mut due: Vec<u64> = vec![0; 10];
    due.extend((0..20).map(|k| round + k / 2 * hop));
    due.extend((0..380).map(|k| confirmed + k * gap));
    due.extend((0..40).map(|k| 2 * round + k / 2 * hop));
    // The first of the 380 waits in the host's port behind the last of the 20.
    due.extend([2 * round + 20 * hop; 2]);
    due.extend((2..760).map(|k| confirmed + round + k / 2 * gap));
    let late: Vec<_> =
        times.iter().zip(&due).enumerate().filter(|(_, (at, due))| at != due).take(5).collect();
    assert!(late.is_empty(), "{late:?}");
}

/// RFC 9959 s.3.2, s.4.2.1: a round trip of at most half the saved one, or of more than ten, confirms no path. The transfer is then as
/// without saved parameters. So it is if the jump would not widen the window, and `max_jump` bounds it.
// req: RFC9959 s3.2 MUST short-rtt
#[test]
fn only_a_round_trip_near_the_saved_one_resumes() {
    let round = LONG.round() as f64;
    assert!(round > 100.0 * MS as f64 && round < 100.001 * MS as f64);
    let usual = run(transfer(1210, json!({}))).fct();
    let fct = |more: Value| run(transfer(1210, more)).fct();
    for rtt in ["201ms", "10ms", "1ms", "1s"] {
        assert_eq!(fct(saved("800pkt", rtt)), usual, "{rtt}");
    }
    for rtt in ["200ms", "10001us", "100ms"] {
        assert!(fct(saved("800pkt", rtt)) < usual, "{rtt}");
    }
    assert_eq!(fct(saved("40pkt", "100ms")), usual);
    assert!(fct(saved("44pkt", "100ms")) < usual);
    let bounded = with(saved("800pkt", "100ms"), json!({"max_jump": "60pkt"}));
    assert_eq!(fct(bounded), fct(saved("120pkt", "100ms")));
}

/// RFC 9959 s.3.2: congestion before the jump ends careful resume, and the window is the normal control's.
// req: RFC9959 s3.2 MUST congestion-before
#[test]
fn congestion_before_the_jump_ends_it() {
    let lossy = |transport: Value, port: &str, packet: u64| {
        let fault = json!({"port": {(port): {"drop_packets": [packet]}}});
        run(with(transfer(1210, transport), fault)).fct()
    };
    for packet in [1, 5, 10] {
        let usual = lossy(json!({}), "s0->switch", packet);
        assert_eq!(lossy(saved("800pkt", "100ms"), "s0->switch", packet), usual, "{packet}");
    }
    let shakes = json!({"opening": "handshake"});
    let usual = lossy(shakes.clone(), "s0->switch", 1);
    assert_eq!(lossy(with(shakes, saved("800pkt", "100ms")), "s0->switch", 1), usual, "SYN");
}

/// RFC 9959 s.3.3, appendix B.2: a sender with 80 segments for a jump of 380 has 79 in flight when the first of them is acknowledged, more
/// than PipeSize = 41. The window is then those 79, and their acknowledgements double it. With 15 segments 14 are in flight, not more
/// than PipeSize: the window is 41, and grows by 14. An unlimited window would keep the 400.
// req: RFC9959 s3.3 MUST flight-kept
#[test]
fn the_part_of_the_jump_that_is_not_used_is_taken_back() {
    for (left, window) in [(80, 2 * 79), (30, 41 + 29), (15, 41 + 14)] {
        let transport = with(saved("800pkt", "100ms"), json!({"validate_cwnd": false}));
        let done = run(transfer(30 + left, transport));
        assert_eq!(done.flow("cwnd_bytes"), (window * MSS) as f64, "{left}");
    }
}

/// A packet, as the probe records it on one port.
#[derive(Debug, Clone, Copy)]
struct Hop {
    stamp: u64,
    landed: u64,
    seq: u64,
}

/// A connection that retreats: its packets and windows.
struct Retreat {
    /// When packets of data were sent, repeats included.
    stamps: Vec<u64>,
    /// First sendings of each segment, in order.
    sent: Vec<Hop>,
    /// First sendings that arrived.
    arrived: Vec<Hop>,
    /// Acknowledgements as they land at the sender.
    acks: Vec<Hop>,
    /// Time, window and threshold, in segments.
    windows: Vec<(u64, f64, f64)>,
}

/// A path of 40 segments at 4.8 Mb/s in 100 ms, and a window of 800 segments that a path twenty times as fast has saved.
fn retreat(queue: Value, transport: Value) -> Retreat {
    changed(queue, transport, json!({}))
}

/// That path with `changes`.
fn changed(queue: Value, transport: Value, changes: Value) -> Retreat {
    let path = json!({
        "duration": "3s",
        "topology": {"delay": "25ms", "rate": "4800Kbps", "sender_rate": "10Gbps"},
        "queue": queue,
        "probe": {"packets": ["*->*"], "flow_trace": "change", "trace_rows": 1_000_000},
    });
    let transport = with(with(json!({"small_queues": "none"}), saved("800pkt", "100ms")), transport);
    let done = run(with(with(pair(transport, json!({})), path), changes));
    let [stamps, landed, seqs] = ["stamp_ps", "landed_ps", "seq"].map(|name| done.column("packets", name));
    let on = |port: &str| {
        let rows = done.words("packets", "port").into_iter().enumerate().filter(|(_, name)| *name == port);
        let rows = rows.filter(|(row, _)| !landed[*row].is_nan());
        let hop =
            |row: usize| Hop { stamp: stamps[row] as u64, landed: landed[row] as u64, seq: seqs[row] as u64 };
        let mut all: Vec<Hop> = rows.map(|(row, _)| hop(row)).collect();
        all.sort_by_key(|hop| (hop.stamp, hop.landed));
        all
    };
    let mut sent = vec![];
    let mut highest = None;
    let stamped = on("s0->switch");
    for hop in stamped.iter().copied() {
        if highest.is_none_or(|seq| hop.seq > seq) {
            highest = Some(hop.seq);
            sent.push(hop);
        }
    }
    let first = |hop: &Hop| sent.iter().any(|one: &Hop| (one.seq, one.stamp) == (hop.seq, hop.stamp));
    let arrived = on("switch->r0").into_iter().filter(first).collect();
    let mut acks = on("switch->s0");
    acks.sort_by_key(|hop| hop.landed);
    let [at, cwnd, ssthresh] =
        ["time_ps", "cwnd_bytes", "ssthresh_bytes"].map(|name| done.column("flow_trace", name));
    let segments = |bytes: f64| bytes / MSS as f64;
    let windows =
        (0..at.len()).map(|row| (at[row] as u64, segments(cwnd[row]), segments(ssthresh[row]))).collect();
    let stamps = stamped.iter().map(|hop| hop.stamp).collect();
    Retreat { stamps, sent, arrived, acks, windows }
}

impl Retreat {
    /// Acknowledgements that have landed until `at`.
    fn answers(&self, at: u64) -> usize {
        self.acks.iter().filter(|hop| hop.landed <= at).count()
    }

    /// The round trip of the latest acknowledgement at `at`, before any loss.
    fn trip(&self, at: u64) -> u64 {
        let latest = self.answers(at) - 1;
        self.acks[latest].landed - self.sent[latest].stamp
    }

    /// The first row of a window below the one before.
    fn first_fall(&self) -> usize {
        let falls = |row: &usize| self.windows[*row].1 < self.windows[row - 1].1;
        (1..self.windows.len()).find(falls).expect("a retreat")
    }

    /// Holds it to RFC 9959 s.3.2 to s.3.5, step by step.
    ///
    /// Returns when each packet was sent until the retreat was over.
    fn check(&self, beta: f64) -> Vec<u64> {
        // s.3.2: the acknowledgement of the tenth segment confirms the path; 20 are in flight, and PipeSize counts them.
        let jumped = self.acks[9].landed;
        assert_eq!(self.sent.iter().filter(|hop| hop.stamp < jumped).count() + 2, 30);
        let after = |at: u64| self.windows.iter().position(|row| row.0 >= at).expect("a window");
        assert_eq!(self.windows[after(jumped)].1, 400.0);
        // s.3.3: the jump ends when the window of 400 is full, before a round trip has passed.
        let full = |(n, hop): &(usize, &Hop)| hop.stamp >= jumped && n + 1 - self.answers(hop.stamp) == 400;
        let (last, end) = self.sent.iter().enumerate().find(full).expect("a full window");
        assert!(end.stamp - jumped <= self.trip(end.stamp) && self.answers(end.stamp) < 30);
        // s.4.3.2: and its packets are paced by the round trip of the latest acknowledgement.
        assert_eq!(self.sent[30].stamp, jumped);
        for n in 31..=last {
            let before = self.sent[n - 1].stamp;
            assert_eq!(self.sent[n].stamp, before + self.trip(before).div_ceil(400), "{n}");
        }
        // s.3.4, s.3.5: until congestion PipeSize grows by each delivery, and half of it is left.
        let cut = self.first_fall();
        let (at, cwnd, _) = self.windows[cut];
        let pipe = 20 + self.answers(at) - 10;
        assert_eq!(cwnd, pipe as f64 / 2.0);
        // s.3.5: the window keeps until the last unvalidated packet is acknowledged.
        let beyond = (last as u64 + 1) * MSS;
        let left = self.acks.iter().find(|hop| hop.seq >= beyond).expect("an end").landed;
        let next = self.windows[cut + 1];
        assert!(next.0 >= left, "{next:?} {left}");
        // s.3.5, Beta: PipeSize counts the packets among them that arrived.
        let arrived = self.arrived.iter().filter(|hop| hop.seq >= 10 * MSS && hop.seq < beyond).count();
        near("threshold", next.2, (20 + arrived) as f64 * beta, 1e-9);
        assert!(next.1 > cwnd && next.1 <= cwnd + 2.0, "slow start goes on: {next:?}");
        self.stamps.iter().copied().filter(|stamp| *stamp < left).collect()
    }
}

/// RFC 9959 s.3.5: a window that a path twenty times as fast has saved overflows a queue. The sender retreats to half of the data that
/// arrived, whether recovery is proportional or not, repairs 350 losses with that, and then its threshold is the share Beta of
/// what arrived of the jump.
// req: RFC9959 s3.3 MUST paced
// req: RFC9959 s3.5 MUST half-of-pipe
// req: RFC9959 s3.5 MUST no-growth
// req: RFC9959 s3.5 MUST threshold
#[test]
fn after_a_loss_a_jump_that_was_too_large_is_taken_back_step_by_step() {
    for limit in ["30pkt", "40pkt", "60pkt"] {
        let queue = json!({"kind": "drop-tail", "limit": limit});
        let rack = json!({"loss_detection": "rack"});
        let steps = |prr: bool| {
            let run = retreat(queue.clone(), with(rack.clone(), json!({"prr": prr})));
            run.check(0.5)
        };
        // s.4.5: a proportional reduction has no part in it.
        assert_eq!(steps(true), steps(false));
        for (more, beta) in [
            (json!({"resume_beta": 0.75}), 0.75),
            (json!({"cc": "cubic", "resume_beta": 0.7}), 0.7),
            (json!({"cc": "dctcp", "ecn": "off"}), 0.5),
        ] {
            retreat(queue.clone(), with(rack.clone(), more)).check(beta);
        }
    }
}

/// RFC 9959 s.3.4, s.3.5: a mark is congestion too. All of the jump arrives here, so that the threshold is half of its 400 segments and
/// of what had been acknowledged before.
// req: RFC9959 s3.3 MUST paced
// req: RFC9959 s3.5 MUST half-of-pipe
// req: RFC9959 s3.5 MUST no-growth
// req: RFC9959 s3.5 MUST threshold
#[test]
fn after_a_mark_a_jump_that_was_too_large_is_taken_back_step_by_step() {
    let queue = json!({"kind": "threshold", "limit": "none", "mark_at": "15pkt"});
    for more in [json!({"ecn": "on"}), json!({"cc": "dctcp"}), json!({"ecn": "on", "prr_on_ecn": true})] {
        let run = retreat(queue.clone(), more);
        assert!(run.arrived.len() >= 400);
        run.check(0.5);
    }
}

/// RFC 9959 s.3.3: the loss of a packet that left before the jump is found during it, when 20 + n segments are in PipeSize.
// req: RFC9959 s3.3 MUST congestion-during
#[test]
fn a_loss_during_the_jump_leads_to_the_retreat() {
    let loss = json!({"port": {"s0->switch": {"drop_packets": [13]}}});
    let queue = json!({"kind": "drop-tail", "limit": "none"});
    let run = changed(queue, json!({"loss_detection": "rack"}), loss);
    let (jumped, cut) = (run.acks[9].landed, run.first_fall());
    let (at, cwnd, _) = run.windows[cut];
    let sent = run.sent.iter().filter(|hop| hop.stamp <= at).count();
    assert!(sent < 400 - 20 && run.answers(at) < 30, "the jump is under way: {sent}");
    assert_eq!(cwnd, (20 + run.answers(at) - run.answers(jumped)) as f64 / 2.0);
    assert!(run.windows[cut + 1].0 > run.acks[run.answers(at)].landed + 100 * MS);
}

/// RFC 9959 s.3.3: the round trip falls below half of the saved 150 ms during the jump. The first acknowledgement that shows it leaves half
/// of PipeSize = 21, and the window keeps until all that had been sent is acknowledged. All of it arrives.
// req: RFC9959 s3.3 MUST path-changed
#[test]
fn a_shorter_round_trip_during_the_jump_leads_to_the_retreat() {
    let shorter = json!({
        "duration": "200ms",
        "topology": {"rate": "10Gbps"},
        "event": {
            "a": {"at": "120ms", "link": "s0<->switch", "delay": "1ms"},
            "b": {"at": "120ms", "link": "switch<->r0", "delay": "1ms"},
        },
    });
    let queue = json!({"kind": "drop-tail", "limit": "none"});
    let run = changed(queue, json!({"saved_rtt": "150ms"}), shorter);
    let cut = run.first_fall();
    let (at, cwnd, _) = run.windows[cut];
    assert_eq!((cwnd, run.answers(at)), (10.5, 11));
    let last = run.sent.iter().filter(|hop| hop.stamp <= at).count();
    assert!((30..400).contains(&last));
    let (next, _, ssthresh) = run.windows[cut + 1];
    assert!(next >= run.acks[last - 1].landed);
    near("threshold", ssthresh, (20 + last - 10) as f64 / 2.0, 1e-9);
}
