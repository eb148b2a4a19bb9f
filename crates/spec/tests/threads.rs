//! The end of a run that several threads work: a panic in one of them, and a cancellation.
//!
//! One test, so that the threads of the process can be counted.

mod common;

use common::Tables;
use serde_json::{Value, json};
use shallows_core::cc::{Ack, Algorithm, Congestion, CongestionControl, Cx, FlowInfo, MakeControl};
use shallows_core::experiment::Cut;
use shallows_core::{Control, RunError, Simulation};
use shallows_units::Bytes;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

/// A window of ten segments, of which one flow's panics at an acknowledgement.
struct Fragile {
    started: AtomicU32,
    flow: u32,
    at: u32,
}

struct Window {
    left: Option<u32>,
}

impl CongestionControl for Window {
    fn on_ack(&mut self, _: &Ack, _: &Cx<'_>) {
        if let Some(left) = &mut self.left {
            *left -= 1;
            assert!(*left > 0, "the ninth acknowledgement of flow 5");
        }
    }
    fn on_congestion(&mut self, _: Congestion, _: u64, _: &Cx<'_>) {}
    fn cwnd(&self) -> Bytes {
        Bytes(14_600)
    }
}

impl MakeControl for Fragile {
    fn announce(&self, _: u32) {}
    fn start(&self, _: &FlowInfo<'_>, _: &Cx<'_>) -> Box<dyn CongestionControl> {
        let flow = self.started.fetch_add(1, Ordering::Relaxed);
        Box::new(Window { left: (flow == self.flow).then_some(self.at) })
    }
    fn works_in_any_thread(&self) -> bool {
        true
    }
}

/// Each of 16 hosts sends without end to a host of another pod.
fn document(duration: &str) -> Value {
    let flow = |i: u64| json!({"from": format!("h{i}"), "to": format!("h{}", (i + 4) % 16), "bytes": "10GB", "start": "0s"});
    json!({
        "duration": duration,
        "topology": {"kind": "fat-tree", "k": 4},
        "queue": {"kind": "drop-tail", "limit": "100pkt"},
        "transport": {"cc": {"kind": "fragile"}},
        "traffic": {"all": {"kind": "table", "flows": (0..16).map(flow).collect::<Vec<_>>()}},
        "python": {"components": [{
            "section": "transport.cc", "name": "fragile", "module": "fragile.py", "class": "Fragile",
            "source_hash": "0", "params": [],
        }]},
    })
}

/// The run, cut into cells, in which the flow with number `flow` panics.
fn fragile(duration: &str, flow: u32, threads: usize) -> Simulation {
    let mut experiment = shallows_spec::parse(&document(duration).to_string()).expect("a legal document");
    experiment.cut = Cut::Always;
    let Algorithm::Custom(custom) = &mut experiment.loads[0].transport.cc else {
        panic!("a declared control")
    };
    custom.made = Some(Arc::new(Fragile { started: AtomicU32::new(0), flow, at: 9 }));
    let mut simulation = experiment.build().unwrap_or_else(|faults| panic!("{:?}", faults.0));
    assert_eq!(simulation.cells(), 20);
    simulation.set_threads(threads);
    simulation
}

/// Threads of this process, where the system tells.
fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count)
}

/// Whether the process comes down to `count` threads. A joined thread is listed for a moment longer.
fn come_down_to(count: usize) -> bool {
    (0..1000).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        threads() == count
    })
}

/// The answer of `act`, which must come within a minute. A run that hangs ends the test.
fn soon<T: Send + 'static>(act: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = channel();
    let thread = std::thread::spawn(move || sender.send(act()));
    let answer = receiver.recv_timeout(Duration::from_secs(60)).expect("the run ends");
    thread.join().expect("the thread ends").expect("the stop took effect");
    answer
}

#[test]
fn a_threaded_run_ends_whole_on_a_panic_and_on_a_cancellation() {
    let before = threads();

    // Without either, any number of threads gives the same bytes with a control from outside.
    let whole = [1, 3].map(|threads| {
        soon(move || {
            let mut simulation = fragile("300us", u32::MAX, threads);
            simulation.run(&Control::new()).expect("the run ends");
            assert!(simulation.books().balance());
            Tables::of(&simulation).hashes()
        })
    });
    assert_eq!(whole[0], whole[1]);

    // A panic ends the run with its message, whichever thread has it, and leaves no thread and nobody waiting.
    std::panic::set_hook(Box::new(|_| {}));
    for count in [1, 2, 3] {
        let said = soon(move || {
            let mut simulation = fragile("1s", 5, count);
            let said =
                catch_unwind(AssertUnwindSafe(|| simulation.run(&Control::new()))).expect_err("a panic");
            said.downcast_ref::<String>().cloned().or(said.downcast_ref::<&str>().map(ToString::to_string))
        });
        let said = said.expect("a text");
        assert!(said.ends_with("the ninth acknowledgement of flow 5"), "{count} threads: {said}");
        assert_eq!(said.starts_with("in a thread of the run: "), count > 1, "{said}");
        assert!(come_down_to(before), "threads left");
    }
    _ = std::panic::take_hook();

    // A cancellation from another thread ends a run that would take hours.
    for count in [1, 2, 3] {
        let ended = soon(move || {
            let mut simulation = fragile("1000s", u32::MAX, count);
            let control = Arc::new(Control::new());
            let caller = control.clone();
            let canceller = std::thread::spawn(move || {
                while caller.progress() == 0.0 {
                    std::thread::yield_now();
                }
                caller.cancel();
            });
            let ended = simulation.run(&control);
            canceller.join().expect("it ends");
            ended
        });
        assert!(matches!(ended, Err(RunError::Cancelled)), "{ended:?}");
        assert!(come_down_to(before), "threads left");
    }
}
