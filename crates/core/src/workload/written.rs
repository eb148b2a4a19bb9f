//! Checks of a graph of messages as the user wrote it: ids, hosts, dependencies, cycles.

use super::BuildCx;
use super::graph::{MessageRow, Node};
use crate::params::Code;
use crate::routing::graph::{NodeId, Role};
use serde_json::Value;
use shallows_units::Span;
use std::collections::BTreeMap;

/// Messages of a cycle that its fault names.
const SHOWN: usize = 12;

/// The messages with what waits for each; all faults are recorded.
pub fn nodes(rows: &[&MessageRow], cx: &mut BuildCx<'_>) -> Option<Vec<Node>> {
    let before = cx.faults.0.len();
    if rows.is_empty() {
        cx.fault("messages", Code::TooFew.rule("must list at least one message"), Value::Null);
    }
    let ids = ids(rows, cx);
    let mut nodes: Vec<Option<Node>> = rows.iter().enumerate().map(|(i, row)| node(i, row, cx)).collect();
    for (i, row) in rows.iter().enumerate() {
        if cx.faults.enough() {
            break;
        }
        for (j, before) in row.after.iter().enumerate() {
            let Some(other) = waits_for(i, j, rows, &ids, cx) else { continue };
            if row.after[..j].contains(before) {
                let rule = Code::WrittenTwice.rule("must name each message once");
                cx.fault(&format!("messages.{i}.after.{j}"), rule, before.as_str());
                continue;
            }
            if let Some(node) = &mut nodes[i] {
                node.waits += 1;
            }
            if let Some(node) = &mut nodes[other] {
                let own = rows[other].from == row.from;
                if own { &mut node.then } else { &mut node.next }.push(i as u32);
            }
        }
    }
    cycles(rows, &ids, cx);
    let whole: Option<Vec<Node>> = nodes.into_iter().collect();
    whole.filter(|_| cx.faults.0.len() == before)
}

/// The place of each id; a fault for each that is written twice.
fn ids<'a>(rows: &[&'a MessageRow], cx: &mut BuildCx<'_>) -> BTreeMap<&'a str, usize> {
    let mut ids = BTreeMap::new();
    for (i, row) in rows.iter().enumerate() {
        if let Some(first) = ids.get(row.id.as_str()) {
            let rule = format!("must be an id of its own; message {first} has it too, counted from 0");
            cx.fault(&format!("messages.{i}.id"), Code::WrittenTwice.rule(rule), row.id.as_str());
        } else {
            ids.insert(row.id.as_str(), i);
        }
    }
    ids
}

/// Message `i` by itself.
fn node(i: usize, row: &MessageRow, cx: &mut BuildCx<'_>) -> Option<Node> {
    let mut host = |key: &str, name: &str| host(name, &format!("messages.{i}.{key}"), cx);
    let (from, to) = (host("from", &row.from), host("to", &row.to));
    let (from, to) = (from?, to?);
    if from == to {
        let rule = Code::Conflict.rule("must be a host other than the sender");
        cx.fault(&format!("messages.{i}.to"), rule, row.to.as_str());
    }
    Some(Node {
        ends: (from, to),
        bytes: row.bytes.as_u64(),
        delay: row.delay,
        start: row.start,
        waits: 0,
        next: vec![],
        then: vec![],
        ideal: Span::ZERO,
    })
}

/// The host of this name.
fn host(name: &str, key: &str, cx: &mut BuildCx<'_>) -> Option<NodeId> {
    if let Some(id) = cx.graph.find(name)
        && cx.graph.role(id) == Role::Host
    {
        return Some(id);
    }
    let known: Vec<&str> = cx.graph.ids(Role::Host).map(|id| cx.graph.name(id)).collect();
    let rule = Code::NotFound.rule("must be the name of one host of the network").near(name, &known);
    cx.fault(key, rule, name);
    None
}

/// The place of the `j`th message that message `i` waits for, if that can be.
fn waits_for(
    i: usize,
    j: usize,
    rows: &[&MessageRow],
    ids: &BTreeMap<&str, usize>,
    cx: &mut BuildCx<'_>,
) -> Option<usize> {
    let (row, id) = (rows[i], rows[i].after[j].as_str());
    let at = format!("messages.{i}.after.{j}");
    let Some(other) = ids.get(id).copied() else {
        let known: Vec<&str> = ids.keys().copied().collect();
        cx.fault(&at, Code::NotFound.rule("must be the id of a message of this load").near(id, &known), id);
        return None;
    };
    let there = &rows[other].to;
    if *there != row.from && rows[other].from != row.from {
        let rule = format!(
            "must be a message to or from {}, from which \"{}\" leaves; this one goes to {there}",
            row.from, row.id
        );
        let hint =
            format!("list a message from {there} to {} that waits for this one, and wait for that", row.from);
        cx.fault(&at, Code::Conflict.rule(rule).hint(hint), id);
    }
    Some(other)
}

/// Records each cycle of messages that wait for one another, with its path.
fn cycles(rows: &[&MessageRow], ids: &BTreeMap<&str, usize>, cx: &mut BuildCx<'_>) {
    let before: Vec<Vec<usize>> = rows
        .iter()
        .map(|row| row.after.iter().filter_map(|id| ids.get(id.as_str()).copied()).collect())
        .collect();
    let mut next = vec![vec![]; rows.len()];
    let mut waits: Vec<usize> = before.iter().map(Vec::len).collect();
    for (i, before) in before.iter().enumerate() {
        before.iter().for_each(|other| next[*other].push(i));
    }
    // Kahn 1962: what is left after all that can run has run lies on a cycle or behind one.
    let mut free: Vec<usize> = (0..rows.len()).filter(|i| waits[*i] == 0).collect();
    while let Some(i) = free.pop() {
        for after in &next[i] {
            waits[*after] -= 1;
            if waits[*after] == 0 {
                free.push(*after);
            }
        }
    }
    let mut walk_of = vec![usize::MAX; rows.len()];
    for first in (0..rows.len()).filter(|i| waits[*i] > 0) {
        // Back along messages that are left, until one comes again: in this walk it closes a cycle.
        let (mut walk, mut at) = (vec![], first);
        while walk_of[at] == usize::MAX {
            walk_of[at] = first;
            walk.push(at);
            let Some(other) = before[at].iter().find(|other| waits[**other] > 0) else { break };
            at = *other;
        }
        if walk_of[at] != first || cx.faults.enough() {
            continue;
        }
        let Some(begins) = walk.iter().position(|i| *i == at) else { continue };
        let mut cycle: Vec<usize> = walk[begins..].iter().rev().copied().collect();
        let lowest = cycle.iter().enumerate().min_by_key(|(_, i)| **i).map_or(0, |(place, _)| place);
        cycle.rotate_left(lowest);
        cx.fault(
            &format!("messages.{}.after", cycle[0]),
            Code::Conflict.rule(path(rows, &cycle)),
            Value::Null,
        );
    }
}

/// The rule that a cycle breaks.
fn path(rows: &[&MessageRow], cycle: &[usize]) -> String {
    let names = cycle.iter().take(SHOWN).map(|i| rows[*i].id.as_str());
    let dots = if cycle.len() > SHOWN { " -> ..." } else { "" };
    let around = names.collect::<Vec<_>>().join(" -> ");
    format!("must not wait for itself: {around}{dots} -> {}", rows[cycle[0]].id)
}
