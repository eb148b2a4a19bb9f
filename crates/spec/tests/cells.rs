//! Cells: any number of threads and of stops gives the same bytes, and cut or whole a network computes the same.

mod common;

use common::cases::{Load, cases};
use common::{Tables, load, set};
use proptest::prelude::*;
use serde_json::{Value, json};
use shallows_core::experiment::Cut;
use shallows_core::params::ParamType;
use shallows_core::transport::entropy::Entropy;
use shallows_core::{Control, Simulation};
use shallows_units::{Span, Time};
use std::collections::BTreeMap;

/// Loads that run in cells: they do not answer deliveries.
const OPEN: &[Load] = &[Load::Bulk, Load::Forever, Load::Kept, Load::Fresh, Load::Poisson, Load::Table];

/// The run of `document`, cut or not, ready.
fn cut(document: &Value, cut: Cut) -> Simulation {
    let mut experiment =
        shallows_spec::parse(&document.to_string()).unwrap_or_else(|faults| panic!("{document}\n{faults:?}"));
    experiment.cut = cut;
    experiment.build().unwrap_or_else(|faults| panic!("{document}\n{:?}", faults.0))
}

/// The run of `document` in cells, made by `threads` threads to the end.
fn worked(document: &Value, threads: usize) -> Simulation {
    let mut simulation = cut(document, Cut::Always);
    simulation.set_threads(threads);
    simulation.run(&Control::new()).expect("the run ends");
    simulation
}

fn hashes(simulation: &Simulation) -> BTreeMap<String, u64> {
    assert!(simulation.books().balance(), "{:?}", simulation.books());
    assert_eq!(simulation.outstanding(), simulation.books().in_flight);
    Tables::of(simulation).hashes()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn threads_change_nothing(case in cases(OPEN)) {
        let mut document = case.document("2ms", "300us");
        document["probe"] = json!({"nic_queues": true, "at_dequeue": true, "queue_trace": "70us", "flow_trace": "110us",
            "port_trace": "130us", "packets": "*->*"});
        let alone = hashes(&worked(&document, 1));
        for threads in [2, 3] {
            prop_assert_eq!(&alone, &hashes(&worked(&document, threads)), "{} threads", threads);
        }
    }

    /// Windows end at every stop and every sample; none of it may show.
    #[test]
    fn stops_and_samples_change_nothing(case in cases(OPEN), every in 1u64..40) {
        let document = case.document("2ms", "300us");
        let whole = hashes(&worked(&document, 1));
        let mut stepped = cut(&document, Cut::Always);
        let mut until = Time::ZERO;
        while !stepped.advance(until, &Control::new()).expect("the run ends") {
            until += Span::us(every * 7);
        }
        prop_assert_eq!(&whole, &hashes(&stepped));
        let mut sampled = document.clone();
        set(&mut sampled, "probe.queue_trace", json!(format!("{every}us")));
        let mut sampled = hashes(&worked(&sampled, 1));
        let mut whole = whole;
        for all in [&mut whole, &mut sampled] {
            all.retain(|column, _| !column.starts_with("queue_trace"));
        }
        prop_assert_eq!(whole, sampled);
    }
}

/// A stop within a window hands over nothing that lands behind it: a loss there belongs to the time after it.
#[test]
fn a_loss_counts_when_it_happens() {
    let document = json!({
        "duration": "2ms",
        "warmup": "300us",
        "topology": {"kind": "dumbbell", "left": 3, "right": 1, "rate": "5Gbps"},
        "queue": {"kind": "drop-tail", "limit": "7pkt"},
        "port": {"*->*": {"loss": 0.05}},
        "transport": {"cc": "newreno", "initial_rto": "1s"},
        "traffic": {"load": {"kind": "messages", "from": "l*", "to": "r0", "bytes": "40KB", "interval": "100us"}},
    });
    let whole = hashes(&worked(&document, 1));
    for every in [7, 83, 189] {
        let mut stepped = cut(&document, Cut::Always);
        let mut until = Time::ZERO;
        while !stepped.advance(until, &Control::new()).expect("the run ends") {
            until += Span::us(every);
        }
        assert_eq!(whole, hashes(&stepped), "stops every {every} us");
    }
}

