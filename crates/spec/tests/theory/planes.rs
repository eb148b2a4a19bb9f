//! Cards with several ports (planes) against their closed forms: the sum of rates, its share that a port or a link costs, values that name
//! paths, pulls, turns of flows, and loads that lose ports, links and packets.
//!
//! Sources: third-party notes on MRC 1.0 (OCP, 2026) for cards of 8 x 100 Gb/s, equal shares of values and static switches, as in
//! `transport/uec/card.rs` and `routing/choice/structured.rs`. Its published figures were not at hand: no number here is one of them.

use crate::bench::{MS, Run, US, close, run, with};
use serde_json::{Value, json};

/// A full packet of a port of 100 Gb/s takes 80 ps a byte.
const BYTE: u64 = 80;
const MTU: u64 = 4096;
const HEADER: u64 = 64;
const FULL: u64 = MTU + HEADER;
const PORTS: u64 = 8;
/// Payload of all ports together in bits a second.
const LINE: f64 = 800e9 * MTU as f64 / FULL as f64;
/// The round trip of a full packet over leaf, spine and leaf, as senders take it: an answer's bytes take no time.
const BASE: u64 = 8 * US + 4 * BYTE * FULL;

/// Cards of eight ports of 100 Gb/s, two leaves and four spines in each plane, four hosts at each leaf.
fn planes(changes: Value) -> Value {
    let document = json!({
        "duration": "1s",
        "topology": {
            "kind": "leaf-spine", "leaves": 2, "spines": 4, "hosts_per_leaf": 4, "planes": PORTS, "rate": "100Gbps", "delay": "1us",
            "uplink_delay": "1us",
        },
        "queue": {"kind": "trimming", "limit": "1bdp", "last_hop_room": "1.5bdp", "kmin": "0.2bdp", "kmax": "0.8bdp"},
        "transport": {"profile": "uec", "cc": "nscc", "entropy": "oblivious", "timeout": "100us"},
        "traffic": {"x": {"kind": "bulk", "from": "h0", "to": "h4", "start": "0s"}},
    });
    with(document, changes)
}

fn message(packets: u64) -> Value {
    json!({"traffic": {"x": {"bytes": format!("{}B", packets * MTU)}}})
}

fn sum(run: &Run, table: &str, column: &str) -> f64 {
    run.column(table, column).iter().sum()
}

/// Packets that left the ports whose names `is` picks out.
fn left(run: &Run, is: impl Fn(&str) -> bool) -> f64 {
    let ports = run.words("queues", "port").into_iter().zip(run.column("queues", "packets_out"));
    ports.filter(|(port, _)| is(port)).map(|(_, packets)| packets).sum()
}

/// Eight packets leave at once. A message of 8 k packets takes k packets' times at the host, and three on the links behind it. That is
/// its ideal, too. Beyond the first window it is the same, since answers come within the window's time.
#[test]
fn a_message_leaves_at_the_rate_of_all_ports() {
    for rounds in [1, 2, 20, 400] {
        let done = run(planes(message(PORTS * rounds)));
        let time = BYTE * FULL * (rounds + 3) + 4 * US;
        assert_eq!(done.fct(), [time], "{rounds}");
        assert_eq!(done.column("messages", "ideal_ps"), [time as f64]);
        // Each port has an equal share, in each direction that the data take.
        for plane in 0..PORTS {
            for end in [format!("h0->p{plane}.leaf0"), format!("p{plane}.leaf1->h4")] {
                assert_eq!(left(&done, |port| port == end), rounds as f64, "{end}");
            }
        }
    }
}

/// A long flow has the rate of all ports by every rule but "single". The mean of a millisecond counts packets, of which a run has one more or
/// less for each port.
#[test]
fn every_rule_fills_all_ports() {
    let share = |entropy: &str| {
        let long = json!({"duration": "2ms", "warmup": "1ms", "transport": {"entropy": entropy}});
        run(planes(long)).flow("goodput_bps") / LINE
    };
    for entropy in ["oblivious", "bitmap", "mixed", "reps", "reps-freezing", "reps-legacy", "states"] {
        close(entropy, share(entropy), 1.0, 0.001);
    }
    // One value is one port.
    close("single", share("single"), 1.0 / 8.0, 0.001);
}

