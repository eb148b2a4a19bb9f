//! Selection of hosts and ports by name: `r0`, `s*`, `s0..s7`, `switch->r0`, `*->r0`.
//!
//! `*` matches any text, also none. A range counts from its first number to its last; where both have
//! the same number of digits, so have all between: `s08..s12`. A name or pattern that finds nothing
//! is an error, never an empty choice.

use super::graph::{Graph, NodeId, Role};
use crate::params::{Code, Names, Rule};
use std::collections::BTreeSet;

/// Each of the patterns once: a list may repeat one a thousand times.
fn distinct(patterns: &Names) -> impl Iterator<Item = &String> {
    let mut seen = BTreeSet::new();
    patterns.0.iter().filter(move |text| seen.insert(*text))
}

/// The hosts that any of the `patterns` names, in the graph's order, each once. The error is the
/// rule that a pattern breaks.
pub fn select(graph: &Graph, patterns: &Names) -> Result<Vec<NodeId>, Rule> {
    let mut chosen = BTreeSet::new();
    for text in distinct(patterns) {
        match Pattern::parse(text)? {
            Pattern::Name(name) => _ = chosen.insert(host(graph, name)?),
            Pattern::Range(range) => {
                for name in range.names() {
                    chosen.insert(host(graph, &name)?);
                }
            }
            pattern => {
                let mut found =
                    graph.ids(Role::Host).filter(|id| pattern.matches(graph.name(*id))).peekable();
                if found.peek().is_none() {
                    return Err(Code::NotFound
                        .rule(format!("no host matches \"{text}\" (hosts: {})", list(graph, Role::Host))));
                }
                chosen.extend(found);
            }
        }
    }
    if chosen.is_empty() {
        return Err(
            Code::TooFew.rule(format!("must name at least one host (hosts: {})", list(graph, Role::Host)))
        );
    }
    Ok(chosen.into_iter().collect())
}

/// Hosts in the order in which `patterns` name them; those of one pattern in the graph's order.
pub fn select_in_order(graph: &Graph, patterns: &Names) -> Result<Vec<NodeId>, Rule> {
    let (mut chosen, mut seen) = (vec![], BTreeSet::new());
    for text in distinct(patterns) {
        chosen.extend(select(graph, &Names(vec![text.clone()]))?.into_iter().filter(|id| seen.insert(*id)));
    }
    if chosen.is_empty() {
        return select(graph, patterns);
    }
    Ok(chosen)
}

/// The links whose port any of the `patterns` names, in the graph's order, each once. The error is
/// the rule that a pattern breaks.
pub fn select_ports(graph: &Graph, patterns: &Names) -> Result<Vec<u32>, Rule> {
    let mut chosen = BTreeSet::new();
    for text in distinct(patterns) {
        let (from, to) = text
            .split_once("->")
            .ok_or_else(|| Code::WrongForm.rule("must be a port such as \"switch->r0\" or \"*->r0\""))?;
        // `a->b#2` is the second of several cables, `a->b` are all of them.
        let (to, cable) = match to.rsplit_once('#').map(|(node, cable)| (node, cable.parse::<u32>())) {
            Some((node, Ok(cable))) => (node, Some(cable)),
            _ => (to, None),
        };
        let ends = (Pattern::parse(from)?, Pattern::parse(to)?);
        let from_ids = marked(graph, nodes(graph, &ends.0, from)?);
        let to_ids = marked(graph, nodes(graph, &ends.1, to)?);
        let links = graph.links.iter().zip(0u32..);
        let mut found = links
            .filter(|(link, _)| from_ids[link.from.index()] && to_ids[link.to.index()])
            .filter(|(link, _)| cable.is_none_or(|cable| cable == link.cable + 1))
            .map(|(_, id)| id)
            .peekable();
        if found.peek().is_none() {
            return Err(Code::NotFound.rule(format!("no link goes from \"{from}\" to \"{to}\"")));
        }
        chosen.extend(found);
    }
    if chosen.is_empty() {
        return Err(Code::TooFew.rule("must name at least one port such as \"switch->r0\""));
    }
    Ok(chosen.into_iter().collect())
}

