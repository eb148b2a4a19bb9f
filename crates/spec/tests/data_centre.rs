//! A network of the size of a data centre keeps its books.

mod common;

use common::{Tables, load};
use serde_json::json;
use shallows_core::Control;
use shallows_core::net::port::Port;

/// Each of 8192 hosts sends three packets to another, through queues that are too short for them.
#[test]
fn books_balance_over_8192_hosts() {
    let mut simulation = load(&json!({
        "duration": "9us",
        "topology": {"kind": "fat-tree", "k": 32, "rate": "100Gbps", "delay": "1us", "uplink_delay": "1us"},
        "queue": {"kind": "drop-tail", "limit": "3pkt"},
        "transport": {"cc": "newreno", "opening": "established"},
        "traffic": {"all": {"kind": "bulk", "from": "h*", "pattern": "permutation", "bytes": "4380B"}},
        "probe": {"queues": true, "nic_queues": true, "waits": false},
    }));
    assert_eq!(simulation.cells(), 1280);
    simulation.set_threads(2);
    simulation.run(&Control::new()).expect("the run ends");

    let books = simulation.books();
    assert!(books.balance(), "{books:?}");
    assert_eq!(simulation.outstanding(), books.in_flight);
    let tables = Tables::of(&simulation);
    let sum = |table, column| tables.u64(table, column).iter().sum::<u64>();
    assert_eq!([tables.rows("flows"), tables.rows("queues")], [8192, 49_152]);

    // Arrivals at a port equal departures, drops and the packets held.
    let column = |name| tables.u64("queues", name);
    let [came, left, full, held] = ["packets_in", "packets_out", "drops_full", "packets_held"].map(column);
    for port in 0..came.len() {
        assert_eq!(came[port], left[port] + full[port] + held[port], "port {port}");
    }
    // The ports together are the network: a packet that ended a hop was delivered or came to the next port.
    let on_wires: u64 = simulation.ports().map(Port::on_wire).sum();
    let in_ports: u64 = simulation.ports().map(|port| u64::from(port.chain.len())).sum();
    let between = books.in_flight - in_ports;
    assert_eq!(sum("queues", "packets_out"), books.hops + on_wires + between);
    assert_eq!(sum("queues", "packets_in"), books.sent + books.hops - books.delivered);
    assert_eq!(sum("queues", "drops_full"), books.dropped);
    assert_eq!(sum("flows", "drops"), books.dropped, "each drop is some flow's");

    // 3 x 8192 segments were each sent once by now; the receivers have in order at most those that were not dropped.
    assert_eq!(sum("flows", "bytes"), 8192 * 4380);
    let delivered = sum("flows", "delivered_bytes");
    let arrived = (3 * 8192 - books.dropped) * 1460;
    assert!(delivered <= arrived && delivered > arrived / 2, "{delivered} of {arrived}");
    assert!(books.dropped > 1000 && books.in_flight > 1000 && books.delivered > 8192, "{books:?}");
}
