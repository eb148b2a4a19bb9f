//! Graph: messages as listed, each of which waits for others and computes before it leaves.
//!
//! A message waits for messages that arrive at its own sender, or that its own sender sends: no host learns in the same
//! instant of a delivery elsewhere. A host that waits for an answer needs that answer as a message. A message that its
//! own sender sends counts from the instant at which it is handed to its connection, as a send without a wait does.
//! Left out: repetition of the whole, and computations that send nothing.

use super::dependent::{Channels, Links, Planned, Steps};
use super::due::Due;
use super::messages::Connection;
use super::written;
use super::{BuildCx, Expected, MessageDone, Sends, WorkCx, Workload};
use crate::hosts::Pair;
use crate::params::{Code, Row};
use serde_json::Value;
use shallows_units::{Bytes, Span, Time};
use std::collections::BTreeMap;

crate::params! {
    /// One message of the graph.
    pub struct MessageRow {
        /// Its name among the messages of this load.
        id: String = required, "", "the user's trace";
        /// Sending host.
        from: String = required, "", "the user's trace";
        /// Receiving host.
        to: String = required, "", "the user's trace";
        /// Bytes.
        bytes: Bytes = required, "[1B, ]", "the user's trace";
        /// Messages that must come before, by their ids: those to the sending host are delivered, those that the sending
        /// host itself sends are handed to their connections.
        after: Vec<String> = [], "", "it waits for none";
        /// Time that the sending host computes once it waits for nothing more.
        delay: Span = "0s", "", "it sends at once";
        /// The computation begins at this time at the soonest.
        start: Span = "0s", "", "at once";
    }
}

crate::params! {
    /// Graph. Messages as listed in the experiment or in a CSV or JSON file. Each leaves a time of computation after the
    /// messages that it waits for. The table of steps has a row for each, that of rounds one for the whole.
    pub struct Settings {
        /// Name of the file that the messages came from.
        name: String = "", "", "recorded with the result";
        /// The messages; filled in from the named file.
        messages: Vec<Row<MessageRow>> = required, "", "the user's trace";
        /// The connections that carry them; those that are kept open at time 0, one for each pair of hosts.
        connection: Connection = "persistent", "", "libraries open connections once";
    }
    facts {
        example: r#"{"messages": [
            {"id": "there", "from": "s0", "to": "r0", "bytes": "5KB"},
            {"id": "back", "from": "r0", "to": "s0", "bytes": "5KB", "after": ["there"], "delay": "1ms"}
        ]}"#,
        closed_loop: true,
        fills: &["rounds", "steps"],
    }
}

/// A message of the graph.
#[derive(Debug, Clone)]
pub struct Node {
    /// Its ends.
    pub ends: Pair,
    /// Its bytes.
    pub bytes: u64,
    /// The computation before it.
    pub delay: Span,
    /// When that begins at the soonest.
    pub start: Span,
    /// Messages that it still waits for.
    pub waits: u32,
    /// Messages that wait for its delivery.
    pub next: Vec<u32>,
    /// Messages that wait until it is sent.
    pub then: Vec<u32>,
    /// The ideal time at which its computation begins, as far as it is known.
    pub ideal: Span,
}

/// The load at work.
pub struct Load {
    nodes: Vec<Node>,
    names: Vec<String>,
    /// Messages that wait for nothing but the time.
    due: Due,
    channels: Channels,
    opened: bool,
    fresh: bool,
    steps: Steps,
}

impl Load {
    /// Ready to run.
    pub fn build(settings: &Settings, cx: &mut BuildCx<'_>) -> Option<Self> {
        let rows: Vec<&MessageRow> = settings.messages.iter().map(|Row(row)| row).collect();
        let nodes = written::nodes(&rows, cx)?;
        // The table of rounds has their sum.
        let total = nodes.iter().map(|node| u128::from(node.bytes)).sum::<u128>();
        if total > u128::from(u64::MAX) {
            let rule = format!("must hold at most {} together", Bytes(u64::MAX));
            cx.fault("messages", Code::TooMany.rule(rule), Value::Null);
            return None;
        }
        cx.require_paths(nodes.iter().map(|node| node.ends));
        let mut due = Due::default();
        for (i, node) in nodes.iter().enumerate().filter(|(_, node)| node.waits == 0) {
            due.push(Time::ZERO + node.start + node.delay, i);
        }
        let begins = due.next_at().map_or(Span::ZERO, |at| at - Time::ZERO);
        let plan = (0..).zip(&nodes).map(|(name, node)| Planned { name, messages: 1, bytes: node.bytes });
        Some(Load {
            names: rows.iter().map(|row| row.id.clone()).collect(),
            steps: Steps::new(
                plan.collect(),
                (0..nodes.len() as u32).collect(),
                1,
                least(&nodes, cx),
                begins,
            ),
            due,
            channels: Channels::new(settings.connection),
            opened: false,
            fresh: settings.connection == Connection::Fresh,
            nodes,
        })
    }

