//! The load of a program behind the C interface: it sends what the program asks for, and calls it back.

use shallows_core::params::custom::Declared;
use shallows_core::routing::graph::{NodeId, Role};
use shallows_core::workload::{BuildCx, MakeWorkload, MessageDone, WorkCx, Workload};
use shallows_core::{cc::MakeControl, hosts::FlowId};
use shallows_spec::Makers;
use shallows_units::{Span, Time};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The `kind` of the load.
pub const KIND: &str = "program";

/// A function of the program, and what it gets.
#[derive(Clone, Copy)]
pub struct Call {
    /// The function.
    pub function: unsafe extern "C" fn(*mut std::ffi::c_void),
    /// Its argument.
    pub argument: *mut std::ffi::c_void,
}

// The program promises that its functions may be called from the thread that calls `shallows_run`, and no other does.
unsafe impl Send for Call {}

impl Call {
    fn make(self) {
        unsafe { (self.function)(self.argument) }
    }
}

/// The ends of a message, and the program's tag: what a receive is matched by.
type Key = (u32, u32, u64);

struct Message {
    key: Key,
    bytes: u64,
    done: Option<Call>,
}

struct Receive {
    bytes: u64,
    done: Option<Call>,
}

/// The state that the program's calls and the load share.
#[derive(Default)]
pub struct State {
    /// The present.
    pub now: Time,
    /// The time at which the run stops next.
    pub until: Time,
    /// Nodes of the hosts, by the program's numbers.
    hosts: Vec<NodeId>,
    /// Every message so far; its place is its tag in the core. Those before `sent` are under way or delivered.
    messages: Vec<Message>,
    sent: usize,
    delivered: u64,
    calls: BinaryHeap<Reverse<(Time, u64)>>,
    /// The functions to call, by the number of the asking.
    scheduled: BTreeMap<u64, Call>,
    asked: u64,
    /// Receives without a message, and delivered messages without a receive.
    waiting: BTreeMap<Key, VecDeque<Receive>>,
    early: BTreeMap<Key, VecDeque<u64>>,
    /// Whether the run has begun or is over.
    pub over: bool,
    /// Why the run ends.
    pub fault: Option<String>,
}

impl State {
    /// Hosts.
    pub fn hosts(&self) -> u32 {
        self.hosts.len() as u32
    }

    /// Asks for a message.
    pub fn send(&mut self, key: Key, bytes: u64, done: Option<Call>) -> Result<(), String> {
        self.check(key, bytes)?;
        if self.over {
            return Err("the experiment's duration is over: nothing more is sent".into());
        }
        self.messages.push(Message { key, bytes, done });
        Ok(())
    }

    /// Waits for a message; returns the function that is due at once.
    pub fn receive(&mut self, key: Key, bytes: u64, done: Option<Call>) -> Result<Option<Call>, String> {
        self.check(key, bytes)?;
        let early = self.early.get_mut(&key).and_then(VecDeque::pop_front);
        match early {
            Some(came) => matched(key, bytes, came).map(|()| done),
            None => {
                self.waiting.entry(key).or_default().push_back(Receive { bytes, done });
                Ok(None)
            }
        }
    }

    fn check(&self, (src, dst, _): Key, bytes: u64) -> Result<(), String> {
        let hosts = self.hosts();
        if src >= hosts || dst >= hosts {
            return Err(format!("hosts have the numbers 0 to {}, got {src} and {dst}", hosts - 1));
        }
        if src == dst {
            return Err(format!("a message goes from a host to another one, got {src} twice"));
        }
        if bytes == 0 {
            return Err("a message has at least one byte, got 0".into());
        }
        Ok(())
    }

    /// Calls a function after a time.
    pub fn schedule(&mut self, after: Span, call: Call) {
        let at = Time::ps(self.now.as_ps().saturating_add(after.as_ps()));
        self.asked += 1;
        self.calls.push(Reverse((at, self.asked)));
        self.scheduled.insert(self.asked, call);
    }

    /// Messages that were asked for and are not delivered, and functions that wait for their time.
    pub fn pending(&self) -> (u64, usize) {
        (self.messages.len() as u64 - self.delivered, self.calls.len())
    }

    /// Receives without a message.
    pub fn waiting(&self) -> u64 {
        self.waiting.values().map(|each| each.len() as u64).sum()
    }

    /// The time of the next function.
    pub fn next_call(&self) -> Option<Time> {
        self.calls.peek().map(|Reverse((at, _))| *at)
    }

