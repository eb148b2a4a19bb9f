//! Collective: ranks that exchange the blocks of a buffer in steps, each of which waits for the one before.
//!
//! Source: the algorithms stand in `schedules.rs`. A rank's step begins when the message of the step before has been
//! delivered at that rank: there is no barrier over all ranks. A rank does not wait for its own messages to arrive.
//! Left out: pipelining by chunks within a step, several rings at once, trees, reduction inside the network, links
//! between the processors of one host, the time that a reduction takes.

use super::dependent::{Channels, Links, Planned, Steps};
use super::due::Due;
use super::messages::Connection;
use super::schedules::{Algorithm, NAMES, Operation, Schedule};
use super::{BuildCx, Expected, MessageDone, Sends, WorkCx, Workload};
use crate::events::random::Stream;
use crate::params::{Code, Names, ParamType};
use crate::routing::graph::NodeId;
use crate::routing::select::select;
use crate::workload::ends::MAX_CONNECTIONS;
use shallows_units::{Bytes, Span, Time};
use std::collections::{BTreeMap, BTreeSet};

crate::params! {
    /// Collective. Ranks exchange the blocks of a buffer in steps. A step begins at a rank when the message of the step
    /// before has been delivered there. The table of steps lists them, that of rounds the whole operations.
    pub struct Settings {
        /// The ranks, one a host, in the order of the list; those of one pattern in the network's order.
        hosts: Names = required, "", "the user's network";
        /// The operation.
        operation: Operation = "all-reduce", "", "data-parallel training";
        /// The order in which ranks exchange blocks; an all-to-all has no choice.
        algorithm: Algorithm = "ring", "", "the usual one for large buffers";
        /// Bytes of the buffer of each rank, all blocks together: each rank gives so much to an all-reduce, a
        /// reduce-scatter or an all-to-all, and holds so much after an all-gather. The size of nccl-tests is the same. MPI
        /// counts one block, an n-th of it for n ranks, in all operations but the all-reduce.
        bytes: Bytes = required, "[1B, ]", "the user's application";
        /// Messages of an all-to-all that a rank may be ahead of those that it has received; 1 sends to one peer after
        /// another, "none" to all at once. Other operations have 1.
        window: Option<u64> = 1, "[1, ]", "the pairwise exchange of MPICH";
        /// Operations one after another, or "none" for no end.
        rounds: Option<u64> = "none", "[1, ]", "as long as the run lasts";
        /// When the ranks begin.
        start: Span = "0s", "", "at once";
        /// Time that a rank computes between the end of an operation at that rank and the beginning of its next.
        gap: Span = "0s", "", "at once";
        /// Each rank begins each operation at a random time below this after it could.
        jitter: Span = "0s", "", "ranks that compute for equally long";
        /// The connections that carry the messages; those that are kept open at time 0.
        connection: Connection = "persistent", "", "libraries open connections once";
    }
    facts {
        example: r#"{"hosts": ["s*", "r0"], "bytes": "50KB", "rounds": 3}"#,
        closed_loop: true,
        fills: &["rounds", "steps"],
    }
}

struct Rank {
    host: NodeId,
    /// Steps begun and steps whose message is here, counted over all rounds.
    sent: u64,
    here: u64,
    /// It computes: its next operation has not begun.
    rests: bool,
    /// Messages that came before their step, with the ideal times of their delivery.
    early: BTreeMap<u64, Span>,
    /// The ideal time at which the messages so far are here.
    ideal: Span,
    random: Stream,
}

/// The load at work.
pub struct Load {
    settings: Settings,
    schedule: Schedule,
    window: u64,
    ranks: Vec<Rank>,
    /// Ranks that begin an operation, and when.
    due: Due,
    channels: Channels,
    opened: bool,
    steps: Steps,
    /// About the least time of a round.
    least: Span,
}

