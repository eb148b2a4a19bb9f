//! The path of packets: a short run whose every choice is a byte of the input; its books must balance.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use shallows_core::Control;

const QUEUES: [&str; 12] = [
    "drop-tail",
    "threshold",
    "red",
    "tc-red",
    "codel",
    "fq-codel",
    "pie",
    "pi2",
    "priority",
    "pfabric",
    "dualpi2",
    "dualq-curvy-red",
];
const CONTROLS: [&str; 8] = ["newreno", "cubic", "dctcp", "xdctcp", "d2tcp", "aimd", "prague", "cbr"];
const PROFILES: [&str; 4] = ["datacentre", "rfc", "linux", "ns2"];

fuzz_target!(|bytes: [u8; 16]| {
    let share = |at: usize| f64::from(bytes[at] % 8) / 16.0;
    let one_of = |at: usize, words: &[&str]| words[bytes[at] as usize % words.len()].to_owned();
    let document: Value = json!({
        "duration": format!("{}us", 20 + 4 * u32::from(bytes[0])), "seed": bytes[1],
        "topology": {"kind": "star", "senders": 1 + bytes[2] % 4, "rate": "1Gbps", "delay": format!("{}us", bytes[3] % 30)},
        "queue": {"kind": one_of(4, &QUEUES), "limit": format!("{}pkt", 2 + bytes[5] % 60)},
        "transport": {"profile": one_of(6, &PROFILES), "cc": one_of(7, &CONTROLS)},
        "port": {"*->*": {"loss": share(8), "mark": share(9), "duplicate": share(10), "reorder": share(11),
            "reorder_delay": format!("{}us", bytes[12] % 50)}},
        "traffic": {"t": {"kind": "bulk", "from": "s*", "to": "r0", "bytes": format!("{}B", 1 + 97 * u64::from(bytes[13]))}},
    });
    if let Ok(mut simulation) = shallows_spec::load(&document.to_string()) {
        let _ = simulation.run(&Control::new());
        assert!(simulation.books().balance(), "{document}");
    }
});