/// NSCC's first and greatest window is 1.5 times what all ports send in the round trip.
#[test]
fn the_window_is_that_of_all_ports() {
    let traced = json!({"duration": "100us", "probe": {"flow_trace": "1us"}});
    let done = run(planes(traced));
    let first = done.column("flow_trace", "cwnd_bytes")[0];
    assert_eq!(first, (BASE * PORTS / BYTE * 3 / 2) as f64);
}

/// Thresholds that are shares of the product are shares of a plane's: one port sends at an eighth of the card's rate.
#[test]
fn a_planes_product_is_that_of_a_port() {
    let document = planes(json!({"queue": {"kmin": "0.25bdp"}}));
    let checked: Value = serde_json::from_str(&shallows_spec::check(&document.to_string())).expect("JSON");
    assert_eq!(checked["experiment"]["queue"]["kmin"], format!("{}B", BASE / BYTE / 4));
}

/// Flows of one card take turns at each of its ports: two have half of the card each, and so have a long one and many short ones in turn.
#[test]
fn flows_of_a_card_share_all_ports() {
    let two = json!({"duration": "3ms", "warmup": "1ms", "traffic": {"y": {"kind": "bulk", "from": "h0", "to": "h5", "start": "0s"}}});
    let rates = run(planes(two)).column("flows", "goodput_bps");
    for rate in rates {
        close("a half", rate, LINE / 2.0, 0.01);
    }
}

/// Pulls fill 0.99 of all ports of the receiver, as they fill one link: four packets for each. Within two round trips for the start.
#[test]
fn pulls_fill_all_ports() {
    let packets = 16_000;
    let credit = json!({"transport": {"cc": "line-rate", "receiver_credit": true}, "queue": {"kmin": "none", "kmax": "none"}});
    let done = run(planes(with(message(packets), credit)));
    let grant = 65 * 256;
    let least = packets * FULL / grant * (grant * BYTE / PORTS * 100 / 99);
    let took = done.fct()[0];
    assert!(took + 20 * US >= least && took <= least + 20 * US, "{took} for {least}");
    assert_eq!(sum(&done, "queues", "trims"), 0.0);
}

/// A document in which the cable `link` fails at 100 us, under static switches or not, with a long flow over states of values.
fn failing(link: &str, changes: Value) -> Value {
    let document = planes(json!({
        "duration": "8ms", "warmup": "4ms", "transport": {"entropy": "states"},
        "event": {"cut": {"at": "100us", "link": link, "state": "down"}},
        "routing": {"reconvergence": "none"},
    }));
    with(document, changes)
}

/// A lost port of either card costs an eighth of the rate, where values rest behind static switches and where tables follow. A probe each
/// timeout is a header of 64 bytes; means are those of 4 ms.
#[test]
fn a_lost_port_costs_its_share() {
    for link in ["h0<->p3.leaf0", "h4<->p5.leaf1"] {
        for (entropy, reconvergence) in
            [("states", "none"), ("states", "10us"), ("oblivious", "10us"), ("mixed", "0s")]
        {
            let changes =
                json!({"transport": {"entropy": entropy}, "routing": {"reconvergence": reconvergence}});
            let done = run(failing(link, changes));
            let what = format!("{link} {entropy} {reconvergence}");
            close(&what, done.flow("goodput_bps"), LINE * 7.0 / 8.0, 0.001);
            assert_eq!(done.flow("retransmissions"), 0.0, "{what}: all losses were in the warm-up");
        }
    }
}