/// A fat tree in which each host sends to a host of another pod, drop-tail queues, one Reno flow each.
fn tree(k: u64, bytes: &str) -> Value {
    let (hosts, pod) = (k * k * k / 4, k * k / 4);
    let flow = |i: u64| json!({"from": format!("h{i}"), "to": format!("h{}", (i + pod + i % 3) % hosts), "bytes": bytes, "start": "0s"});
    json!({
        "duration": "1ms",
        "topology": {"kind": "fat-tree", "k": k, "rate": "100Gbps", "delay": "1us", "uplink_delay": "1us"},
        "queue": {"kind": "drop-tail", "limit": "200pkt"},
        "transport": {"cc": "newreno"},
        "traffic": {"all": {"kind": "table", "flows": (0..hosts).map(flow).collect::<Vec<_>>()}},
    })
}

#[test]
fn trees_give_the_same_bytes_on_any_threads() {
    for (k, bytes) in [(4, "500KB"), (8, "100KB")] {
        let document = tree(k, bytes);
        let alone = worked(&document, 1);
        assert_eq!(alone.cells() as u64, k * k + k * k / 4, "a cell a switch");
        for threads in [2, 3] {
            assert_eq!(hashes(&alone), hashes(&worked(&document, threads)), "{threads} threads");
        }
    }
}

/// Rows of a table as texts, in an order of their own.
fn rows(simulation: &Simulation, table: &str) -> Vec<String> {
    let tables = simulation.tables();
    let table = tables.iter().find(|t| t.name == table).expect("a table of that name");
    let count = table.columns[0].data.len();
    let mut rows: Vec<String> = (0..count)
        .map(|row| {
            let cells = table.columns.iter().map(|column| {
                use shallows_core::probe::ColumnData;
                let value = match &column.data {
                    ColumnData::U64(v) => v[row].to_string(),
                    ColumnData::U32(v) => v[row].to_string(),
                    ColumnData::F64(v) => format!("{:?}", v[row]),
                    ColumnData::Str { dictionary, codes } => dictionary[codes[row] as usize].clone(),
                };
                format!("{}={value}", column.name)
            });
            cells.collect::<Vec<_>>().join(" ")
        })
        .collect();
    rows.sort();
    rows
}

/// Gives a tree wires of rates and lengths that have no common measure, so that no two packets meet.
fn without_ties(mut document: Value, k: u64) -> Value {
    let graph = load(&document);
    let names: Vec<String> =
        Tables::of(&ran(graph)).words("queues", "port").iter().map(ToString::to_string).collect();
    let ports: serde_json::Map<String, Value> = (0..)
        .zip(names)
        .map(|(i, name): (u64, String)| {
            let delay = format!("{}ps", 1_000_000 + i * 7919 * k % 999_983);
            (name, json!({"delay": delay, "rate": format!("{}Kbps", 99_000_007 + i * 104_729 % 999_983)}))
        })
        .collect();
    document["port"] = Value::Object(ports);
    document
}

fn ran(mut simulation: Simulation) -> Simulation {
    simulation.run(&Control::new()).expect("the run ends");
    simulation
}

/// Every table to the bit, but for the order of rows that have none.
#[test]
fn cut_or_whole_is_one_where_nothing_ties() {
    let short = |document: Value| {
        let mut document = document;
        set(&mut document, "duration", json!("10us"));
        document
    };
    for (queue, cc, handshake) in [
        (json!({"kind": "drop-tail", "limit": "20pkt"}), "newreno", true),
        (json!({"kind": "threshold", "limit": "100pkt", "mark_at": "20pkt"}), "dctcp", false),
        (json!({"kind": "codel"}), "newreno", true),
    ] {
        let k = 4;
        let mut document = tree(k, "300KB");
        document["port"] = without_ties(short(document.clone()), k)["port"].take();
        document["queue"] = queue;
        set(&mut document, "transport.cc", json!(cc));
        set(&mut document, "transport.opening", json!(if handshake { "handshake" } else { "established" }));
        set(
            &mut document,
            "probe",
            json!({"nic_queues": true, "queue_trace": "50us", "flow_trace": "60us", "packets": "*->*"}),
        );
        for (i, flow) in
            document["traffic"]["all"]["flows"].as_array_mut().expect("flows").iter_mut().enumerate()
        {
            flow["start"] = json!(format!("{}ps", i * 104_729));
        }
        let [one, many] = [Cut::Never, Cut::Always].map(|how| ran(cut(&document, how)));
        assert_eq!((one.cells(), many.cells()), (1, 20));
        assert_eq!(one.books().hops, many.books().hops);
        for table in one.tables().iter().map(|table| table.name) {
            let (one, many) = (rows(&one, table), rows(&many, table));
            assert_eq!(one.len(), many.len(), "{cc}: {table}");
            for (one, many) in one.iter().zip(&many) {
                assert_eq!(one, many, "{cc}: {table}");
            }
        }
    }
}

