//! Laws of every congestion control, discipline, topology and workload: the
//! suite runs over the lists. A component with required settings states an example in its facts.

mod common;
#[path = "conformance/disciplines.rs"]
mod disciplines;
#[path = "conformance/transports.rs"]
mod transports;

use common::{Tables, load, run};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use shallows_core::cc::{
    Ack, Algorithm, AnyCc, Congestion, CongestionControl, Cx, FlowInfo, MessageInfo, WindowRules,
};
use shallows_core::params::{Component, Faults, Kind, Params, Table};
use shallows_core::queue::Queue;
use shallows_core::routing::graph::{Graph, Role};
use shallows_core::routing::table::Routing;
use shallows_core::topology::Topology;
use shallows_core::transport::settings::TransportSettings;
use shallows_core::transport::{Config, Transport};
use shallows_core::workload::Traffic;
use shallows_units::{Span, Time};
use std::collections::BTreeSet;

/// The example in the component's facts, without which it cannot be, or does nothing.
fn example(component: &Component) -> Map<String, Value> {
    serde_json::from_str(component.facts.example)
        .unwrap_or_else(|fault| panic!("facts of {}: `example` is no JSON object: {fault}", component.name))
}

/// The table of a component with its required settings, and those of `wanted` that it declares.
fn minimal(component: &Component, wanted: &[(&str, &str)]) -> Map<String, Value> {
    let mut map = Map::new();
    map.insert("kind".into(), component.name.into());
    map.extend(example(component));
    for (name, value) in wanted {
        let param = component.params.iter().find(|param| param.name == *name);
        if param.is_some_and(|param| allows(&param.kind, value)) {
            map.insert((*name).into(), (*value).into());
        }
    }
    map
}

/// Whether a setting of this kind can be written so.
fn allows(kind: &Kind, value: &str) -> bool {
    match kind {
        Kind::Choice(words) => words.contains(&value),
        Kind::OrNone(inner) => value == "none" || allows(inner, value),
        Kind::Bytes => value != "none" && !value.ends_with("pkt"),
        Kind::Size => value != "none",
        _ => true,
    }
}