/// Rules without memory of losses go on losing an eighth behind static switches, and pay for it.
#[test]
fn values_that_do_not_rest_go_on_losing() {
    let done = run(failing("h0<->p3.leaf0", json!({"transport": {"entropy": "oblivious", "retries": 100}})));
    assert!(done.flow("goodput_bps") < 0.8 * LINE && done.flow("retransmissions") > 1000.0);
}

/// Where cards say which of their ports are down, no rule goes on losing: a lost port of either card costs an eighth behind static switches.
/// Losses before the first answers are a round trip's packets of the port at most, and as many of the window before.
#[test]
fn ports_that_are_known_to_be_down_are_not_used() {
    for link in ["h0<->p3.leaf0", "h4<->p5.leaf1"] {
        for entropy in ["oblivious", "mixed", "states"] {
            let told = json!({"warmup": "0s", "duration": "3ms", "transport": {"entropy": entropy, "port_status": true}});
            let whole = run(failing(link, told.clone()));
            let later = run(failing(link, with(told, json!({"warmup": "1ms"}))));
            let what = format!("{link} {entropy}");
            close(&what, later.flow("goodput_bps"), LINE * 7.0 / 8.0, 0.001);
            let window = (BASE / BYTE * 3 / 2 / FULL + 1) as f64;
            let lost = whole.flow("retransmissions");
            assert!(lost > 0.0 && lost <= 2.0 * window, "{what}: {lost} for {window}");
            assert_eq!(later.flow("retransmissions"), 0.0, "{what}");
        }
    }
}

/// A card whose ports are all down for a while goes on once they are up.
#[test]
fn a_card_without_ports_goes_on_later() {
    let changes = json!({
        "duration": "50ms", "warmup": "0s", "transport": {"port_status": true, "retries": 50},
        "traffic": {"x": {"bytes": "40MB"}},
        "event": {"mend": {"at": "2ms", "link": "h0<->*", "state": "up"}},
    });
    let done = run(failing("h0<->*", changes));
    assert_eq!(done.flow("delivered_bytes"), 40e6);
    assert!(done.fct()[0] > 2 * MS);
}

/// A port that is up again is used again: its eight values are probed in turn, one each timeout of 100 us, so that all are good 0.8 ms later.
#[test]
fn a_repaired_port_is_used_again() {
    let repaired = json!({"event": {"mend": {"at": "3ms", "link": "h0<->p3.leaf0", "state": "up"}}});
    let done = run(failing("h0<->p3.leaf0", repaired));
    close("all ports", done.flow("goodput_bps"), LINE, 0.001);
}

/// A controller that denies all values of a port before it fails leaves nothing to lose: no packet, answer, probe or pull uses them. The others
/// have the rate of seven ports. Without it the same failure loses packets.
#[test]
fn denied_values_use_no_path() {
    let values: Vec<u32> = (0..64).filter(|value| value % 8 == 3).collect();
    for credit in [false, true] {
        let own = json!({"warmup": "1ms", "duration": "3ms", "transport": {"receiver_credit": credit}});
        let lost = |denied: Value| {
            let document =
                failing("h0<->p3.leaf0", with(own.clone(), json!({"transport": {"denied": denied}})));
            let (whole, later) = (with(document.clone(), json!({"warmup": "0s"})), document);
            (run(whole), run(later).flow("goodput_bps"))
        };
        let (done, rate) = lost(json!(values));
        close("seven ports", rate, LINE * 7.0 / 8.0, if credit { 0.02 } else { 0.001 });
        assert_eq!((done.flow("retransmissions"), done.flow("timeouts")), (0.0, 0.0), "{credit}");
        assert_eq!(left(&done, |port| port.contains("p3.")), 0.0, "{credit}");
        assert!(lost(json!([])).0.flow("retransmissions") > 0.0, "{credit}");
    }
}

