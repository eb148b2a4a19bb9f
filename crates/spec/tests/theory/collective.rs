//! Messages that depend on one another: steps, bytes and times of collective operations, and of graphs.
//!
//! All ranks stand on a star of equal links, with windows that never limit. Blocks are so short that a rank has handed
//! its packets over before the first acknowledgement comes. A message of k packets then takes `burst(k)`. The
//! acknowledgement of its last packet leaves first, and the next step's packets stand behind it in the host's port.

use crate::bench::{HEADER, LINE, MS, MSS, Run, US, run, with};
use serde_json::{Value, json};

const OPERATIONS: [&str; 4] = ["all-reduce", "all-gather", "reduce-scatter", "all-to-all"];

/// `ranks` hosts at 10 Gb/s, whose load `x` is a collective operation.
fn star(ranks: u64, load: Value) -> Value {
    let document = json!({
        "duration": "100ms",
        "topology": {"kind": "star", "senders": ranks, "rate": "10Gbps", "delay": "25us"},
        "queue": "drop-tail",
        "nic": "drop-tail",
        "transport": {"opening": "established", "cc": "newreno", "ack_every": 1, "idle_restart": false,
            "initial_window": "1000pkt", "cwnd_max": "1000pkt", "small_queues": "none"},
        "traffic": {"x": {"kind": "collective", "hosts": "s*", "rounds": 1, "start": "1ms"}},
    });
    with(document, json!({"traffic": {"x": load}}))
}

/// An operation on blocks of `packets` full packets.
fn operation(ranks: u64, packets: u64, operation: &str, algorithm: &str) -> Run {
    let bytes = format!("{}B", ranks * packets * MSS);
    run(star(ranks, json!({"operation": operation, "algorithm": algorithm, "bytes": bytes})))
}

/// The whole: these messages one after another, of so many packets each, and an acknowledgement between two.
fn one_after_another(packets: &[u64]) -> u64 {
    let bursts: u64 = packets.iter().map(|packets| LINE.burst(*packets)).sum();
    bursts + (packets.len() as u64 - 1) * LINE.transmission(HEADER)
}

fn parts(operation: &str) -> u64 {
    if operation == "all-reduce" { 2 } else { 1 }
}

/// Patarasuk and Yuan 2009, s.3: 2 (n - 1) steps of a ring, in each of which each rank sends an n-th of the buffer; one
/// half of them scatters, the other gathers. The time is to the picosecond that of the packets.
#[test]
fn a_ring_takes_a_step_for_each_block_but_its_own() {
    for (ranks, packets) in [(2, 3), (4, 8), (7, 1), (8, 5)] {
        for name in &OPERATIONS[..3] {
            let steps = parts(name) * (ranks - 1);
            let done = operation(ranks, packets, name, "ring");
            let sizes = vec![packets; steps as usize];
            assert_eq!(done.column("rounds", "fct_ps"), [one_after_another(&sizes) as f64], "{ranks} {name}");
            assert_eq!(done.column("rounds", "ideal_ps"), [(steps * LINE.burst(packets)) as f64]);
            assert_eq!(done.column("steps", "step").len() as u64, steps);
            let mut took = vec![(LINE.burst(packets) + LINE.transmission(HEADER)) as f64; steps as usize];
            took[0] = LINE.burst(packets) as f64;
            assert_eq!(done.column("steps", "fct_ps"), took, "{name}");
            assert!(done.column("steps", "ideal_ps").iter().all(|ps| *ps == LINE.burst(packets) as f64));
            // 2 (n - 1) / n of the buffer leaves each rank.
            let each = (steps * packets * MSS) as f64;
            assert!(done.column("flows", "delivered_bytes").iter().all(|bytes| *bytes == each), "{name}");
        }
    }
}

/// Thakur, Rabenseifner and Gropp 2005, s.4.5: log2 n steps that halve the blocks exchanged, and as many that double them.
#[test]
fn halving_and_doubling_takes_steps_by_the_logarithm() {
    for (ranks, packets) in [(2u64, 3), (4, 8), (8, 4)] {
        for name in &OPERATIONS[..3] {
            let log = ranks.ilog2();
            let halving = (0..log).map(|step| packets * (ranks >> (step + 1)));
            let doubling = (0..log).map(|step| packets << step);
            let sizes: Vec<u64> = match *name {
                "all-reduce" => halving.chain(doubling).collect(),
                "reduce-scatter" => halving.collect(),
                _ => doubling.collect(),
            };
            let done = operation(ranks, packets, name, "halving-doubling");
            assert_eq!(done.column("rounds", "fct_ps"), [one_after_another(&sizes) as f64], "{ranks} {name}");
            assert_eq!(done.column("steps", "step").len(), sizes.len());
            let bytes: Vec<f64> = sizes.iter().map(|packets| (ranks * packets * MSS) as f64).collect();
            assert_eq!(done.column("steps", "bytes"), bytes, "{name}");
        }
    }
}