/// Links that `patterns` name, where `a<->b` stands for both directions of a cable.
pub fn select_links(graph: &Graph, patterns: &Names) -> Result<Vec<u32>, Rule> {
    let ways = |text: &String| match text.split_once("<->") {
        Some((a, b)) => {
            let (end, cable) =
                b.rsplit_once('#').map_or((b, String::new()), |(end, n)| (end, format!("#{n}")));
            vec![format!("{a}->{b}"), format!("{end}->{a}{cable}")]
        }
        None => vec![text.clone()],
    };
    select_ports(graph, &Names(patterns.0.iter().flat_map(ways).collect()))
}

/// The switches that any of the `patterns` names, in the graph's order, each once. The error is the rule that a
/// pattern breaks.
pub fn select_switches(graph: &Graph, patterns: &Names) -> Result<Vec<NodeId>, Rule> {
    let mut chosen = BTreeSet::new();
    for text in distinct(patterns) {
        let pattern = Pattern::parse(text)?;
        let mut found = graph.ids(Role::Switch).filter(|id| pattern.matches(graph.name(*id))).peekable();
        if found.peek().is_none() {
            let known: Vec<_> = graph.ids(Role::Switch).map(|id| graph.name(id)).collect();
            let rule = format!("no switch is named \"{text}\" (switches: {})", list(graph, Role::Switch));
            return Err(Code::NotFound.rule(rule).near(text, &known));
        }
        chosen.extend(found);
    }
    Ok(chosen.into_iter().collect())
}

/// The nodes that any of the `patterns` names, hosts and switches, in the graph's order, each once. The error is the rule that a
/// pattern breaks.
pub fn select_nodes(graph: &Graph, patterns: &Names) -> Result<Vec<NodeId>, Rule> {
    let mut chosen = BTreeSet::new();
    for text in distinct(patterns) {
        chosen.extend(nodes(graph, &Pattern::parse(text)?, text)?);
    }
    Ok(chosen.into_iter().collect())
}

/// Most names that a list may spell out.
const MAX_NAMES: usize = 1_000_000;

/// Names and ranges spelt out: `h0..h2` is `h0`, `h1`, `h2`. For names that are yet to be given.
pub(crate) fn expand(names: &Names) -> Result<Vec<String>, Rule> {
    let mut all = vec![];
    for text in &names.0 {
        match Pattern::parse(text)? {
            Pattern::Range(range) => all.extend(range.names().take(MAX_NAMES + 1 - all.len())),
            _ => all.push(text.clone()),
        }
        if all.len() > MAX_NAMES {
            return Err(Code::TooMany.rule(format!("\"{text}\" makes more than {MAX_NAMES} names")));
        }
    }
    Ok(all)
}

/// The host of this name, or the rule that names have to be known.
fn host(graph: &Graph, name: &str) -> Result<NodeId, Rule> {
    match graph.find(name) {
        Some(id) if graph.role(id) == Role::Host => Ok(id),
        Some(_) => {
            let rule = format!("\"{name}\" must be a host, is a switch (hosts: {})", list(graph, Role::Host));
            Err(Code::NotFound.rule(rule))
        }
        None => {
            let known: Vec<_> = graph.ids(Role::Host).map(|id| graph.name(id)).collect();
            let rule = format!("no host is named \"{name}\" (hosts: {})", list(graph, Role::Host));
            Err(Code::NotFound.rule(rule).near(name, &known))
        }
    }
}

/// By node: whether it is one of these.
fn marked(graph: &Graph, nodes: Vec<NodeId>) -> Vec<bool> {
    let mut marked = vec![false; graph.nodes.len()];
    nodes.into_iter().for_each(|node| marked[node.index()] = true);
    marked
}

/// All nodes that one side of a port's name matches, in order, or the rule that it has to match some.
fn nodes(graph: &Graph, pattern: &Pattern, text: &str) -> Result<Vec<NodeId>, Rule> {
    let ids = (0..graph.nodes.len() as u32).map(NodeId);
    let found: Vec<_> = match pattern {
        Pattern::Name(name) => graph.find(name).into_iter().collect(),
        pattern => ids.filter(|id| pattern.matches(graph.name(*id))).collect(),
    };
    if found.is_empty() {
        let known: Vec<_> = graph.nodes.iter().map(|node| node.name.as_str()).collect();
        let (hosts, switches) = (list(graph, Role::Host), list(graph, Role::Switch));
        let rule = format!("no node is named \"{text}\" (hosts: {hosts}; switches: {switches})");
        return Err(Code::NotFound.rule(rule).near(text, &known));
    }
    Ok(found)
}

