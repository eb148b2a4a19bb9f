//! Messages: each sender writes a message of one size at equal intervals.

use super::deadlines::{DeadlineSource, Deadlines};
use super::due::Due;
use super::ends::{Ends, Pair, pairs};
use super::{BuildCx, Expected, Sends, WorkCx, Workload};
use crate::hosts::FlowId;
use crate::params::Code;
use shallows_units::{Bytes, Span, Time};

crate::choices! {
    /// The connections that carry the messages.
    pub enum Connection {
        /// One connection for each pair, kept open: window and alpha carry over.
        Persistent = "persistent",
        /// A connection for each message.
        Fresh = "fresh",
    }
}

crate::choices! {
    /// When within its interval a sender writes.
    pub enum Phase {
        /// At its beginning, shifted by `stagger` from sender to sender.
        Aligned = "aligned",
        /// At a random time, drawn once for each sender.
        Random = "random",
    }
}

crate::params! {
    /// Messages. Each sender writes a message of one size at equal intervals.
    pub struct Settings, with ends: Ends {
        /// Bytes of each message.
        bytes: Bytes = required, "[1B, ]", "the user's application";
        /// Time from one message to the next.
        interval: Span = required, "(0s, ]", "the user's application";
        /// When the first sender writes its first message.
        start: Span = "0s", "", "at once";
        /// How much later each further sender starts.
        stagger: Span = "0s", "", "together";
        /// When within its interval a sender writes.
        phase: Phase = "aligned", "", "random phases for statistics over seeds";
        /// Messages of each sender, or "none" for no end.
        count: Option<u64> = "none", "[1, ]", "as long as the run lasts";
        /// The connections that carry the messages.
        connection: Connection = "persistent", "", "RPC libraries keep connections";
        /// Bytes sent at time 0, before the first message, on a persistent connection.
        primer: Bytes = "0B", "", "none; the ns-2 inputs of xDCTCP send 10 000";
        /// Time that each message has, or "none".
        deadline: Option<Deadlines> = "none", "", "none";
    }
    facts {
        example: r#"{"from": "s*", "to": "r0", "bytes": "5KB", "interval": "1ms", "count": 3}"#,
    }
}

struct Source {
    pair: Pair,
    flow: Option<FlowId>,
    sent: u64,
}

/// The load at work.
pub struct Load {
    settings: Settings,
    sources: Vec<Source>,
    due: Due,
    opened: bool,
    deadlines: DeadlineSource,
}

impl Load {
    /// Ready to run.
    pub fn build(settings: &Settings, cx: &mut BuildCx<'_>) -> Option<Self> {
        let pairs = pairs(&settings.ends, cx)?;
        if settings.primer.as_u64() > 0 && settings.connection == Connection::Fresh {
            cx.fault(
                "primer",
                Code::Conflict.rule("needs connection = \"persistent\""),
                settings.primer.to_string(),
            );
        }
        let mut due = Due::default();
        for i in 0..pairs.len() {
            let shift = match settings.phase {
                Phase::Aligned => Span::ZERO,
                Phase::Random => cx.random(i as u64).within(settings.interval),
            };
            due.push(Time::ZERO + settings.start + settings.stagger * i as u64 + shift, i);
        }
        let sources = pairs.into_iter().map(|pair| Source { pair, flow: None, sent: 0 }).collect();
        let deadlines = DeadlineSource::new(&settings.deadline, cx);
        Some(Load { settings: settings.clone(), sources, due, opened: false, deadlines })
    }

    fn open_all(&mut self, cx: &mut WorkCx<'_>) {
        if self.opened || self.settings.connection == Connection::Fresh {
            return;
        }
        self.opened = true;
        let announced = Some(self.settings.bytes.as_u64());
        for source in &mut self.sources {
            if cx.stopped() {
                return;
            }
            let flow = cx.open(source.pair, announced);
            if self.settings.primer.as_u64() > 0 {
                cx.send(flow, self.settings.primer.as_u64(), 0, None);
            }
            source.flow = Some(flow);
        }
    }
}

impl Workload for Load {
    fn is_random(&self) -> bool {
        self.settings.phase == Phase::Random
    }

    fn sends(&self) -> Sends {
        Sends::between(self.sources.iter().map(|source| source.pair))
    }

    fn expects(&self, duration: Span) -> Expected {
        let Settings { interval, count, bytes, connection, .. } = self.settings;
        let n = self.sources.len() as u64;
        // The checker has reported an invalid interval, which counts as 1 ps here.
        let each = (duration.as_ps() / interval.as_ps().max(1) + 1).min(count.unwrap_or(u64::MAX));
        let messages = n.saturating_mul(each);
        let (in_all, each) = if connection == Connection::Fresh { (messages, 1) } else { (n, each) };
        Expected { at_once: n, in_all, messages, bytes: Some(bytes.as_u64().saturating_mul(each)) }
    }

    fn wake(&mut self, cx: &mut WorkCx<'_>) -> Option<Time> {
        self.open_all(cx);
        let bytes = self.settings.bytes.as_u64();
        loop {
            let (at, i) = match self.due.take(cx) {
                Ok(due) => due,
                Err(next) => return next,
            };
            let source = &mut self.sources[i];
            source.sent += 1;
            let deadline = self.deadlines.draw();
            match source.flow {
                Some(flow) => cx.send(flow, bytes, source.sent, deadline),
                None => _ = cx.send_once(source.pair, bytes, source.sent, deadline),
            }
            if self.settings.count.is_none_or(|count| source.sent < count) {
                self.due.push(at + self.settings.interval, i);
            }
        }
    }
}
