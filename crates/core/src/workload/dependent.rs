//! Messages that depend on one another: the records of their steps and rounds, and the connections that carry them.
//!
//! An ideal is a critical path: each message takes the time that it takes alone on the empty network, and begins when
//! the ideals of all messages that it waits for have ended. Nothing in a run can be sooner. A round's ideal is at least
//! the time that the payload takes through the link of each host. Messages that share another link are not counted
//! against each other.

use super::messages::Connection;
use super::{MessageDone, Round, WorkCx};
use crate::hosts::{FlowId, Pair, TimeoutCounts};
use crate::routing::graph::Graph;
use crate::routing::ideal::Wire;
use shallows_units::{Bytes, Rate, Span, Time};
use std::collections::BTreeMap;

/// One step of one round: the messages that the load's plan sends together.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// Number of the round.
    pub round: u32,
    /// Number in the round, from 0.
    pub step: u32,
    /// Its name, by place in [`super::Workload::step_names`].
    pub name: u32,
    /// Messages.
    pub messages: u32,
    /// Their bytes together.
    pub bytes: u64,
    /// When the first of them was written.
    pub started: Option<Time>,
    /// When the last of them was delivered.
    pub ended: Option<Time>,
    /// The longest ideal time of one of them.
    pub ideal: Span,
    left: u32,
}

/// One step of each round, as planned.
#[derive(Debug, Clone, Copy)]
pub struct Planned {
    /// Its name, by number.
    pub name: u32,
    /// Messages.
    pub messages: u32,
    /// Their bytes together.
    pub bytes: u64,
}

/// A round of which messages are to come.
#[derive(Debug, Clone, Copy)]
struct Open {
    left: u64,
    timeouts_before: TimeoutCounts,
    ideal: Span,
}

/// The records of a load.
pub struct Steps {
    plan: Vec<Planned>,
    /// The step of each message of one lane; each lane has as many.
    step_of: Vec<u32>,
    /// A round's messages are those of so many lanes.
    lanes: u64,
    /// No round takes less.
    least: Span,
    /// The ideal at which a round begins.
    begins: Span,
    rows: Vec<Step>,
    rounds: Vec<Round>,
    open: Vec<Open>,
    /// Messages under way: the ideals at which they began.
    under_way: BTreeMap<u64, Span>,
}

impl Steps {
    /// The steps of a load whose rounds follow `plan`. A round has messages with the steps of `step_of`, once in each of so
    /// many lanes.
    pub fn new(plan: Vec<Planned>, step_of: Vec<u32>, lanes: u64, least: Span, begins: Span) -> Self {
        let (rows, rounds, open) = (vec![], vec![], vec![]);
        Steps { plan, step_of, lanes, least, begins, rows, rounds, open, under_way: BTreeMap::new() }
    }

    /// The tag of a message of one lane.
    pub fn tag(&self, round: u64, lane: u64, message: u32) -> u64 {
        (round * self.lanes + lane) * self.step_of.len() as u64 + u64::from(message)
    }

    /// The round, the lane and the message in it.
    pub fn of_tag(&self, tag: u64) -> (u64, u64, u32) {
        let each = self.step_of.len() as u64;
        let lane = tag / each;
        (lane / self.lanes, lane % self.lanes, (tag % each) as u32)
    }

    /// The round and the step in it.
    pub fn place_of(&self, tag: u64) -> (u32, u32) {
        let (round, _, message) = self.of_tag(tag);
        (round as u32, self.step_of[message as usize])
    }

    /// The row of the step of a message.
    fn row_of(&self, tag: u64) -> usize {
        let (round, step) = self.place_of(tag);
        round as usize * self.plan.len() + step as usize
    }

    /// Messages of a round.
    pub fn messages(&self) -> u64 {
        self.plan.iter().map(|step| u64::from(step.messages)).sum()
    }

    /// Bytes of a round.
    pub fn bytes(&self) -> u64 {
        self.plan.iter().map(|step| step.bytes).fold(0, u64::saturating_add)
    }

    /// Rows so far.
    pub fn rows(&self) -> &[Step] {
        &self.rows
    }

    /// Rounds so far.
    pub fn rounds(&self) -> &[Round] {
        &self.rounds
    }

    /// A message is written now, at the ideal time `ideal`.
    pub fn sent(&mut self, tag: u64, ideal: Span, cx: &WorkCx<'_>) {
        let row = self.row_of(tag);
        while self.rows.len() <= row {
            self.begin_round(cx);
        }
        self.rows[row].started.get_or_insert(cx.now());
        self.under_way.insert(tag, ideal);
    }

