//! Incast: rounds of a request to each worker, a response from each, and a barrier.
//!
//! Source: partition/aggregate as described by Alizadeh et al. 2010, s.2.1.

use super::deadlines::{DeadlineSource, Deadlines};
use super::due::Due;
use super::ends::hosts;
use super::messages::Connection;
use super::{BuildCx, Expected, MessageDone, Round, Sends, WorkCx, Workload};
use crate::events::random::Stream;
use crate::hosts::FlowId;
use crate::hosts::TimeoutCounts;
use crate::params::{Code, Names, ParamType};
use crate::routing::graph::NodeId;
use shallows_units::{Bytes, Span, Time};

crate::params! {
    /// Incast. Rounds of a request to each worker, a response from each, and a barrier. The table of messages lists the
    /// responses, that of rounds the time from the requests to the last response.
    pub struct Settings {
        /// The host that asks.
        to: Names = required, "", "the user's network";
        /// The workers' hosts.
        from: Names = required, "", "the user's network";
        /// Workers; beyond the number of hosts, several share one.
        workers: Option<u64> = "none", "[1, 100000]", "one a host";
        /// Bytes of a request.
        request: Bytes = "100B", "[1B, ]", "a short query";
        /// Bytes of each response, or "none" where `total` is given.
        response: Option<Bytes> = "none", "[1B, ]", "either this or `total`";
        /// Bytes of all responses of a round together, or "none" where `response` is given.
        total: Option<Bytes> = "none", "[1B, ]", "Alizadeh 2010 s.4.2.1: 1 MB";
        /// Rounds, or "none" for no end.
        rounds: Option<u64> = "none", "[1, ]", "as long as the run lasts";
        /// When the first round starts.
        start: Span = "0s", "", "at once";
        /// Time from the barrier to the next round.
        gap: Span = "0s", "", "at once";
        /// Each request is sent at a random time below this after the round's start.
        jitter: Span = "0s", "", "none; Alizadeh 2010 s.2.3.2 reports 10 ms in practice";
        /// The connections that carry requests and responses.
        connection: Connection = "persistent", "", "as in Alizadeh 2010";
        /// Time that each response has from when it is written, or "none".
        deadline: Option<Deadlines> = "none", "", "none";
    }
    facts {
        example: r#"{"from": "s*", "to": "r0", "response": "5KB", "rounds": 3}"#,
        closed_loop: true,
        fills: &["rounds"],
        elsewhere: &[("linux", "rounds"), ("ns3", "rounds")],
    }
}

struct Worker {
    host: NodeId,
    asks: Option<FlowId>,
    answers: Option<FlowId>,
}

/// The load at work.
pub struct Load {
    settings: Settings,
    aggregator: NodeId,
    workers: Vec<Worker>,
    response: u64,
    /// Requests to be sent, and when.
    due: Due,
    next_round: Option<Time>,
    outstanding: u32,
    timeouts_before: TimeoutCounts,
    rounds: Vec<Round>,
    random: Stream,
    deadlines: DeadlineSource,
}

/// Tags tell requests from responses.
const RESPONSE: u64 = 1 << 63;

impl Load {
    /// Ready to run.
    pub fn build(settings: &Settings, cx: &mut BuildCx<'_>) -> Option<Self> {
        let (aggregator, from) = (hosts(&settings.to, "to", cx), hosts(&settings.from, "from", cx));
        let (aggregator, from) = (aggregator?, from?);
        let [aggregator] = aggregator[..] else {
            cx.fault("to", Code::TooMany.rule("must name one host"), aggregator.len() as u64);
            return None;
        };
        if from.contains(&aggregator) {
            cx.fault(
                "from",
                Code::Conflict.rule("must not contain the requesting host"),
                cx.graph.name(aggregator),
            );
            return None;
        }
        // Requests go one way, responses the other.
        cx.require_paths(from.iter().flat_map(|worker| [(*worker, aggregator), (aggregator, *worker)]));
        let count = settings.workers.unwrap_or(from.len() as u64);
        let response = match (settings.response, settings.total) {
            (Some(each), None) => each.as_u64(),
            (None, Some(total)) => (total.as_u64() / count).max(1),
            _ => {
                cx.fault(
                    "response",
                    Code::Conflict.rule("needs exactly one of `response` and `total`"),
                    serde_json::Value::Null,
                );
                return None;
            }
        };
        // The table of rounds has their sum.
        if response.checked_mul(count).is_none() {
            let rule = format!(
                "must be <= {}: the {count} responses of a round hold at most {} together",
                Bytes(u64::MAX / count),
                Bytes(u64::MAX)
            );
            cx.fault("response", Code::TooMany.rule(rule), settings.response.show());
            return None;
        }
        let worker = |i: u64| Worker { host: from[i as usize % from.len()], asks: None, answers: None };
        Some(Load {
            settings: settings.clone(),
            aggregator,
            workers: (0..count).map(worker).collect(),
            response,
            due: Due::default(),
            next_round: Some(Time::ZERO + settings.start),
            outstanding: 0,
            timeouts_before: TimeoutCounts::default(),
            rounds: vec![],
            random: cx.random(0),
            deadlines: DeadlineSource::new(&settings.deadline, cx),
        })
    }

