//! Workloads written in Python: a list of flows that may go on for ever, and flows that follow others.

use crate::errors::{Shared, bad, noted};
use crate::values::{Settings, instance, moment, random};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyIterator;
use shallows_core::params::nearest;
use shallows_core::routing::graph::{NodeId, Role};
use shallows_core::workload::{BuildCx, MakeWorkload, MessageDone, WorkCx, Workload};
use shallows_units::{Span, Time};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

/// The network that a workload is for.
#[pyclass(frozen, get_all, module = "shallows._core")]
pub struct Network {
    /// Names of the hosts.
    hosts: Vec<String>,
    /// Length of the run in seconds.
    duration: f64,
    /// `random.Random` of this workload alone.
    random: Py<PyAny>,
}

/// A flow that has been delivered whole.
#[pyclass(frozen, get_all, module = "shallows._core")]
pub struct FlowDone {
    /// Sending host.
    src: String,
    /// Receiving host.
    dst: String,
    /// Its size.
    bytes: u64,
    /// When it was sent, in seconds.
    start: f64,
    /// The present, in seconds.
    now: f64,
}

/// Makes the loads of one class.
pub struct Maker {
    /// The user's class.
    pub class: Py<PyAny>,
    /// Its settings.
    pub settings: Settings,
    /// How errors end the run.
    pub shared: Arc<Shared>,
}

impl MakeWorkload for Maker {
    fn build(&self, cx: &mut BuildCx<'_>) -> Option<Box<dyn Workload>> {
        let hosts: Vec<NodeId> = cx.graph.ids(Role::Host).collect();
        let names: Vec<String> = hosts.iter().map(|host| cx.graph.name(*host).to_owned()).collect();
        Python::attach(|py| {
            let made = (|| {
                let object = instance(py, &self.class, &self.settings)?;
                let network = Network {
                    hosts: names.clone(),
                    duration: cx.duration.as_secs_f64(),
                    random: random(py, cx.seed, cx.path, 0)?.unbind(),
                };
                let flows = object.call_method1(intern!(py, "flows"), (network,))?;
                let base = py.import("shallows.authoring.base")?.getattr("Workload")?;
                let own = !object.get_type().getattr("on_flow_done")?.is(&base.getattr("on_flow_done")?);
                let on_done = if own { Some(object.getattr("on_flow_done")?.unbind()) } else { None };
                Ok((flows.try_iter()?.unbind(), on_done))
            })();
            match made {
                Ok((flows, on_done)) => Some(Box::new(Load {
                    path: cx.path.into(),
                    by_name: names.iter().cloned().zip(hosts).collect(),
                    names,
                    flows: Some(flows),
                    on_done,
                    due: BinaryHeap::new(),
                    latest: Time::ZERO,
                    sent: vec![],
                    shared: self.shared.clone(),
                }) as Box<dyn Workload>),
                Err(error) => {
                    let note = format!("in {} before the run", cx.path);
                    self.shared.fail(noted(py, error, &note));
                    None
                }
            }
        })
    }
}

/// A flow to be sent or on its way, by the places of its hosts in the list of names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Flow {
    src: String,
    dst: String,
    bytes: u64,
    start: Time,
}

/// The load at work.
struct Load {
    path: String,
    names: Vec<String>,
    by_name: HashMap<String, NodeId>,
    /// Flows still to come, in order of start.
    flows: Option<Py<PyIterator>>,
    on_done: Option<Py<PyAny>>,
    /// Flows that wait for their start, in order of start, then of asking.
    due: BinaryHeap<Reverse<(Time, usize)>>,
    /// Start of the last flow that `flows` gave.
    latest: Time,
    /// Every flow so far; its place is its tag.
    sent: Vec<Flow>,
    shared: Arc<Shared>,
}