/// A leaf whose four hosts send at all their ports, each value of which names a path: of what they had with all 32 links they lose less than
/// two shares of one lost link. Random choices leave some of each link free, so that it may be less than one share.
#[test]
fn a_lost_link_costs_its_share() {
    let rates = |link: Option<&str>| {
        let loaded = json!({"ecmp": "structured", "traffic": {"x": {"from": "h0..h3", "to": "h4..h7", "pattern": "pairs"}}});
        let mut document = failing(link.unwrap_or("h0<->p3.leaf0"), loaded);
        if link.is_none() {
            document.as_object_mut().expect("a table").remove("event");
            document.as_object_mut().expect("a table").remove("routing");
        }
        sum(&run(document), "flows", "goodput_bps")
    };
    let (whole, less) = (rates(None), rates(Some("p3.leaf0<->p3.spine1")));
    assert!(whole > 0.9 * 4.0 * LINE, "{}", whole / 4.0 / LINE);
    assert!(less < whole && less > whole * 30.0 / 32.0, "{}", less / whole);
}

/// Values name paths: the 32 values of one round take each of the eight planes and four spines once, whatever the hosts and the connection;
/// with hashes some paths have several.
#[test]
fn a_value_names_a_path() {
    let spines = |ecmp: &str, from: &str, to: &str, seed: u64| {
        let once = json!({
            "ecmp": ecmp, "seed": seed, "transport": {"entropies": 32}, "traffic": {"x": {"from": from, "to": to}},
        });
        let done = run(planes(with(message(32), once)));
        let paths = (0..PORTS)
            .flat_map(|plane| (0..4).map(move |spine| format!("p{plane}.leaf0->p{plane}.spine{spine}")));
        paths.map(|path| left(&done, |port| port == path)).collect::<Vec<f64>>()
    };
    for (from, to, seed) in [("h0", "h4", 1), ("h1", "h7", 1), ("h0", "h4", 2)] {
        assert_eq!(spines("structured", from, to, seed), [1.0; 32], "{from} {to} {seed}");
        assert!(spines("flow", from, to, seed).iter().any(|packets| *packets > 1.0));
    }
}

/// Where values name paths, answers take them too: a link that fails both ways concerns the values through it, one of 32 here. It loses
/// its share of the packets of a timeout, 75 of 2404, within four of their square roots for the random choice; then a probe each timeout.
#[test]
fn a_lost_link_concerns_its_values_alone() {
    let changes = json!({"ecmp": "structured", "warmup": "0s", "transport": {"entropies": 32}});
    let done = run(failing("p3.leaf0<->p3.spine1", changes));
    let ports = done.words("queues", "port").into_iter().zip(done.column("queues", "drops_dead"));
    let lost: f64 = ports.filter(|(port, _)| *port == "p3.leaf0->p3.spine1").map(|(_, drops)| drops).sum();
    let (again, share) = (done.flow("retransmissions"), (100 * US * PORTS / (BYTE * FULL)) as f64 / 32.0);
    assert!((again - share).abs() <= 4.0 * share.sqrt(), "{again} for {share}");
    // The run ends 7.9 ms after the failure.
    assert!((lost - again - 79.0).abs() <= 3.0, "{lost} of which {again} again");
    close("all ports", done.flow("goodput_bps"), LINE, 0.01);
}

/// Headers by which a source of `others + 1` flows asks for the credit of its last packets, from so much credit on. It states (backlog -
/// credit) / others each time, in units of 256 bytes rounded up, and sends while it has credit.
fn headers_of_a_tail(mut credit: i64, others: i64) -> u64 {
    let (mut backlog, mut headers) = (20 * FULL as i64, 0);
    loop {
        let sends = credit > 0;
        headers += u64::from(!sends);
        let packet = if sends { FULL as i64 } else { 0 };
        (backlog, credit) = (backlog - packet, credit - packet);
        if backlog == 0 {
            return headers;
        }
        // A packet states what is wanted behind it, and the header what is wanted now.
        if credit <= 0 {
            credit += ((backlog - credit) / others + 255) / 256 * 256;
        }
    }
}

