//! Placements of ranks on hosts: the order in which a job fills the hosts that it may have.

use super::BuildCx;
use crate::params::{Code, Names, ParamType};
use crate::routing::graph::{NodeId, Role};
use crate::routing::select::select;
use std::collections::{BTreeMap, BTreeSet};

crate::choices! {
    /// The order in which a job fills the hosts that it names.
    pub enum Placement {
        /// In their order: one switch after another is filled.
        Block = "block",
        /// The switches take turns: each rank is behind another switch than the one before. A host with several links is counted
        /// to the switch of its fastest one, so that servers with a scale-up domain take turns.
        Striped = "striped",
        /// By chance, drawn by the seed.
        Random = "random",
    }
}

/// The hosts of the ranks, in order: `ranks` of those named, or all. A job with `ranks` takes hosts that no such job before it
/// has taken.
pub fn place(
    names: &Names,
    ranks: Option<u64>,
    placement: Placement,
    cx: &mut BuildCx<'_>,
) -> Option<Vec<NodeId>> {
    let mut hosts = named(names, cx)?;
    let all = hosts.len();
    if ranks.is_some() {
        hosts.retain(|host| !cx.taken.contains(host));
    }
    let free = hosts.len();
    let wanted = ranks.map_or(free, |ranks| usize::try_from(ranks).unwrap_or(usize::MAX));
    if wanted > free {
        let held = match all - free {
            0 => String::new(),
            held => format!(", and jobs before this one in the file hold {held} of them"),
        };
        let rule =
            format!("must be at most {free}: each rank needs a host of its own; `hosts` names {all}{held}");
        let hint = "name more hosts, or use fewer ranks";
        let rule = Code::TooMany.rule(rule).hint(hint.to_owned()).judged_by(&["ranks", "hosts"]);
        cx.fault("ranks", rule, ranks.show());
        return None;
    }
    match placement {
        Placement::Block => {}
        Placement::Striped => hosts = striped(&hosts, cx),
        Placement::Random => {
            // The streams of the ranks' jitter have the low numbers.
            let mut random = cx.random(u64::MAX);
            for i in (1..hosts.len()).rev() {
                hosts.swap(i, random.below(i as u64 + 1) as usize);
            }
        }
    }
    hosts.truncate(wanted);
    if ranks.is_some() {
        cx.taken.extend(&hosts);
    }
    if ranks.is_some() || placement != Placement::Block {
        let shown: Vec<&str> = hosts.iter().take(SHOWN).map(|host| cx.graph.name(*host)).collect();
        let more =
            if hosts.len() > SHOWN { format!(" and {} more", hosts.len() - SHOWN) } else { String::new() };
        cx.notes.push(format!("{}: ranks 0 to {} are on {}{more}.", cx.path, wanted - 1, shown.join(", ")));
    }
    Some(hosts)
}

/// Hosts that a note lists.
const SHOWN: usize = 16;

/// The hosts that `names` lists, in order; a fault if one stands there twice.
fn named(names: &Names, cx: &mut BuildCx<'_>) -> Option<Vec<NodeId>> {
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

/// The hosts dealt to the switches in turn.
fn striped(hosts: &[NodeId], cx: &BuildCx<'_>) -> Vec<NodeId> {
    let mut nearest: BTreeMap<NodeId, (u64, NodeId)> = BTreeMap::new();
    for (link, (rate, _)) in cx.graph.links.iter().zip(cx.links) {
        if cx.graph.role(link.from) == Role::Host {
            let best = nearest.entry(link.from).or_insert((rate.as_bps(), link.to));
            if rate.as_bps() > best.0 {
                *best = (rate.as_bps(), link.to);
            }
        }
    }
    let mut turns: BTreeMap<Option<NodeId>, usize> = BTreeMap::new();
    let turn = |host: &NodeId| {
        let turn = turns.entry(nearest.get(host).map(|(_, switch)| *switch)).or_default();
        *turn += 1;
        *turn
    };
    let dealt: Vec<usize> = hosts.iter().map(turn).collect();
    let mut order: Vec<usize> = (0..hosts.len()).collect();
    order.sort_by_key(|i| dealt[*i]);
    order.into_iter().map(|i| hosts[i]).collect()
}
