//! A control that records its state at each call, behind a pointer, and one flow that it drives.

use crate::bench::with;
use serde_json::{Map, Value, json};
use shallows_core::Control;
use shallows_core::cc::{
    Ack, Congestion, CongestionControl, Cx, FlowInfo, LostPacket, MakeControl, RateSample, Transmit,
};
use shallows_core::params::custom::Declared;
use shallows_core::workload::MakeWorkload;
use shallows_spec::Makers;
use shallows_units::{Bytes, Rate};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// The call after which a row was recorded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum After {
    Sample,
    Loss,
    Undo,
    Sending,
    Timeout,
}

/// The control after a call.
#[derive(Debug, Clone)]
pub struct Row {
    /// In seconds.
    pub at: f64,
    pub after: After,
    pub cwnd: f64,
    pub seen: BTreeMap<&'static str, f64>,
    pub rs: RateSample,
}

impl Row {
    pub fn get(&self, name: &str) -> f64 {
        self.seen.get(name).copied().unwrap_or(f64::INFINITY)
    }
    pub fn state(&self) -> f64 {
        self.get("state")
    }
}

type Log = Arc<Mutex<Vec<Row>>>;

/// The state after which the last repair turns out to have been needless, if the test says so: once.
type Needless = Option<Arc<dyn Fn(&Row) -> bool + Send + Sync>>;

struct Watched<C>(C, Log, Needless);

impl<C: CongestionControl> Watched<C> {
    fn note(&self, after: After, rs: RateSample, cx: &Cx<'_>) {
        let mut seen = BTreeMap::new();
        self.0.observe(&mut |name, value| _ = seen.insert(name, value));
        let cwnd = self.0.cwnd().as_u64() as f64;
        self.1.lock().unwrap().push(Row { at: cx.now.as_secs_f64(), after, cwnd, seen, rs });
    }
}

impl<C: CongestionControl> CongestionControl for Watched<C> {
    fn on_ack(&mut self, ack: &Ack, cx: &Cx<'_>) {
        self.0.on_ack(ack, cx);
    }
    fn on_congestion(&mut self, why: Congestion, flight: u64, cx: &Cx<'_>) {
        self.0.on_congestion(why, flight, cx);
    }
    fn cwnd(&self) -> Bytes {
        self.0.cwnd()
    }
    fn pacing_rate(&self) -> Option<Rate> {
        self.0.pacing_rate()
    }
    fn on_transmit(&mut self, packet: &Transmit, cx: &Cx<'_>) {
        self.0.on_transmit(packet, cx);
        if packet.in_flight == 0 {
            self.note(After::Sending, RateSample::default(), cx);
        }
    }
    fn on_packet_lost(&mut self, packet: &LostPacket, cx: &Cx<'_>) {
        self.0.on_packet_lost(packet, cx);
        let lost = RateSample { lost: packet.lost, tx_in_flight: packet.in_flight, ..RateSample::default() };
        self.note(After::Loss, lost, cx);
    }
    fn on_timeout(&mut self, in_flight: u64, cx: &Cx<'_>) {
        self.0.on_timeout(in_flight, cx);
        self.note(After::Timeout, RateSample::default(), cx);
    }
    fn on_needless_repair(&mut self, cx: &Cx<'_>) {
        self.0.on_needless_repair(cx);
        self.note(After::Undo, RateSample::default(), cx);
    }
    fn on_sample(&mut self, rs: &RateSample, cx: &Cx<'_>) -> bool {
        let answer = self.0.on_sample(rs, cx);
        self.note(After::Sample, *rs, cx);
        let is_time = |when: &mut Arc<dyn Fn(&Row) -> bool + Send + Sync>| {
            when(self.1.lock().unwrap().last().expect("a row"))
        };
        if self.2.take_if(is_time).is_some() {
            self.on_needless_repair(cx);
        }
        answer
    }
}

type Start<C> = Arc<dyn Fn(&FlowInfo<'_>, &Cx<'_>) -> C + Send + Sync>;

struct Watch<C>(Log, Start<C>, Needless);

impl<C: CongestionControl + 'static> MakeControl for Watch<C> {
    fn announce(&self, _serial: u32) {}
    fn samples(&self) -> bool {
        true
    }
    fn start(&self, flow: &FlowInfo<'_>, cx: &Cx<'_>) -> Box<dyn CongestionControl> {
        Box::new(Watched(self.1(flow, cx), self.0.clone(), self.2.clone()))
    }
}

