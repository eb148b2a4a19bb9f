//! Where the nodes of a network stand on the page: in a row of switches, in tiers, or as a matrix of ports.
//!
//! `shallows/web/live/drawing.py` draws the live page's networks by the same rules; a test compares both.
//! Coordinates are shares of the width and height, from the upper left.

use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, VecDeque};

/// A switch by its number, and its ports.
type Row = (usize, Vec<usize>);

/// A larger network is a matrix of its ports by tier: drawn as lines it would be a hairball.
const MOST_DRAWN_HOSTS: usize = 72;
const MOST_DRAWN_PORTS: usize = 600;

/// One direction of a link.
#[derive(Debug, Clone, Copy)]
pub struct Ends {
    /// The node that sends.
    pub from: usize,
    /// The node that receives.
    pub to: usize,
}

/// A network as the layout needs it.
struct Network {
    hosts: Vec<bool>,
    names: Vec<String>,
    ends: Vec<Ends>,
    around: Vec<Vec<usize>>,
}

fn place(value: &Value) -> usize {
    value.as_u64().map_or(0, |number| number as usize)
}

/// The ends of each port of a plan.
pub fn ends(plan: &Value) -> Vec<Ends> {
    let ports = plan["ports"].as_array().into_iter().flatten();
    ports.map(|port| Ends { from: place(&port["from"]), to: place(&port["to"]) }).collect()
}

/// Nodes with places, ports with ends, rates, limits, thresholds and failures, and how to draw all.
pub fn layout(plan: &Value) -> Value {
    let nodes: Vec<&Value> = plan["nodes"].as_array().into_iter().flatten().collect();
    let names: Vec<String> =
        nodes.iter().map(|n| n["name"].as_str().unwrap_or_default().to_owned()).collect();
    let hosts: Vec<bool> = nodes.iter().map(|node| node["host"] == true).collect();
    let ends = ends(plan);
    let mut around: Vec<Vec<usize>> = vec![vec![]; hosts.len()];
    for port in &ends {
        if !around[port.from].contains(&port.to) {
            around[port.from].push(port.to);
        }
    }
    let network = Network { hosts, names, ends, around };
    let tiers = network.tiers();
    let ports: Vec<Value> =
        plan["ports"].as_array().into_iter().flatten().map(|each| network.port(each)).collect();
    let large = network.hosts.iter().filter(|host| **host).count() > MOST_DRAWN_HOSTS
        || ports.len() > MOST_DRAWN_PORTS;
    let mut drawn = json!({"names": network.names, "hosts": network.hosts, "ports": ports, "tiers": tiers});
    if large {
        drawn["kind"] = "matrix".into();
        drawn["blocks"] = network.blocks(&tiers);
    } else {
        let places = network.row(plan).unwrap_or_else(|| network.by_tier(&tiers));
        drawn["kind"] = "graph".into();
        drawn["places"] = json!(places);
    }
    drawn
}

/// A limit that is written in packets, as their number.
fn packets(text: &Value) -> Value {
    let number =
        text.as_str().and_then(|text| text.strip_suffix("pkt")).and_then(|text| text.parse::<u64>().ok());
    number.map_or(Value::Null, Value::from)
}

impl Network {
    fn port(&self, port: &Value) -> Value {
        let (from, to) = (place(&port["from"]), place(&port["to"]));
        let queue = &port["queue"];
        let mut drawn = json!({
            "name": format!("{}->{}", self.names[from], self.names[to]),
            "from": from,
            "to": to,
            "switch": !self.hosts[from],
            "rate_bps": port["rate_bps"],
            "delay_ps": port["delay_ps"],
            "queue": queue["kind"],
            "limit": packets(&queue["limit"]),
            "mark_at": packets(&queue["mark_at"]),
        });
        if let Some(dead) = port.get("dead") {
            drawn["dead"] = dead.clone();
        }
        drawn
    }

    /// Hops to the nearest host: hosts are tier 0, switches that have hosts tier 1, and so on.
    fn tiers(&self) -> Vec<usize> {
        let mut tiers: Vec<Option<usize>> = self.hosts.iter().map(|host| host.then_some(0)).collect();
        let mut waiting: VecDeque<usize> = (0..tiers.len()).filter(|node| self.hosts[*node]).collect();
        while let Some(node) = waiting.pop_front() {
            for other in &self.around[node] {
                if tiers[*other].is_none() {
                    tiers[*other] = tiers[node].map(|tier| tier + 1);
                    waiting.push_back(*other);
                }
            }
        }
        tiers.into_iter().map(Option::unwrap_or_default).collect()
    }