/// The flows of a card share what one of them may want, at each of its ports too. A message ends beside nine long ones of its card, at a
/// receiver that another card keeps busy, so that nothing is granted unasked. Near its end a ninth of what is left is less than a
/// packet, and headers ask for the rest. With the whole want of each it would be one header.
#[test]
fn the_flows_of_a_card_share_what_one_may_want_at_each_port() {
    let mut tails: Vec<u64> =
        (0..FULL as i64).flat_map(|debt| [8, 9].map(|others| headers_of_a_tail(-debt, others))).collect();
    tails.sort_unstable();
    let (least, most) = (tails[0], tails[tails.len() - 1]);
    for planes in [1, 2, 4] {
        for packets in [40, 82] {
            let flow = |from: &str, to: &str, packets: u64| {
                json!({"from": from, "to": to, "start": "0s",
                "bytes": format!("{}B", packets * planes * MTU)})
            };
            let mut flows = vec![flow("h1", "h0", packets), flow("h2", "h0", 10_000)];
            flows.extend((4..13).map(|n| flow("h1", &format!("h{n}"), 1000)));
            let done = run(json!({
                "duration": "1ms",
                "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 22, "planes": planes,
                    "rate": "100Gbps", "delay": "1us", "uplink_delay": "1us"},
                "queue": {"kind": "trimming", "limit": "1bdp", "last_hop_room": "1.5bdp", "header_limit": "none",
                    "newest": 0.0},
                "transport": {"profile": "uec", "cc": "nscc", "receiver_credit": true, "entropy": "oblivious",
                    "timeout": "1ms"},
                "traffic": {"x": {"kind": "table", "flows": flows}},
                "probe": {"packets": "h1->*"},
            }));
            assert!(done.column("messages", "fct_ps")[0].is_finite() && done.flow("retransmissions") == 0.0);
            let headers = done.flow("packets_sent") as u64 - packets * planes;
            assert!((least..=most).contains(&headers), "{planes} {packets}: {headers} of {least} to {most}");
            // Headers carry the values in turn, and so the ports have as many of them, or one more.
            let all = done.column("packets", "size").into_iter().zip(done.column("packets", "flow"));
            let of_tail = all.zip(done.words("packets", "port")).filter(|(of, _)| *of == (64.0, 0.0));
            let ports: Vec<&str> = of_tail.map(|(_, port)| port).collect();
            let each =
                |plane: u64| ports.iter().filter(|port| port.contains(&format!("p{plane}."))).count() as u64;
            assert_eq!(ports.len() as u64, headers);
            for plane in (0..planes).filter(|_| planes > 1) {
                assert!((headers / planes..=headers.div_ceil(planes)).contains(&each(plane)), "{ports:?}");
            }
        }
    }
}

/// Seven cards send to one, and share it evenly; a bystander below the same leaf keeps its card's rate.
#[test]
fn an_incast_shares_evenly_beside_a_bystander() {
    for (entropy, credit) in [("states", false), ("mixed", false), ("states", true)] {
        let mut document = planes(json!({
            "duration": "32ms", "warmup": "2ms", "topology": {"spines": 8, "hosts_per_leaf": 8, "rate": "25Gbps"},
            "transport": {"entropy": entropy, "receiver_credit": credit, "entropies": 256},
            "traffic": {
                "x": {"from": "h0..h6", "to": "h8"},
                "bystander": {"kind": "bulk", "from": "h7", "to": "h9", "start": "0s"},
            },
        }));
        if credit {
            document["port"] = json!({"p*.leaf*->h*": {"queue": {"kind": "trimming", "limit": "1bdp", "last_hop_room": "1.5bdp"}}});
        }
        let rates = run(document).column("flows", "goodput_bps");
        let (bystander, incast) = (rates[7], &rates[..7]);
        let all: f64 = incast.iter().sum();
        let (least, most) = incast.iter().fold((f64::MAX, 0f64), |(a, b), rate| (a.min(*rate), b.max(*rate)));
        let line = LINE / 4.0;
        assert!(all > 0.9 * line && all <= line, "{entropy}: {}", all / line);
        assert!(most < 1.3 * least, "{entropy}: {incast:?}");
        assert!(bystander > 0.95 * line, "{entropy}: {}", bystander / line);
    }
}

