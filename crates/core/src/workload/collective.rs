//! Collective: ranks that exchange the blocks of a buffer in steps, each of which waits for the one before.
//!
//! Source: the algorithms stand in `schedules.rs` and `plan.rs`. A message begins when those that it waits for have been
//! delivered at its sender: there is no barrier over all ranks. A rank does not wait for its own messages to arrive, unless
//! it receives none, as the root of a broadcast: then its operation ends with their delivery.
//! Channels are copies of the operation with a share of the buffer and connections of their own; chunks are copies that follow
//! each other on the same connections. A bucket is a share of the buffer that is ready before the rest is computed.
//! Left out: other orders of ranks in other channels, reduction inside the network, the time that a reduction takes, and the
//! way of the acknowledgement to a rank that receives nothing.

use super::dependent::{Channels, Links, Planned, Steps};
use super::due::Due;
use super::messages::Connection;
use super::placement::{Placement, place};
use super::plan::{Message, Plan, Shape};
use super::schedules::{Algorithm, Operation, part_of};
use super::{BuildCx, Expected, MessageDone, Sends, WorkCx, Workload};
use crate::events::random::Stream;
use crate::hosts::Pair;
use crate::params::{Code, Names, ParamType};
use crate::routing::graph::NodeId;
use crate::workload::ends::MAX_CONNECTIONS;
use shallows_units::{Bytes, Span, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The most messages that the plan of one operation holds.
const MAX_MESSAGES: u64 = 20_000_000;

crate::params! {
    /// Collective. Ranks exchange the blocks of a buffer in steps. A message begins when those that it waits for have been
    /// delivered at its sender. The table of steps lists them, that of rounds the whole operations.
    pub struct Settings {
        /// The hosts that the ranks may have, in the order of the list; those of one pattern in the network's order.
        hosts: Names = required, "", "the user's network";
        /// Ranks, each on a host of its own that no such job before it in the file has; or "none": one on each named host.
        ranks: Option<u64> = "none", "[2, ]", "the named hosts are the job";
        /// The order in which ranks fill the hosts.
        placement: Placement = "block", "", "schedulers fill rack after rack";
        /// The operation. A broadcast begins at the first rank, and a reduction ends there.
        operation: Operation = "all-reduce", "", "data-parallel training";
        /// The order in which ranks exchange blocks; an all-to-all and a send-recv have no choice.
        algorithm: Algorithm = "ring", "", "the usual one for large buffers";
        /// Ranks of a server, one after another, of a hierarchical all-reduce; or "none".
        group: Option<u64> = "none", "[2, ]", "the user's servers";
        /// Bytes of the buffer of each rank, all blocks together: each rank gives so much to an all-reduce, a
        /// reduce-scatter or an all-to-all, and holds so much after an all-gather. The size of nccl-tests is the same. MPI
        /// counts one block, an n-th of it for n ranks, in all operations but the all-reduce.
        bytes: Bytes = required, "[1B, ]", "the user's application";
        /// Channels: each has an equal share of the buffer, and a connection of its own for each pair of ranks. Connections of
        /// one pair may take different paths.
        channels: u64 = 1, "[1, 256]", "one connection a pair";
        /// Chunks of each channel's share. Each goes its way by itself, so that a rank sends one on while it receives the next.
        chunks: u64 = 1, "[1, 65536]", "a step is one message";
        /// Messages of an all-to-all that a rank may be ahead of those that it has received; 1 sends to one peer after
        /// another, "none" to all at once. Other operations have 1.
        window: Option<u64> = 1, "[1, ]", "the pairwise exchange of MPICH";
        /// Operations one after another, or "none" for no end. With `buckets`, each is one operation a bucket.
        rounds: Option<u64> = "none", "[1, ]", "as long as the run lasts";
        /// When the ranks begin.
        start: Span = "0s", "", "at once";
        /// Time that a rank computes between the end of an operation at that rank and the beginning of its next.
        gap: Span = "0s", "", "at once";
        /// Equal shares of the buffer, each an operation of its own, one after another.
        buckets: u64 = 1, "[1, 10000]", "the whole buffer at once";
        /// Time of the computation that makes the buckets one by one, as a backward pass makes gradients. Bucket b of n is ready
        /// after b/n of it, and its operation begins then, if that of the bucket before has ended at the rank.
        compute: Span = "0s", "", "the buffer is there";
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
    /// Operations that have ended here.
    ended: u64,
    /// It computes: its next operation has not begun.
    rests: bool,
    /// When it began to compute the present buckets.
    begins: Time,
    random: Stream,
}

/// A message that has not been sent.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    /// Things that it waits for.
    waits: u32,
    /// The ideal time at which those so far are here.
    ideal: Span,
}

/// An operation that has not ended at all ranks.
struct Running {
    /// Messages, by lane.
    messages: Vec<Waiting>,
    /// By rank: messages without which the operation does not end there.
    left: Vec<u64>,
    /// Ranks at which it has not ended.
    ranks: usize,
}

/// The load at work.
pub struct Load {
    settings: Settings,
    plan: Arc<Plan>,
    /// Copies of the plan in an operation, with their bytes: the chunks of the first channel, of the second and so on.
    lanes: Vec<u64>,
    ranks: Vec<Rank>,
    /// Operations by number.
    running: BTreeMap<u64, Running>,
    /// Ranks that begin an operation, and when.
    due: Due,
    channels: Channels,
    opened: bool,
    steps: Steps,
    names: Vec<&'static str>,
    /// About the least time of an operation.
    least: Span,
    /// Messages that a rank has under way at once, and pairs of ranks.
    window: u64,
    pairs: u64,
}

impl Load {
    /// Ready to run.
    pub fn build(settings: &Settings, cx: &mut BuildCx<'_>) -> Option<Self> {
        let before = cx.faults.0.len();
        let hosts = place(&settings.hosts, settings.ranks, settings.placement, cx);
        check(settings, hosts.as_deref().map_or(0, <[_]>::len) as u64, cx);
        let hosts = hosts.filter(|_| cx.faults.0.len() == before)?;
        let shape = shape(settings, hosts.len() as u64);
        let plan = shape.plan();
        let pairs = pairs(&plan, &hosts);
        cx.require_paths(pairs.iter().copied());
        let lanes = lanes(settings);
        let bytes_of = |part: &Message| lanes.iter().map(|bytes| part.part.bytes(*bytes)).sum::<u64>();
        let mut names: Vec<&'static str> = vec![];
        let mut name = |step: &&'static str| {
            names.iter().position(|name| name == step).unwrap_or_else(|| {
                names.push(*step);
                names.len() - 1
            }) as u32
        };
        let planned = |name| Planned { name, messages: 0, bytes: 0 };
        let mut steps: Vec<Planned> = plan.steps.iter().map(|step| planned(name(step))).collect();
        let (mut moved, mut total) = (vec![(0u64, 0u64); hosts.len()], 0u128);
        for message in &plan.messages {
            let (bytes, step) = (bytes_of(message), &mut steps[message.step as usize]);
            step.messages += lanes.len() as u32;
            total += u128::from(bytes);
            step.bytes = step.bytes.saturating_add(bytes);
            let out = &mut moved[message.from as usize].0;
            *out = out.saturating_add(bytes);
            let into = &mut moved[message.to as usize].1;
            *into = into.saturating_add(bytes);
        }
        // The tables of steps and rounds sum the bytes, so that none of their numbers may be larger.
        if total > u128::from(u64::MAX) {
            let (bytes, n) = (settings.bytes.as_u64(), hosts.len());
            let most = u128::from(bytes) * u128::from(u64::MAX) / total;
            let rule = format!(
                "must be <= {}: the messages of an operation among {n} ranks hold at most {} together",
                Bytes(most as u64),
                Bytes(u64::MAX)
            );
            let rule = Code::TooMany.rule(rule).judged_by(&["bytes", "hosts", "ranks"]);
            cx.fault("bytes", rule, settings.bytes.show());
            return None;
        }
        let links = Links::of_all(cx.graph, cx.links);
        let links = || hosts.iter().map(|host| links[host.index()]);
        let least = links().zip(&moved).map(|(links, (out, into))| links.least(*out, *into));
        let least = least.max().unwrap_or_default();
        let delay = links().map(|links| links.delay).min().unwrap_or_default();
        let window = shape.window.min(steps.len() as u64);
        let slowest = delay * 2 * (steps.len() as u64).div_ceil(window);
        let step_of = plan.messages.iter().map(|message| message.step).collect();
        let steps = Steps::new(steps, step_of, lanes.len() as u64, least, Span::ZERO);
        let mut due = Due::default();
        let mut rank = |(i, host): (usize, &NodeId)| {
            let mut random = cx.random(i as u64);
            let begins = Time::ZERO + settings.start + random.within(settings.jitter);
            due.push(begins + ready(settings, 0), i);
            Rank { host: *host, ended: 0, rests: true, begins, random }
        };
        Some(Load {
            ranks: hosts.iter().enumerate().map(&mut rank).collect(),
            plan: Arc::new(plan),
            lanes,
            running: BTreeMap::new(),
            due,
            channels: Channels::new(settings.connection),
            opened: false,
            steps,
            names,
            least: least.max(slowest),
            window,
            pairs: pairs.len() as u64,
            settings: settings.clone(),
        })
    }

    fn open_all(&mut self, cx: &mut WorkCx<'_>) {
        if !self.opened {
            self.opened = true;
            let hosts: Vec<NodeId> = self.ranks.iter().map(|rank| rank.host).collect();
            self.channels.open(pairs(&self.plan, &hosts), self.settings.channels as u32, cx);
        }
    }

    /// Begins all operations that are due; returns when the next one is.
    fn begin_due(&mut self, cx: &mut WorkCx<'_>) -> Option<Time> {
        loop {
            let (_, i) = match self.due.take(cx) {
                Ok(due) => due,
                Err(next) => return next,
            };
            let operation = self.ranks[i].ended;
            self.ranks[i].rests = false;
            self.running
                .entry(operation)
                .or_insert_with(|| Running::new(&self.plan, self.lanes.len() as u64));
            for lane in 0..self.lanes.len() as u64 {
                if cx.stopped() {
                    return None;
                }
                let mine = self.plan.of_rank.of(i as u32).iter().rev();
                let begun = mine.map(|number| (*number, Span::ZERO)).collect();
                self.let_go(operation, lane, begun, cx);
            }
            self.end_if_whole(operation, i, cx);
        }
    }

    /// Counts off one thing that each of these messages of a lane waits for, the last one first, and sends those that wait for
    /// nothing more. Each comes with the ideal time of that thing.
    fn let_go(&mut self, operation: u64, lane: u64, mut free: Vec<(u32, Span)>, cx: &mut WorkCx<'_>) {
        let plan = Arc::clone(&self.plan);
        let first = lane as usize * plan.messages.len();
        while let Some((number, ideal)) = free.pop() {
            let running = self.running.entry(operation);
            let running = running.or_insert_with(|| Running::new(&plan, self.lanes.len() as u64));
            let waiting = &mut running.messages[first + number as usize];
            waiting.waits -= 1;
            waiting.ideal = waiting.ideal.max(ideal);
            if waiting.waits == 0 {
                let ideal = waiting.ideal;
                self.send(operation, lane, number, ideal, cx);
                free.extend(plan.then.of(number).iter().rev().map(|next| (*next, ideal)));
            }
        }
    }

    fn send(&mut self, operation: u64, lane: u64, number: u32, ideal: Span, cx: &mut WorkCx<'_>) {
        let Message { from, to, part, .. } = self.plan.messages[number as usize];
        let bytes = part.bytes(self.lanes[lane as usize]);
        let pair = (self.ranks[from as usize].host, self.ranks[to as usize].host);
        let tag = self.steps.tag(operation, lane, number);
        self.steps.sent(tag, ideal, cx);
        let channel = (lane / self.settings.chunks) as u32;
        self.channels.send((pair, channel), bytes, tag, cx);
    }

    /// One of the messages without which an operation does not end at a rank has been delivered.
    fn took(&mut self, operation: u64, rank: u32, cx: &WorkCx<'_>) {
        if let Some(running) = self.running.get_mut(&operation) {
            running.left[rank as usize] -= 1;
        }
        self.end_if_whole(operation, rank as usize, cx);
    }

    /// If all of an operation is here, and the rank has begun it, it ends, and the next one follows.
    fn end_if_whole(&mut self, operation: u64, i: usize, cx: &WorkCx<'_>) {
        let rank = &mut self.ranks[i];
        let Some(running) = self.running.get_mut(&operation) else { return };
        if running.left[i] > 0 || rank.rests || rank.ended != operation {
            return;
        }
        running.ranks -= 1;
        if running.ranks == 0 {
            self.running.remove(&operation);
        }
        let Settings { buckets, rounds, gap, jitter, .. } = self.settings;
        rank.rests = true;
        rank.ended += 1;
        let bucket = rank.ended % buckets;
        if bucket == 0 {
            if rounds.is_some_and(|rounds| rank.ended / buckets >= rounds) {
                return;
            }
            rank.begins = cx.now() + gap + rank.random.within(jitter);
        }
        let begins = rank.begins + ready(&self.settings, bucket);
        self.due.push(begins.max(cx.now()), i);
    }
}