/// Reads a component, which must have no fault.
fn read<T>(section: &str, map: &Map<String, Value>, read: impl Fn(&mut Table<'_>) -> Option<T>) -> T {
    let mut faults = Faults::default();
    let mut table = Table::new(section, map, &mut faults);
    let found = read(&mut table);
    table.finish();
    assert!(
        faults.0.is_empty(),
        "{section}.{}: write `facts {{ example: .. }}` with its required settings behind its settings: {:?}",
        map["kind"],
        faults.0
    );
    found.expect("no fault")
}

// ---- congestion controls ----

/// The calls of a transport to an algorithm.
#[derive(Debug, Clone, Copy)]
enum Call {
    Ack { acked: u64, ece: bool, round_ended: bool, may_grow: bool, rtt_us: u64 },
    Congestion(Congestion),
    Message { bytes: u64, deadline_us: Option<u64> },
    Idle,
}

/// The components that the simulator runs: all but those that the list gives to another backend.
fn simulated() -> impl Iterator<Item = Component> {
    Algorithm::list().into_iter().filter(|component| component.backend.is_none())
}

fn call() -> impl Strategy<Value = Call> {
    use Congestion::{Ecn, Loss, LossAfterEcn, Timeout};
    prop_oneof![
        8 => (1u64..200_000, any::<bool>(), any::<bool>(), any::<bool>(), 1u64..10_000).prop_map(
            |(acked, ece, round_ended, may_grow, rtt_us)| Call::Ack { acked, ece, round_ended, may_grow, rtt_us }
        ),
        2 => prop::sample::select(vec![Loss, LossAfterEcn, Ecn, Timeout]).prop_map(Call::Congestion),
        1 => (1u64..10_000_000, prop::option::of(0u64..100_000))
            .prop_map(|(bytes, deadline_us)| Call::Message { bytes, deadline_us }),
        1 => Just(Call::Idle),
    ]
}

/// The windows after each call.
fn windows(algorithm: &Algorithm, rules: &WindowRules, lost_syn: bool, all: &[Call]) -> Vec<u64> {
    let mut now = Time::ZERO;
    let flow = FlowInfo { class: "long", bytes: Some(1_000_000), ..FlowInfo::default() };
    let mut cc: AnyCc = algorithm.start(&flow, &Cx { now, rules });
    if lost_syn {
        cc.on_lost_syn(&Cx { now, rules });
    }
    let (mut sent, mut written, mut windows) = (0, 0, vec![cc.cwnd().as_u64()]);
    for call in all {
        now += Span::us(10);
        let cx = Cx { now, rules };
        let flight = cc.cwnd().as_u64();
        match *call {
            Call::Ack { acked, ece, round_ended, may_grow, rtt_us } => {
                sent += acked;
                let rtt = Span::us(rtt_us);
                let marked = if ece { acked } else { 0 };
                let ack = Ack {
                    acked,
                    delivered: acked,
                    ece,
                    marked,
                    round_ended,
                    may_grow,
                    after_timeout: false,
                    rtt: Some(rtt),
                    srtt: rtt,
                    flight,
                    sent,
                };
                cc.on_ack(&ack, &cx);
            }
            Call::Congestion(why) => {
                cc.on_congestion(why, flight, &cx);
                assert!(cc.cwnd().as_u64() <= flight.max(2 * rules.mss), "{why:?} opened the window");
            }
            Call::Message { bytes, deadline_us } => {
                written += bytes;
                let due = deadline_us.map(|us| now + Span::us(us));
                cc.on_message(&MessageInfo { end: written, due }, &cx);
            }
            Call::Idle => cc.on_idle(2, &cx),
        }
        let cwnd = cc.cwnd().as_u64();
        assert!(cwnd >= rules.mss, "{}: a window of {cwnd} bytes after {call:?}", algorithm.kind());
        assert!(
            cwnd as f64 <= rules.cwnd_max && cwnd < 1 << 50,
            "{}: a window of {cwnd} bytes",
            algorithm.kind()
        );
        if let Some(ssthresh) = cc.ssthresh() {
            assert!(ssthresh >= rules.mss as f64, "{}: ssthresh {ssthresh}", algorithm.kind());
        }
        assert!(cc.pacing_rate().is_none_or(|rate| rate.as_bps() > 0));
        cc.observe(&mut |name, value| assert!(value.is_finite(), "{}: {name} = {value}", algorithm.kind()));
        windows.push(cwnd);
    }
    windows
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_control_keeps_a_window(all in prop::collection::vec(call(), 0..200), bounded in any::<bool>(), lost_syn in any::<bool>()) {
        let bound = if bounded { "100pkt" } else { "none" };
        let settings = json!({"cwnd_max": bound, "cwnd_floor": "1pkt"});
        for component in simulated() {
            let algorithm = read("transport.cc", &minimal(&component, &[]), Algorithm::read);
            let settings =
                TransportSettings::read(&mut Table::new("", settings.as_object().unwrap(), &mut Faults::default()));
            let rules = Config::new(&Transport { profile: "rfc", settings, cc: algorithm.clone(), other: shallows_core::transport::profiles::Other::None }).rules;
            let first = windows(&algorithm, &rules, lost_syn, &all);
            prop_assert_eq!(first, windows(&algorithm, &rules, lost_syn, &all), "{}", component.name);
        }
    }
}

/// Each control fills a link, and leaves it when it is done.
#[test]
fn every_control_carries_flows() {
    for component in simulated() {
        let mut cc = minimal(&component, &[]);
        if component.params.iter().any(|param| param.name == "long_classes") {
            cc.insert("long_classes".into(), "load".into());
        }
        let algorithm = read("transport.cc", &cc, Algorithm::read);
        let simulation = run(&json!({
            "duration": "100ms",
            "topology": {"kind": "star", "senders": 2},
            "queue": {"kind": "threshold"},
            "port_control": algorithm.protocol().unwrap_or("none"),
            "transport": {"cc": cc},
            "traffic": {"load": {"kind": "bulk", "from": "s*", "to": "r0", "bytes": "20MB"}},
        }));
        let tables = Tables::of(&simulation);
        assert!(simulation.books().balance());
        let ends = tables.u64("flows", "end_ps");
        assert!(ends.iter().all(|end| *end < 50_000_000_000), "{}: {ends:?}", component.name);
    }
}

// ---- topologies ----

#[test]
fn every_topology_joins_its_hosts_under_unique_names() {
    for component in Topology::list() {
        let small = [json!(null), json!(1), json!(2)];
        for size in small {
            let mut map = minimal(&component, &[]);
            for param in &component.params {
                // Counts with a default of their own may be small too.
                if let Some(size) = size.as_u64().filter(|_| param.default.is_u64()) {
                    let least = param.range.trim_start_matches('[').split(',').next();
                    let least = least.and_then(|text| text.parse().ok()).unwrap_or(0);
                    map.insert(param.name.into(), size.max(least).into());
                }
            }
            let topology = read("topology", &map, Topology::read);
            let mut faults = Faults::default();
            let graph = topology.build(&mut faults);
            assert!(faults.0.is_empty(), "{map:?}: {:?}", faults.0);
            check_graph(component.name, &graph);
            let again = topology.build(&mut faults);
            assert_eq!((again.nodes, again.links), (graph.nodes, graph.links));
        }
    }
}

fn check_graph(name: &str, graph: &Graph) {
    let names: BTreeSet<_> = graph.nodes.iter().map(|node| &node.name).collect();
    assert_eq!(names.len(), graph.nodes.len(), "{name}: two nodes of one name");
    let ports: BTreeSet<_> = (0..graph.links.len() as u32).map(|id| graph.port_name(id)).collect();
    assert_eq!(ports.len(), graph.links.len(), "{name}: two ports of one name");
    let hosts: Vec<_> = graph.ids(Role::Host).collect();
    assert!(hosts.len() >= 2, "{name} has {} hosts", hosts.len());
    let mut routing = Routing::new(graph, 1);
    for (from, to) in hosts.iter().flat_map(|a| hosts.iter().map(move |b| (*a, *b))).filter(|(a, b)| a != b) {
        assert!(routing.leads(from, to), "{name}: no path");
        for choice in 0..4 {
            let mut path: Vec<u32> = vec![];
            let mut node = from;
            while node != to {
                let ways = routing.ways(node, to);
                path.push(ways[choice % ways.len()]);
                node = routing.end(path[path.len() - 1]);
            }
            let ends = |link: &u32| (graph.links[*link as usize].from, graph.links[*link as usize].to);
            assert_eq!((ends(&path[0]).0, ends(path.last().expect("a link")).1), (from, to));
            assert!(
                path.windows(2).all(|pair| ends(&pair[0]).1 == ends(&pair[1]).0),
                "{name}: a broken path"
            );
            assert!(
                path[1..].iter().all(|link| graph.role(ends(link).0) == Role::Switch),
                "{name}: a host forwards"
            );
        }
    }
    // Every link joins both ways, so that acknowledgements come back.
    assert!((0..graph.links.len() as u32).all(|link| graph.back(link).is_some()), "{name}");
}

/// Each topology carries traffic between its first and its last host.
#[test]
fn every_topology_carries_traffic() {
    for component in Topology::list() {
        let topology = minimal(&component, &[]);
        let graph = read("topology", &topology, Topology::read).build(&mut Faults::default());
        let hosts: Vec<_> = graph.ids(Role::Host).collect();
        let (from, to) = (graph.name(hosts[0]), graph.name(hosts[hosts.len() - 1]));
        let simulation = run(&json!({
            "duration": "20ms", "topology": topology, "queue": {"kind": "threshold"}, "transport": {"cc": "dctcp"},
            "traffic": {"load": {"kind": "bulk", "from": from, "to": to, "bytes": "1MB"}},
        }));
        assert_eq!(simulation.net().ports.len(), graph.links.len(), "one port a direction");
        assert_eq!(
            Tables::of(&simulation).u64("flows", "delivered_bytes"),
            [1_000_000],
            "{}",
            component.name
        );
    }
}

// ---- workloads ----

#[test]
fn every_workload_starts_sends_and_finishes() {
    for component in Traffic::list() {
        let mut first_starts: Option<Vec<u64>> = None;
        for seed in 1..4 {
            let mut traffic = minimal(&component, &[("start", "2ms")]);
            traffic.insert("class".into(), "c".into());
            let document = json!({
                "duration": "50ms",
                "seed": seed,
                "topology": {"kind": "star", "senders": 3},
                "queue": {"kind": "threshold"},
                "transport": {"cc": "dctcp"},
                "traffic": {"load": traffic},
            });
            let simulation = run(&document);
            let (name, tables) = (component.name, Tables::of(&simulation));
            for table in ["rounds", "steps", "datagrams"] {
                let fills = component.facts.fills.contains(&table);
                assert_eq!(
                    tables.rows(table) > 0,
                    fills,
                    "{name}: `fills` in its facts, and the table of {table}"
                );
            }
            let listens = simulation.listens();
            assert_eq!(
                listens, component.facts.closed_loop,
                "{name}: `closed_loop` in its facts, and `listens`"
            );
            let starts = tables.u64("messages", "start_ps");
            let moved = first_starts.get_or_insert_with(|| starts.to_vec()) != starts;
            assert!(!moved || simulation.is_random(), "{name}: the seed moves its messages, and `is_random`");
            assert!(simulation.books().balance());
            assert_eq!(simulation.books().in_flight, 0, "{name} still sends");
            let datagrams = tables.rows("datagrams") > 0;
            assert!(tables.rows("flows") > 0, "{name} opened nothing");
            assert!(datagrams || tables.rows("messages") > 0, "{name} sent nothing");
            assert_eq!(
                tables.u64("datagrams", "arrived"),
                tables.u64("datagrams", "sent"),
                "{name} is not done"
            );
            assert!(
                tables.u64("messages", "end_ps").iter().all(|end| *end != u64::MAX),
                "{name} is not done"
            );
            let bytes = if datagrams { "arrived_bytes" } else { "bytes" };
            assert_eq!(tables.u64("flows", "delivered_bytes"), tables.u64("flows", bytes), "{name}");
            assert!(tables.words("flows", "class").iter().all(|class| *class == "c"));
            let start: u64 = if traffic_has_start(&component) { 2_000_000_000 } else { 0 };
            assert!(tables.u64("messages", "start_ps").iter().all(|at| *at >= start), "{name} starts early");
            assert_eq!(Tables::of(&run(&document)).hashes(), tables.hashes(), "{name} is not repeatable");
        }
    }
}

fn traffic_has_start(component: &Component) -> bool {
    component.params.iter().any(|param| param.name == "start")
}

/// Nothing in the lists is without a name, a summary or a range that reads.
#[test]
fn every_setting_is_described() {
    let lists = [Algorithm::list(), Queue::list(), Topology::list(), Traffic::list(), Transport::list()];
    for component in lists.iter().flatten() {
        assert!(component.doc.contains('.'), "{} needs a sentence", component.name);
        let names: BTreeSet<_> = component.params.iter().map(|param| param.name).collect();
        assert_eq!(names.len(), component.params.len(), "{} has a setting twice", component.name);
        for param in &component.params {
            let ends = (param.range.chars().next(), param.range.chars().last());
            assert!(matches!(ends, (None, None) | (Some('[' | '('), Some(']' | ')'))), "{}", param.range);
            assert!(
                !param.doc.trim().is_empty() && !param.source.is_empty(),
                "{}.{}",
                component.name,
                param.name
            );
        }
    }
}

/// A document that names each component of each list builds.
#[test]
fn every_component_can_be_written_in_a_document() {
    for component in Queue::list() {
        let queue = minimal(&component, &[]);
        load(&json!({
            "duration": "1ms", "topology": "star", "queue": queue, "nic": queue, "transport": {"cc": "newreno"},
            "traffic": {"load": {"kind": "bulk", "from": "s*", "to": "r0"}},
        }));
    }
}