/// The names of one role, neighbours joined to ranges: `s0..s7, r0`.
fn list(graph: &Graph, role: Role) -> String {
    let mut runs: Vec<(&str, &str)> = vec![];
    for id in graph.ids(role) {
        let name = graph.name(id);
        match runs.last_mut() {
            Some((_, last)) if follows(last, name) => *last = name,
            _ => runs.push((name, name)),
        }
    }
    let shown = runs.iter().take(12).map(|(a, b)| if a == b { a.to_string() } else { format!("{a}..{b}") });
    let more = if runs.len() > 12 { ", ..." } else { "" };
    format!("{}{more}", shown.collect::<Vec<_>>().join(", "))
}

/// Whether `name` counts one further than `before`.
fn follows(before: &str, name: &str) -> bool {
    Range::parse(before, name).is_some_and(|range| range.low.checked_add(1) == Some(range.high))
}

enum Pattern<'a> {
    Name(&'a str),
    /// With `*` in it.
    Any(&'a str),
    Range(Range<'a>),
}

impl<'a> Pattern<'a> {
    fn parse(text: &'a str) -> Result<Self, Rule> {
        match text.split_once("..") {
            Some((low, high)) => Range::parse(low, high).map(Pattern::Range).ok_or_else(|| {
                Code::WrongForm.rule(format!("\"{text}\" must be a rising range such as \"s0..s7\""))
            }),
            None if text.contains('*') => Ok(Pattern::Any(text)),
            None => Ok(Pattern::Name(text)),
        }
    }

    fn matches(&self, name: &str) -> bool {
        match self {
            Pattern::Name(text) => *text == name,
            Pattern::Any(text) => matches(text, name),
            Pattern::Range(range) => range.contains(name),
        }
    }
}

/// Whether `name` is `pattern` with some text for each `*`.
fn matches(pattern: &str, name: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(mut rest) = name.strip_prefix(pieces.next().unwrap_or_default()) else { return false };
    let Some(last) = pieces.next_back() else { return rest.is_empty() };
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}

/// Numbered names, from `low` to `high`.
struct Range<'a> {
    prefix: &'a str,
    low: u64,
    high: u64,
    /// Digits of the shortest number.
    width: usize,
}

impl<'a> Range<'a> {
    fn parse(low: &'a str, high: &str) -> Option<Self> {
        let (prefix, first) = numbered(low)?;
        let (same, last) = numbered(high)?;
        let width = if first.len() == last.len() { first.len() } else { 1 };
        let range = Range { prefix, low: first.parse().ok()?, high: last.parse().ok()?, width };
        (prefix == same && range.low <= range.high).then_some(range)
    }

    fn names(&self) -> impl Iterator<Item = String> + '_ {
        (self.low..=self.high).map(|n| self.name(n))
    }

    fn name(&self, n: u64) -> String {
        format!("{}{n:0width$}", self.prefix, width = self.width)
    }

    fn contains(&self, name: &str) -> bool {
        let number = name.strip_prefix(self.prefix).and_then(|digits| digits.parse().ok());
        number.is_some_and(|n| (self.low..=self.high).contains(&n) && self.name(n) == name)
    }
}