impl Running {
    fn new(plan: &Plan, lanes: u64) -> Self {
        let waiting = |waits: &u32| Waiting { waits: *waits, ideal: Span::ZERO };
        let one: Vec<Waiting> = plan.waits.iter().map(waiting).collect();
        // A rank that receives nothing ends with the delivery of what it sends.
        let left = |(rank, receives): (u32, &u32)| match *receives {
            0 => plan.of_rank.of(rank).len() as u64 * lanes,
            some => u64::from(some) * lanes,
        };
        let left: Vec<u64> = (0..).zip(&plan.receives).map(left).collect();
        Running { messages: one.repeat(lanes as usize), ranks: left.len(), left }
    }
}

/// The time after which a bucket, counted from 0, is computed.
fn ready(settings: &Settings, bucket: u64) -> Span {
    let part = u128::from(settings.compute.as_ps()) * u128::from(bucket + 1) / u128::from(settings.buckets);
    Span::ps(part as u64)
}

/// Bytes of each chunk of each channel of a bucket.
fn lanes(settings: &Settings) -> Vec<u64> {
    let bucket = settings.bytes.as_u64() / settings.buckets;
    let of_channel = |channel| part_of(bucket, settings.channels, channel, 1);
    let of_chunk = |bytes| (0..settings.chunks).map(move |chunk| part_of(bytes, settings.chunks, chunk, 1));
    (0..settings.channels).flat_map(|channel| of_chunk(of_channel(channel))).collect()
}

