//! Protocols in which switches take part, as a whole: their state does not drift, whatever is lost; their
//! headers cost exactly their bytes and leave nothing behind; their clocks cost nothing elsewhere.

mod common;

use common::{Tables, run};
use proptest::prelude::*;
use serde_json::{Value, json};
use shallows_core::Simulation;
use shallows_core::events::random::Stream;
use shallows_core::events::{Event, EventQueue};
use shallows_core::net::port::{Controlled, Port, Scheduled, Service};
use shallows_core::net::{Connection, Directory, Network};
use shallows_core::packet::{Extension, Flags, NONE, Packet};
use shallows_core::port_control::rcp::Header;
use shallows_core::port_control::{AnyPortControl, Feedback, PortControl, PortView};
use shallows_core::queue::parts::fifo::Fifo;
use shallows_core::queue::{Built, Place, Queue};
use shallows_units::{Rate, Span, Time};
use std::sync::{Arc, Mutex};

const PROTOCOLS: [&str; 4] = ["rcp", "sdc", "racs", "d3"];

/// The sums over flows that switches keep.
const SUMS: [&str; 9] = [
    "weights",
    "class_a",
    "class_b",
    "class_c",
    "class_d",
    "class_e",
    "flows",
    "demand_bps",
    "allocated_bps",
];

/// The value that each port's controller reports under `name`.
fn sums_of(simulation: &Simulation, name: &str) -> Vec<f64> {
    let (now, mut found) = (simulation.net().now, vec![]);
    for port in &simulation.net().ports {
        if let Some(controlled) = &port.control {
            controlled.control.observe(now, &mut |key, value| {
                if key == name {
                    found.push(value)
                }
            });
        }
    }
    found
}