    /// Sends all that is due; returns when the next message is.
    fn send_due(&mut self, cx: &mut WorkCx<'_>) -> Option<Time> {
        loop {
            let (_, i) = match self.due.take(cx) {
                Ok(due) => due,
                Err(next) => return next,
            };
            let Node { ends, bytes, delay, start, ideal, .. } = self.nodes[i];
            let tag = self.steps.tag(0, 0, i as u32);
            let ideal = ideal.max(start) + delay;
            self.steps.sent(tag, ideal, cx);
            self.channels.send((ends, 0), bytes, tag, cx);
            let then = std::mem::take(&mut self.nodes[i].then);
            self.release(&then, ideal, cx.now());
        }
    }

    /// Counts off one of the messages that each of `next` waits for.
    fn release(&mut self, next: &[u32], ideal: Span, now: Time) {
        for next in next {
            let node = &mut self.nodes[*next as usize];
            node.waits -= 1;
            node.ideal = node.ideal.max(ideal);
            if node.waits == 0 {
                let begins = now.max(Time::ZERO + node.start);
                self.due.push(begins + node.delay, *next as usize);
            }
        }
    }

    fn pairs(&self) -> Vec<Pair> {
        let mut pairs: Vec<Pair> = self.nodes.iter().map(|node| node.ends).collect();
        pairs.sort_unstable();
        pairs.dedup();
        pairs
    }
}

/// The time that the payload takes at least through the links of one host.
fn least(nodes: &[Node], cx: &BuildCx<'_>) -> Span {
    let mut moved: BTreeMap<_, (u64, u64)> = BTreeMap::new();
    for node in nodes {
        let out = &mut moved.entry(node.ends.0).or_default().0;
        *out = out.saturating_add(node.bytes);
        let into = &mut moved.entry(node.ends.1).or_default().1;
        *into = into.saturating_add(node.bytes);
    }
    let links = Links::of_all(cx.graph, cx.links);
    let of_host = moved.into_iter().map(|(host, (out, into))| links[host.index()].least(out, into));
    of_host.max().unwrap_or_default()
}

impl Workload for Load {
    fn sends(&self) -> Sends {
        Sends::between(self.nodes.iter().map(|node| node.ends))
    }

    fn expects(&self, _: Span) -> Expected {
        let messages = self.nodes.len() as u64;
        let pairs = if self.fresh { messages } else { self.pairs().len() as u64 };
        let bytes =
            self.nodes.iter().map(|node| u128::from(node.bytes)).sum::<u128>() / u128::from(pairs.max(1));
        let bytes = Some(u64::try_from(bytes).unwrap_or(u64::MAX));
        Expected { at_once: pairs, in_all: pairs, messages, bytes }
    }

    fn wake(&mut self, cx: &mut WorkCx<'_>) -> Option<Time> {
        if !self.opened {
            self.opened = true;
            let pairs = self.pairs();
            self.channels.open(pairs, 1, cx);
        }
        self.send_due(cx)
    }

    fn on_message(&mut self, done: &MessageDone, cx: &mut WorkCx<'_>) -> Option<Time> {
        let ideal = self.steps.delivered(done, cx);
        let next = std::mem::take(&mut self.nodes[done.tag as usize].next);
        self.release(&next, ideal, cx.now());
        self.send_due(cx)
    }

    fn listens(&self) -> bool {
        true
    }

    fn record(&self) -> Option<&Steps> {
        Some(&self.steps)
    }

    fn step_names(&self) -> Vec<String> {
        self.names.clone()
    }
}