/// One packet of a thousand is lost behind the sender's ports: a long flow keeps 0.95 of the card's rate at least.
#[test]
fn losses_cost_little() {
    for recovery in ["timers", "sleek"] {
        let lossy = json!({
            "duration": "12ms", "warmup": "2ms", "port": {"h0->*": {"loss": 0.001}},
            "transport": {"entropy": "states", "untrimmed": "allowed", "recovery": recovery, "entropies": 256, "timeout": "50us"},
        });
        let done = run(planes(lossy));
        assert!(done.flow("retransmissions") > 100.0);
        assert!(done.flow("goodput_bps") > 0.95 * LINE, "{recovery}: {}", done.flow("goodput_bps") / LINE);
    }
}

/// A ring all-reduce of eight cards over eight planes: one connection with 256 values ends sooner than 16 queue pairs of DCQCN, which
/// are hashed to ports and spines. Of 16 pairs on 32 paths some share one, whatever the seed.
#[test]
fn one_connection_of_many_values_beats_sixteen_queue_pairs() {
    for seed in [1, 2, 3] {
        let mut document = planes(json!({"seed": seed, "transport": {"entropy": "mixed", "entropies": 256}}));
        document["traffic"] = json!({"job": {
            "kind": "collective", "hosts": "h*", "placement": "striped", "operation": "all-reduce", "bytes": "16MB", "rounds": 1,
        }});
        let mut pairs = document.clone();
        pairs["queue"] = json!({"kind": "ramp", "kmin": "400KB", "kmax": "1600KB", "pmax": 0.2});
        pairs["priority"] = json!({"3": {"pfc": true}, "6": {}});
        pairs["switch"] = json!({"*": {"buffer": "64MB"}});
        pairs["transport"] = json!({
            "profile": "roce", "cc": {"kind": "dcqcn", "parameters": "vendor"}, "mtu": "4096B", "priority": 3, "ack_priority": 6,
            "cnp_interval": "4us", "qps": 16,
        });
        let [values, pairs] = [document, pairs].map(|document| run(document).column("rounds", "fct_ps")[0]);
        assert!(values * 1.1 < pairs, "{seed}: {values} {pairs}");
    }
}

/// Ports, links and switches fail and come back amid trims, marks and losses: the books balance, and all is delivered, once.
#[test]
fn books_balance_amid_failures() {
    for (entropy, ecmp, reconvergence) in
        [("states", "structured", "none"), ("mixed", "flow", "30us"), ("states", "weighted", "none")]
    {
        for credit in [false, true] {
            let document = planes(json!({
                "ecmp": ecmp, "routing": {"reconvergence": reconvergence}, "duration": "400ms",
                "queue": {"limit": "20KB", "last_hop_room": "20KB", "kmin": "5KB", "kmax": "20KB"},
                "port": {"*->*": {"loss": 0.001}},
                "transport": {"entropy": entropy, "receiver_credit": credit, "retries": 100, "backoff": "none"},
                "traffic": {"x": {"from": "h0..h6", "to": "h7", "bytes": "4MB"}},
                "event": {
                    "port": {"at": "40us", "link": "h7<->p2.leaf1", "state": "down"},
                    "switch": {"at": "60us", "link": "p5.leaf0<->*", "state": "down"},
                    "link": {"at": "80us", "link": "p1.leaf0<->p1.spine2", "state": "down"},
                    "back": {"at": "600us", "link": "h7<->p2.leaf1", "state": "up"},
                    "again": {"at": "700us", "link": "p5.leaf0<->*", "state": "up"},
                },
            }));
            let done = run(document);
            let what = format!("{entropy} {ecmp} {credit}");
            assert_eq!(sum(&done, "flows", "delivered_bytes"), 7.0 * 4e6, "{what}");
            assert!(done.fct().iter().all(|took| *took < 300 * MS), "{what}: {:?}", done.fct());
            assert!(
                sum(&done, "queues", "trims") > 0.0 && sum(&done, "queues", "drops_dead") > 0.0,
                "{what}"
            );
        }
    }
}

