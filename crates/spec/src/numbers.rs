//! The quantities of a resolved record as plain numbers, so that nobody reads its texts a second time.

use std::collections::BTreeMap;

use serde_json::Value;
use shallows_core::cc::Algorithm;
use shallows_core::experiment::{
    EventSettings, PfcSettings, PortSettings, PrioritySettings, RoutingSettings, RunSettings, SwitchSettings,
};
use shallows_core::params::{Component, Fault, Kind, Param, Params};
use shallows_core::probe::ProbeSettings;
use shallows_core::queue::Queue;
use shallows_core::sizes::Sizes;
use shallows_core::topology::Topology;
use shallows_core::transport::Transport;
use shallows_core::workload::Traffic;
use shallows_core::workload::deadlines::Deadlines;
use shallows_core::workload::graph::MessageRow;
use shallows_core::workload::table::FlowRow;
use shallows_units::{Bytes, Rate, Size, Span};

/// By path in the record: times in ps, rates in bit/s, amounts of data in bytes. Amounts in packets, `"none"` and words such
/// as `"off"` have no number.
pub type Numbers = BTreeMap<String, u64>;

/// The numbers of a record, or of some of its sections, as JSON. Nothing is checked, so a record of another version is
/// read as well.
pub fn numbers(record: &str) -> Result<Numbers, Vec<Fault>> {
    crate::table(record).map(|record| of_record(&Value::Object(record)))
}

pub(crate) fn of_record(record: &Value) -> Numbers {
    let mut found = Found(Numbers::new());
    found.table(record, "", &RunSettings::list());
    found.component(&record["topology"], "topology", &Topology::list());
    found.component(&record["queue"], "queue", &Queue::list());
    found.component(&record["nic"], "nic", &Queue::list());
    found.table(&record["probe"], "probe", &ProbeSettings::list());
    for (name, port) in tables(&record["port"]) {
        let path = format!("port.{name}");
        found.table(port, &path, &PortSettings::list());
        found.component(&port["queue"], &format!("{path}.queue"), &Queue::list());
    }
    for (name, switch) in tables(&record["switch"]) {
        found.table(switch, &format!("switch.{name}"), &SwitchSettings::list());
    }
    for (name, priority) in tables(&record["priority"]) {
        let path = format!("priority.{name}");
        found.table(priority, &path, &PrioritySettings::list());
        found.component(&priority["queue"], &format!("{path}.queue"), &Queue::list());
        found.component(&priority["nic"], &format!("{path}.nic"), &Queue::list());
    }
    found.table(&record["pfc"], "pfc", &PfcSettings::list());
    found.table(&record["routing"], "routing", &RoutingSettings::list());
    for (name, event) in tables(&record["event"]) {
        found.table(event, &format!("event.{name}"), &EventSettings::list());
    }
    for (name, load) in tables(&record["traffic"]) {
        found.load(load, &format!("traffic.{name}"));
    }
    found.0
}

fn tables(section: &Value) -> impl Iterator<Item = (&String, &Value)> {
    section.as_object().into_iter().flatten()
}

struct Found(Numbers);

impl Found {
    fn load(&mut self, load: &Value, path: &str) {
        self.component(load, path, &Traffic::list());
        self.component(&load["sizes"], &format!("{path}.sizes"), &Sizes::list());
        self.component(&load["deadline"], &format!("{path}.deadline"), &Deadlines::list());
        for (i, flow) in load["flows"].as_array().into_iter().flatten().enumerate() {
            self.table(flow, &format!("{path}.flows.{i}"), &FlowRow::list());
        }
        for (i, message) in load["messages"].as_array().into_iter().flatten().enumerate() {
            self.table(message, &format!("{path}.messages.{i}"), &MessageRow::list());
        }
        let path = format!("{path}.transport");
        let profiles = Transport::list();
        let profile = profiles.iter().find(|profile| load["transport"]["profile"] == profile.name);
        self.table(&load["transport"], &path, &profile.unwrap_or(&profiles[0]).params);
        self.component(&load["transport"]["cc"], &format!("{path}.cc"), &Algorithm::list());
    }

    /// The settings of the component that `kind` names; of one that the document declares, none.
    fn component(&mut self, written: &Value, path: &str, all: &[Component]) {
        if let Some(component) = all.iter().find(|component| written["kind"] == component.name) {
            self.table(written, path, &component.params);
        }
    }

    fn table(&mut self, written: &Value, path: &str, params: &[Param]) {
        for param in params {
            let path = if path.is_empty() { param.name.into() } else { format!("{path}.{}", param.name) };
            self.value(&written[param.name], path, &param.kind);
        }
    }

    fn value(&mut self, written: &Value, path: String, kind: &Kind) {
        let number = match (kind, written) {
            (Kind::OrNone(inner), _) => return self.value(written, path, inner),
            (Kind::List(inner), Value::Array(items)) => {
                return items
                    .iter()
                    .enumerate()
                    .for_each(|(i, item)| self.value(item, format!("{path}.{i}"), inner));
            }
            (Kind::Span, Value::String(text)) => Span::parse(text).ok().map(Span::as_ps),
            (Kind::Rate, Value::String(text)) => Rate::parse(text).ok().map(Rate::as_bps),
            (Kind::Bytes, Value::String(text)) => Bytes::parse(text).ok().map(Bytes::as_u64),
            (Kind::Size, Value::String(text)) => match Size::parse(text) {
                Ok(Size::Bytes(bytes)) => Some(bytes.as_u64()),
                _ => None,
            },
            // A trace is a word or an interval.
            (Kind::Text, Value::String(text)) if path.ends_with("_trace") => {
                Span::parse(text).ok().map(Span::as_ps)
            }
            _ => None,
        };
        if let Some(number) = number {
            self.0.insert(path, number);
        }
    }
}
