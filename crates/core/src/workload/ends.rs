//! The pairs of sender and receiver of a load.

use super::BuildCx;
use crate::events::random::Stream;
pub use crate::hosts::Pair;
use crate::params::{Code, Names, ParamType};
use crate::routing::graph::NodeId;
use crate::routing::select::{select, select_in_order};

/// Settings that say which hosts a load joins.
const ENDS: [&str; 3] = ["from", "to", "pattern"];

/// Most connections that one load may list beforehand.
pub const MAX_CONNECTIONS: u64 = 1_000_000;

crate::choices! {
    /// How senders and receivers are paired.
    pub enum Pattern {
        /// Each sender to each receiver.
        All = "all",
        /// The first sender to the first receiver, and so on, in the order in which the lists name them; the shorter
        /// list starts again.
        Pairs = "pairs",
        /// Each sender to one other of the senders, at random, each receiving once.
        Permutation = "permutation",
    }
}

crate::params! {
    /// Ends. The hosts that a load joins, for all loads that pair senders with receivers.
    pub struct Ends {
        /// Sending hosts.
        from: Names = required, "", "the user's network";
        /// Receiving hosts; left out with the pattern "permutation".
        to: Names = [], "", "the user's network";
        /// How senders and receivers are paired. "all": each with each. "pairs": the first with the first and so
        /// on, in the order in which the lists name them; the shorter list starts again. "permutation": each sender
        /// with one other sender, at random.
        pattern: Pattern = "all", "", "incast and many-to-one are the usual cases";
    }
}

/// The hosts that `names` selects, faults recorded at `key`.
pub fn hosts(names: &Names, key: &str, cx: &mut BuildCx<'_>) -> Option<Vec<NodeId>> {
    match select(cx.graph, names) {
        Ok(found) => Some(found),
        Err(rule) => {
            cx.fault(key, rule.judged_by(&ENDS), names.show());
            None
        }
    }
}

/// The pairs of senders and receivers.
pub fn pairs(ends: &Ends, cx: &mut BuildCx<'_>) -> Option<Vec<Pair>> {
    let Ends { from, to, pattern } = ends;
    let pattern = *pattern;
    let choose = if pattern == Pattern::Pairs { select_in_order } else { select };
    let mut hosts = |names: &Names, key: &str| match choose(cx.graph, names) {
        Ok(found) => Some(found),
        Err(rule) => {
            cx.fault(key, rule.judged_by(&ENDS), names.show());
            None
        }
    };
    let senders = hosts(from, "from");
    if pattern == Pattern::Permutation {
        let senders = senders?;
        if senders.len() < 2 {
            let rule = Code::TooFew.rule("must name at least two hosts for a permutation");
            cx.fault("from", rule.judged_by(&ENDS), from.show());
            return None;
        }
        if !to.0.is_empty() {
            let rule = Code::Conflict.rule("must be left out: a permutation's receivers are its senders");
            cx.fault("to", rule.judged_by(&ENDS), to.show());
        }
        let pairs = derangement(&senders, &mut cx.random(u64::MAX));
        cx.require_paths(pairs.iter().copied());
        return Some(pairs);
    }
    let (senders, receivers) = (senders, hosts(to, "to"));
    let (senders, receivers) = (senders?, receivers?);
    if pattern == Pattern::All && senders.len() as u64 * receivers.len() as u64 > MAX_CONNECTIONS {
        let rule = Code::TooMany.rule(format!("must make <= {MAX_CONNECTIONS} pairs with `from`"));
        cx.fault("to", rule.judged_by(&ENDS), to.show());
        return None;
    }
    let pairs: Vec<Pair> = match pattern {
        Pattern::All => {
            senders.iter().flat_map(|s| receivers.iter().map(|r| (*s, *r))).filter(|(s, r)| s != r).collect()
        }
        _ => {
            let n = senders.len().max(receivers.len());
            (0..n).map(|i| (senders[i % senders.len()], receivers[i % receivers.len()])).collect()
        }
    };
    if pairs.is_empty() || pairs.iter().any(|(s, r)| s == r) {
        let rule = Code::Conflict.rule("must be a host other than the sender");
        cx.fault("to", rule.judged_by(&ENDS), to.show());
        return None;
    }
    cx.require_paths(pairs.iter().copied());
    Some(pairs)
}

/// A random permutation that leaves none in place.
fn derangement(hosts: &[NodeId], random: &mut Stream) -> Vec<Pair> {
    let mut to = hosts.to_vec();
    loop {
        for i in (1..to.len()).rev() {
            to.swap(i, random.below(i as u64 + 1) as usize);
        }
        // A share of 1/e of all permutations passes.
        if to.iter().zip(hosts).all(|(a, b)| a != b) {
            return hosts.iter().copied().zip(to).collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permutation_sends_to_each_host_once_and_to_none_itself() {
        let hosts: Vec<NodeId> = (0..50).map(NodeId).collect();
        let pairs = derangement(&hosts, &mut Stream::new(1, "x", 0));
        let mut receivers: Vec<u32> = pairs.iter().map(|(_, r)| r.0).collect();
        receivers.sort_unstable();
        assert_eq!(receivers, (0..50).collect::<Vec<_>>());
        assert!(pairs.iter().all(|(s, r)| s != r));
    }
}
