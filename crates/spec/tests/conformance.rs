//! What every congestion control, discipline, topology and workload must hold, whoever wrote it: the
//! suite runs over the lists. What has required settings needs a row in `needed`.

mod common;

use common::{Tables, load, run};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use shallows_core::cc::{Ack, Algorithm, AnyCc, Congestion, CongestionControl, Cx, FlowInfo, WindowRules};
use shallows_core::engine::events::{Event, EventQueue};
use shallows_core::engine::random::Stream;
use shallows_core::net::graph::{Graph, Role};
use shallows_core::net::packet::{Flags, NONE, Packet};
use shallows_core::net::paths::Paths;
use shallows_core::net::port::{Port, Scheduled, Service};
use shallows_core::net::routes::Routes;
use shallows_core::net::{Net, Tag};
use shallows_core::params::{Component, Faults, Kind, Params, Table};
use shallows_core::queue::fifo::Fifo;
use shallows_core::queue::{Built, Place, Queue};
use shallows_core::topology::Topology;
use shallows_core::transport::settings::TransportSettings;
use shallows_core::transport::{Config, Transport};
use shallows_core::workload::Traffic;
use shallows_units::{Rate, Span, Time};
use std::collections::BTreeSet;

/// Settings without which a component cannot be, or does nothing.
fn needed(section: &str, name: &str) -> Value {
    match (section, name) {
        ("topology", "graph") => json!({
            "hosts": ["a", "b", "c"], "switches": ["sw"],
            "links": [{"from": "a", "to": "sw"}, {"from": "sw", "to": "b"}, {"from": "sw", "to": "c"}],
        }),
        ("traffic", "bulk") => json!({"from": "s*", "to": "r0", "bytes": "30KB"}),
        ("traffic", "messages") => {
            json!({"from": "s*", "to": "r0", "bytes": "5KB", "interval": "1ms", "count": 3})
        }
        ("traffic", "poisson") => {
            json!({"from": "s*", "to": "r0", "sizes": {"kind": "fixed", "bytes": "5KB"}, "every": "1ms", "stop": "9ms"})
        }
        ("traffic", "incast") => json!({"from": "s*", "to": "r0", "response": "5KB", "rounds": 3}),
        ("traffic", "table") => {
            json!({"flows": [{"from": "s0", "to": "r0", "bytes": "5KB", "start": "1ms"}]})
        }
        _ => json!({}),
    }
}

/// The table of a component with what it needs, and of `wanted` what it declares.
fn minimal(section: &str, component: &Component, wanted: &[(&str, &str)]) -> Map<String, Value> {
    let mut map = Map::new();
    map.insert("kind".into(), component.name.into());
    map.extend(needed(section, component.name).as_object().cloned().unwrap_or_default());
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
        Kind::OrNone(inner) => allows(inner, value),
        Kind::Bytes => !value.ends_with("pkt"),
        _ => true,
    }
}