impl Load {
    /// Ready to run.
    pub fn build(settings: &Settings, cx: &mut BuildCx<'_>) -> Option<Self> {
        let before = cx.faults.0.len();
        let hosts = ranks(&settings.hosts, cx);
        check(settings, hosts.as_deref().map_or(0, <[_]>::len) as u64, cx);
        let hosts = hosts.filter(|_| cx.faults.0.len() == before)?;
        let Settings { operation, algorithm, .. } = *settings;
        let (n, bytes) = (hosts.len() as u64, settings.bytes.as_u64());
        let schedule = Schedule { operation, algorithm, ranks: n, bytes };
        let host = |rank: u64| hosts[rank as usize];
        cx.require_paths(schedule.pairs().map(|(from, to)| (host(from), host(to))));
        let plan =
            |step| Planned { name: schedule.name(step), messages: n as u32, bytes: schedule.together(step) };
        let links = Links::of_all(cx.graph, cx.links);
        let links = || hosts.iter().map(|host| links[host.index()]);
        let moved = schedule.least_of_a_rank();
        let least = links().map(|links| links.least(moved, moved)).max().unwrap_or_default();
        let delay = links().map(|links| links.delay).min().unwrap_or_default();
        let window = settings.window.unwrap_or(u64::MAX).min(schedule.steps());
        let steps = Steps::new((0..schedule.steps()).map(plan).collect(), n, least, Span::ZERO);
        let mut due = Due::default();
        let mut rank = |(i, host): (usize, &NodeId)| {
            let mut random = cx.random(i as u64);
            let begins = Time::ZERO + settings.start + random.within(settings.jitter);
            due.push(begins, i);
            let (early, ideal) = (BTreeMap::new(), Span::ZERO);
            Rank { host: *host, sent: 0, here: 0, rests: true, early, ideal, random }
        };
        Some(Load {
            schedule,
            window,
            ranks: hosts.iter().enumerate().map(&mut rank).collect(),
            due,
            channels: Channels::new(settings.connection),
            opened: false,
            steps,
            least: least.max(delay * 2 * schedule.steps().div_ceil(window)),
            settings: settings.clone(),
        })
    }

    fn open_all(&mut self, cx: &mut WorkCx<'_>) {
        if !self.opened {
            self.opened = true;
            let host = |rank: u64| self.ranks[rank as usize].host;
            self.channels.open(self.schedule.pairs().map(|(from, to)| (host(from), host(to))), cx);
        }
    }

    /// Begins all operations that are due; returns when the next one is.
    fn begin_due(&mut self, cx: &mut WorkCx<'_>) -> Option<Time> {
        loop {
            let (_, i) = match self.due.take(cx) {
                Ok(due) => due,
                Err(next) => return next,
            };
            (self.ranks[i].rests, self.ranks[i].ideal) = (false, Span::ZERO);
            (0..self.window).for_each(|_| self.send(i, cx));
            self.go_on(i, cx);
        }
    }

    /// Rank `i` begins its next step.
    fn send(&mut self, i: usize, cx: &mut WorkCx<'_>) {
        let rank = &mut self.ranks[i];
        let (step, from, ideal) = (rank.sent, rank.host, rank.ideal);
        rank.sent += 1;
        let (peer, bytes) = self.schedule.send(i as u64, step % self.steps.per_round());
        let tag = self.steps.tag(step, i as u64);
        self.steps.sent(tag, ideal, cx);
        self.channels.send((from, self.ranks[peer as usize].host), bytes, tag, cx);
    }

    /// Takes the messages that are at rank `i` in the order of their steps, and begins what waited for them.
    fn go_on(&mut self, i: usize, cx: &mut WorkCx<'_>) {
        let each = self.steps.per_round();
        while !self.ranks[i].rests {
            let rank = &mut self.ranks[i];
            let Some(ideal) = rank.early.remove(&rank.here) else { return };
            rank.here += 1;
            rank.ideal = rank.ideal.max(ideal);
            if rank.here.is_multiple_of(each) {
                rank.rests = true;
                if self.settings.rounds.is_none_or(|rounds| rank.here / each < rounds) {
                    let jitter = rank.random.within(self.settings.jitter);
                    self.due.push(cx.now() + self.settings.gap + jitter, i);
                }
            } else if rank.sent < rank.here.next_multiple_of(each) {
                self.send(i, cx);
            }
        }
    }
}

/// The hosts that `names` lists, in order; a fault if one stands there twice.
fn ranks(names: &Names, cx: &mut BuildCx<'_>) -> Option<Vec<NodeId>> {
    let (mut found, mut seen) = (vec![], BTreeSet::new());
    for text in &names.0 {
        match select(cx.graph, &Names(vec![text.clone()])) {
            Ok(hosts) => found.extend(hosts),
            Err(rule) => {
                cx.fault("hosts", rule.judged_by(&["hosts"]), names.show());
                return None;
            }
        }
    }
    if let Some(twice) = found.iter().find(|host| !seen.insert(**host)) {
        let rule = format!("must name each host once: {} is named twice", cx.graph.name(*twice));
        cx.fault("hosts", Code::WrittenTwice.rule(rule).judged_by(&["hosts"]), names.show());
        return None;
    }
    if found.len() < 2 {
        let rule = Code::TooFew.rule("must name at least two hosts: a rank alone exchanges nothing");
        cx.fault("hosts", rule.judged_by(&["hosts"]), names.show());
        return None;
    }
    Some(found)
}