/// Wrong input is refused by name.
#[test]
fn planes_that_cannot_work_are_refused() {
    let faults = |changes: Value| {
        let found = shallows_spec::load(&planes(changes).to_string()).err().unwrap_or_default();
        found.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(faults(json!({})), Vec::<String>::new());
    let cut = json!({"cut": {"at": "1us", "link": "h0<->p3.leaf0", "state": "down"}});
    let torus = json!({"kind": "torus", "size": [3, 3]});
    for (changes, path, rule) in [
        (json!({"transport": {"entropies": 4}}), "traffic.x.transport.entropies", "at least 8, the ports"),
        (
            json!({"ecmp": "structured", "transport": {"entropies": 16}}),
            "traffic.x.transport.entropies",
            "at least 32",
        ),
        (json!({"ecmp": "structured", "event": cut}), "routing.reconvergence", "must be \"none\""),
        (json!({"ecmp": "symmetric"}), "ecmp", "or \"structured\""),
        (
            json!({"topology": {"planes": 1}, "transport": {"port_status": true}}),
            "port_status",
            "changes nothing",
        ),
        (json!({"transport": {"entropy": "single", "port_status": true}}), "port_status", "changes nothing"),
        (json!({"transport": {"denied": [3]}}), "transport.entropy", "must be \"states\" beside denied"),
        (
            json!({"transport": {"entropy": "states", "denied": [3, 64]}}),
            "transport.denied.1",
            "must be below entropies = 64",
        ),
        (
            json!({"transport": {"entropy": "states", "denied": (0..64).collect::<Vec<_>>()}}),
            "transport.denied",
            "at least one value",
        ),
        (json!({"topology": {"planes": 0}}), "topology.planes", "must be >= 1"),
        (json!({"topology": {"planes": 65}}), "topology.planes", "must be <= 64"),
        (json!({"topology": {"planes": 64, "hosts_per_leaf": 10_000}}), "topology.leaves", "1000000 nodes"),
        (json!({"routing": {"reconvergence": "none"}}), "routing.reconvergence", "changes nothing"),
        (
            json!({"event": {"cut": {"at": "1us", "link": "h0->p8.leaf0", "state": "down"}}}),
            "event.cut.link",
            "p8.leaf0",
        ),
    ] {
        let found = faults(changes.clone());
        assert!(
            found.iter().any(|fault| fault.contains(path) && fault.contains(rule)),
            "{changes}: {found:?}"
        );
    }
    // Ports that are crossed, or that lead to one network, are no planes whose states mean the same at both ends.
    let link = |from: &str, to: &str| json!({"from": from, "to": to, "rate": "100Gbps", "delay": "1us"});
    for (second, joined, works) in
        [(["x", "y"], false, true), (["y", "x"], false, false), (["x", "y"], true, false)]
    {
        let mut links = vec![link("h0", "x"), link("h0", "y"), link("h4", second[0]), link("h4", second[1])];
        links.extend(joined.then(|| link("x", "y")));
        let mut document = planes(json!({"transport": {"port_status": true}}));
        document["topology"] =
            json!({"kind": "graph", "hosts": ["h0", "h4"], "switches": ["x", "y"], "links": links});
        let found = shallows_spec::load(&document.to_string()).err().unwrap_or_default();
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found.is_empty(), works, "{found:?}");
        assert!(works || found[0].contains("requires planes"), "{found:?}");
    }
    let mut document = planes(json!({"ecmp": "structured"}));
    document["topology"] = torus;
    let found = shallows_spec::load(&document.to_string()).err().unwrap_or_default();
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert!(found.iter().any(|fault| fault.contains("equally far from hosts")), "{found:?}");
}