/// Reads a component, which must have no fault.
fn read<T>(section: &str, map: &Map<String, Value>, read: impl Fn(&mut Table<'_>) -> Option<T>) -> T {
    let mut faults = Faults::default();
    let mut table = Table::new(section, map, &mut faults);
    let found = read(&mut table);
    table.finish();
    assert!(faults.0.is_empty(), "add {section}.{} to `needed`: {:?}", map["kind"], faults.0);
    found.expect("no fault")
}

// ---- congestion controls ----

/// What a transport may tell an algorithm.
#[derive(Debug, Clone, Copy)]
enum Told {
    Ack { acked: u64, ece: bool, round_ended: bool, may_grow: bool, rtt_us: u64 },
    Congestion(Congestion),
    Idle,
}

fn told() -> impl Strategy<Value = Told> {
    use Congestion::{Ecn, Loss, LossAfterEcn, Timeout};
    prop_oneof![
        8 => (1u64..200_000, any::<bool>(), any::<bool>(), any::<bool>(), 1u64..10_000).prop_map(
            |(acked, ece, round_ended, may_grow, rtt_us)| Told::Ack { acked, ece, round_ended, may_grow, rtt_us }
        ),
        2 => prop::sample::select(vec![Loss, LossAfterEcn, Ecn, Timeout]).prop_map(Told::Congestion),
        1 => Just(Told::Idle),
    ]
}

/// The windows after each thing told.
fn windows(algorithm: &Algorithm, rules: &WindowRules, all: &[Told]) -> Vec<u64> {
    let mut now = Time::ZERO;
    let flow = FlowInfo { class: "long", bytes: Some(1_000_000) };
    let mut cc: AnyCc = algorithm.start(&flow, &Cx { now, rules });
    let (mut sent, mut windows) = (0, vec![cc.cwnd().as_u64()]);
    for told in all {
        now += Span::us(10);
        let cx = Cx { now, rules };
        let flight = cc.cwnd().as_u64();
        match *told {
            Told::Ack { acked, ece, round_ended, may_grow, rtt_us } => {
                sent += acked;
                let rtt = Span::us(rtt_us);
                let ack = Ack { acked, ece, round_ended, may_grow, rtt: Some(rtt), srtt: rtt, flight, sent };
                cc.on_ack(&ack, &cx);
            }
            Told::Congestion(why) => {
                cc.on_congestion(why, flight, &cx);
                assert!(cc.cwnd().as_u64() <= flight.max(2 * rules.mss), "{why:?} opened the window");
            }
            Told::Idle => cc.on_idle(&cx),
        }
        let cwnd = cc.cwnd().as_u64();
        assert!(cwnd >= rules.mss, "{}: a window of {cwnd} bytes after {told:?}", algorithm.kind());
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
    fn every_control_keeps_a_window(all in prop::collection::vec(told(), 0..200), bounded in any::<bool>()) {
        let bound = if bounded { "100pkt" } else { "none" };
        let settings = json!({"cwnd_max": bound, "cwnd_floor": "1pkt"});
        for component in Algorithm::list() {
            let algorithm = read("transport.cc", &minimal("transport.cc", &component, &[]), Algorithm::read);
            let settings =
                TransportSettings::read(&mut Table::new("", settings.as_object().unwrap(), &mut Faults::default()));
            let rules = Config::new(&Transport { profile: "rfc", settings, cc: algorithm.clone() }).rules;
            let first = windows(&algorithm, &rules, &all);
            prop_assert_eq!(first, windows(&algorithm, &rules, &all), "{}", component.name);
        }
    }
}

/// Each control fills a link, and leaves it when it is done.
#[test]
fn every_control_carries_flows() {
    for component in Algorithm::list() {
        let mut cc = minimal("transport.cc", &component, &[]);
        if component.params.iter().any(|param| param.name == "long_classes") {
            cc.insert("long_classes".into(), "load".into());
        }
        let simulation = run(&json!({
            "duration": "100ms",
            "topology": {"kind": "star", "senders": 2},
            "queue": {"kind": "threshold"},
            "transport": {"cc": cc},
            "traffic": {"load": {"kind": "bulk", "from": "s*", "to": "r0", "bytes": "20MB"}},
        }));
        let tables = Tables::of(&simulation);
        assert!(simulation.books().balance());
        assert!(tables.u64("flows", "end_ps").iter().all(|end| *end < 50_000_000_000), "{}", component.name);
    }
}

// ---- disciplines ----

/// A packet handed to the port: after so many ps, so many bytes, of which flow, ECN-capable or not.
type Arrival = (u64, u16, u32, bool);

/// What became of the packets: (number, when it was delivered, its CE).
type Fates = Vec<(u64, Time, bool)>;

/// One port with a discipline, and a wire of 1 us behind it.
struct Bench {
    net: Net,
    route: u32,
    sent: u64,
    fates: Fates,
}

const WIRE: Span = Span::us(1);
const FLOWS: u32 = 3;

impl Bench {
    fn new(built: Built, rate: Rate) -> Self {
        let mut graph = Graph::default();
        let (switch, host) = (graph.switch("sw"), graph.host("h"));
        graph.simplex(switch, host, rate, WIRE);
        let service = match built {
            Built::Arrival(admission) => Service::Arrival(admission),
            Built::Departure(disc) => Service::Departure(Box::new(Scheduled::new(disc))),
        };
        let mut port = Port::new(rate, WIRE, true, service);
        port.prepare();
        let mut paths = Paths::new(&graph);
        let route = paths.find(switch, host, 0).expect("a link");
        let mut net = Net::new(vec![port], paths, EventQueue::new(1));
        for flow in 0..FLOWS {
            let owner = net.events.add(Event::Sender(flow));
            net.tags.push(Tag { outstanding: 0, class: 0, drops: 0, owner });
        }
        Bench { net, route, sent: 0, fates: vec![] }
    }

    /// Lets everything happen that is due by `until`.
    fn advance(&mut self, until: Time) {
        while let Some((at, event)) = self.net.events.pop() {
            if at > until {
                self.net.events.unpop();
                break;
            }
            self.net.now = at;
            match event {
                Event::Wire(port) => {
                    let packet = self.net.land(port).expect("the path ends here");
                    self.fates.push((packet.seq, at, packet.flags.any(Flags::CE)));
                }
                Event::Port(port) => self.net.depart(port),
                _ => {} // a flow's last packet was dropped
            }
        }
        self.net.now = until;
    }

    fn arrive(&mut self, (gap, size, flow, capable): Arrival) {
        self.advance(self.net.now + Span::ps(gap));
        let packet = Packet {
            at: Time::ZERO,
            seq: self.sent,
            stamp: self.net.now,
            waited: 0,
            flow,
            route: self.route,
            extension: NONE,
            size,
            flags: Flags::default().with_if(Flags::ECT0, capable),
        };
        self.sent += 1;
        self.net.send(&packet);
    }

    /// Packets and bytes held in the queue.
    fn held(&mut self) -> (u64, u64) {
        let now = self.net.now;
        self.net.ports[0].settle(now);
        self.net.ports[0].held()
    }

    /// Packets and bytes held without the packet being transmitted, which Linux's disciplines have
    /// handed over and do not count.
    fn waiting(&mut self) -> (u64, u64) {
        let (packets, bytes) = self.held();
        let port = &self.net.ports[0];
        let serving = match &port.service {
            Service::Departure(scheduled) => scheduled.serving.map_or(0, |p| u64::from(p.size)),
            Service::Arrival(_) => port.backlog().serving,
        };
        (packets - u64::from(serving > 0), bytes - serving)
    }

    fn books_balance(&mut self) {
        let held = self.held();
        let (totals, port) = (self.net.totals, &self.net.ports[0]);
        assert_eq!(totals.sent, totals.delivered + totals.dropped + self.net.in_flight());
        assert_eq!(port.counts.packets_in, self.sent);
        assert_eq!(totals.dropped, port.counts.dropped());
        assert_eq!(totals.sent, totals.delivered + totals.dropped + held.0 + port.on_wire());
    }
}

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let gap = prop_oneof![4 => Just(0), 4 => 1u64..3_000_000, 1 => 1u64..1_000_000_000];
    prop::collection::vec((gap, 40u16..9001, 0..FLOWS, any::<bool>()), 1..250)
}

fn rates() -> impl Strategy<Value = Rate> {
    let bps = [1, 1_000, 9_973_000_000, 10_000_000_000, 400_000_000_000, 1_000_000_000_000_000];
    prop::sample::select(bps.to_vec()).prop_map(Rate::bps)
}

fn place(rate: Rate) -> Place {
    Place { rate, random: Stream::new(1, "queue", 0) }
}

/// A discipline that holds at most `limit`, where it has limits.
fn queue(component: &Component, limit: &str, mark_at: &str) -> Queue {
    let wanted = [("limit", limit), ("mark_at", mark_at), ("measure", "after")];
    read("queue", &minimal("queue", component, &wanted), Queue::read)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_discipline_keeps_its_limit_order_and_books(all in arrivals(), rate in rates(), bytes in any::<bool>()) {
        let (limit, mark_at) = if bytes { ("30000B", "9000B") } else { ("20pkt", "6pkt") };
        for component in Queue::list() {
            let queue = queue(&component, limit, mark_at);
            // Limits in bytes only are tested in the cases with bytes.
            let limit_is = component.params.iter().find(|param| param.name == "limit");
            let counts_serving = component.params.iter().any(|param| param.name == "count_in_service");
            let limited = limit_is.is_some_and(|param| allows(&param.kind, limit));
            let mut bench = Bench::new(queue.build(place(rate)), rate);
            for arrival in &all {
                bench.arrive(*arrival);
                let (packets, held) = if counts_serving { bench.held() } else { bench.waiting() };
                let within = if bytes { held <= 30_000 } else { packets <= 20 };
                prop_assert!(within || !limited, "{}: {} packets, {} bytes", component.name, packets, held);
            }
            bench.books_balance();
            bench.advance(Time::MAX);
            bench.books_balance();
            prop_assert_eq!(bench.held(), (0, 0), "{} keeps packets for ever", component.name);
            check_fates(component.name, &bench, &all);

            // An idle port serves at once, and marks nothing once averages have had time to forget.
            let mut marked = true;
            for _ in 0..100 {
                let idle = bench.net.ports[0].free_at + Span::s(1);
                bench.net.now = idle;
                bench.arrive((0, 1500, 0, true));
                bench.advance(Time::MAX);
                let (_, at, now_marked) = *bench.fates.last().expect("delivered");
                prop_assert_eq!(at, idle + bench.net.ports[0].transmission(1500) + WIRE, "{}", component.name);
                marked = now_marked;
            }
            // At a few bits a second one packet alone stands for longer than any target.
            let slow = rate < Rate::gbps(1);
            prop_assert!(slow || !marked, "{} marks on an empty queue", component.name);
        }
    }

    /// The two ways of working a port agree for every discipline that decides at arrival, where no
    /// arrival falls on the end of a transmission.
    #[test]
    fn every_discipline_at_arrival_equals_its_twin(all in arrivals(), rate in rates()) {
        for component in Queue::list() {
            let queue = queue(&component, "20pkt", "6pkt");
            let (Built::Arrival(one), Built::Arrival(two)) = (queue.build(place(rate)), queue.build(place(rate))) else { continue };
            let mut fast = Bench::new(Built::Arrival(one), rate);
            let mut slow = Bench::new(Built::Departure(Box::new(Fifo::new(two, rate))), rate);
            all.iter().for_each(|arrival| { fast.arrive(*arrival); slow.arrive(*arrival); });
            fast.advance(Time::MAX);
            slow.advance(Time::MAX);
            let mut clock = Time::ZERO;
            let came: BTreeSet<Time> = all.iter().map(|(gap, ..)| { clock += Span::ps(*gap); clock }).collect();
            let ties = fast.fates.iter().any(|(_, at, _)| came.contains(&(*at - WIRE)));
            prop_assert!(ties || fast.fates == slow.fates, "{}: {:?} {:?}", component.name, fast.fates, slow.fates);
        }
    }
}

/// Marks only on the ECN-capable, order within each flow, nothing faster than the port.
fn check_fates(name: &str, bench: &Bench, all: &[Arrival]) {
    // A flow keeps to one codepoint in earnest; disciplines may sort by it.
    let mut last = [[None; 2]; FLOWS as usize];
    let mut free = Time::ZERO;
    for (number, at, marked) in &bench.fates {
        let (_, size, flow, capable) = all[*number as usize];
        assert!(capable || !marked, "{name} marked a packet that is not ECN-capable");
        assert!(last[flow as usize][usize::from(capable)] < Some(*number), "{name} reordered a flow");
        last[flow as usize][usize::from(capable)] = Some(*number);
        let took = bench.net.ports[0].transmission(size);
        assert!(*at >= free + took + WIRE, "{name} sent faster than its rate");
        free = *at - WIRE;
    }
    let marked = bench.fates.iter().filter(|fate| fate.2).count() as u64;
    assert!(marked <= bench.net.ports[0].counts.marks, "{name} marks more than it counts");
}

// ---- topologies ----

#[test]
fn every_topology_joins_its_hosts_under_unique_names() {
    for component in Topology::list() {
        let small = [json!(null), json!(1), json!(2)];
        for size in small {
            let mut map = minimal("topology", &component, &[]);
            for param in &component.params {
                // Counts with a default of their own may be small too.
                if size.is_u64() && param.default.is_u64() {
                    map.insert(param.name.into(), size.clone());
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
    let mut routes = Routes::new(graph);
    for (from, to) in hosts.iter().flat_map(|a| hosts.iter().map(move |b| (*a, *b))).filter(|(a, b)| a != b) {
        for choice in 0..4 {
            let path = routes.path(from, to, choice).unwrap_or_else(|| panic!("{name}: no path"));
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
    // Whatever is joined is joined both ways, so that acknowledgements come back.
    assert!(graph.links.iter().all(|link| graph.find_link(link.to, link.from).is_some()), "{name}");
}

/// Each topology carries traffic between its first and its last host.
#[test]
fn every_topology_carries_traffic() {
    for component in Topology::list() {
        let topology = minimal("topology", &component, &[]);
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
        for seed in 1..4 {
            let mut traffic = minimal("traffic", &component, &[("start", "2ms")]);
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
            assert!(simulation.books().balance());
            assert_eq!(simulation.books().in_flight, 0, "{name} still sends");
            assert!(tables.rows("flows") > 0 && tables.rows("messages") > 0, "{name} sent nothing");
            assert!(
                tables.u64("messages", "end_ps").iter().all(|end| *end != u64::MAX),
                "{name} is not done"
            );
            assert_eq!(tables.u64("flows", "delivered_bytes"), tables.u64("flows", "bytes"), "{name}");
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
        let queue = minimal("queue", &component, &[]);
        load(&json!({
            "duration": "1ms", "topology": "star", "queue": queue, "nic": queue, "transport": {"cc": "newreno"},
            "traffic": {"load": {"kind": "bulk", "from": "s*", "to": "r0"}},
        }));
    }
}