/// Records the settings that contradict each other among `n` ranks (0: not known).
fn check(settings: &Settings, n: u64, cx: &mut BuildCx<'_>) {
    let all_to_all = settings.operation == Operation::AllToAll;
    if all_to_all && settings.algorithm == Algorithm::HalvingDoubling {
        let rule =
            Code::Conflict.rule("must be \"ring\" for an all-to-all, which has no choice of algorithms");
        cx.fault("algorithm", rule, settings.algorithm.show());
    }
    if !all_to_all && settings.window != Some(1) {
        let rule = "must be 1 for all operations but \"all-to-all\": each step forwards the one before";
        cx.fault("window", Code::Conflict.rule(rule), settings.window.show());
    }
    if n == 0 {
        return;
    }
    if !all_to_all && settings.algorithm == Algorithm::HalvingDoubling && !n.is_power_of_two() {
        let rule = format!(
            "must name a power of two for halving-doubling, which pairs ranks at distances n/2, n/4 ... 1; \
             these are {n}"
        );
        let hint = format!("name {} hosts, or write algorithm = \"ring\"", 1u64 << n.ilog2());
        let rule = Code::Conflict.rule(rule).hint(hint).judged_by(&["hosts", "algorithm", "operation"]);
        cx.fault("hosts", rule, settings.hosts.show());
    }
    if settings.bytes.as_u64() < n {
        let rule = format!("must be >= {}: each of the {n} ranks has a block", Bytes(n));
        let rule = Code::OutOfRange.rule(rule).judged_by(&["bytes", "hosts"]);
        cx.fault("bytes", rule, settings.bytes.show());
    }
    if all_to_all && n * (n - 1) > MAX_CONNECTIONS {
        let rule = format!("must make <= {MAX_CONNECTIONS} pairs of ranks; {n} make {}", n * (n - 1));
        cx.fault("hosts", Code::TooMany.rule(rule).judged_by(&["hosts", "operation"]), settings.hosts.show());
    }
}

impl Workload for Load {
    fn is_random(&self) -> bool {
        self.settings.jitter > Span::ZERO
    }

    fn sends(&self) -> Sends {
        Sends::between(self.ranks.iter().map(|rank| (rank.host, rank.host)))
    }

    fn expects(&self, duration: Span) -> Expected {
        let n = self.ranks.len() as u64;
        let round = (self.least + self.settings.gap).as_ps().max(1);
        let rounds = (duration.as_ps() / round + 1).min(self.settings.rounds.unwrap_or(u64::MAX));
        let messages = self.steps.messages().saturating_mul(rounds);
        let bytes = self.schedule.bytes.saturating_mul(self.schedule.parts()).saturating_mul(rounds);
        if self.settings.connection == Connection::Fresh {
            let each = self.schedule.bytes / n;
            return Expected { at_once: n * self.window, in_all: messages, messages, bytes: Some(each) };
        }
        let pairs = self.schedule.pairs().count() as u64;
        Expected { at_once: pairs, in_all: pairs, messages, bytes: Some(bytes / (pairs / n).max(1)) }
    }

    fn wake(&mut self, cx: &mut WorkCx<'_>) -> Option<Time> {
        self.open_all(cx);
        self.begin_due(cx)
    }

    fn on_message(&mut self, done: &MessageDone, cx: &mut WorkCx<'_>) -> Option<Time> {
        let ideal = self.steps.delivered(done, cx);
        let (step, from) = self.steps.of_tag(done.tag);
        let (to, _) = self.schedule.send(from, step % self.steps.per_round());
        self.ranks[to as usize].early.insert(step, ideal);
        self.go_on(to as usize, cx);
        self.begin_due(cx)
    }

    fn listens(&self) -> bool {
        true
    }

    fn record(&self) -> Option<&Steps> {
        Some(&self.steps)
    }

    fn step_names(&self) -> Vec<String> {
        NAMES.map(String::from).to_vec()
    }
}
