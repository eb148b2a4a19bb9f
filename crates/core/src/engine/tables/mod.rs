//! The tables of a run; `docs/reference/tables.md` lists them with their columns.

mod inner_queues;
mod packets;
mod pauses;
mod queues;

use crate::engine::Simulation;
use crate::experiment::Experiment;
use crate::hosts::facts::MessageRow;
use crate::hosts::records::{Credits, Datagrams, FlowRow};
use crate::net::port::Port;
use crate::probe::histogram::{Histogram, TimeHistogram};
use crate::probe::queue::Share;
use crate::probe::traces::{FlowTraceRow, PortRow, QueueRow};
use crate::probe::{TableBuilder, TableData};
use crate::routing::graph::{Graph, NodeId};
use crate::transport::window::Window;
use crate::workload::{Round, Step};
use serde_json::{Value, json};
use shallows_units::{Span, Time};

/// Words that tables refer to by number.
pub struct Names {
    pub(in crate::engine) ports: Vec<String>,
    pub(in crate::engine) hosts: Vec<String>,
    pub(in crate::engine) loads: Vec<String>,
    algorithms: Vec<String>,
    /// By port the nodes that it leaves and leads to.
    ends: Vec<(NodeId, NodeId)>,
}

impl Names {
    /// The words of an experiment.
    pub fn new(experiment: &Experiment, graph: &Graph) -> Self {
        Names {
            ports: (0..graph.links.len() as u32).map(|p| graph.port_name(p)).collect(),
            hosts: graph.nodes.iter().map(|n| n.name.clone()).collect(),
            loads: experiment.loads.iter().map(|l| l.name.clone()).collect(),
            algorithms: experiment.loads.iter().map(|l| l.transport.control().into()).collect(),
            ends: graph.links.iter().map(|link| (link.from, link.to)).collect(),
        }
    }
}

impl Simulation {
    /// Name of the node that `port` leaves.
    pub(in crate::engine) fn switch_of(&self, port: u32) -> String {
        let name = &self.names.ports[port as usize];
        name.split_once("->").map_or(name.clone(), |(from, _)| from.into())
    }
}

fn node(id: NodeId) -> u32 {
    id.0
}

fn maybe(time: Option<Time>) -> Option<u64> {
    time.map(Time::as_ps)
}

/// `sum / count`, if there were any.
pub(in crate::engine) fn mean(sum: u128, count: u64) -> Option<f64> {
    (count > 0).then(|| sum as f64 / count as f64)
}

fn slowdown(took: Span, ideal: Span) -> f64 {
    took.as_ps() as f64 / ideal.as_ps() as f64
}

impl Simulation {
    /// Every table of the run.
    pub fn tables(&self) -> Vec<TableData> {
        vec![
            self.flows_table(),
            self.messages_table(),
            self.rounds_table(),
            self.steps_table(),
            self.datagrams_table(),
            self.credits_table(),
            self.queues_table(),
            self.pauses_table(),
            self.queue_histogram(),
            self.inner_table(),
            self.inner_histogram(),
            self.wait_histogram(),
            self.queue_trace(),
            self.port_trace(),
            self.flow_trace(),
            self.packet_table(),
            self.loss_table(),
            self.shares_table(),
        ]
    }

    pub(in crate::engine) fn classes(&self) -> Vec<String> {
        self.roster.classes.iter().map(|c| c.name.clone()).collect()
    }

