//! An experiment gives the same bytes each time: again, beside others, whatever is recorded, and, as far
//! as results are stated, whichever of two simultaneous events comes first.

mod common;

use common::cases::{ANY, cases};
use common::{Tables, load, run, set};
use proptest::prelude::*;
use serde_json::{Value, json};
use shallows_core::{Control, Simulation};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_same_seed_gives_the_same_bytes_on_any_thread(case in cases(ANY)) {
        let document = case.document("3ms", "500us");
        let alone = Tables::of(&run(&document)).hashes();
        let together: Vec<_> = std::thread::scope(|scope| {
            let runs: Vec<_> = (0..4).map(|_| scope.spawn(|| Tables::of(&run(&document)).hashes())).collect();
            runs.into_iter().map(|run| run.join().expect("no panic")).collect()
        });
        together.iter().for_each(|hashes| assert_eq!(hashes, &alone));
    }

    /// Tables that stand whatever is recorded are equal to the bit; of `queues`, the counts.
    #[test]
    fn probes_change_nothing(case in cases(ANY)) {
        let document = case.document("2ms", "300us");
        let with = |probe: Value| {
            let mut document = document.clone();
            document["probe"] = probe;
            let mut hashes = Tables::of(&run(&document)).hashes();
            hashes.retain(|column, _| stands(column));
            hashes
        };
        let off = with(json!({"queues": false, "waits": false}));
        for probe in [
            json!({}),
            json!({"nic_queues": true, "at_dequeue": true}),
            json!({"queues": false, "queue_trace": "change"}),
            json!({"queue_trace": "7us", "flow_trace": "11us", "port_trace": "13us", "ports": "*->*"}),
            json!({"queue_trace": "change", "flow_trace": "change", "classes": "load"}),
        ] {
            prop_assert_eq!(&off, &with(probe.clone()), "{}", probe);
        }
    }

    /// A resolved document resolves to itself, and runs to the same bytes.
    #[test]
    fn a_resolved_document_resolves_to_itself(case in cases(ANY)) {
        let written = case.document("1ms", "0s");
        let resolved = resolve(&written).expect("no fault");
        prop_assert_eq!(&resolve(&resolved).expect("no fault"), &resolved);
        prop_assert_eq!(Tables::of(&run(&written)).hashes(), Tables::of(&run(&resolved)).hashes());
    }
}

/// A column that is filled whatever the probes.
fn stands(column: &str) -> bool {
    let (table, name) = column.split_once('.').expect("a table and a column");
    let counted = ["port", "is_switch", "rate_bps", "marks", "utilisation"];
    let count = |name: &str| {
        ["packets_in", "bytes_in", "drops", "packets_out", "bytes_out", "packets_held", "bytes_held"]
            .iter()
            .any(|prefix| name.starts_with(prefix))
    };
    match table {
        "flows" | "messages" | "rounds" => true,
        "queues" => counted.contains(&name) || count(name),
        _ => false,
    }
}

/// The experiment with every default in place, or its faults.
fn resolve(document: &Value) -> Result<Value, Value> {
    let mut answer: Value = serde_json::from_str(&shallows_spec::check(&document.to_string())).expect("JSON");
    match answer["experiment"].take() {
        Value::Null => Err(answer["faults"].take()),
        experiment => Ok(experiment),
    }
}

/// Every experiment that is a document as it stands, less the keys that choose among runs.
#[test]
fn published_experiments_resolve_to_themselves() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let mut resolved = vec![];
    for path in toml_files(&root) {
        let text = std::fs::read_to_string(&path).expect("a readable file");
        let mut document: Value = toml::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        for key in ["sweep", "seeds"] {
            document.as_object_mut().expect("a table").remove(key);
        }
        // Files of claims, of quick variants, and those whose traffic is read from a data file are none.
        let Ok(once) = resolve(&document) else { continue };
        assert_eq!(resolve(&once), Ok(once), "{}", path.display());
        resolved.push(path.file_name().map(|name| name.to_string_lossy().into_owned()));
    }
    assert!(resolved.len() >= 5, "only {resolved:?}");
}

