//! Poisson arrivals: flows of random size between random hosts, or events in which many hosts send to one.

use super::deadlines::{DeadlineSource, Deadlines};
use super::ends::{Ends, Pair, Pattern, hosts, pairs};
use super::locality::{Locality, Shares};
use super::{BuildCx, Expected, Sends, WorkCx, Workload};
use crate::events::random::Stream;
use crate::params::Code;
use crate::routing::graph::NodeId;
use crate::sizes::Sizes;
use shallows_units::{Span, Time};

crate::params! {
    /// Poisson. Flows of random size arrive at random times between random hosts: each flow's pair is drawn from those that the
    /// pattern makes.
    pub struct Settings, with ends: Ends {
        /// Sizes of the flows.
        sizes: Sizes = required, "", "the user's application";
        /// Offered load: payload over the rate of the receiving hosts' links together, or "none".
        load: Option<f64> = "none", "(0, 10]", "either this or `every`";
        /// Mean time from one arrival to the next, or "none".
        every: Option<Span> = "none", "(0s, ]", "either this or `load`";
        /// Flows of each arrival, from as many different hosts to one receiver: an incast that nobody asks for.
        fan_in: u64 = 1, "[1, 100000]", "one; Li 2019 (HPCC): 60 senders of 500 KB each";
        /// Share of flows to a receiver under the sender's own switch, or "none". With `pod` and `far` it makes 1; without all three
        /// each receiver is as likely.
        rack: Option<f64> = "none", "[0, 1]", "Roy 2015 (SIGCOMM): locality differs from service to service";
        /// Share of flows to a receiver behind two or three switches, or "none": in a fat tree the sender's pod without its own switch, in
        /// a leaf-spine network all other leaves.
        pod: Option<f64> = "none", "[0, 1]", "as `rack`";
        /// Share of flows to a receiver behind more switches, or "none".
        far: Option<f64> = "none", "[0, 1]", "as `rack`";
        /// When arrivals begin.
        start: Span = "0s", "", "at once";
        /// When arrivals end, or "none".
        stop: Option<Span> = "none", "", "as long as the run lasts";
        /// Time that each flow has, or "none".
        deadline: Option<Deadlines> = "none", "", "none";
    }
    facts {
        example: r#"{"from": "s*", "to": "r0", "sizes": {"kind": "fixed", "bytes": "5KB"}, "every": "1ms", "stop": "9ms"}"#,
    }
}

/// The load at work.
pub struct Load {
    /// The pairs of patterns other than "all".
    pairs: Vec<Pair>,
    locality: Option<Locality>,
    from: Vec<NodeId>,
    to: Vec<NodeId>,
    sizes: Sizes,
    fan_in: u64,
    mean_gap: Span,
    stop: Time,
    next: Option<Time>,
    flows: u64,
    /// Times, sizes and ends are drawn from streams of their own, so that a change of one keeps the others.
    gaps: Stream,
    amounts: Stream,
    ends: Stream,
    deadlines: DeadlineSource,
}

impl Load {
    /// Ready to run.
    pub fn build(settings: &Settings, cx: &mut BuildCx<'_>) -> Option<Self> {
        let shares = Shares { rack: settings.rack, pod: settings.pod, far: settings.far };
        let (from, to, pairs) = if settings.ends.pattern == Pattern::All {
            let (from, to) = (hosts(&settings.ends.from, "from", cx), hosts(&settings.ends.to, "to", cx));
            (from?, to?, vec![])
        } else {
            let pairs = pairs(&settings.ends, cx)?;
            let other = "needs pattern = \"all\": this one says who sends to whom";
            if settings.fan_in > 1 {
                cx.fault("fan_in", Code::Conflict.rule(other), settings.fan_in);
                return None;
            }
            if let Some((key, share)) = shares.first() {
                cx.fault(key, Code::Conflict.rule(other), share);
                return None;
            }
            let mut to: Vec<NodeId> = pairs.iter().map(|pair| pair.1).collect();
            to.sort_unstable();
            to.dedup();
            (pairs.iter().map(|pair| pair.0).collect(), to, pairs)
        };
        if from.len() == 1 && from == to {
            cx.fault("to", Code::Conflict.rule("must contain a host other than the sender"), to.len() as u64);
            return None;
        }
        let locality = Locality::build(&shares, (&from, &to), cx)?;
        if let Some((key, share)) = shares.first().filter(|_| settings.fan_in > 1) {
            let rule = "needs fan_in = 1: an incast's senders are drawn from all";
            cx.fault(key, Code::Conflict.rule(rule), share);
            return None;
        }
        if settings.fan_in > 1 {
            let others = from.len() - usize::from(to.iter().any(|host| from.contains(host)));
            if settings.fan_in > others as u64 {
                let rule = format!("must be <= {others}, the hosts of `from` beside a receiver");
                cx.fault("fan_in", Code::TooMany.rule(rule), settings.fan_in);
                return None;
            }
        }
        if pairs.is_empty() {
            cx.require_paths(from.iter().flat_map(|f| to.iter().map(|t| (*f, *t))));
        }
        let mean_gap = match (settings.load, settings.every) {
            (None, Some(every)) => every,
            (Some(load), None) => {
                let capacity: f64 = cx
                    .graph
                    .links
                    .iter()
                    .filter(|l| to.contains(&l.to))
                    .map(|l| l.rate.as_bps() as f64)
                    .sum();
                let bits = 8.0 * settings.sizes.mean() * settings.fan_in as f64;
                Span::ps((bits / (load * capacity) * 1e12) as u64)
            }
            _ => {
                cx.fault(
                    "load",
                    Code::Conflict.rule("needs exactly one of `load` and `every`"),
                    serde_json::Value::Null,
                );
                return None;
            }
        };
        if mean_gap == Span::ZERO {
            cx.fault(
                "load",
                Code::OutOfRange.rule("gives more than one arrival a picosecond"),
                settings.load,
            );
            return None;
        }
        let mut gaps = cx.random(0);
        let first = Time::ZERO + settings.start + gaps.exponential(mean_gap);
        Some(Load {
            pairs,
            locality,
            from,
            to,
            sizes: settings.sizes.clone(),
            fan_in: settings.fan_in,
            mean_gap,
            stop: settings.stop.map_or(Time::MAX, |stop| Time::ZERO + stop),
            next: Some(first),
            flows: 0,
            gaps,
            amounts: cx.random(1),
            ends: cx.random(2),
            deadlines: DeadlineSource::new(&settings.deadline, cx),
        })
    }