    fn flows_table(&self) -> TableData {
        let names = &self.names;
        let bears = self.bears();
        // A packet counts whole when its last bit arrives, so in a short time the quotient alone would exceed the link.
        let rate = |r: &FlowRow| {
            let most = bears[r.ends.0.index()].0.min(bears[r.ends.1.index()].1);
            (r.arrived as f64 * 8.0 / r.over.as_secs_f64()).min(most)
        };
        TableBuilder::new("flows", &self.roster.flow_rows)
            .u32("id", |r| r.serial)
            .words("traffic", &names.loads, |r| r.load.into())
            .words("class", &self.classes(), |r| r.class.into())
            .words("cc", &names.algorithms, |r| r.config.into())
            .words("src", &names.hosts, |r| node(r.ends.0))
            .words("dst", &names.hosts, |r| node(r.ends.1))
            .maybe_u64("bytes", |r| r.bytes)
            .u64("start_ps", |r| r.opened.as_ps())
            .maybe_u64("end_ps", |r| maybe(r.ended))
            .maybe_u64("fct_ps", |r| r.ended.map(|end| (end - r.opened).as_ps()))
            .maybe_u64("acked_ps", |r| r.acked.map(|end| (end - r.opened).as_ps()))
            .f64("goodput_bps", |r| if r.over.as_ps() > 0 { rate(r) } else { 0.0 })
            .u64("delivered_bytes", |r| r.delivered)
            .u64("arrived_bytes", |r| r.arrived)
            .u64("packets_sent", |r| r.sent.packets)
            .u64("retransmissions", |r| r.sent.retransmissions)
            .u64("timeouts", |r| r.sent.timeouts)
            .u64("timeouts_head", |r| r.timeouts.head)
            .u64("timeouts_tail", |r| r.timeouts.tail)
            .u64("fast_recoveries", |r| r.sent.fast_recoveries)
            .u64("ecn_reductions", |r| r.sent.ecn_reductions)
            .u64("marks", |r| r.received.marks)
            .u64("drops", |r| r.drops)
            .u64("wait_packets", |r| r.received.packets)
            .maybe_f64("wait_mean_ps", |r| mean(r.received.wait_sum, r.received.packets))
            .maybe_f64("delay_mean_ps", |r| mean(r.received.delay_sum, r.received.packets))
            .maybe_f64("srtt_mean_ps", |r| mean(r.sent.srtt_sum, r.sent.acks))
            .maybe_f64("cwnd_mean_bytes", |r| Window::mean(r.cwnd_time, r.watched))
            .maybe_f64("cwnd_bytes", |r| r.cwnd.map(|bytes| bytes as f64))
            .maybe_f64("ssthresh_bytes", |r| r.ssthresh)
            .maybe_f64("alpha", |r| r.alpha)
            .done()
    }

    /// By node: the sum of the rates of its links away and to it in bit/s, each the highest in the run.
    fn bears(&self) -> Vec<(f64, f64)> {
        let mut found = vec![(0.0, 0.0); self.names.hosts.len()];
        for ((from, to), port) in self.names.ends.iter().zip(self.ports()) {
            let rate = port.highest_rate().as_bps() as f64;
            found[from.index()].0 += rate;
            found[to.index()].1 += rate;
        }
        found
    }

    fn messages_table(&self) -> TableData {
        let took = |r: &MessageRow| r.ended.map(|end| (end - r.started).as_ps());
        let place = |r: &MessageRow| self.loads[r.load as usize].work.place_of(r.tag);
        TableBuilder::new("messages", &self.roster.message_rows)
            .u32("flow", |r| r.flow)
            .words("traffic", &self.names.loads, |r| r.load.into())
            .words("class", &self.classes(), |r| r.class.into())
            .maybe_u32("round", |r| place(r).map(|place| place.0))
            .maybe_u32("step", |r| place(r).map(|place| place.1))
            .u64("bytes", |r| r.bytes)
            .u64("start_ps", |r| r.started.as_ps())
            .maybe_u64("end_ps", |r| maybe(r.ended))
            .maybe_u64("fct_ps", took)
            .u64("ideal_ps", |r| r.ideal.as_ps())
            .maybe_f64("slowdown", |r| Some(slowdown(r.ended? - r.started, r.ideal)))
            .maybe_u64("acked_ps", |r| r.acked.map(|at| (at - r.started).as_ps()))
            .maybe_u64("ideal_acked_ps", |r| r.ideal_back.map(|back| (r.ideal + back).as_ps()))
            .maybe_f64("slowdown_acked", |r| Some(slowdown(r.acked? - r.started, r.ideal + r.ideal_back?)))
            .maybe_u64("deadline_ps", |r| r.deadline.map(|span| span.as_ps()))
            .maybe_u32("met", |r| r.met.map(u32::from))
            .done()
    }

