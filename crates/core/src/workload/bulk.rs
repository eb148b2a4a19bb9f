//! Bulk: connections that send a fixed amount, or without end.

use super::ends::{Ends, MAX_CONNECTIONS, Pair, pairs};
use super::{BuildCx, Expected, Sends, WorkCx, Workload};
use crate::hosts::FlowId;
use crate::params::Code;
use shallows_units::{Bytes, Span, Time};

crate::params! {
    /// Bulk. Connections that send a fixed amount, or without end.
    pub struct Settings, with ends: Ends {
        /// Connections for each pair; none is a load that a sweep leaves out.
        flows: u64 = 1, "[0, 100000]", "one connection";
        /// Bytes of each connection, or "none" for no end.
        bytes: Option<Bytes> = "none", "[1B, ]", "a long flow";
        /// When the first connection starts.
        start: Span = "0s", "", "at once";
        /// How much later each further connection starts.
        stagger: Span = "0s", "", "together";
        /// Each start is moved by a random time below this.
        jitter: Span = "0s", "", "none; random phases want one";
        /// Bytes sent at time 0, before the start proper, on the same connection.
        primer: Bytes = "0B", "", "none; the ns-2 inputs of xDCTCP send 10 000";
    }
    facts {
        example: r#"{"from": "s*", "to": "r0", "bytes": "30KB"}"#,
    }
}

/// The load at work.
pub struct Load {
    settings: Settings,
    /// Start and ends, soonest last; the connection if it already stands.
    waiting: Vec<(Time, Pair, Option<FlowId>)>,
    primed: bool,
}

impl Load {
    /// Ready to run.
    pub fn build(settings: &Settings, cx: &mut BuildCx<'_>) -> Option<Self> {
        let pairs = pairs(&settings.ends, cx)?;
        if settings.flows * pairs.len() as u64 > MAX_CONNECTIONS {
            cx.fault(
                "flows",
                Code::TooMany.rule(format!("must make <= {MAX_CONNECTIONS} connections in all")),
                settings.flows,
            );
            return None;
        }
        let mut random = cx.random(0);
        let mut waiting = vec![];
        for _ in 0..settings.flows {
            for pair in &pairs {
                let nominal = Time::ZERO + settings.start + settings.stagger * waiting.len() as u64;
                waiting.push((nominal + random.within(settings.jitter), *pair, None));
            }
        }
        waiting.sort_by_key(|(start, ..)| std::cmp::Reverse(*start)); // stable
        let mut i = 0;
        while i < waiting.len() {
            let run = waiting[i..].iter().take_while(|w| w.0 == waiting[i].0).count();
            waiting[i..i + run].reverse(); // equal starts in the order of the pairs
            i += run;
        }
        Some(Load { settings: settings.clone(), waiting, primed: false })
    }
}

impl Workload for Load {
    fn is_random(&self) -> bool {
        self.settings.jitter > Span::ZERO
    }

    fn sends(&self) -> Sends {
        Sends::between(self.waiting.iter().map(|(_, pair, _)| *pair))
    }

    fn expects(&self, _duration: Span) -> Expected {
        let Settings { bytes, primer, .. } = self.settings;
        let n = self.waiting.len() as u64;
        let bytes = bytes.map(|bytes| bytes.as_u64().saturating_add(primer.as_u64()));
        Expected { at_once: n, in_all: n, messages: if bytes.is_some() { n } else { 0 }, bytes }
    }

    fn wake(&mut self, cx: &mut WorkCx<'_>) -> Option<Time> {
        let Settings { bytes, primer, .. } = self.settings;
        let announced = bytes.map(|b| b.as_u64().saturating_add(primer.as_u64()));
        if !self.primed {
            self.primed = true;
            if primer.as_u64() > 0 {
                for (_, pair, flow) in self.waiting.iter_mut().rev() {
                    if cx.stopped() {
                        return None;
                    }
                    let opened = cx.open(*pair, announced);
                    cx.send(opened, primer.as_u64(), 0, None);
                    *flow = Some(opened);
                }
            }
        }
        while let Some((start, pair, flow)) = self.waiting.last().copied() {
            if cx.stopped() {
                return None;
            }
            if start > cx.now() {
                return Some(start);
            }
            self.waiting.pop();
            let flow = flow.unwrap_or_else(|| cx.open(pair, announced));
            match bytes {
                Some(bytes) => {
                    cx.send(flow, bytes.as_u64(), 0, None);
                    cx.close(flow);
                }
                None => cx.send_forever(flow),
            }
        }
        None
    }
}