/// An all-to-all of shifted permutations meets in no queue: one peer after another it takes n - 1 messages, to all peers
/// at once one burst of all packets.
#[test]
fn an_all_to_all_never_queues_on_a_star() {
    let (ranks, packets) = (8, 4);
    let serial = operation(ranks, packets, "all-to-all", "ring");
    let sizes = vec![packets; ranks as usize - 1];
    assert_eq!(serial.column("rounds", "fct_ps"), [one_after_another(&sizes) as f64]);
    let bytes = format!("{}B", ranks * packets * MSS);
    let windowed = |window: Value| {
        run(star(ranks, json!({"operation": "all-to-all", "bytes": bytes, "window": window})))
            .column("rounds", "fct_ps")[0]
    };
    let whole = LINE.burst((ranks - 1) * packets) as f64;
    assert_eq!(windowed(json!("none")), whole);
    assert_eq!(windowed(json!(7)), whole);
    let by_window = [1, 2, 4, 7].map(|window| windowed(json!(window)));
    assert!(by_window.is_sorted_by(|a, b| a > b), "{by_window:?}");
}

/// Where the ranks do not divide the buffer, blocks differ by a byte, and all bytes of all blocks are delivered.
#[test]
fn no_byte_of_an_uneven_buffer_is_missing() {
    for (ranks, algorithm) in [(7, "ring"), (8, "halving-doubling")] {
        for name in &OPERATIONS[..3] {
            let load = json!({"operation": name, "algorithm": algorithm, "bytes": "100003B", "rounds": 3});
            let done = run(star(ranks, load));
            let moved = parts(name) * (ranks - 1) * 100_003;
            assert_eq!(done.column("rounds", "bytes"), [moved as f64; 3], "{name}");
            assert_eq!(done.column("flows", "delivered_bytes").iter().sum::<f64>(), 3.0 * moved as f64);
            assert_eq!(done.column("messages", "bytes").iter().sum::<f64>(), 3.0 * moved as f64);
        }
    }
}

/// A rank begins its next operation a `gap` after the end of the last at that rank, whatever the others do.
#[test]
fn ranks_compute_between_operations() {
    let load = json!({"bytes": format!("{}B", 4 * 8 * MSS), "rounds": 3, "gap": "40us"});
    let done = run(star(4, load));
    let whole = one_after_another(&[8; 6]);
    let starts: Vec<u64> = (0..3).map(|round| MS + round * (whole + 40 * US)).collect();
    assert_eq!(done.column("rounds", "start_ps"), starts.iter().map(|ps| *ps as f64).collect::<Vec<_>>());
}

/// When each message began, by step and rank.
fn begun(done: &Run) -> Vec<(u64, u64, u64)> {
    let (flows, steps) = (done.column("messages", "flow"), done.column("messages", "step"));
    let sources = done.words("flows", "src");
    let rank = |flow: f64| sources[flow as usize][1..].parse().expect("a number");
    let starts = done.column("messages", "start_ps");
    let mut all: Vec<_> =
        (0..flows.len()).map(|i| (steps[i] as u64, rank(flows[i]), starts[i] as u64)).collect();
    all.sort_unstable();
    all
}

/// A loss on the way to one rank delays that rank's next step, then the next rank's, and nothing else: rank 0 loses its
/// message of step 0, and rank r waits for it from step r on, rank 0 itself once it has come round the ring.
#[test]
fn a_loss_delays_what_depends_on_it_and_nothing_else() {
    // A connection for each message, so that no later message of the same stream repairs the loss or waits behind it.
    let load = json!({"bytes": format!("{}B", 6 * MSS), "connection": "fresh"});
    let whole = run(star(6, load.clone()));
    let timers = json!({"initial_rto": "5ms", "min_rto": "5ms"});
    let fault = json!({"port": {"s0->switch": {"drop_packets": [1]}}, "transport": timers});
    let lossy = run(with(star(6, load), fault));
    assert_eq!(lossy.column("flows", "timeouts").iter().sum::<f64>(), 1.0);
    let (whole, lossy) = (begun(&whole), begun(&lossy));
    assert_eq!(whole.len(), 6 * 10);
    let mut delayed = 0;
    for ((step, rank, before), (_, _, after)) in whole.into_iter().zip(lossy) {
        let behind = step >= if rank == 0 { 6 } else { rank };
        let late = after > before + MS;
        assert_eq!(late, behind, "step {step} of rank {rank}: {before} and {after} ps");
        delayed += u64::from(late);
    }
    assert_eq!(delayed, 9 + 8 + 7 + 6 + 5 + 4);
}