    fn rounds_table(&self) -> TableData {
        let since = self.roster.measured_from;
        let rows: Vec<(u32, Round)> = (0u32..)
            .zip(&self.loads)
            .flat_map(|(i, load)| load.work.rounds().iter().map(move |round| (i, *round)))
            .filter(|(_, round)| round.started >= since)
            .collect();
        TableBuilder::new("rounds", &rows)
            .words("traffic", &self.names.loads, |r| r.0)
            .u32("round", |r| r.1.round)
            .u32("responses", |r| r.1.responses)
            .u64("bytes", |r| r.1.bytes)
            .u64("start_ps", |r| r.1.started.as_ps())
            .maybe_u64("end_ps", |r| maybe(r.1.ended))
            .maybe_u64("fct_ps", |r| r.1.ended.map(|end| (end - r.1.started).as_ps()))
            .maybe_u64("ideal_ps", |r| r.1.ideal.map(Span::as_ps))
            .maybe_f64("slowdown", |r| Some(slowdown(r.1.ended? - r.1.started, r.1.ideal?)))
            .u64("timeouts", |r| r.1.timeouts.all)
            .u64("timeouts_head", |r| r.1.timeouts.head)
            .u64("timeouts_tail", |r| r.1.timeouts.tail)
            .done()
    }

    /// Steps of the loads whose messages depend on one another.
    fn steps_table(&self) -> TableData {
        let since = self.roster.measured_from;
        let (mut names, mut rows): (Vec<String>, Vec<(u32, u32, Step)>) = (vec![], vec![]);
        for (i, load) in (0u32..).zip(&self.loads) {
            let first = names.len() as u32;
            names.extend(load.work.step_names());
            let begun = load.work.steps().iter().filter(|step| step.started.is_some_and(|at| at >= since));
            rows.extend(begun.map(|step| (i, first + step.name, *step)));
        }
        let took = |step: &Step| Some(step.ended? - step.started?);
        TableBuilder::new("steps", &rows)
            .words("traffic", &self.names.loads, |r| r.0)
            .u32("round", |r| r.2.round)
            .u32("step", |r| r.2.step)
            .words("name", &names, |r| r.1)
            .u32("messages", |r| r.2.messages)
            .u64("bytes", |r| r.2.bytes)
            .u64("start_ps", |r| r.2.started.unwrap_or_default().as_ps())
            .maybe_u64("end_ps", |r| maybe(r.2.ended))
            .maybe_u64("fct_ps", |r| took(&r.2).map(Span::as_ps))
            .maybe_u64("ideal_ps", |r| r.2.ended.map(|_| r.2.ideal.as_ps()))
            .maybe_f64("slowdown", |r| took(&r.2).map(|took| slowdown(took, r.2.ideal)))
            .done()
    }