fn toml_files(directory: &Path) -> Vec<PathBuf> {
    let entries =
        std::fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry").path());
    let (directories, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let mut found: Vec<_> =
        files.into_iter().filter(|path| path.extension().is_some_and(|e| e == "toml")).collect();
    found.extend(directories.iter().flat_map(|directory| toml_files(directory)));
    found.sort();
    found
}

/// Eight DCTCP senders share one port: the standing example of the results below.
fn dctcp() -> Value {
    json!({
        "duration": "60ms",
        "warmup": "10ms",
        "topology": {"kind": "dumbbell", "left": 8, "right": 1, "rate": "10Gbps"},
        "queue": {"kind": "threshold", "limit": "250pkt", "mark_at": "65pkt"},
        "transport": {"cc": "dctcp", "opening": "established"},
        "traffic": {"long": {"kind": "bulk", "from": "l*", "to": "r0", "jitter": "100us"}},
    })
}

/// Throughput in bit/s, mean queue in packets, mean wait in ps, at `port`.
fn stated(simulation: &Simulation, port: &str) -> [f64; 3] {
    let tables = Tables::of(simulation);
    let place = tables.port(port);
    let goodput: f64 = tables.f64("flows", "goodput_bps").iter().sum();
    [goodput, tables.f64("queues", "mean_packets")[place], tables.f64("queues", "mean_wait_ps")[place]]
}

/// Which of two simultaneous events comes first decides which packet is marked, so single flows
/// differ, as they do between seeds. Statements on the whole must not: 0.1 % of the throughput and
/// 2 % of queue and wait over 50 ms, some 300 cycles of the queue's swing.
#[test]
fn stated_results_do_not_hang_on_the_order_of_ties() {
    let with = |stride: u64| {
        let mut experiment = shallows_spec::parse(&dctcp().to_string()).expect("no fault");
        experiment.tie_stride = stride;
        let mut simulation = experiment.build().expect("no fault");
        simulation.run(&Control::new()).expect("the run ends");
        stated(&simulation, "left->right")
    };
    let fifo = with(1);
    for stride in [0x9e37_79b9_7f4a_7c15, 0x2b_9e37_79b9_7f4b, u64::MAX] {
        let shuffled = with(stride);
        for (i, tolerance) in [0.001, 0.02, 0.02].into_iter().enumerate() {
            let off = (shuffled[i] / fifo[i] - 1.0).abs();
            assert!(off <= tolerance, "{stride:x}: {fifo:?} and {shuffled:?}");
        }
    }
}

/// A run on ports that decide at departure: two events a packet.
fn twin(document: &Value) -> Simulation {
    let mut simulation = load(document);
    simulation.schedule_departures();
    simulation.run(&Control::new()).expect("the run ends");
    simulation
}

/// The columns in which two runs differ, but for those of waits: a wait counts when it is known, at arrival or at the end, so that packets
/// that are queued as statistics begin and end count here or there.
fn unlike(one: &Simulation, other: &Simulation) -> Vec<String> {
    let [one, other] = [one, other].map(|simulation| Tables::of(simulation).hashes());
    let columns = one.keys().chain(other.keys()).filter(|column| !column.ends_with("_wait_ps"));
    let differ: BTreeSet<_> =
        columns.filter(|column| one.get(*column) != other.get(*column)).cloned().collect();
    differ.into_iter().collect()
}

/// The two ways of working a port agree to the bit, also on rates and delays without a common measure and with random starts.
#[test]
fn one_event_a_packet_gives_what_two_give() {
    let mut document = dctcp();
    set(&mut document, "topology.rate", json!("9973Mbps"));
    set(&mut document, "topology.access_rate", json!("23456789Kbps"));
    set(&mut document, "topology.delay", json!("10007123ps"));
    set(&mut document, "topology.access_delay", json!("20011457ps"));
    set(&mut document, "nic", json!({"kind": "drop-tail"})); // of the line before fq there is no twin
    set(&mut document, "probe.nic_queues", json!(true));
    set(&mut document, "probe.at_dequeue", json!(true));
    set(&mut document, "probe.queue_trace", json!("7us"));
    for (queue, cc) in [
        (json!({"kind": "tc-red", "limit": "375KB", "min": "30KB", "max": "150KB"}), "newreno"),
        (json!({"kind": "pi2", "limit": "250pkt"}), "newreno"),
        (json!({"kind": "threshold", "limit": "250pkt", "mark_at": "65pkt"}), "dctcp"),
        (
            json!({"kind": "threshold", "limit": "90KB", "mark_at": "30KB", "count_in_service": false}),
            "dctcp",
        ),
        (json!({"kind": "drop-tail", "limit": "40pkt"}), "newreno"),
    ] {
        document["queue"] = queue;
        document["transport"]["cc"] = cc.into();
        let (fast, slow) = (run(&document), twin(&document));
        let differ = unlike(&fast, &slow);
        assert!(differ.is_empty(), "{}: {differ:?}", document["queue"]);
        let (one, two) = (stated(&fast, "left->right")[2], stated(&slow, "left->right")[2]);
        assert!((two / one - 1.0).abs() < 0.002, "waits of {one} and {two} ps");
        // A discipline says how it couples marks and drops, in both ways.
        let couples = document["queue"]["kind"] == "pi2";
        let [one, two] = [&fast, &slow].map(|simulation| simulation.manifest_counts()["coupling"].clone());
        assert_eq!((one.as_array().map(Vec::len), &one), (Some(usize::from(couples)), &two));
        assert_eq!(fast.books().hops, slow.books().hops);
        // Where a packet comes at the instant at which another leaves, both are one event.
        assert!(slow.books().events > fast.books().events, "{} events", slow.books().events);
    }
}

/// On equal links packets arrive at the very moments at which others leave. Both ways let the leaving packet go first.
#[test]
fn with_ties_one_event_a_packet_gives_what_two_give() {
    let [fast, slow] = [run(&dctcp()), twin(&dctcp())];
    assert_eq!(unlike(&fast, &slow), Vec::<String>::new());
}