/// A name as its text and the digits at its end.
fn numbered(name: &str) -> Option<(&str, &str)> {
    let start = name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    (start < name.len()).then(|| name.split_at(start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use shallows_units::{Rate, Span};

    fn star() -> Graph {
        let mut graph = Graph::default();
        let hosts = [graph.hosts_named("s", 12), graph.hosts_named("r", 1)].concat();
        let switch = graph.switch("switch");
        hosts.into_iter().for_each(|host| graph.link(host, switch, Rate::gbps(10), Span::us(1)));
        graph
    }

    fn pick(patterns: &[&str]) -> Result<String, Rule> {
        let graph = star();
        let names = Names(patterns.iter().map(ToString::to_string).collect());
        let ids = select(&graph, &names)?;
        Ok(ids.into_iter().map(|id| graph.name(id)).collect::<Vec<_>>().join(" "))
    }

    fn pick_ports(patterns: &[&str]) -> Result<String, Rule> {
        let graph = star();
        let names = Names(patterns.iter().map(ToString::to_string).collect());
        let ids = select_ports(&graph, &names)?;
        Ok(ids.into_iter().map(|id| graph.port_name(id)).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn hosts_come_in_order_and_once() {
        assert_eq!(pick(&["r0", "s9..s11", "s10", "s*0"]).unwrap(), "s0 s9 s10 s11 r0");
        assert_eq!(pick(&["*"]).unwrap().split(' ').count(), 13);
        assert_eq!(pick(&["s1*"]).unwrap(), "s1 s10 s11");
    }

    #[test]
    fn what_finds_no_host_says_so() {
        let rule = |pattern| pick(&[pattern]).unwrap_err().to_string();
        assert_eq!(rule("r1"), "no host is named \"r1\" (hosts: s0..s11, r0); did you mean \"r0\"?");
        assert_eq!(rule("s10..s99"), "no host is named \"s12\" (hosts: s0..s11, r0); did you mean \"s1\"?");
        assert_eq!(rule("x*"), "no host matches \"x*\" (hosts: s0..s11, r0)");
        assert_eq!(rule("switch"), "\"switch\" must be a host, is a switch (hosts: s0..s11, r0)");
        for range in ["s0..", "s0..7", "s7..s0", "s0..r0", "s*..s7", "..s1"] {
            assert_eq!(rule(range), format!("\"{range}\" must be a rising range such as \"s0..s7\""));
        }
        assert_eq!(pick(&[]).unwrap_err().to_string(), "must name at least one host (hosts: s0..s11, r0)");
    }

    #[test]
    fn ports_are_chosen_by_both_ends() {
        assert_eq!(pick_ports(&["switch->r0"]).unwrap(), "switch->r0");
        assert_eq!(pick_ports(&["*->r0", "s0..s1->switch"]).unwrap(), "s0->switch s1->switch switch->r0");
        assert_eq!(pick_ports(&["switch->s1*"]).unwrap(), "switch->s1 switch->s10 switch->s11");
        assert_eq!(pick_ports(&["*->*"]).unwrap().split(' ').count(), 26);
    }

    #[test]
    fn a_double_arrow_is_a_cable() {
        let graph = star();
        let pick = |text: &str| {
            let links = select_links(&graph, &Names(vec![text.into()]))?;
            Ok::<_, Rule>(links.iter().map(|link| graph.port_name(*link)).collect::<Vec<_>>().join(" "))
        };
        assert_eq!(pick("s0..s1<->switch").unwrap(), "s0->switch switch->s0 s1->switch switch->s1");
        assert_eq!(pick("switch->r0").unwrap(), "switch->r0");
        assert_eq!(pick("s0<->r0").unwrap_err().to_string(), "no link goes from \"s0\" to \"r0\"");
    }

    #[test]
    fn what_finds_no_port_says_so() {
        let rule = |pattern| pick_ports(&[pattern]).unwrap_err().to_string();
        assert_eq!(rule("s0->r0"), "no link goes from \"s0\" to \"r0\"");
        assert_eq!(
            rule("swich->r0"),
            "no node is named \"swich\" (hosts: s0..s11, r0; switches: switch); did you mean \"switch\"?"
        );
        assert_eq!(rule("*"), "must be a port such as \"switch->r0\" or \"*->r0\"");
    }

    #[test]
    fn switches_are_chosen_by_name() {
        let graph = star();
        let pick = |text: &str| select_switches(&graph, &Names(vec![text.into()]));
        assert_eq!(pick("sw*").unwrap(), [NodeId(13)]);
        assert_eq!(
            pick("swich").unwrap_err().to_string(),
            "no switch is named \"swich\" (switches: switch); did you mean \"switch\"?"
        );
        assert_eq!(pick("r0").unwrap_err().to_string(), "no switch is named \"r0\" (switches: switch)");
    }

    #[test]
    fn stars_match_any_text() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("a*c", "abc", true),
            ("a*c", "ac", true),
            ("a*a", "a", false),
            ("*b*b*", "abcb", true),
            ("*b*b*", "abc", false),
            ("**1", "sw1", true),
            ("s*", "r0", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn ranges_keep_their_digits() {
        let names = |text: &str| expand(&Names(vec![text.into()]));
        assert_eq!(names("s08..s10").unwrap(), ["s08", "s09", "s10"]);
        assert_eq!(names("s9..s11").unwrap(), ["s9", "s10", "s11"]);
        assert!(names("s0..s99999999999").is_err());
        let range = Range::parse("s08", "s10").unwrap();
        assert!(range.contains("s09") && !range.contains("s9"));
    }
}
