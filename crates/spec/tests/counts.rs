//! Counts that speed rests on, held exactly where times would waver: events a packet-hop, allocations
//! after the warm-up, sizes, memory.
#![allow(unsafe_code)] // a counting allocator is unsafe by its trait

mod common;

use common::{load, run};
use serde_json::{Value, json};
use shallows_core::Control;
use shallows_core::cc::AnyCc;
use shallows_core::net::port::Port;
use shallows_core::packet::Packet;
use shallows_core::probe::queue::QueueRecord;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, counting for each thread.
struct Counting;

// SAFETY: every call is handed on unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        unsafe { System.dealloc(at, layout) }
    }
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The benchmark's dumbbell, with other lengths and probes.
fn dumbbell(duration: &str, probe: Value) -> Value {
    json!({
        "duration": duration,
        "topology": {"kind": "dumbbell", "left": 8, "right": 8},
        "queue": {"kind": "threshold", "limit": "250pkt", "mark_at": "65pkt"},
        "nic": "drop-tail",
        "transport": {"cc": "dctcp"},
        "traffic": {"long": {"kind": "bulk", "from": "l*", "to": "r*", "pattern": "pairs"}},
        "probe": probe,
    })
}

fn probe_sets() -> [Value; 3] {
    let off = json!({"queues": false, "waits": false});
    [off, json!({}), json!({"nic_queues": true, "at_dequeue": true})]
}

/// Allocations of a run, its tables left out.
fn allocations(document: &Value) -> u64 {
    let mut simulation = load(document);
    let control = Control::new();
    let before = ALLOCATIONS.get();
    simulation.run(&control).expect("the run ends");
    ALLOCATIONS.get() - before
}

/// The first half of a run is the shorter run, so the additional allocations of the longer one fall in
/// its second half. Rings have reached their sizes after some 80 ms.
#[test]
fn nothing_is_allocated_after_the_warm_up() {
    for probe in probe_sets() {
        let half = allocations(&dumbbell("200ms", probe.clone()));
        let whole = allocations(&dumbbell("400ms", probe.clone()));
        assert!(half > 0, "the counter counts");
        assert_eq!(whole - half, 0, "with {probe}");
    }
}

/// A FIFO port takes one event a packet; all further events are timers: here each of 8 senders looks at its
/// retransmission timer at most once in its minimum of 10 ms, and the load starts once.
#[test]
fn a_packet_hop_is_one_event() {
    for probe in probe_sets() {
        let books = run(&dumbbell("100ms", probe)).books();
        assert!(books.hops > 300_000, "{books:?}");
        let others = books.events - books.hops;
        assert!(others <= 8 * 10 + 1, "{others} events beside {} hops", books.hops);
    }
}

#[test]
fn sizes_are_as_promised() {
    assert_eq!(size_of::<Packet>(), 48);
    assert!(size_of::<AnyCc>() <= 128, "{}", size_of::<AnyCc>());
    assert!(size_of::<Port>() <= 320, "{}", size_of::<Port>());
    // Two lines have lengths of up to ten packets, two the waits that are counted next with their extent.
    assert!(size_of::<QueueRecord>() <= 320, "{}", size_of::<QueueRecord>());
}

/// Rings, records and connections grow to the most in use at once, not with the time simulated. A histogram takes
/// memory for a bin when it is first met: a rare wait may still come late.
#[test]
fn memory_does_not_grow_with_the_duration() {
    for probe in probe_sets() {
        let memory = |duration| run(&dumbbell(duration, probe.clone())).manifest_counts()["memory"].clone();
        let (short, mut long) = (memory("200ms"), memory("1s"));
        let bytes = |memory: &Value| memory["port_bytes"].as_f64().expect("a number");
        assert!(bytes(&long) <= 1.01 * bytes(&short), "{short} {long}");
        long["port_bytes"] = short["port_bytes"].clone();
        assert_eq!(short, long);
    }
}

/// Nor with the number of connections that came and went.
#[test]
fn places_of_ended_connections_are_used_again() {
    let memory = |duration: &str| {
        let simulation = run(&json!({
            "duration": duration,
            "topology": "star",
            "queue": {"kind": "threshold"},
            "transport": {"cc": "dctcp"},
            "traffic": {"rpc": {"kind": "messages", "from": "s*", "to": "r0", "bytes": "10KB", "interval": "200us",
                "connection": "fresh"}},
        }));
        let counts = simulation.manifest_counts();
        (counts["counts"]["flows"].as_u64().expect("a count"), counts["memory"].clone())
    };
    let (few, short) = memory("10ms");
    let (many, long) = memory("100ms");
    assert!(few >= 400 && many >= 4000);
    assert_eq!(short, long);
}