    /// Switches in a row with their hosts around them, if they are a chain.
    fn row(&self, plan: &Value) -> Option<Vec<[f64; 2]>> {
        let chain = self.chain()?;
        let mut places = vec![[0.5, 0.5]; self.hosts.len()];
        for (number, switch) in chain.iter().enumerate() {
            places[*switch] = [(number as f64 + 1.4) / (chain.len() as f64 + 1.8), 0.5];
        }
        for (number, switch) in chain.iter().enumerate() {
            let own: Vec<usize> =
                self.around[*switch].iter().copied().filter(|node| self.hosts[*node]).collect();
            let (mut left, mut right, mut below) = (vec![], vec![], vec![]);
            if chain.len() == 1 {
                let receivers = self.receivers(plan);
                (right, left) = own.iter().partition(|node| receivers.contains(node));
                if left.is_empty() {
                    (left, right) = (own[..own.len() / 2].to_vec(), own[own.len() / 2..].to_vec());
                }
            } else if number == 0 {
                left = own;
            } else if number == chain.len() - 1 {
                right = own;
            } else {
                below = own;
            }
            for (nodes, x) in [(left, 0.06), (right, 0.94)] {
                for (place, node) in nodes.iter().enumerate() {
                    places[*node] = [x, (place + 1) as f64 / (nodes.len() + 1) as f64];
                }
            }
            for (place, node) in below.iter().enumerate() {
                let shift = (place as f64 - (below.len() - 1) as f64 / 2.0) * 0.09;
                places[*node] = [places[*switch][0] + shift, 0.86];
            }
        }
        Some(places)
    }

    /// The switches from one end to the other, or nothing if they are no chain.
    fn chain(&self) -> Option<Vec<usize>> {
        let switches: Vec<usize> = (0..self.hosts.len()).filter(|node| !self.hosts[*node]).collect();
        let inner = |node: usize| self.around[node].iter().copied().filter(|other| !self.hosts[*other]);
        if switches.iter().any(|node| inner(*node).count() > 2) {
            return None;
        }
        let mut chain = vec![*switches.iter().find(|node| inner(**node).count() < 2)?];
        loop {
            let next = inner(*chain.last()?).find(|other| !chain.contains(other));
            match next {
                Some(next) => chain.push(next),
                None => return (chain.len() == switches.len()).then_some(chain),
            }
        }
    }

    /// Hosts to which the loads send and that send nothing themselves.
    fn receivers(&self, plan: &Value) -> Vec<usize> {
        let hosts: Vec<usize> = (0..self.hosts.len()).filter(|node| self.hosts[*node]).collect();
        let named = |end: &str| -> Vec<usize> {
            let loads = plan["loads"].as_object().into_iter().flatten();
            let places = loads.flat_map(|(_, load)| load[end].as_array().into_iter().flatten());
            places.filter_map(|number| hosts.get(place(number)).copied()).collect()
        };
        let (to, from) = (named("to"), named("from"));
        to.into_iter().filter(|node| !from.contains(node)).collect()
    }

    /// Hosts at the bottom, under the switches that they belong to; the other tiers above.
    fn by_tier(&self, tiers: &[usize]) -> Vec<[f64; 2]> {
        let top = tiers.iter().copied().max().unwrap_or(0);
        let mut places = vec![[0.5, 0.5]; self.hosts.len()];
        let mut order: Vec<Option<f64>> = vec![None; self.hosts.len()];
        for tier in (0..=top).rev() {
            let mut nodes: Vec<(f64, usize)> = (0..tiers.len())
                .filter(|node| tiers[*node] == tier)
                .map(|node| {
                    let above: Vec<f64> =
                        self.around[node].iter().filter_map(|other| order[*other]).collect();
                    let mean = above.iter().sum::<f64>() / above.len() as f64;
                    (if above.is_empty() { 0.5 } else { mean }, node)
                })
                .collect();
            nodes.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            for (number, (_, node)) in nodes.iter().enumerate() {
                let share = (number as f64 + 0.5) / nodes.len() as f64;
                order[*node] = Some(share);
                places[*node] = [0.03 + 0.94 * share, 0.08 + 0.84 * (top - tier) as f64 / top.max(1) as f64];
            }
        }
        places
    }

    /// The ports by the tiers that they lead from and to: a block each, with a row for each switch.
    fn blocks(&self, tiers: &[usize]) -> Value {
        let mut blocks: BTreeMap<(usize, usize), Vec<Row>> = BTreeMap::new();
        for (number, port) in self.ends.iter().enumerate() {
            let owner = if self.hosts[port.from] { port.to } else { port.from };
            let rows = blocks.entry((tiers[port.from], tiers[port.to])).or_default();
            match rows.iter_mut().find(|row| row.0 == owner) {
                Some(row) => row.1.push(number),
                None => rows.push((owner, vec![number])),
            }
        }
        let called = ["hosts", "leaves", "spines", "cores"];
        let tier = |number: usize| {
            called.get(number).map_or_else(|| format!("tier {number}"), |&name| name.to_owned())
        };
        let row = |(owner, ports): &Row| json!({"name": self.names[*owner], "ports": ports});
        let block = |((low, high), rows): (&(usize, usize), &Vec<Row>)| {
            let mut map = Map::new();
            map.insert("title".into(), format!("{} to {}", tier(*low), tier(*high)).into());
            map.insert("rows".into(), rows.iter().map(row).collect());
            Value::Object(map)
        };
        blocks.iter().map(block).collect()
    }
}