fn shape(settings: &Settings, ranks: u64) -> Shape {
    let Settings { operation, algorithm, group, window, .. } = *settings;
    Shape { operation, algorithm, ranks, group: group.unwrap_or(1), window: window.unwrap_or(u64::MAX) }
}

/// Pairs of hosts that exchange data, each once: those of the first rank in the order of its messages, and so on.
fn pairs(plan: &Plan, hosts: &[NodeId]) -> Vec<Pair> {
    let mut pairs = vec![];
    for (rank, host) in (0..).zip(hosts) {
        let mut seen = BTreeSet::new();
        let peers = plan.of_rank.of(rank).iter().map(|number| plan.messages[*number as usize].to);
        pairs.extend(peers.filter(|to| seen.insert(*to)).map(|to| (*host, hosts[to as usize])));
    }
    pairs
}

/// Records the settings that contradict each other among `n` ranks (0: not known).
fn check(settings: &Settings, n: u64, cx: &mut BuildCx<'_>) {
    let Settings { operation, algorithm, .. } = *settings;
    let all_to_all = operation == Operation::AllToAll;
    if let Some(rule) = no_choice(operation, algorithm) {
        cx.fault("algorithm", Code::Conflict.rule(rule), algorithm.show());
    }
    if !all_to_all && settings.window != Some(1) {
        let rule = "must be 1 for all operations but \"all-to-all\": each step forwards the one before";
        cx.fault("window", Code::Conflict.rule(rule), settings.window.show());
    }
    if !settings.bytes.as_u64().is_multiple_of(settings.buckets) {
        let rule = format!("must be a multiple of {}: buckets are equal shares", Bytes(settings.buckets));
        let rule = Code::Conflict.rule(rule).judged_by(&["bytes", "buckets"]);
        cx.fault("bytes", rule, settings.bytes.show());
    }
    if algorithm != Algorithm::Hierarchical && settings.group.is_some() {
        let rule = Code::Conflict.rule("changes nothing: algorithm is not \"hierarchical\"");
        cx.fault("group", rule, settings.group.show());
    }
    if n == 0 {
        return;
    }
    if algorithm == Algorithm::HalvingDoubling && operation != Operation::AllToAll && !n.is_power_of_two() {
        let rule = format!(
            "must name a power of two for halving-doubling, which pairs ranks at distances n/2, n/4 ... 1; \
             these are {n}"
        );
        let hint = format!("name {} hosts, or write algorithm = \"ring\"", 1u64 << n.ilog2());
        let rule = Code::Conflict.rule(rule).hint(hint).judged_by(&["hosts", "algorithm", "operation"]);
        cx.fault("hosts", rule, settings.hosts.show());
    }
    if algorithm == Algorithm::Hierarchical {
        check_group(settings, n, cx);
    }
    let shape = shape(settings, n);
    let shares = settings.channels * settings.chunks * settings.buckets;
    let needed = shape.blocks().saturating_mul(shares);
    if settings.bytes.as_u64() < needed {
        let rule = match shares {
            1 => format!("must be >= {}: each of the {n} ranks has a block", Bytes(needed)),
            _ => format!(
                "must be >= {}: each of {} blocks of each of {shares} chunks, of all channels and buckets, has a byte",
                Bytes(needed),
                shape.blocks()
            ),
        };
        let rule = Code::OutOfRange.rule(rule).judged_by(&["bytes", "hosts"]);
        cx.fault("bytes", rule, settings.bytes.show());
    }
    let messages = shape.messages().saturating_mul(settings.channels * settings.chunks);
    if messages > MAX_MESSAGES {
        let rule = format!(
            "must make <= {MAX_MESSAGES} messages in an operation; {n} ranks make {messages} with algorithm = {}, of all channels and chunks",
            algorithm.show()
        );
        cx.fault("hosts", Code::TooMany.rule(rule).judged_by(&["hosts", "operation"]), settings.hosts.show());
    }
    let pairs = if all_to_all { n * (n - 1) * settings.channels } else { n * settings.channels };
    if pairs > MAX_CONNECTIONS {
        let rule = format!("must make <= {MAX_CONNECTIONS} connections between ranks; {n} make {pairs}");
        cx.fault("hosts", Code::TooMany.rule(rule).judged_by(&["hosts", "operation"]), settings.hosts.show());
    }
}