    /// The receiver of one arrival; its senders are then the first of `from`.
    fn draw_many(&mut self) -> NodeId {
        let to = self.to[self.ends.below(self.to.len() as u64) as usize];
        let mut others = self.from.len();
        if let Some(own) = self.from.iter().position(|host| *host == to) {
            others -= 1;
            self.from.swap(own, others);
        }
        for place in 0..self.fan_in as usize {
            let drawn = place + self.ends.below((others - place) as u64) as usize;
            self.from.swap(place, drawn);
        }
        to
    }

    fn send(&mut self, pair: (NodeId, NodeId), cx: &mut WorkCx<'_>) {
        let bytes = self.sizes.draw(&mut self.amounts);
        cx.send_once(pair, bytes, self.flows, self.deadlines.draw());
        self.flows += 1;
    }

    fn draw_ends(&mut self) -> (NodeId, NodeId) {
        if !self.pairs.is_empty() {
            return self.pairs[self.ends.below(self.pairs.len() as u64) as usize];
        }
        if let Some(locality) = &self.locality {
            let from = self.from[self.ends.below(self.from.len() as u64) as usize];
            let distance = self.ends.unit();
            loop {
                let to = self.to[locality.draw(from, distance, &mut self.ends)];
                if from != to {
                    return (from, to);
                }
            }
        }
        loop {
            let from = self.from[self.ends.below(self.from.len() as u64) as usize];
            let to = self.to[self.ends.below(self.to.len() as u64) as usize];
            if from != to {
                return (from, to);
            }
        }
    }
}

impl Workload for Load {
    fn is_random(&self) -> bool {
        true
    }

    fn sends(&self) -> Sends {
        if !self.pairs.is_empty() {
            return Sends { spread: true, ..Sends::between(self.pairs.iter().copied()) };
        }
        Sends { from: self.from.clone(), to: self.to.clone(), spread: true, ..Sends::default() }
    }

    fn expects(&self, duration: Span) -> Expected {
        let until = self.stop.min(Time::ZERO + duration);
        let arrivals =
            self.next.map_or(0, |next| until.saturating_sub(next).as_ps() / self.mean_gap.as_ps() + 1);
        let in_all = arrivals.saturating_mul(self.fan_in);
        // Some ten flows at each host and an arrival, unless the load exceeds the network's capacity.
        let at_once = in_all.min(10 * (self.from.len() + self.to.len()) as u64 + self.fan_in - 1);
        Expected { at_once, in_all, messages: in_all, bytes: Some(self.sizes.mean() as u64) }
    }

    fn wake(&mut self, cx: &mut WorkCx<'_>) -> Option<Time> {
        while let Some(at) = self.next.filter(|at| *at < self.stop) {
            if cx.stopped() {
                return None;
            }
            if at > cx.now() {
                return Some(at);
            }
            if self.fan_in == 1 {
                let pair = self.draw_ends();
                self.send(pair, cx);
            } else {
                let to = self.draw_many();
                (0..self.fan_in as usize).for_each(|place| self.send((self.from[place], to), cx));
            }
            self.next = Some(at + self.gaps.exponential(self.mean_gap));
        }
        None
    }
}
