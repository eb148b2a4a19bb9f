//! Nothing is lost and nothing comes twice: books of ports and of the whole network balance, streams
//! are delivered in order and exactly once, and connections end, on networks that lose, duplicate and
//! reorder packets.

mod common;

use common::cases::{Case, Load, cases};
use common::{Tables, load, run};
use proptest::prelude::*;
use shallows_core::Simulation;
use shallows_core::net::port::chain::Store;
use shallows_core::net::port::{Port, Service};
use shallows_core::packet::NONE;

const ALL: &[Load] = &[
    Load::Bulk,
    Load::Forever,
    Load::Kept,
    Load::Fresh,
    Load::Poisson,
    Load::Incast,
    Load::FreshIncast,
    Load::Table,
    Load::Collective,
    Load::Graph,
];
const BOUNDED: &[Load] = &[
    Load::Bulk,
    Load::Kept,
    Load::Fresh,
    Load::Poisson,
    Load::Incast,
    Load::FreshIncast,
    Load::Table,
    Load::Collective,
    Load::Graph,
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// Cut off at any moment, every packet is somewhere.
    #[test]
    fn packets_and_bytes_are_conserved(case in cases(ALL), us in 1u64..3000, warmup in prop::bool::ANY) {
        let (duration, warmup) = (format!("{us}us"), if warmup { format!("{}us", us / 2) } else { "0s".into() });
        let simulation = run(&case.document(&duration, &warmup));
        balance(&simulation);
        ports_balance(&simulation);
        if warmup == "0s" {
            ports_and_books_agree(&simulation);
            marks_reach_receivers(&simulation);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// Given time, every message is delivered, and every connection that is closed ends and is gone.
    #[test]
    fn streams_arrive_whole_in_order_and_once(case in cases(BOUNDED)) {
        let mut document = case.document("10000s", "0s");
        document["probe"]["flow_trace"] = "change".into();
        let simulation = run(&document);
        balance(&simulation);
        let books = simulation.books();
        prop_assert_eq!(books.in_flight, 0);
        prop_assert_eq!(simulation.net().extensions.in_use(), 0);

        let tables = Tables::of(&simulation);
        all_is_delivered(&case, &tables);
        delivery_never_steps_back(&tables);
        if case.load.closes() {
            prop_assert_eq!(simulation.roster().standing(), 0, "places still taken");
        }
    }
}

/// Sent and duplicated is delivered, dropped or under way, in the network as for each flow.
fn balance(simulation: &Simulation) {
    let books = simulation.books();
    assert!(books.balance(), "{books:?}");
    let net = simulation.net();
    let outstanding = simulation.outstanding();
    assert_eq!(outstanding, books.in_flight);
    let with_extension: usize = net.ports.iter().map(|port| extensions(port, &net.store)).sum();
    let in_ports: u64 = net.ports.iter().map(|port| u64::from(port.chain.len())).sum();
    // The others are held by a discipline, or back outside of their wires' order.
    if books.in_flight == in_ports {
        assert_eq!(net.extensions.in_use(), with_extension);
    } else {
        let others = (books.in_flight - in_ports) as usize;
        let in_use = net.extensions.in_use();
        assert!((with_extension..=with_extension + others).contains(&in_use), "{in_use} of {with_extension}");
    }
}

/// Packets of a port that carry an extension.
fn extensions(port: &Port, store: &Store) -> usize {
    port.chain.iter(store).filter(|packet| packet.extension != NONE).count()
}

/// Arrivals at a port equal departures, drops and the packets held; in packets, in bytes, and in its histogram.
fn ports_balance(simulation: &Simulation) {
    let tables = Tables::of(simulation);
    let column = |name| tables.u64("queues", name);
    for i in 0..tables.rows("queues") {
        let dropped = tables.dropped_at_port("queues", i) + column("returned")[i];
        assert_eq!(column("packets_in")[i], column("packets_out")[i] + dropped + column("packets_held")[i]);
        assert!(column("bytes_in")[i] >= column("bytes_out")[i] + column("bytes_held")[i]);
        assert_eq!(column("packets_held")[i] == 0, column("bytes_held")[i] == 0);
    }
    let mut left = vec![0; tables.rows("queues")];
    let mut time = left.clone();
    for (row, port) in tables.words("queue_histogram", "port").into_iter().enumerate() {
        left[tables.port(port)] += tables.u64("queue_histogram", "at_dequeue")[row];
        time[tables.port(port)] += tables.u64("queue_histogram", "time_ps")[row];
    }
    assert_eq!(left, column("packets_out"), "departures as recorded and as counted");
    let measured = (simulation.net().now - simulation.roster().measured_from).as_ps();
    assert!(time.iter().all(|time| *time == measured), "{time:?} of {measured} ps");
}

/// The counts of the ports add up to those of the network.
fn ports_and_books_agree(simulation: &Simulation) {
    let (tables, books, net) = (Tables::of(simulation), simulation.books(), simulation.net());
    let sum = |name| tables.u64("queues", name).iter().sum::<u64>();
    let on_wires: u64 = net.ports.iter().map(Port::on_wire).sum();
    assert_eq!(sum("packets_out"), books.hops + on_wires);
    let in_ports: u64 = net.ports.iter().map(|port| u64::from(port.chain.len()) + held(port)).sum();
    let strays = books.in_flight - in_ports;
    let forwarded = books.hops + books.duplicated - sum("drops_wire") - books.delivered - strays;
    assert_eq!(sum("packets_in"), books.sent + forwarded);
    let dropped = sum("drops");
    assert_eq!(dropped, books.dropped);
    assert_eq!(tables.u64("flows", "drops").iter().sum::<u64>(), dropped, "each drop is some flow's");
}

/// Packets that a discipline holds.
fn held(port: &Port) -> u64 {
    match &port.service {
        Service::Arrival(_) => 0,
        Service::Lined(lined) => lined.behind.held().0,
        Service::Departure(scheduled) => scheduled.held().0,
    }
}

/// No receiver sees more marks than the ports made and the wires doubled.
fn marks_reach_receivers(simulation: &Simulation) {
    let tables = Tables::of(simulation);
    let made: u64 = tables.u64("queues", "marks").iter().sum();
    let seen: u64 = tables.u64("flows", "marks").iter().sum();
    assert!(seen <= made + simulation.books().duplicated, "{seen} of {made}");
}

/// Each flow delivers all bytes written, or is given up after `max_timeouts`: in a queue of one packet
/// equal timers can collide until then.
fn all_is_delivered(case: &Case, tables: &Tables) {
    let (written, delivered) = (tables.u64("flows", "bytes"), tables.u64("flows", "delivered_bytes"));
    let (ends, timeouts) = (tables.u64("flows", "end_ps"), tables.u64("flows", "timeouts"));
    for flow in 0..written.len() {
        let gave_up = timeouts[flow] > 15;
        assert!(delivered[flow] <= written[flow], "{} of {}", delivered[flow], written[flow]);
        assert!(gave_up || delivered[flow] == written[flow], "{} of {}", delivered[flow], written[flow]);
        assert!(gave_up || !case.load.closes() || ends[flow] != u64::MAX, "a flow has not ended");
    }
    let (flows, ends) = (tables.u32("messages", "flow"), tables.u64("messages", "end_ps"));
    for (flow, end) in flows.iter().zip(ends) {
        assert!(*end != u64::MAX || timeouts[*flow as usize] > 15, "a message is missing");
    }
    // The connections of an incast's requests carry no message.
    let asks = matches!(case.load, Load::Incast | Load::FreshIncast);
    let listed = |flow: &usize| flows.contains(&(*flow as u32));
    assert!(asks || (0..written.len()).all(|flow| listed(&flow)), "a flow without a message");
    let carried: u64 = (0..written.len()).filter(listed).map(|flow| written[flow]).sum();
    assert_eq!(tables.u64("messages", "bytes").iter().sum::<u64>(), carried);
    for (fct, ideal) in tables.u64("messages", "fct_ps").iter().zip(tables.u64("messages", "ideal_ps")) {
        assert!(fct >= ideal, "{fct} ps, faster than alone on the empty network: {ideal} ps");
    }
}

/// Bytes delivered by each flow only ever grow.
fn delivery_never_steps_back(tables: &Tables) {
    let mut before = vec![0; tables.rows("flows")];
    let flows = tables.u32("flow_trace", "flow").iter();
    for (flow, delivered) in flows.zip(tables.u64("flow_trace", "delivered_bytes")) {
        assert!(*delivered >= before[*flow as usize]);
        before[*flow as usize] = *delivered;
    }
    assert!(before.iter().zip(tables.u64("flows", "bytes")).all(|(seen, written)| seen <= written));
}

/// A connection that no packet gets through on is given up, and its place is used again.
#[test]
fn a_connection_without_a_way_ends() {
    let mut document = serde_json::json!({
        "duration": "1000s",
        "topology": {"kind": "star", "senders": 1},
        "queue": "drop-tail",
        "port": {"switch->r0": {"loss": 1.0}},
        "transport": {"cc": "newreno", "max_timeouts": 3},
        "traffic": {"t": {"kind": "messages", "from": "s0", "to": "r0", "bytes": "1KB", "interval": "100s",
            "count": 4, "connection": "fresh"}},
    });
    for opening in ["handshake", "established"] {
        document["transport"]["opening"] = opening.into();
        let simulation = run(&document);
        assert!(simulation.books().balance());
        assert_eq!((simulation.roster().standing(), simulation.roster().places()), (0, 1));
        let tables = Tables::of(&simulation);
        assert_eq!(tables.u64("flows", "timeouts"), [4; 4]);
        assert_eq!(tables.u64("messages", "end_ps"), [u64::MAX; 4]);
    }
}

/// A receiver that got everything but whose answers are lost goes silent with its connection, and does not
/// speak up in the next one that takes its place.
#[test]
fn a_connection_given_up_stays_silent() {
    let simulation = run(&serde_json::json!({
        "duration": "100s",
        "topology": {"kind": "star", "senders": 1},
        "queue": "drop-tail",
        "port": {"r0->switch": {"loss": 1.0, "delay": "300ms"}},
        "transport": {"cc": "newreno", "max_timeouts": 1, "opening": "established"},
        "traffic": {"t": {"kind": "messages", "from": "s0", "to": "r0", "bytes": "1KB", "interval": "2500ms",
            "connection": "fresh"}},
    }));
    balance(&simulation);
    assert!(simulation.roster().places() <= 2, "{} places", simulation.roster().places());
}

/// A sender that gives up while pacing holds its next packet back forgets that packet: it once woke for it for
/// ever, and the run never ended.
#[test]
fn who_gives_up_while_paced_sleeps() {
    let simulation = run(&serde_json::json!({
        "duration": "10s",
        "topology": {"kind": "star", "senders": 1},
        "queue": "drop-tail",
        "port": {"r0->switch": {"loss": 1.0}},
        "transport": {"cc": {"kind": "cbr", "rate": "5Kbps"}, "max_timeouts": 1, "opening": "established",
            "initial_rto": "200ms"},
        "traffic": {"t": {"kind": "bulk", "from": "s0", "to": "r0"}},
    }));
    balance(&simulation);
    assert!(simulation.net().now.as_ps() >= 10_000_000_000_000);
}

/// The window's mean is a window that the connection had.
#[test]
fn the_mean_window_lies_between_the_windows() {
    let tables = Tables::of(&run(&serde_json::json!({
        "duration": "10ms",
        "topology": {"kind": "star", "senders": 1},
        "queue": "drop-tail",
        "transport": {"cc": "newreno", "cwnd_max": "10pkt", "opening": "established"},
        "traffic": {"t": {"kind": "bulk", "from": "s0", "to": "r0", "bytes": "14KB"}},
    })));
    assert_eq!(tables.f64("flows", "cwnd_mean_bytes"), [14_600.0]);
}

/// A document built twice gives two runs, neither of which knows of the other.
#[test]
fn a_run_that_is_never_started_owes_nothing() {
    let case = serde_json::json!({
        "duration": "1ms", "topology": "star", "queue": "drop-tail", "transport": {"cc": "dctcp"},
        "traffic": {"t": {"kind": "bulk", "from": "s*", "to": "r0"}},
    });
    let simulation = load(&case);
    assert!(simulation.books().balance());
    assert_eq!(simulation.books().sent, 0);
}