/// The rule that an algorithm breaks which the operation does not have.
fn no_choice(operation: Operation, algorithm: Algorithm) -> Option<&'static str> {
    use Algorithm::{HalvingDoubling, Ring, Tree};
    match operation {
        Operation::AllReduce => None,
        Operation::AllToAll => (algorithm != Ring)
            .then_some("must be \"ring\" for an all-to-all, which has no choice of algorithms"),
        Operation::SendRecv => (algorithm != Ring)
            .then_some("must be \"ring\" for a send-recv, which has no choice of algorithms"),
        Operation::AllGather | Operation::ReduceScatter => (algorithm != Ring
            && algorithm != HalvingDoubling)
            .then_some("must be \"ring\" or \"halving-doubling\" for an all-gather or a reduce-scatter"),
        Operation::Broadcast | Operation::Reduce => (algorithm != Ring && algorithm != Tree)
            .then_some("must be \"ring\" or \"tree\" for a broadcast or a reduction"),
    }
}

/// Servers of a hierarchy: several, and several ranks in each.
fn check_group(settings: &Settings, n: u64, cx: &mut BuildCx<'_>) {
    let rule = match settings.group {
        None => "must say how many ranks a server has, for algorithm = \"hierarchical\"".to_owned(),
        Some(group) if !n.is_multiple_of(group) => {
            format!("must divide the {n} ranks: every server of a hierarchy has as many")
        }
        Some(group) if group >= n => format!("must be below the {n} ranks: a hierarchy has several servers"),
        Some(_) => return,
    };
    let rule = Code::Conflict.rule(rule).judged_by(&["group", "hosts", "ranks"]);
    cx.fault("group", rule, settings.group.show());
}

