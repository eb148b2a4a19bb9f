//! Table: flows as listed, each with its ends, size and start.

use super::ends::{Pair, hosts};
use super::{BuildCx, Expected, WorkCx, Workload};
use crate::params::{Code, Names, Row};
use shallows_units::{Bytes, Span, Time};

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
        (cx.faults.0.len() == before).then_some(Load { waiting })
    }
}

impl Workload for Load {
    fn expects(&self, duration: Span) -> Expected {
        let until = Time::ZERO + duration;
        let due = || self.waiting.iter().filter(|flow| flow.start < until);
        let n = due().count() as u64;
        let bytes = due().map(|flow| u128::from(flow.bytes)).sum::<u128>() / u128::from(n.max(1));
        Expected { at_once: n, in_all: n, messages: n, bytes: Some(u64::try_from(bytes).unwrap_or(u64::MAX)) }
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
            cx.send_once(flow.ends, flow.bytes, flow.number, flow.deadline);
        }
        None
    }
}
