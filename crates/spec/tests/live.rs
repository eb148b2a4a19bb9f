//! A run that is advanced in steps and watched: the same bytes as a run at once, and each look agrees
//! with the traces.

mod common;

use common::cases::{ANY, cases};
use common::{Tables, load, run};
use proptest::prelude::*;
use serde_json::{Value, json};
use shallows_core::probe::{ColumnData, TableData};
use shallows_core::{Control, Simulation};
use shallows_units::{Span, Time};

/// Advances to each multiple of `step`, looks, and returns the answers of `see`.
fn watched<T>(simulation: &mut Simulation, step: Span, mut see: impl FnMut(&Simulation) -> T) -> Vec<T> {
    let (control, mut seen, mut at) = (Control::new(), vec![], Time::ZERO);
    loop {
        at += step;
        let ended = simulation.advance(at, &control).expect("the run goes on");
        seen.push(see(simulation));
        if ended {
            return seen;
        }
    }
}

fn column(tables: &[TableData], table: &str, name: &str) -> Vec<u64> {
    let table = tables.iter().find(|t| t.name == table).expect("the table is there");
    match &table.columns.iter().find(|c| c.name == name).expect("the column is there").data {
        ColumnData::U64(values) => values.clone(),
        ColumnData::U32(values) => values.iter().map(|v| u64::from(*v)).collect(),
        other => panic!("{table:?}.{name} is {other:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// The law of watching: stops and looks, however many, leave every table as it is.
    #[test]
    fn stepping_gives_the_bytes_of_a_run_at_once(case in cases(ANY), step_ns in 700u64..400_000) {
        let mut document = case.document("2ms", "300us");
        document["probe"] = json!({"nic_queues": true, "at_dequeue": true, "queue_trace": "7us", "flow_trace": "11us"});
        let mut stepped = load(&document);
        watched(&mut stepped, Span::ns(step_ns), |simulation| simulation.observe(100));
        prop_assert_eq!(Tables::of(&stepped).hashes(), Tables::of(&run(&document)).hashes());
        prop_assert!(stepped.books().balance());
    }
}

fn eight_senders(warmup: &str) -> Value {
    json!({
        "duration": "5ms", "warmup": warmup, "seed": 1,
        "topology": {"kind": "star", "senders": 8, "rate": "10Gbps", "delay": "25us"},
        "queue": {"kind": "threshold", "limit": "250pkt", "mark_at": "65pkt"},
        "nic": "drop-tail",
        "transport": {"cc": "dctcp"},
        "traffic": {"long": {"kind": "bulk", "from": "s*", "to": "r0"}},
        "probe": {"queue_trace": "20us", "flow_trace": "20us", "ports": "*->*"},
    })
}

#[test]
fn queues_and_windows_seen_are_those_of_the_traces() {
    let mut simulation = load(&eight_senders("1ms"));
    let seen = watched(&mut simulation, Span::us(20), |simulation| simulation.observe(0));
    let tables = Tables::of(&simulation);
    let traced: Vec<u64> = tables.u64("queue_trace", "packets").to_vec();
    // Patterns trace the ports of switches. The last look comes after the end, which no trace has a row for.
    let of_switches = |look: &Vec<TableData>| {
        let ports = simulation.net().ports.iter().zip(column(look, "ports", "packets"));
        ports.filter(|(port, _)| port.flags().switch).map(|(_, packets)| packets).collect::<Vec<_>>()
    };
    let looked: Vec<u64> = seen.iter().flat_map(of_switches).collect();
    assert!(traced.len() > 1000 && looked[..traced.len()] == traced[..]);
    let delivered: Vec<u64> = seen.iter().flat_map(|look| column(look, "flows", "arrived_bytes")).collect();
    let traced = tables.u64("flow_trace", "arrived_bytes");
    assert!(traced.len() > 1000 && delivered[..traced.len()] == traced[..]);
}

#[test]
fn counts_seen_go_on_over_the_end_of_the_warm_up() {
    let mut warmed = load(&eight_senders("1ms"));
    let mut whole = load(&eight_senders("0s"));
    let totals = |simulation: &Simulation| {
        let look = simulation.observe(0);
        ["packets_out", "bytes_out", "marks", "drops"].map(|name| column(&look, "ports", name))
    };
    let (warmed, whole) =
        (watched(&mut warmed, Span::us(90), totals), watched(&mut whole, Span::us(90), totals));
    assert_eq!(warmed, whole);
    assert!(whole.last().expect("a look")[2].iter().sum::<u64>() > 0, "nothing was marked");
}

#[test]
fn the_packets_seen_are_those_in_flight() {
    let mut simulation = load(&eight_senders("0s"));
    let seen = watched(&mut simulation, Span::us(37), |simulation| {
        let look = simulation.observe(10_000);
        assert_eq!(column(&look, "packets", "port").len() as u64, simulation.books().in_flight);
        let now = simulation.now().as_ps();
        assert!(column(&look, "packets", "lands_ps").iter().all(|lands| *lands >= now));
        column(&look, "packets", "ce").iter().sum::<u64>()
    });
    assert!(seen.iter().any(|marked| *marked > 0), "no marked packet was seen");
    assert_eq!(column(&simulation.observe(3), "packets", "port").len(), 3);
}

#[test]
fn a_stop_at_the_present_or_before_changes_nothing() {
    let mut simulation = load(&eight_senders("1ms"));
    let control = Control::new();
    assert_eq!(simulation.advance(Time::ZERO + Span::ms(2), &control), Ok(false));
    let events = simulation.books().events;
    assert_eq!(simulation.advance(Time::ZERO + Span::ms(1), &control), Ok(false));
    assert_eq!((simulation.books().events, simulation.now()), (events, Time::ZERO + Span::ms(2)));
    simulation.run(&control).expect("the rest runs at once");
    assert_eq!(simulation.advance(Time::MAX, &control), Ok(true));
    assert_eq!(Tables::of(&simulation).hashes(), Tables::of(&run(&eight_senders("1ms"))).hashes());
}

#[test]
fn a_watch_is_a_look_after_each_step() {
    let (mut by_hand, mut at_once) = (load(&eight_senders("1ms")), load(&eight_senders("1ms")));
    let looks = watched(&mut by_hand, Span::us(30), |simulation| simulation.observe(0));
    let (ended, seen) =
        at_once.watch(Span::us(30), 10_000, u32::MAX, &Control::new()).expect("the run goes on");
    assert!(ended);
    for (table, name) in [("ports", "time_ps"), ("ports", "marks"), ("flows", "arrived_bytes")] {
        let stepped: Vec<u64> = looks.iter().flat_map(|look| column(look, table, name)).collect();
        assert_eq!(stepped, column(&seen, table, name), "{table}.{name}");
    }
    let mut first_two = load(&eight_senders("1ms"));
    let (ended, seen) = first_two.watch(Span::us(30), 10, 2, &Control::new()).expect("the run goes on");
    assert!(!ended && column(&seen, "flows", "id") == [0, 1].repeat(10));
}