struct Bench<C>(Log, Start<C>, Needless);

impl<C: CongestionControl + 'static> Makers for Bench<C> {
    fn control(&mut self, _: &Declared, _: &Map<String, Value>, _: u64) -> Option<Arc<dyn MakeControl>> {
        Some(Arc::new(Watch(self.0.clone(), self.1.clone(), self.2.clone())))
    }
    fn workload(&mut self, _: &Declared, _: &Map<String, Value>) -> Option<Arc<dyn MakeWorkload>> {
        None
    }
}

/// One flow over 10 Mb/s and 40 ms there and back: 50 kB, or 33 packets, and a buffer of four times that.
pub fn trace<C: CongestionControl + 'static>(
    start: impl Fn(&FlowInfo<'_>, &Cx<'_>) -> C + Send + Sync + 'static,
    changes: Value,
) -> Vec<Row> {
    run(start, None, changes)
}

/// As [`trace`]. After the first sample with a state that is `needless`, the control learns that its last repair was needless.
pub fn trace_needless<C: CongestionControl + 'static>(
    start: impl Fn(&FlowInfo<'_>, &Cx<'_>) -> C + Send + Sync + 'static,
    needless: impl Fn(&Row) -> bool + Send + Sync + 'static,
    changes: Value,
) -> Vec<Row> {
    run(start, Some(Arc::new(needless)), changes)
}

fn run<C: CongestionControl + 'static>(
    start: impl Fn(&FlowInfo<'_>, &Cx<'_>) -> C + Send + Sync + 'static,
    needless: Needless,
    changes: Value,
) -> Vec<Row> {
    let document = json!({
        "duration": "8s",
        "topology": {"kind": "star", "senders": 1, "rate": "10Mbps", "sender_rate": "10Gbps", "delay": "10ms"},
        "queue": {"kind": "drop-tail", "limit": "200KB"},
        "transport": {"cc": {"kind": "watched"}, "loss_detection": "rack", "ack_every": 1, "min_rto": "200ms"},
        "traffic": {"x": {"kind": "bulk", "from": "s0", "to": "r0"}},
        "python": {"components": [{
            "section": "transport.cc", "name": "watched", "module": "watched.py", "class": "Watched", "source_hash": "0",
            "ecn": false, "params": [],
        }]},
    });
    let log = Log::default();
    let mut bench = Bench(log.clone(), Arc::new(start), needless);
    let mut simulation = shallows_spec::load_with(&with(document, changes).to_string(), &mut bench, None)
        .unwrap_or_else(|faults| panic!("{}", faults.iter().map(|f| format!("{f}\n")).collect::<String>()));
    simulation.run(&Control::new()).expect("the run ends");
    assert!(simulation.books().balance());
    log.lock().unwrap().clone()
}

/// The first row in `state` from `from` seconds on.
#[track_caller]
pub fn first(rows: &[Row], state: f64, from: f64) -> &Row {
    rows.iter().find(|row| row.at >= from && row.state() == state).expect("the state is reached")
}

/// The states in their order, with the time at which each began.
pub fn path(rows: &[Row]) -> Vec<(f64, f64)> {
    let mut path: Vec<(f64, f64)> = vec![];
    for row in rows {
        if path.last().is_none_or(|last| last.0 != row.state()) {
            path.push((row.state(), row.at));
        }
    }
    path
}

pub fn samples(rows: &[Row]) -> impl DoubleEndedIterator<Item = &Row> + Clone {
    rows.iter().filter(|row| row.after == After::Sample)
}

pub fn event(at: f64, change: Value) -> Value {
    with(json!({"at": format!("{}us", (at * 1e6) as u64), "link": "switch->r0"}), change)
}

/// The time at which `state` first begins at or after `from`.
#[track_caller]
pub fn begins(rows: &[Row], state: f64, from: f64) -> f64 {
    path(rows).into_iter().find(|step| step.0 == state && step.1 >= from).expect("the state is reached").1
}

/// The state after the one that began at `at`.
#[track_caller]
pub fn after(rows: &[Row], at: f64) -> (f64, f64) {
    *path(rows).iter().find(|step| step.1 > at).expect("another state follows")
}

/// The last sample in the state that began at `at`.
pub fn last_of(rows: &[Row], at: f64) -> &Row {
    let (_, end) = after(rows, at);
    samples(rows).rfind(|row| row.at < end).expect("a sample")
}