/// Adds flow control: a pause crosses cells as packets do. Memory is short, so that pauses spread.
fn paused(mut document: Value, lossless: &[u8]) -> Value {
    set(&mut document, "queue", json!({"kind": "drop-tail", "limit": "none"}));
    set(&mut document, "switch", json!({"*": {"buffer": "400KB"}}));
    set(&mut document, "pfc", json!({"deadlock": "go-on"}));
    document["port"]["*->*"] = json!({"pfc_response": "100ns", "pfc_alpha": 0.5});
    document["priority"] = json!({"3": {}, "6": {}});
    for priority in lossless {
        document["priority"][priority.to_string()]["pfc"] = json!(true);
    }
    for (i, flow) in document["traffic"]["all"]["flows"].as_array_mut().expect("flows").iter_mut().enumerate()
    {
        flow["start"] = json!(format!("{}ps", i * 104_729));
        flow["to"] = json!(if i < 12 { format!("h{}", 12 + i % 3) } else { format!("h{}", i - 9) });
    }
    set(&mut document, "transport.initial_window", json!("100pkt"));
    set(&mut document, "transport.priority", json!(3));
    set(&mut document, "transport.ack_priority", json!(6));
    document
}

fn pauses(simulation: &Simulation) -> u64 {
    Tables::of(simulation).u64("pauses", "paused").iter().sum()
}