impl Load {
    /// Accepts an item that the user's code yields; `None` for the start means at once.
    fn accept(&mut self, item: &Bound<'_, PyAny>, now: Time, net: &mut WorkCx<'_>) -> PyResult<()> {
        let py = item.py();
        let wrong = |rule: String| {
            let shown = item.repr().map_or_else(|_| "?".into(), |text| text.to_string());
            bad(py, format!("{} at {}: {shown} {rule}", self.path, moment(now)))
        };
        let (src, dst, bytes, start): (String, String, f64, Option<f64>) = item.extract().map_err(|_| {
            wrong("is not a flow, which is (src, dst, bytes, start): names, bytes and seconds".into())
        })?;
        let host = |name: &str| {
            let known: Vec<&str> = self.names.iter().map(String::as_str).collect();
            self.by_name.get(name).copied().ok_or_else(|| {
                let hint =
                    nearest(name, &known).map_or(String::new(), |near| format!(" (did you mean {near:?}?)"));
                wrong(format!("names no host of the network: {name:?}{hint}"))
            })
        };
        let ends = (host(&src)?, host(&dst)?);
        if ends.0 == ends.1 {
            return Err(wrong("sends from a host to itself".into()));
        }
        if !(bytes >= 1.0 && bytes <= (1u64 << 53) as f64 && bytes.fract() == 0.0) {
            return Err(wrong("must have a whole number of bytes, 1 or more".into()));
        }
        let start = match start {
            None => now,
            Some(s) if s.is_finite() && (0.0..=1e7).contains(&s) => {
                Time::ZERO + Span::ps((s * 1e12).round() as u64)
            }
            Some(_) => return Err(wrong("must start at a time in seconds, 0 or later".into())),
        };
        if start < now {
            return Err(wrong("starts before the present; flows come in the order of their starts".into()));
        }
        let leads = |from, to| net.leads(from, to);
        if !leads(ends.0, ends.1) || !leads(ends.1, ends.0) {
            return Err(wrong("needs a path in both directions, and no links lead there".into()));
        }
        self.due.push(Reverse((start, self.sent.len())));
        self.latest = self.latest.max(start);
        self.sent.push(Flow { src, dst, bytes: bytes as u64, start });
        Ok(())
    }

    /// Sends all that is due, and asks for more until an item lies in the future.
    fn go_on(&mut self, cx: &mut WorkCx<'_>) -> PyResult<()> {
        let now = cx.now();
        loop {
            while let Some(Reverse((start, place))) = self.due.peek().copied()
                && start <= now
            {
                self.due.pop();
                let flow = &self.sent[place];
                if cx.stopped() {
                    return Ok(());
                }
                let ends = (self.by_name[&flow.src], self.by_name[&flow.dst]);
                cx.send_once(ends, flow.bytes, place as u64, None);
            }
            if self.latest > now || self.flows.is_none() {
                return Ok(());
            }
            Python::attach(|py| {
                let next = self.flows.as_ref().and_then(|flows| flows.bind(py).clone().next());
                match next {
                    Some(item) => self.accept(&item?, now, cx),
                    None => {
                        self.flows = None;
                        Ok(())
                    }
                }
            })?;
        }
    }

    fn report(&mut self, done: &MessageDone, cx: &mut WorkCx<'_>) -> PyResult<()> {
        let now = cx.now();
        Python::attach(|py| {
            let Some(on_done) = &self.on_done else { return Ok(()) };
            let flow = &self.sent[done.tag as usize];
            let flow = FlowDone {
                src: flow.src.clone(),
                dst: flow.dst.clone(),
                bytes: flow.bytes,
                start: done.started.as_secs_f64(),
                now: now.as_secs_f64(),
            };
            let more = on_done.bind(py).call1((flow,))?;
            if more.is_none() {
                return Ok(());
            }
            let latest = self.latest; // that of the list stands
            for item in more.try_iter()? {
                self.accept(&item?, now, cx)?;
            }
            self.latest = latest;
            Ok(())
        })
    }

    /// Ends the run with the error, if there is one; else when to wake.
    fn settle(&self, result: PyResult<()>, method: &str, now: Time) -> Option<Time> {
        if let Err(error) = result {
            let note = format!("in {method} of {} at {}", self.path, moment(now));
            Python::attach(|py| self.shared.fail(noted(py, error, &note)));
            return None;
        }
        self.due.peek().map(|Reverse((start, _))| *start)
    }
}

impl Workload for Load {
    fn wake(&mut self, cx: &mut WorkCx<'_>) -> Option<Time> {
        if self.shared.has_failed() {
            return None;
        }
        let result = self.go_on(cx);
        self.settle(result, "flows", cx.now())
    }

    fn listens(&self) -> bool {
        self.on_done.is_some()
    }

    fn on_message(&mut self, done: &MessageDone, cx: &mut WorkCx<'_>) -> Option<Time> {
        if self.shared.has_failed() || self.on_done.is_none() {
            return None;
        }
        let result = self.report(done, cx);
        self.settle(result, "on_flow_done", cx.now())
    }
}