/// A graph on a star of three hosts.
fn graph(messages: Value) -> Run {
    let mut document = star(3, json!({}));
    document["traffic"]["x"] = json!({"kind": "graph", "messages": messages});
    run(document)
}

/// A chain takes the sum of its messages, each alone on the network, and of its computations.
#[test]
fn a_chain_takes_its_messages_and_computations() {
    let done = graph(json!([
        {"id": "c", "from": "s2", "to": "s0", "bytes": "1000B", "after": ["b"], "delay": "3us"},
        {"id": "a", "from": "s0", "to": "s1", "bytes": "1000B", "start": "100us", "delay": "4us"},
        {"id": "b", "from": "s1", "to": "s2", "bytes": "1000B", "after": ["a"], "delay": "7us"},
    ]));
    let each = LINE.one_way(1000 + HEADER);
    let whole = (3 * each + 10 * US) as f64;
    assert_eq!(done.column("rounds", "start_ps"), [(104 * US) as f64]);
    assert_eq!(done.column("rounds", "fct_ps"), [whole]);
    assert_eq!(done.column("rounds", "ideal_ps"), [whole]);
    assert_eq!(done.words("steps", "name"), ["c", "a", "b"]);
    let starts = [3 * each + 10 * US - each, 0, each + 7 * US].map(|ps| (104 * US + ps) as f64);
    assert_eq!(done.column("steps", "start_ps"), starts);
    assert_eq!(done.column("messages", "step"), [1.0, 2.0, 0.0]);
}

/// A message waits for the last of those before it, and for its own start.
#[test]
fn a_message_waits_for_all_before_it() {
    let message = |id: &str, from: &str, to: &str, bytes: u64, after: Value, start: &str| json!({"id": id, "from": from, "to": to, "bytes": format!("{bytes}B"), "after": after, "start": start});
    let done = graph(json!([
        message("small", "s0", "s2", 100, json!([]), "0s"),
        message("large", "s1", "s2", 20 * MSS, json!([]), "0s"),
        message("both", "s2", "s0", 100, json!(["small", "large"]), "0s"),
        message("late", "s2", "s1", 100, json!(["small"]), "2ms"),
    ]));
    let starts = done.column("steps", "start_ps");
    // The small one is through the switch first: both begin at 0.
    assert_eq!(starts, [0.0, 0.0, LINE.burst(20) as f64, (2 * MS) as f64]);
    let ideal = 2 * MS + LINE.one_way(100 + HEADER);
    assert_eq!(done.column("rounds", "ideal_ps"), [ideal as f64]);
}

/// Rates of ports, and rates that come later, count for the ideal of a round: nothing is faster, on cards that are ten times as
/// fast as the topology says, or become so.
#[test]
fn faster_cards_have_shorter_ideals() {
    let load = json!({"operation": "all-reduce", "algorithm": "ring", "bytes": "4MB"});
    let faster = json!({"port": {"*->*": {"rate": "100Gbps"}}});
    let later = json!({"event": {"faster": {"at": "1us", "link": "*->*", "rate": "100Gbps"}}});
    for change in [faster, later] {
        let done = run(with(star(4, load.clone()), change));
        let slowdown = done.column("rounds", "slowdown")[0];
        assert!((1.0..1.3).contains(&slowdown), "{slowdown}");
    }
}

/// A load `x` alone takes the closed form, and less than 3 % longer: acknowledgements of 40 bytes for packets of 1500 share the
/// hosts' ports.
fn takes(done: &Run, closed: u64) {
    let [took] = done.column("rounds", "fct_ps")[..] else { panic!("one operation") };
    assert!(took >= closed as f64 && took <= 1.03 * closed as f64, "{took} ps, {closed} ps expected");
}

/// Sums of four ranks go 1 and 3 -> 2 -> 0 and back: two messages meet at rank 2, and leave it together. Two trees do twice the
/// work in that time, since rank 1 is to the second one as rank 2 to the first.
#[test]
fn trees_take_a_message_for_each_level() {
    let packets = 6;
    let closed = 2 * LINE.burst(2 * packets) + 2 * LINE.burst(packets);
    for (algorithm, buffer) in [("tree", packets), ("double-tree", 2 * packets)] {
        let load = json!({"algorithm": algorithm, "bytes": format!("{}B", buffer * MSS)});
        let done = run(star(4, load));
        takes(&done, closed);
        assert_eq!(done.words("steps", "name"), ["reduce", "reduce", "broadcast", "broadcast"]);
        assert_eq!(done.column("rounds", "bytes"), [(6 * buffer * MSS) as f64], "2 (n - 1) buffers");
    }
}