    /// The datagrams of each sender, counted by the time of sending.
    fn datagrams_table(&self) -> TableData {
        let rows: Vec<(&FlowRow, &Datagrams)> =
            self.roster.flow_rows.iter().filter_map(|row| Some((row, row.datagrams.as_deref()?))).collect();
        let sent = |r: &(&FlowRow, &Datagrams)| r.0.sent.packets;
        let lost =
            |r: &(&FlowRow, &Datagrams)| sent(r).saturating_sub(r.1.received.datagrams + r.1.in_flight);
        let some = |r: &(&FlowRow, &Datagrams), value: u64| (r.1.received.datagrams > 0).then_some(value);
        TableBuilder::new("datagrams", &rows)
            .u32("flow", |r| r.0.serial)
            .words("traffic", &self.names.loads, |r| r.0.load.into())
            .words("class", &self.classes(), |r| r.0.class.into())
            .words("src", &self.names.hosts, |r| node(r.0.ends.0))
            .words("dst", &self.names.hosts, |r| node(r.0.ends.1))
            .u64("sent", sent)
            .u64("arrived", |r| r.1.received.datagrams)
            .u64("lost", lost)
            .u64("in_flight", |r| r.1.in_flight)
            .maybe_f64("loss", |r| mean(lost(r).into(), lost(r) + r.1.received.datagrams))
            .u64("copies", |r| r.1.received.copies)
            .u64("overtaken", |r| r.1.received.overtaken)
            .u64("late", |r| r.1.late.datagrams)
            .u64("late_max_ps", |r| r.1.late.longest.as_ps())
            .u64("arrived_bytes", |r| r.1.received.bytes)
            .maybe_u64("delay_min_ps", |r| some(r, r.1.received.least.as_ps()))
            .maybe_f64("delay_mean_ps", |r| mean(r.1.received.delay_sum, r.1.received.datagrams))
            .maybe_u64("delay_max_ps", |r| some(r, r.1.received.greatest.as_ps()))
            .maybe_f64("jitter_ps", |r| (r.1.received.datagrams > 1).then_some(r.1.received.jitter))
            .done()
    }

    /// The credits of each connection over ExpressPass.
    fn credits_table(&self) -> TableData {
        let rows: Vec<(&FlowRow, &Credits)> =
            self.roster.flow_rows.iter().filter_map(|row| Some((row, row.credits.as_deref()?))).collect();
        let ended = |r: &(&FlowRow, &Credits)| r.1.used + r.1.wasted + r.1.dropped;
        TableBuilder::new("credits", &rows)
            .u32("flow", |r| r.0.serial)
            .words("traffic", &self.names.loads, |r| r.0.load.into())
            .words("class", &self.classes(), |r| r.0.class.into())
            .words("src", &self.names.hosts, |r| node(r.0.ends.0))
            .words("dst", &self.names.hosts, |r| node(r.0.ends.1))
            .u64("sent", |r| r.1.sent)
            .u64("used", |r| r.1.used)
            .u64("wasted", |r| r.1.wasted)
            .u64("dropped", |r| r.1.dropped)
            .u64("in_flight", |r| r.1.sent.saturating_sub(ended(r)))
            .maybe_f64("loss", |r| mean(r.1.dropped.into(), ended(r)))
            .done()
    }

    /// The connections that shared each port, with `probe.shares`.
    fn shares_table(&self) -> TableData {
        let of_port = |(port, of): (u32, &Port)| {
            let shares: Vec<_> = of.record.iter().flat_map(|record| record.each_share()).collect();
            shares.into_iter().map(move |(flow, back, share)| (port, flow, back, share))
        };
        let rows: Vec<(u32, u32, bool, Share)> = (0..).zip(self.ports()).flat_map(of_port).collect();
        TableBuilder::new("shares", &rows)
            .words("port", &self.names.ports, |r| r.0)
            .u32("flow", |r| r.1)
            .u32("reverse", |r| r.2.into())
            .u64("packets", |r| r.3.packets)
            .u64("bytes", |r| r.3.bytes)
            .u64("wait_ps", |r| r.3.wait)
            .u64("wait_max_ps", |r| r.3.longest)
            .done()
    }

    fn wait_histogram(&self) -> TableData {
        let kinds = ["wait".to_string(), "delay".to_string()];
        let mut rows: Vec<(u32, u32, (u64, u64, u64))> = vec![];
        for (i, class) in (0u32..).zip(&self.roster.waits) {
            let mut add = |kind: u32, times: &TimeHistogram| {
                rows.extend(times.rows().into_iter().map(|row| (i, kind, row)))
            };
            add(0, &class.waits);
            add(1, &class.delays);
        }
        TableBuilder::new("wait_histogram", &rows)
            .words("class", &self.classes(), |r| r.0)
            .words("what", &kinds, |r| r.1)
            .u64("low_ps", |r| r.2.0)
            .u64("high_ps", |r| r.2.1)
            .u64("packets", |r| r.2.2)
            .done()
    }