    fn due(&mut self) -> Option<Call> {
        let Reverse((at, number)) = *self.calls.peek()?;
        if at > self.now {
            return None;
        }
        self.calls.pop();
        self.scheduled.remove(&number)
    }
}

fn matched((src, dst, tag): Key, wanted: u64, came: u64) -> Result<(), String> {
    if wanted == came {
        return Ok(());
    }
    Err(format!(
        "a receive of {wanted} bytes from {src} at {dst} with tag {tag} met a message of {came} bytes"
    ))
}

/// The shared state.
pub type Shared = Arc<Mutex<State>>;

/// The state, also after a panic elsewhere.
pub fn locked(shared: &Shared) -> MutexGuard<'_, State> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes the load.
pub struct Maker(pub Shared);

impl Makers for Maker {
    fn control(
        &mut self,
        _declared: &Declared,
        _values: &serde_json::Map<String, serde_json::Value>,
        _seed: u64,
    ) -> Option<Arc<dyn MakeControl>> {
        None
    }

    fn workload(
        &mut self,
        _declared: &Declared,
        _values: &serde_json::Map<String, serde_json::Value>,
    ) -> Option<Arc<dyn MakeWorkload>> {
        Some(Arc::new(Maker(self.0.clone())))
    }
}

impl MakeWorkload for Maker {
    fn build(&self, cx: &mut BuildCx<'_>) -> Option<Box<dyn Workload>> {
        locked(&self.0).hosts = cx.graph.ids(Role::Host).collect();
        Some(Box::new(Load { shared: self.0.clone(), flows: BTreeMap::new() }))
    }
}

/// The load at work. Messages of a pair share a connection, in the order in which they were asked for.
struct Load {
    shared: Shared,
    flows: BTreeMap<(NodeId, NodeId), FlowId>,
}

impl Load {
    /// Makes the calls that are due, and sends what they ask for, until nothing is left for this instant.
    fn go_on(&mut self, cx: &mut WorkCx<'_>) -> Option<Time> {
        locked(&self.shared).now = cx.now();
        loop {
            let due = locked(&self.shared).due();
            match due {
                Some(call) => call.make(), // without the lock: it asks for more
                None if self.send(cx) => {}
                None => break,
            }
            if cx.stopped() || locked(&self.shared).fault.is_some() {
                return None;
            }
        }
        let state = locked(&self.shared);
        // Awake where the run stops next, so that what the program asks for meanwhile happens at once.
        let next = state.until;
        Some(state.next_call().map_or(next, |at| at.min(next)))
    }

    /// Sends one message that was asked for; whether there was one.
    fn send(&mut self, cx: &mut WorkCx<'_>) -> bool {
        let mut state = locked(&self.shared);
        let place = state.sent;
        let Some(Message { key: (src, dst, _), bytes, .. }) = state.messages.get(place) else { return false };
        let (ends, bytes) = ((state.hosts[*src as usize], state.hosts[*dst as usize]), *bytes);
        if !cx.leads(ends.0, ends.1) || !cx.leads(ends.1, ends.0) {
            state.fault = Some(format!("no links lead from host {src} to host {dst} and back"));
            return false;
        }
        state.sent += 1;
        drop(state);
        let flow = *self.flows.entry(ends).or_insert_with(|| cx.open(ends, None));
        cx.send(flow, bytes, place as u64, None);
        true
    }
}

impl Workload for Load {
    fn wake(&mut self, cx: &mut WorkCx<'_>) -> Option<Time> {
        self.go_on(cx)
    }

    fn listens(&self) -> bool {
        true
    }

    fn on_message(&mut self, done: &MessageDone, cx: &mut WorkCx<'_>) -> Option<Time> {
        let calls = {
            let mut state = locked(&self.shared);
            state.now = cx.now();
            state.delivered += 1;
            let Message { key, bytes, done } = &mut state.messages[done.tag as usize];
            let (key, bytes, sender) = (*key, *bytes, done.take());
            let receive = state.waiting.get_mut(&key).and_then(VecDeque::pop_front);
            let receiver = match receive {
                Some(receive) => {
                    state.fault = matched(key, receive.bytes, bytes).err();
                    receive.done
                }
                None => {
                    state.early.entry(key).or_default().push_back(bytes);
                    None
                }
            };
            [sender, receiver]
        };
        calls.into_iter().flatten().for_each(Call::make);
        self.go_on(cx)
    }
}