/// A chain of n ranks forwards each chunk while it receives the next: the buffer once, and a chunk for each further rank.
#[test]
fn chunks_of_a_broadcast_follow_each_other() {
    for (ranks, chunks, packets) in [(2, 1, 5), (5, 1, 6), (5, 3, 6), (8, 10, 2)] {
        for name in ["broadcast", "reduce"] {
            let bytes = format!("{}B", chunks * packets * MSS);
            let done = run(star(ranks, json!({"operation": name, "bytes": bytes, "chunks": chunks})));
            takes(&done, LINE.burst(chunks * packets) + (ranks - 2) * LINE.burst(packets));
        }
    }
}

/// With chunks enough to fill the path, a rank of a ring never waits: all that it sends is one burst.
#[test]
fn chunks_fill_a_ring() {
    let (ranks, chunks, packets) = (4, 16, 4);
    assert!((chunks - 1) * packets * LINE.transmission(MSS + HEADER) > LINE.burst(1));
    let bytes = format!("{}B", ranks * chunks * packets * MSS);
    let done = run(star(ranks, json!({"bytes": bytes, "chunks": chunks})));
    takes(&done, LINE.burst(2 * (ranks - 1) * chunks * packets));
}

/// Rings in servers of four cards, at the rate of their scale-up domain, and rings between three servers, on rails.
#[test]
fn a_hierarchy_takes_rings_in_servers_and_between_them() {
    let (group, servers, packets) = (4, 3, 5);
    let bytes = format!("{}B", group * servers * packets * MSS);
    let load = json!({"hosts": "server*", "algorithm": "hierarchical", "group": group, "bytes": bytes});
    let mut document = star(2, load);
    document["topology"] = json!({"kind": "rail", "servers": servers, "rails": group, "spines": 0, "rate": "100Gbps",
        "delay": "1us", "scale_up_rate": "400Gbps", "scale_up_delay": "250ns"});
    let done = run(document);
    let message =
        |packets: u64, gbps: u64, delay: u64| (packets + 1) * (MSS + HEADER) * 8000 / gbps + 2 * delay;
    let inside = message(servers * packets, 400, US / 4);
    let between = message(packets, 100, US);
    let closed = 2 * (group - 1) * inside + 2 * (servers - 1) * between;
    takes(&done, closed);
    assert_eq!(done.column("rounds", "ideal_ps"), [closed as f64]);
    // Each rank sends to one card of its server and to one of its rail.
    assert_eq!(done.column("flows", "id").len() as u64, group * servers * 2);
}

/// A bucket's operation begins when it is computed and that of the bucket before has ended: the longer of both counts.
#[test]
fn computation_overlaps_communication() {
    let (ranks, packets, buckets) = (4, 6, 4);
    let bytes = format!("{}B", buckets * ranks * packets * MSS);
    let one = one_after_another(&[packets; 6]);
    let ends = |compute: u64| {
        let load = json!({"bytes": bytes, "buckets": buckets, "compute": format!("{compute}ns")});
        let done = run(star(ranks, load));
        assert_eq!(done.column("rounds", "bytes"), [(6 * ranks * packets * MSS) as f64; 4]);
        done.column("rounds", "end_ps")[3] as u64
    };
    let long = 2 * buckets * one / 1000;
    assert_eq!(ends(long), MS + long * 1000 + one, "all but the last bucket is hidden");
    let short = one / 1000 / 100 * buckets;
    let closed = MS + short * 1000 / buckets + buckets * one;
    let found = ends(short);
    assert!(found >= closed && found <= closed + buckets * US, "{found} ps, {closed} ps expected");
}

/// The root of a broadcast receives nothing: its next operation begins when its message has been delivered.
#[test]
fn a_root_begins_again_when_its_message_is_there() {
    let load = json!({"operation": "broadcast", "bytes": format!("{}B", 5 * MSS), "rounds": 3});
    let done = run(star(2, load));
    let starts: Vec<f64> = (0..3).map(|round| (MS + round * LINE.burst(5)) as f64).collect();
    assert_eq!(done.column("rounds", "start_ps"), starts);
}

/// Channels share the buffer, each over a connection of its own; no byte is lost between them.
#[test]
fn channels_have_connections_of_their_own() {
    let load = json!({"bytes": "100003B", "channels": 3, "chunks": 2, "rounds": 2});
    let done = run(star(4, load));
    assert_eq!(done.column("flows", "id").len(), 3 * 4);
    assert_eq!(done.column("rounds", "bytes"), [(2 * 3 * 100_003) as f64; 2]);
    assert_eq!(done.column("flows", "delivered_bytes").iter().sum::<f64>(), (2 * 2 * 3 * 100_003) as f64);
    assert_eq!(done.column("steps", "messages"), [24.0; 12]);
    let whole = star(4, json!({"operation": "send-recv", "bytes": "9KB"}));
    assert_eq!(run(whole).column("rounds", "bytes"), [36_000.0]);
}