    fn begin_round(&mut self, at: Time, cx: &mut WorkCx<'_>) {
        self.outstanding = self.workers.len() as u32;
        self.timeouts_before = cx.timeouts();
        self.rounds.push(Round {
            round: self.rounds.len() as u32,
            responses: self.outstanding,
            bytes: self.response * u64::from(self.outstanding),
            started: at,
            ended: None,
            timeouts: TimeoutCounts::default(),
            ideal: None,
        });
        for i in 0..self.workers.len() {
            let jitter = self.random.within(self.settings.jitter);
            self.due.push(at + jitter, i);
        }
    }

    /// Asks worker `i`.
    fn ask(&mut self, i: usize, cx: &mut WorkCx<'_>) {
        let worker = &mut self.workers[i];
        let (ends, bytes, tag) = ((self.aggregator, worker.host), self.settings.request.as_u64(), i as u64);
        match self.settings.connection {
            Connection::Fresh => _ = cx.ask_once(ends, bytes, tag),
            Connection::Persistent => {
                let flow = *worker.asks.get_or_insert_with(|| cx.open(ends, Some(bytes)));
                cx.ask(flow, bytes, tag);
            }
        }
    }

    /// Worker `i` answers.
    fn answer(&mut self, i: usize, cx: &mut WorkCx<'_>) {
        let deadline = self.deadlines.draw();
        let worker = &mut self.workers[i];
        let (ends, bytes, tag) = ((worker.host, self.aggregator), self.response, i as u64 | RESPONSE);
        match self.settings.connection {
            Connection::Fresh => _ = cx.send_once(ends, bytes, tag, deadline),
            Connection::Persistent => {
                let flow = *worker.answers.get_or_insert_with(|| cx.open(ends, Some(bytes)));
                cx.send(flow, bytes, tag, deadline);
            }
        }
    }
}

impl Workload for Load {
    fn is_random(&self) -> bool {
        self.settings.jitter > Span::ZERO
    }

    fn sends(&self) -> Sends {
        Sends::between(self.workers.iter().map(|worker| (worker.host, self.aggregator)))
    }

    fn expects(&self, _duration: Span) -> Expected {
        // Requests and responses; how many rounds there will be, the network decides.
        let n = 2 * self.workers.len() as u64;
        Expected { at_once: n, in_all: n, messages: n, bytes: Some(self.response) }
    }

    fn wake(&mut self, cx: &mut WorkCx<'_>) -> Option<Time> {
        if let Some(at) = self.next_round.filter(|at| *at <= cx.now()) {
            self.next_round = None;
            self.begin_round(at, cx);
        }
        loop {
            match self.due.take(cx) {
                Ok((_, i)) => self.ask(i, cx),
                Err(next) => return next.or(self.next_round),
            }
        }
    }

    fn on_message(&mut self, done: &MessageDone, cx: &mut WorkCx<'_>) -> Option<Time> {
        if done.tag & RESPONSE == 0 {
            self.answer(done.tag as usize, cx);
            return None;
        }
        self.outstanding -= 1;
        if self.outstanding > 0 {
            return None;
        }
        let timeouts = cx.timeouts() - self.timeouts_before;
        let round = self.rounds.last_mut()?;
        (round.ended, round.timeouts) = (Some(cx.now()), timeouts);
        if self.settings.rounds.is_none_or(|rounds| (self.rounds.len() as u64) < rounds) {
            self.next_round = Some(cx.now() + self.settings.gap);
        }
        self.next_round
    }

    fn listens(&self) -> bool {
        true
    }

    fn rounds(&self) -> &[Round] {
        &self.rounds
    }
}