    fn queue_trace(&self) -> TableData {
        let mut rows: Vec<QueueRow> = self.queue_rows.clone();
        for (i, port) in (0u32..).zip(self.ports()) {
            let changes = port.record.iter().flat_map(|r| r.changes());
            rows.extend(changes.map(|(time, packets, bytes)| QueueRow {
                time: *time,
                port: i,
                packets: *packets,
                bytes: *bytes,
            }));
        }
        TableBuilder::new("queue_trace", &rows)
            .u64("time_ps", |r| r.time.as_ps())
            .words("port", &self.names.ports, |r| r.port)
            .u64("packets", |r| r.packets)
            .u64("bytes", |r| r.bytes)
            .done()
    }

    fn port_trace(&self) -> TableData {
        TableBuilder::<PortRow>::new("port_trace", &self.port_rows)
            .u64("time_ps", |r| r.time.as_ps())
            .words("port", &self.names.ports, |r| r.port)
            .words("class", &self.classes(), |r| r.class)
            .u64("packets_in", |r| r.arrivals.packets)
            .u64("bytes_in", |r| r.arrivals.bytes)
            .u64("marks", |r| r.arrivals.marks)
            .u64("drops", |r| r.arrivals.drops)
            .done()
    }

    fn flow_trace(&self) -> TableData {
        TableBuilder::<FlowTraceRow>::new("flow_trace", &self.roster.trace_rows)
            .u64("time_ps", |r| r.time.as_ps())
            .u32("flow", |r| r.flow)
            .maybe_f64("cwnd_bytes", |r| r.cwnd)
            .maybe_f64("ssthresh_bytes", |r| r.ssthresh)
            .maybe_f64("srtt_ps", |r| r.srtt)
            .maybe_f64("alpha", |r| r.alpha)
            .maybe_f64("pacing_bps", |r| r.pacing)
            .u64("delivered_bytes", |r| r.delivered)
            .u64("arrived_bytes", |r| r.arrived)
            .u64("flight_bytes", |r| r.flight)
            .done()
    }

    /// Counts of the whole run and memory in use, for the manifest.
    pub fn manifest_counts(&self) -> Value {
        let books = self.books();
        let inner = |p: &Port| {
            let records = p.service.scheduled().and_then(|scheduled| scheduled.inner.as_ref());
            records.map_or(0, |inner| inner.memory())
        };
        let port_bytes: usize = self
            .ports()
            .map(|p| size_of::<Port>() + p.record.as_ref().map_or(0, |r| r.memory()) + inner(p))
            .sum();
        let packet_bytes: usize = self.cells.iter().map(|cell| cell.network.store.memory()).sum();
        let slowest = self.roster.slowest.iter().map(|(load, (rate, rtt))| {
            let place = json!({"rate_bps": rate.as_bps(), "rtt_ps": rtt.as_ps()});
            (self.names.loads[usize::from(*load)].clone(), place)
        });
        json!({
            "slowest": slowest.collect::<serde_json::Map<_, _>>(),
            "counts": {
                "events": books.events,
                "packet_hops": books.hops,
                "packets_sent": books.sent,
                "packets_duplicated": books.duplicated,
                "packets_delivered": books.delivered,
                "packets_dropped": books.dropped,
                "packets_in_flight": books.in_flight,
                "flows": self.roster.opened(),
                "messages": self.roster.message_rows.len(),
            },
            "coupling": self.coupling_factors(),
            "notes": self.notes(),
            "cells": self.cells_entry(),
            "memory": {
                "ports": self.places.len(),
                "port_bytes": port_bytes + packet_bytes,
                "flows_at_once": self.roster.places(),
                "flow_bytes": self.cells.iter().map(|cell| cell.hosts.memory()).sum::<usize>(),
            },
        })
    }
}