fn churn(protocol: &str, loss: f64, opening: &str, seed: u64, gives_up: u64, every: &str) -> Value {
    json!({
        "duration": "3s",
        "seed": seed,
        "topology": {"kind": "parking-lot", "hops": 2, "rate": "1Gbps"},
        "queue": {"kind": "drop-tail", "limit": "30pkt"},
        "port_control": protocol,
        "port": {"*->*": {"loss": loss, "duplicate": loss / 4.0, "reorder": loss / 4.0, "reorder_delay": "100us"}},
        "transport": {"cc": protocol, "opening": opening, "max_timeouts": gives_up, "initial_rto": "10ms",
            "max_rto": "100ms"},
        "traffic": {
            "long": {"kind": "poisson", "from": "s", "to": "r", "every": every, "stop": "60ms",
                "sizes": {"kind": "uniform", "min": "100B", "max": "300KB"},
                "deadline": {"kind": "exponential", "mean": "10ms"}},
            "short": {"kind": "poisson", "from": "a*", "to": "b*", "every": every, "stop": "60ms",
                "sizes": {"kind": "uniform", "min": "100B", "max": "30KB"}},
        },
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    /// Flows come and go, packets of every kind are lost, doubled and reordered, and some senders give up
    /// in the midst of it, which to a switch is a crash. When all is over the sums are zero: not nearly, but
    /// exactly, since every remaining claim would belong to a flow that is gone.
    #[test]
    fn sums_return_to_zero_whatever_is_lost(
        protocol in prop::sample::select(vec!["sdc", "racs", "d3"]), loss in 0.0..0.1f64, handshake in any::<bool>(),
        seed in 1u64..1 << 32, gives_up in 1u64..4, every in prop::sample::select(vec!["2ms", "5ms", "20ms"]),
    ) {
        let opening = if handshake { "handshake" } else { "established" };
        let simulation = run(&churn(protocol, loss, opening, seed, gives_up, every));
        prop_assert!(simulation.books().balance());
        prop_assert_eq!(simulation.net().extensions.in_use(), 0);
        prop_assert_eq!(simulation.roster().standing(), 0, "a connection that never ends");
        for name in SUMS {
            prop_assert!(sums_of(&simulation, name).iter().all(|sum| *sum == 0.0), "{}: {:?}", name, sums_of(&simulation, name));
        }
    }
}

/// Without soft state the thesis' counters drift: after the same churn something is left in them.
#[test]
fn without_expiry_losses_leave_something_behind() {
    for protocol in ["sdc", "racs", "d3"] {
        let mut document = churn(protocol, 0.1, "handshake", 1, 2, "2ms");
        document["port_control"] = json!({"kind": protocol, "expiry": "none"});
        let simulation = run(&document);
        let sums = SUMS.map(|name| sums_of(&simulation, name)).concat();
        assert!(sums.iter().any(|sum| *sum > 0.5), "{protocol}: {sums:?}");
    }
}

/// Without loss they are right at every moment with no help from expiry.
#[test]
fn without_loss_sums_need_no_expiry() {
    for (protocol, seed) in ["sdc", "racs", "d3"].into_iter().flat_map(|p| (1..20).map(move |seed| (p, seed)))
    {
        let mut document = churn(protocol, 0.0, "handshake", seed, 2, "2ms");
        document["queue"]["limit"] = "none".into();
        document["port_control"] = json!({"kind": protocol, "expiry": "none"});
        let simulation = run(&document);
        for name in SUMS {
            let sums = sums_of(&simulation, name);
            assert!(sums.iter().all(|sum| sum.abs() < 1e-6), "{protocol} {seed} {name}: {sums:?}");
        }
    }
}

/// A flow of ten full segments alone: the port to the receiver takes payload, TCP's headers and the protocol's,
/// to the byte.
#[test]
fn headers_cost_bytes_on_the_wire() {
    let bytes = |cc: &str| {
        let simulation = run(&json!({
            "duration": "50ms", "topology": {"kind": "star", "senders": 1, "rate": "1Gbps"}, "queue": "drop-tail",
            "port_control": if cc == "newreno" { "none" } else { cc },
            "transport": {"cc": cc, "opening": "established"},
            "traffic": {"x": {"kind": "bulk", "from": "s0", "to": "r0", "bytes": "14600B"}},
        }));
        let tables = Tables::of(&simulation);
        let of = |port: &str, column: &str| tables.u64("queues", column)[tables.port(port)];
        [of("switch->r0", "packets_in"), of("switch->r0", "bytes_in"), of("switch->s0", "bytes_in")]
    };
    assert_eq!(bytes("newreno"), [10, 10 * 1500, 10 * 40]);
    // At the first rates on offer a round trip passes without a packet now and then: headers go alone.
    let [packets, there, back] = bytes("rcp");
    assert_eq!((there, back), (10 * 1508 + (packets - 10) * 48, packets * 48));
    assert!((11..=16).contains(&packets), "{packets}");
    // One claim of 4 bytes with the first packet and one each round trip.
    let [packets, there, back] = bytes("sdc");
    assert_eq!((packets, back), (10, 10 * 48));
    assert_eq!((there - 10 * 1504) % 4, 0);
    assert!((10 * 1504 + 4..=10 * 1504 + 3 * 4).contains(&there), "{there}");
    // A request alone, its successor alone or not, and ten segments with a request once a t_trans.
    let [packets, there, back] = bytes("racs");
    let alone = packets - 10;
    let requests = (there - 40 * alone - 10 * 1500) / 24;
    assert_eq!(there, 40 * alone + 10 * 1500 + 24 * requests);
    assert_eq!(back, packets * 40 + 8 * requests);
    assert!((1..=2).contains(&alone), "{alone}");
    assert!((2..=4).contains(&requests), "{requests}");
    // A request alone, since nothing may leave before; then all leaves within a round trip, without another.
    let [packets, there, back] = bytes("d3");
    let requests = (there - 40 * (packets - 10) - 10 * 1500) / 50;
    assert_eq!(there, 40 * (packets - 10) + 10 * 1500 + 50 * requests);
    assert_eq!(back, packets * 40 + 34 * requests);
    assert_eq!((packets, requests), (11, 1));
    // Two bytes, and eight for the one switch, there and back.
    assert_eq!(bytes("hpcc"), [10, 10 * 1510, 10 * 50]);
}

/// A port with a controller takes one event a packet and its ticks; one without takes no more than ever,
/// and a controller without traffic none at all.
#[test]
fn clocks_strike_only_where_there_is_something_to_do() {
    let document = |control: &str| {
        json!({
            "duration": "1s", "topology": {"kind": "star", "senders": 2, "rate": "1Gbps"}, "queue": "drop-tail",
            "port_control": control, "transport": {"cc": "newreno"},
            "traffic": {"x": {"kind": "bulk", "from": "s*", "to": "r0", "bytes": "100KB"}},
        })
    };
    let books = |control| run(&document(control)).books();
    let without = books("none");
    for protocol in PROTOCOLS {
        let with = books(protocol);
        assert_eq!(with.hops, without.hops, "{protocol}");
        // 2 ms of traffic past three switch ports, in ticks of 100 us at the least, and RCP's rise to the top.
        let ticks = with.events - without.events;
        assert!((1..200).contains(&ticks), "{protocol}: {ticks} ticks");
    }
}

/// Notes how a control is called, and whether with a header.
struct Watch(Arc<Mutex<Vec<(&'static str, bool)>>>);

impl Watch {
    fn note(&self, how: &'static str, header: &mut Feedback) {
        self.0.lock().expect("one thread").push((how, *header != Feedback::None));
    }
}

impl PortControl for Watch {
    fn on_arrive(&mut self, _packet: &Packet, header: &mut Feedback, _port: &PortView) {
        self.note("arrive", header);
    }
    fn on_depart(&mut self, _packet: &Packet, header: &mut Feedback, _port: &PortView) {
        self.note("depart", header);
    }
    fn on_return(&mut self, _packet: &Packet, header: &mut Feedback, _port: &PortView) {
        self.note("return", header);
    }
}

/// A controller from outside, at one end of a cable whose ports decide at departure: it sees each packet arrive
/// and depart, with its header, the headers of acknowledgements that come back along the cable, and of
/// those that pass in its own direction that there is nothing for it.
#[test]
fn arrivals_departures_and_returns_are_shown() {
    let seen = Arc::new(Mutex::new(vec![]));
    let port = |index: u64| {
        let place = Place { rate: Rate::gbps(1), last_hop: false, random: Stream::new(1, "queue", index) };
        let Built::Arrival(admission) = Queue::default().build(place) else { unreachable!() };
        let disc = Box::new(Fifo::new(admission, Rate::gbps(1)));
        let service = Service::Departure(Box::new(Scheduled::new(disc)));
        let mut port = Port::new(Rate::gbps(1), Span::us(1), index == 0, service);
        if index == 0 {
            let watch = Box::new(Watch(Arc::clone(&seen)));
            port.control = Some(Box::new(Controlled::new(AnyPortControl::Custom(watch))));
        } else {
            port.opposite = Some(0);
        }
        port
    };
    let mut net = Network::new(vec![port(0), port(1)], EventQueue::new(1));
    let directory = Directory::alone(vec![Connection::default()], 2);
    for (port, flags) in [(0, Flags::default()), (0, Flags::REVERSE), (1, Flags::REVERSE)] {
        let feedback = Feedback::Rcp(Header { rate: 1e9, rtt: Span::ZERO });
        let extension = net.extensions.put(&Extension { feedback, ..Extension::default() });
        let (at, stamp) = (Time::ZERO, Time::ZERO);
        net.inject(
            port,
            &Packet { at, seq: 0, stamp, waited: 0, flow: 0, label: 0, extension, size: 100, flags },
            &directory,
        );
        while let Some((at, event)) = net.events.pop() {
            net.now = at;
            match event {
                Event::Port(port) => net.depart(port, &directory),
                Event::Wire(port) => {
                    let packet = net.land(port, &directory).expect("one hop");
                    assert!(packet.extension != NONE && net.extensions.take(packet.extension).is_some());
                }
                _ => {}
            }
        }
    }
    let data = [("arrive", true), ("depart", true)];
    let passing = [("arrive", false), ("depart", false)];
    assert_eq!(*seen.lock().expect("one thread"), [&data[..], &passing, &[("return", true)]].concat());
    assert_eq!((net.in_flight(), net.extensions.in_use()), (0, 0));
}

/// Two bits of load cost nothing, there and back: the bytes that arrive are those that left, and the switch tells a load
/// in three steps.
#[test]
fn a_load_in_two_bits_changes_no_byte_on_its_way() {
    for quantised in [false, true] {
        let document = json!({
            "duration": "50ms",
            "topology": {"kind": "star", "senders": 4, "rate": "1Gbps", "delay": "25us"},
            "queue": {"kind": "drop-tail"},
            "port_control": "sdc",
            "transport": {"cc": {"kind": "sdc", "quantised": quantised}},
            "traffic": {"x": {"kind": "bulk", "from": "s*", "to": "r0", "bytes": "30KB"}},
        });
        let simulation = run(&document);
        let delivered = Tables::of(&simulation).u64("flows", "delivered_bytes").to_vec();
        assert_eq!(delivered, [30_000; 4], "quantised: {quantised}");
    }
}

/// Li 2019: the header has eight bytes a hop, and room for seven of them here. A path with more switches, or with more than
/// `header_hops` says, is refused before anything runs, with its number.
#[test]
fn a_path_longer_than_hpccs_header_is_refused() {
    let faults = |switches: u64, hops: Value| {
        let document = json!({
            "duration": "1ms",
            "topology": {"kind": "parking-lot", "hops": switches - 1},
            "queue": "drop-tail",
            "port_control": "hpcc",
            "transport": {"cc": {"kind": "hpcc", "header_hops": hops}},
            "traffic": {"long": {"kind": "bulk", "from": "s", "to": "r", "bytes": "1MB"}},
        });
        match shallows_spec::load(&document.to_string()) {
            Ok(_) => vec![],
            Err(faults) => faults.iter().map(|fault| format!("{fault}")).collect::<Vec<_>>(),
        }
    };
    assert_eq!(faults(7, json!("none")), Vec::<String>::new());
    assert_eq!(faults(3, json!(3)), Vec::<String>::new());
    for (switches, hops, most) in [(8, json!("none"), 7), (3, json!(2), 2)] {
        let refused = faults(switches, hops);
        assert_eq!(refused.len(), 1, "{refused:?}");
        let parts = [format!("at most {most} switches"), format!("has {switches}"), "traffic.long".into()];
        assert!(parts.iter().all(|part| refused[0].contains(part)), "{refused:?}");
    }
}

/// The table of packets has the bytes of data alone: neither the header that switches write into counts, nor SACK blocks.
#[test]
fn payload_is_data_alone() {
    for (cc, control) in [("rcp", "rcp"), ("hpcc", "hpcc"), ("dctcp", "none")] {
        let tables = Tables::of(&run(&json!({
            "duration": "50ms",
            "topology": {"kind": "star", "senders": 2, "rate": "1Gbps", "delay": "5us"},
            "queue": {"kind": "drop-tail", "limit": "200pkt"},
            "port_control": control,
            "transport": {"cc": cc, "min_rto": "1ms", "sack": true},
            "port": {"switch->r0": {"loss": 0.02}},
            "traffic": {"x": {"kind": "bulk", "from": "s*", "to": "r0", "bytes": "200KB"}},
            "probe": {"packets": ["s0->switch", "switch->s0"]},
        })));
        let column = |name: &str| tables.u32("packets", name);
        let (payload, size, back) = (column("payload"), column("size"), column("reverse"));
        // Up to the first packet that is sent again, numbers follow from the bytes before.
        let mut next = 0;
        let mut data = 0;
        for (row, seq) in tables.u64("packets", "seq").iter().enumerate().filter(|(row, _)| back[*row] == 0) {
            if payload[row] == 0 {
                continue;
            }
            if data > 0 && *seq != next {
                break;
            }
            next = seq + u64::from(payload[row]);
            data += u64::from(payload[row]);
        }
        assert!(data >= 5 * 1460, "{cc}: {data}");
        let longest =
            (0..back.len()).filter(|row| back[*row] == 1).map(|row| (size[row], payload[row])).max();
        assert_eq!(longest.map(|row| row.1), Some(0), "{cc}");
        assert!((0..back.len()).all(|row| back[row] == 0 || payload[row] == 0), "{cc}");
    }
}