impl Workload for Load {
    fn is_random(&self) -> bool {
        self.settings.jitter > Span::ZERO || self.settings.placement == Placement::Random
    }

    fn sends(&self) -> Sends {
        Sends::between(self.ranks.iter().map(|rank| (rank.host, rank.host)))
    }

    fn expects(&self, duration: Span) -> Expected {
        let Settings { buckets, channels, rounds, gap, compute, .. } = self.settings;
        let n = self.ranks.len() as u64;
        let round = ((self.least * buckets).max(compute) + gap).as_ps().max(1);
        let rounds = (duration.as_ps() / round + 1).min(rounds.unwrap_or(u64::MAX));
        let operations = rounds.saturating_mul(buckets);
        let messages = self.steps.messages().saturating_mul(operations);
        let bytes = self.steps.bytes().saturating_mul(operations);
        if self.settings.connection == Connection::Fresh {
            let at_once = n * self.window * self.lanes.len() as u64;
            return Expected { at_once, in_all: messages, messages, bytes: Some(bytes / messages.max(1)) };
        }
        let pairs = self.pairs * channels;
        Expected { at_once: pairs, in_all: pairs, messages, bytes: Some(bytes / pairs.max(1)) }
    }

    fn wake(&mut self, cx: &mut WorkCx<'_>) -> Option<Time> {
        self.open_all(cx);
        self.begin_due(cx)
    }

    fn on_message(&mut self, done: &MessageDone, cx: &mut WorkCx<'_>) -> Option<Time> {
        let ideal = self.steps.delivered(done, cx);
        let (operation, lane, number) = self.steps.of_tag(done.tag);
        let Message { from, to, .. } = self.plan.messages[number as usize];
        let next = self.plan.next.of(number).iter().rev().map(|next| (*next, ideal)).collect();
        self.let_go(operation, lane, next, cx);
        self.took(operation, to, cx);
        if self.plan.receives[from as usize] == 0 {
            self.took(operation, from, cx);
        }
        self.begin_due(cx)
    }

    fn listens(&self) -> bool {
        true
    }

    fn record(&self) -> Option<&Steps> {
        Some(&self.steps)
    }

    fn step_names(&self) -> Vec<String> {
        self.names.iter().copied().map(String::from).collect()
    }
}