    fn begin_round(&mut self, cx: &WorkCx<'_>) {
        let round = self.rounds.len() as u32;
        let row = |(step, planned): (u32, &Planned)| {
            let Planned { name, messages, bytes } = *planned;
            let (started, ended, ideal, left) = (None, None, Span::ZERO, messages);
            Step { round, step, name, messages, bytes, started, ended, ideal, left }
        };
        self.rows.extend((0..).zip(&self.plan).map(row));
        let messages = self.messages();
        self.rounds.push(Round {
            round,
            responses: messages as u32,
            bytes: self.bytes(),
            started: cx.now(),
            ended: None,
            timeouts: TimeoutCounts::default(),
            ideal: (self.least > Span::ZERO).then_some(self.least),
        });
        self.open.push(Open { left: messages, timeouts_before: cx.timeouts(), ideal: Span::ZERO });
    }

    /// A message has been delivered now; returns the ideal time of its delivery.
    pub fn delivered(&mut self, done: &MessageDone, cx: &WorkCx<'_>) -> Span {
        let ideal = self.under_way.remove(&done.tag).unwrap_or_default() + done.ideal;
        let (round, _) = self.place_of(done.tag);
        let row = self.row_of(done.tag);
        let row = &mut self.rows[row];
        row.ideal = row.ideal.max(done.ideal);
        row.left -= 1;
        if row.left == 0 {
            row.ended = Some(cx.now());
        }
        let open = &mut self.open[round as usize];
        open.ideal = open.ideal.max(ideal);
        open.left -= 1;
        if open.left == 0 {
            let round = &mut self.rounds[round as usize];
            round.ended = Some(cx.now());
            round.timeouts = cx.timeouts() - open.timeouts_before;
            round.ideal = Some((open.ideal - self.begins).max(self.least));
        }
        ideal
    }
}

/// The links of a host.
#[derive(Debug, Clone, Copy)]
pub struct Links {
    /// Bits a second out of it.
    out: u64,
    /// Bits a second into it.
    into: u64,
    /// Delay of the shortest.
    pub delay: Span,
}

impl Links {
    /// Links of each node, by its place; links have these rates and delays.
    pub fn of_all(graph: &Graph, wires: &[Wire]) -> Vec<Links> {
        let mut all = vec![Links { out: 0, into: 0, delay: Span::ps(u64::MAX) }; graph.nodes.len()];
        for (link, (rate, delay)) in graph.links.iter().zip(wires) {
            let (from, to) = (link.from.index(), link.to.index());
            all[from].out = all[from].out.saturating_add(rate.as_bps());
            all[to].into = all[to].into.saturating_add(rate.as_bps());
            for end in [from, to] {
                all[end].delay = all[end].delay.min(*delay);
            }
        }
        all
    }

    /// The time that a host takes at least to send and to receive so much.
    pub fn least(&self, out: u64, into: u64) -> Span {
        let through = |rate: u64, bytes: u64| match (rate, bytes) {
            (0, _) | (_, 0) => Span::ZERO,
            _ => Rate::bps(rate).transmit(Bytes(bytes)),
        };
        through(self.out, out).max(through(self.into, into))
    }
}

/// The connections of a load, by their ends and their number among those of the same ends, where they are kept.
pub struct Channels {
    kept: BTreeMap<(Pair, u32), FlowId>,
    connection: Connection,
}

impl Channels {
    /// None is open yet.
    pub fn new(connection: Connection) -> Self {
        Channels { kept: BTreeMap::new(), connection }
    }

    /// Opens those that are kept, in order, so many of each pair.
    pub fn open(&mut self, pairs: impl IntoIterator<Item = Pair>, each: u32, cx: &mut WorkCx<'_>) {
        if self.connection == Connection::Fresh {
            return;
        }
        for pair in pairs {
            for number in 0..each {
                if cx.stopped() {
                    return;
                }
                self.kept.entry((pair, number)).or_insert_with(|| cx.open(pair, None));
            }
        }
    }

    /// Writes a message to connection `number` of the pair.
    pub fn send(&mut self, (pair, number): (Pair, u32), bytes: u64, tag: u64, cx: &mut WorkCx<'_>) {
        match self.kept.get(&(pair, number)) {
            Some(flow) => cx.send(*flow, bytes, tag, None),
            None => _ = cx.send_once(pair, bytes, tag, None),
        }
    }
}
