//! Table: flows as listed, each with its ends, size and start.

use super::ends::{Pair, hosts};
use super::messages::Connection;
use super::{BuildCx, Expected, Sends, WorkCx, Workload};
use crate::hosts::FlowId;
use crate::params::{Code, Names, Row};
use shallows_units::{Bytes, Span, Time};
use std::collections::BTreeMap;

crate::params! {
    /// One flow of the table.
    pub struct FlowRow {
        /// Sending host.
        from: String = required, "", "the user's trace";
        /// Receiving host.
        to: String = required, "", "the user's trace";
        /// Bytes.
        bytes: Bytes = required, "[1B, ]", "the user's trace";
        /// Start.
        start: Span = required, "", "the user's trace";
        /// Time that it has, or "none".
        deadline: Option<Span> = "none", "(0s, 100000s]", "none";
    }
}

crate::params! {
    /// Table. Flows as listed in the experiment or in a CSV file, each with its ends, size and start.
    pub struct Settings {
        /// Name of the file that the flows came from.
        name: String = "", "", "recorded with the result";
        /// The flows; filled in from the named file.
        flows: Vec<Row<FlowRow>> = required, "", "the user's trace";
        /// The connections that carry the flows: one for each row, or one for each sender and receiver, whose rows it sends in order of
        /// their starts. The completion time of a row then counts from its start in both cases.
        connection: Connection = "fresh", "", "flows of a trace; RDMA applications keep their queue pairs, so \"persistent\" there";
    }
    facts {
        example: r#"{"flows": [{"from": "s0", "to": "r0", "bytes": "5KB", "start": "1ms"}]}"#,
    }
}

/// A flow that has not started yet.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    start: Time,
    ends: Pair,
    bytes: u64,
    deadline: Option<Span>,
    number: u64,
}

/// The load at work.
pub struct Load {
    /// Soonest last.
    waiting: Vec<Waiting>,
    /// With persistent connections, by ends: the connection if it stands, and the rows that are left.
    kept: BTreeMap<Pair, (Option<FlowId>, u64)>,
}

impl Load {
    /// Ready to run.
    pub fn build(settings: &Settings, cx: &mut BuildCx<'_>) -> Option<Self> {
        let mut waiting = vec![];
        let before = cx.faults.0.len();
        if settings.flows.is_empty() {
            cx.fault("flows", Code::TooFew.rule("must list at least one flow"), serde_json::Value::Null);
        }
        for (i, Row(row)) in settings.flows.iter().enumerate() {
            if cx.faults.enough() {
                break;
            }
            let mut host = |key: &str, name: &str| {
                let found = hosts(&Names(vec![name.into()]), &format!("flows.{i}.{key}"), cx)?;
                if found.len() > 1 {
                    cx.fault(&format!("flows.{i}.{key}"), Code::TooMany.rule("must name one host"), name);
                }
                found.first().copied()
            };
            let (from, to) = (host("from", &row.from), host("to", &row.to));
            let (Some(from), Some(to)) = (from, to) else { continue };
            if from == to {
                let rule = Code::Conflict.rule("must be a host other than the sender");
                cx.fault(&format!("flows.{i}.to"), rule, row.to.as_str());
            }
            waiting.push(Waiting {
                start: Time::ZERO + row.start,
                ends: (from, to),
                bytes: row.bytes.as_u64(),
                deadline: row.deadline,
                number: i as u64,
            });
        }
        waiting.sort_by_key(|flow| std::cmp::Reverse((flow.start, flow.number)));
        cx.require_paths(waiting.iter().map(|flow| flow.ends));
        let mut kept: BTreeMap<Pair, (Option<FlowId>, u64)> = BTreeMap::new();
        waiting.iter().for_each(|flow| kept.entry(flow.ends).or_default().1 += 1);
        let again = waiting.len() - kept.len();
        if settings.connection == Connection::Fresh {
            kept.clear();
            if again > 0 && cx.queue_pairs {
                cx.notes.push(format!(
                    "{}: the table opens a queue pair for each of its {} rows, {again} of them between hosts that have one already. Each \
                     starts at the rate of its card and shares it with the others. Write connection = \"persistent\" for one queue \
                     pair for each sender and receiver.",
                    cx.path.replace("traffic.", "traffic "),
                    waiting.len(),
                ));
            }
        }
        (cx.faults.0.len() == before).then_some(Load { waiting, kept })
    }
}

impl Workload for Load {
    fn sends(&self) -> Sends {
        Sends::between(self.waiting.iter().map(|flow| flow.ends))
    }

    fn expects(&self, duration: Span) -> Expected {
        let until = Time::ZERO + duration;
        let due = || self.waiting.iter().filter(|flow| flow.start < until);
        let n = due().count() as u64;
        let connections = if self.kept.is_empty() { n } else { n.min(self.kept.len() as u64) };
        let bytes = due().map(|flow| u128::from(flow.bytes)).sum::<u128>() / u128::from(connections.max(1));
        let bytes = Some(u64::try_from(bytes).unwrap_or(u64::MAX));
        Expected { at_once: connections, in_all: connections, messages: n, bytes }
    }

    fn wake(&mut self, cx: &mut WorkCx<'_>) -> Option<Time> {
        while let Some(flow) = self.waiting.last().copied() {
            if cx.stopped() {
                return None;
            }
            if flow.start > cx.now() {
                return Some(flow.start);
            }
            self.waiting.pop();
            let Some((connection, left)) = self.kept.get_mut(&flow.ends) else {
                cx.send_once(flow.ends, flow.bytes, flow.number, flow.deadline);
                continue;
            };
            let id = *connection.get_or_insert_with(|| cx.open(flow.ends, None));
            cx.send(id, flow.bytes, flow.number, flow.deadline);
            *left -= 1;
            if *left == 0 {
                cx.close(id);
            }
        }
        None
    }
}