#[test]
fn pauses_are_the_same_cut_or_whole_where_nothing_ties() {
    let mut document = tree(4, "300KB");
    set(&mut document, "duration", json!("10us"));
    document["port"] = without_ties(document.clone(), 4)["port"].take();
    set(&mut document, "duration", json!("1ms"));
    let document = paused(document, &[3]);
    let [one, many] = [Cut::Never, Cut::Always].map(|how| ran(cut(&document, how)));
    assert!(pauses(&one) > 100, "{}", pauses(&one));
    assert_eq!((one.cells(), many.cells()), (1, 20));
    for table in one.tables().iter().map(|table| table.name) {
        assert_eq!(rows(&one, table), rows(&many, table), "{table}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any threads and any stops, with faults on the wires, of which pause frames know nothing.
    #[test]
    fn threads_and_stops_change_no_pause(
        seed in 1u64..1000, both in any::<bool>(), faulty in any::<bool>(), every in 1u64..40, ecmp in 0usize..3,
    ) {
        let mut document = paused(tree(4, "300KB"), if both { &[3, 6] } else { &[3] });
        set(&mut document, "duration", json!("300us"));
        set(&mut document, "warmup", json!("50us"));
        set(&mut document, "seed", json!(seed));
        set(&mut document, "ecmp", json!(["flow", "round-robin", "random"][ecmp]));
        if faulty {
            document["port"]["edge*->*"] = json!({"loss": 0.01, "duplicate": 0.02, "reorder": 0.05, "reorder_delay": "20us"});
        }
        let alone = worked(&document, 1);
        prop_assert!(pauses(&alone) > 0);
        for threads in [2, 3] {
            prop_assert_eq!(hashes(&alone), hashes(&worked(&document, threads)), "{} threads", threads);
        }
        let mut stepped = cut(&document, Cut::Always);
        let mut until = Time::ZERO;
        while !stepped.advance(until, &Control::new()).expect("the run ends") {
            assert!(stepped.books().balance());
            until += Span::us(every);
        }
        prop_assert_eq!(hashes(&alone), hashes(&stepped));
    }
}

/// Queue pairs with DCQCN over lossless lanes, by each repair and READ: any threads give the same bytes, with losses on the wires.
#[test]
fn queue_pairs_give_the_same_bytes_on_any_threads() {
    for (repair, verb, qps) in [
        ("go-back-n", "write", 1),
        ("go-back-0", "send", 1),
        ("irn", "write", 1),
        ("go-back-n", "read", 1),
        ("irn", "send", 3),
    ] {
        let mut document = paused(tree(4, "300KB"), &[3]);
        document["transport"] = json!({
            "profile": "roce", "cc": "dcqcn", "repair": repair, "verb": verb, "priority": 3, "ack_priority": 6,
            "cnp_priority": 6, "qps": qps,
        });
        document["port"]["edge*->*"] = json!({"loss": 0.002, "duplicate": 0.002});
        document["priority"]["3"]["queue"] = json!({"kind": "ramp"});
        set(&mut document, "probe", json!({"packets": "*->h12", "flow_trace": "100us"}));
        let alone = worked(&document, 1);
        assert!(
            Tables::of(&alone).u64("flows", "ecn_reductions").iter().sum::<u64>() > 0,
            "{repair}, {verb}"
        );
        assert!(
            Tables::of(&alone).u64("flows", "fast_recoveries").iter().sum::<u64>() > 0,
            "{repair}, {verb}"
        );
        for threads in [2, 3] {
            assert_eq!(
                hashes(&alone),
                hashes(&worked(&document, threads)),
                "{repair}, {verb}, {threads} threads"
            );
        }
        let mut stepped = cut(&document, Cut::Always);
        let mut until = Time::ZERO;
        while !stepped.advance(until, &Control::new()).expect("the run ends") {
            assert!(stepped.books().balance());
            until += Span::us(83);
        }
        assert_eq!(hashes(&alone), hashes(&stepped), "{repair}, {verb}");
    }
}

/// Two and three threads, and a run in steps, give the bytes of the run `alone`.
fn same_on_any_threads(document: &Value, alone: &Simulation) {
    for threads in [2, 3] {
        assert_eq!(hashes(alone), hashes(&worked(document, threads)), "{threads} threads");
    }
    let mut stepped = cut(document, Cut::Always);
    let mut until = Time::ZERO;
    while !stepped.advance(until, &Control::new()).expect("the run ends") {
        assert!(stepped.books().balance());
        until += Span::us(83);
    }
    assert_eq!(hashes(alone), hashes(&stepped));
}

/// NDP over all paths, with headers that return and losses on the wires: any threads and stops give the same bytes.
#[test]
fn pulls_give_the_same_bytes_on_any_threads() {
    let mut document = tree(4, "300KB");
    set(&mut document, "duration", json!("15ms"));
    set(&mut document, "ecmp", json!("permutation"));
    document["queue"] = json!({"kind": "trimming", "header_limit": "6pkt"});
    document["transport"] =
        json!({"profile": "ndp", "cc": "line-rate", "timeout": "1ms", "pull_timeout": "1ms"});
    document["port"] = json!({"edge*->*": {"loss": 0.002, "duplicate": 0.002}});
    set(
        &mut document,
        "traffic.incast",
        json!({"kind": "bulk", "from": "h0..h11", "to": "h12", "bytes": "200KB"}),
    );
    set(&mut document, "probe", json!({"packets": "*->h12", "flow_trace": "100us", "nic_queues": true}));
    let alone = worked(&document, 1);
    let tables = Tables::of(&alone);
    for column in ["trims", "returned", "drops_wire"] {
        assert!(tables.u64("queues", column).iter().sum::<u64>() > 0, "{column}");
    }
    assert_eq!(tables.u64("flows", "delivered_bytes"), tables.u64("flows", "bytes"));
    same_on_any_threads(&document, &alone);
}

/// ExpressPass over paths that are alike there and back, with losses on the wires: any threads and stops give the same bytes.
#[test]
fn credits_give_the_same_bytes_on_any_threads() {
    let mut document = tree(4, "300KB");
    set(&mut document, "duration", json!("15ms"));
    set(&mut document, "ecmp", json!("symmetric"));
    document["queue"] = json!({"kind": "credit", "credit_limit": "4pkt"});
    document["transport"] = json!({"profile": "expresspass", "cc": "line-rate", "timeout": "100us"});
    document["port"] = json!({"edge*->*": {"loss": 0.002, "duplicate": 0.002}});
    set(
        &mut document,
        "traffic.incast",
        json!({"kind": "bulk", "from": "h0..h11", "to": "h12", "bytes": "200KB"}),
    );
    set(&mut document, "probe", json!({"packets": "*->h12", "flow_trace": "100us", "nic_queues": true}));
    let alone = worked(&document, 1);
    let tables = Tables::of(&alone);
    for column in ["drops_full", "drops_wire"] {
        assert!(tables.u64("queues", column).iter().sum::<u64>() > 0, "{column}");
    }
    assert_eq!(tables.u64("flows", "delivered_bytes"), tables.u64("flows", "bytes"));
    same_on_any_threads(&document, &alone);
}

/// Mean over flows of the logarithm of their completion times.
fn mean_log_fct(simulation: &Simulation) -> f64 {
    let tables = Tables::of(simulation);
    let times: Vec<f64> = tables.u64("flows", "fct_ps").iter().map(|ps| *ps as f64).collect();
    assert!(times.iter().all(|time| *time < 1e15), "every flow ends: {times:?}");
    times.iter().map(|time| libm::log(*time)).sum::<f64>() / times.len() as f64
}

/// The order of ties decides who is marked or dropped, so cut and whole differ where packets tie, as two orders of ties
/// do. By how much: mean log completion time of 16 flows that begin at one instant on equal links, where ties are
/// everywhere. If a cut network is a whole one with another order of ties, its time takes each rank among four such
/// orders equally often; over n seeds its mean rank is 2 with a standard deviation of the root of 2 / n. Under DCTCP,
/// where no timeout scatters the times, the means agree within 1 %, the whole 95 % interval of the difference included.
#[test]
fn cut_or_whole_differ_as_two_orders_of_ties_do() {
    const SEEDS: u64 = 40;
    for (queue, cc, bound) in [
        (json!({"kind": "drop-tail", "limit": "200pkt"}), "newreno", f64::INFINITY),
        (json!({"kind": "threshold", "limit": "200pkt", "mark_at": "20pkt"}), "dctcp", 0.01),
    ] {
        let mut document = tree(4, "500KB");
        document["queue"] = queue;
        set(&mut document, "transport.cc", json!(cc));
        set(&mut document, "duration", json!("100ms"));
        let (mut ranks, mut differences) = (0, vec![]);
        for seed in 1..=SEEDS {
            document["seed"] = json!(seed);
            let time = |how: Cut, stride: u64| {
                let mut experiment = shallows_spec::parse(&document.to_string()).expect("no fault");
                (experiment.cut, experiment.tie_stride) = (how, stride);
                mean_log_fct(&ran(experiment.build().expect("no fault")))
            };
            let cut = time(Cut::Always, 1);
            let whole = [1, 0x9e37_79b9_7f4a_7c15, 0x2b_9e37_79b9_7f4b, u64::MAX];
            let whole = whole.map(|stride| time(Cut::Never, stride));
            ranks += whole.iter().filter(|time| **time < cut).count();
            differences.push(cut - whole[0]);
        }
        let n = SEEDS as f64;
        let rank = ranks as f64 / n;
        assert!((rank - 2.0).abs() < 3.0 * (2.0 / n).sqrt(), "{cc}: mean rank {rank}");
        let mean = differences.iter().sum::<f64>() / n;
        let variance = differences.iter().map(|d| (d - mean) * (d - mean)).sum::<f64>() / (n - 1.0);
        let half = 2.02 * (variance / n).sqrt(); // Student's t for 39 degrees of freedom
        assert!(mean.abs() + half < bound, "{cc}: {mean} +- {half}");
    }
}

/// Homa over lossy wires, with grants from one host to many others: any threads and stops give the same bytes. Hosts' ports of `fq` leave
/// the network in several cells.
#[test]
fn grants_give_the_same_bytes_on_any_threads() {
    let mut document = tree(4, "300KB");
    set(&mut document, "duration", json!("15ms"));
    document["transport"] =
        json!({"profile": "homa", "cc": "line-rate", "timeout": "500us", "scheduled_levels": 3});
    document["nic"] = "fq".into();
    document["priority"] = json!({"0": {}, "1": {}, "2": {}, "3": {}});
    document["port"] = json!({"edge*->*": {"loss": 0.002, "duplicate": 0.002}});
    set(
        &mut document,
        "traffic.incast",
        json!({"kind": "bulk", "from": "h0..h11", "to": "h12", "bytes": "200KB"}),
    );
    set(&mut document, "probe", json!({"packets": "*->h12", "flow_trace": "100us", "nic_queues": true}));
    let alone = worked(&document, 1);
    let tables = Tables::of(&alone);
    assert!(tables.u64("queues", "drops_wire").iter().sum::<u64>() > 0);
    assert_eq!(tables.u64("flows", "delivered_bytes"), tables.u64("flows", "bytes"));
    same_on_any_threads(&document, &alone);
}

/// Ultra Ethernet over every choice of paths, with trimmed packets, marks, headers that return and losses on the wires: any threads and
/// stops give the same bytes.
#[test]
fn entropy_values_give_the_same_bytes_on_any_threads() {
    let mut document = tree(4, "100KB");
    set(&mut document, "duration", json!("8ms"));
    document["queue"] =
        json!({"kind": "trimming", "limit": "12KB", "header_limit": "6pkt", "kmin": "3KB", "kmax": "10KB"});
    document["port"] = json!({"edge*->*": {"loss": 0.002, "duplicate": 0.002}});
    set(
        &mut document,
        "traffic.incast",
        json!({"kind": "bulk", "from": "h0..h11", "to": "h12", "bytes": "100KB"}),
    );
    set(&mut document, "probe", json!({"packets": "*->h12", "flow_trace": "100us", "nic_queues": true}));
    for entropy in Entropy::ALL {
        document["transport"] = json!({
            "profile": "uec", "cc": "nscc", "mtu": "1460B", "timeout": "200us", "entropy": entropy.show(),
        });
        let alone = worked(&document, 1);
        let tables = Tables::of(&alone);
        for column in ["trims", "marks", "returned", "drops_wire"] {
            assert!(tables.u64("queues", column).iter().sum::<u64>() > 0, "{column}");
        }
        assert_eq!(
            tables.u64("flows", "delivered_bytes"),
            tables.u64("flows", "bytes"),
            "{}",
            entropy.show()
        );
        same_on_any_threads(&document, &alone);
    }
}

/// Cards with ports in three planes, of which one loses a port and another a switch, over every choice of values and both static and
/// following tables: any threads and stops give the same bytes.
#[test]
fn planes_give_the_same_bytes_on_any_threads() {
    let mut document = tree(4, "100KB");
    set(&mut document, "duration", json!("12ms"));
    document["topology"]["planes"] = json!(3);
    document["queue"] =
        json!({"kind": "trimming", "limit": "12KB", "header_limit": "6pkt", "kmin": "3KB", "kmax": "10KB"});
    document["port"] = json!({"p*.edge*->*": {"loss": 0.002, "duplicate": 0.002}});
    document["event"] = json!({
        "port": {"at": "30us", "link": "h12<->p1.edge3.0", "state": "down"},
        "switch": {"at": "40us", "link": "p2.agg0.0<->*", "state": "down"},
        "back": {"at": "2ms", "link": "h12<->p1.edge3.0", "state": "up"},
    });
    set(
        &mut document,
        "traffic.incast",
        json!({"kind": "bulk", "from": "h0..h11", "to": "h12", "bytes": "400KB"}),
    );
    set(&mut document, "probe", json!({"packets": "*->h12", "flow_trace": "100us", "nic_queues": true}));
    let statics = [("structured", "none"), ("flow", "none"), ("flow", "50us")];
    for (entropy, (ecmp, reconvergence)) in Entropy::ALL.iter().zip(statics.into_iter().cycle()) {
        document["ecmp"] = ecmp.into();
        document["routing"] = json!({"reconvergence": reconvergence});
        document["transport"] = json!({
            "profile": "uec", "cc": "nscc", "mtu": "1460B", "timeout": "200us", "retries": 50, "entropy": entropy.show(),
            "receiver_credit": ecmp == "structured",
        });
        let alone = worked(&document, 1);
        let tables = Tables::of(&alone);
        for column in ["trims", "marks", "drops_dead"] {
            assert!(tables.u64("queues", column).iter().sum::<u64>() > 0, "{column}");
        }
        same_on_any_threads(&document, &alone);
    }
}
