//! Thresholds of ports as shares of the network's bandwidth-delay product: `kmin = "0.2bdp"` becomes an amount of bytes before
//! the discipline is read, so that the resolved record has bytes.
//!
//! Source: Ultra Ethernet Specification 1.0.3 p. 418, which gives every setting of its switches so.

use serde_json::{Map, Value};
use shallows_core::params::{Code, Fault, Faults, Kind, ParamType};
use shallows_core::queue::Queue;
use shallows_units::Bytes;

/// The unit, as a file writes it.
const UNIT: &str = "bdp";
/// The greatest multiple that is read.
const MOST: f64 = 1e6;

/// The multiple that a text such as `0.25bdp` states.
fn share(text: &str) -> Option<f64> {
    let number = text.strip_suffix(UNIT)?;
    let plain = number.chars().all(|c| c.is_ascii_digit() || c == '.');
    let (starts, ends) = (number.chars().next()?, number.chars().last()?);
    let whole = plain && starts.is_ascii_digit() && ends.is_ascii_digit();
    number.parse().ok().filter(|share| whole && *share <= MOST)
}

/// Disciplines in bytes, wherever they stand in the sections `queue`, `nic`, `port` and `priority`. `bdp` gives the product;
/// nothing where there is none.
pub fn convert(sections: [&mut Option<Value>; 4], bdp: impl FnOnce() -> Option<Bytes>, faults: &mut Faults) {
    let mut places = places(sections);
    places.retain(|(_, queue)| has_share(queue));
    if places.is_empty() {
        return;
    }
    let bdp = bdp();
    for (path, queue) in places {
        in_bytes(queue, &path, bdp, faults);
    }
}

/// Every discipline of the sections `queue`, `nic`, `port` and `priority`, with its path.
fn places(sections: [&mut Option<Value>; 4]) -> Vec<(String, &mut Value)> {
    let [queue, nic, port, priority] = sections;
    let mut places: Vec<(String, &mut Value)> = vec![];
    places.extend(queue.as_mut().map(|queue| ("queue".to_owned(), queue)));
    places.extend(nic.as_mut().map(|nic| ("nic".to_owned(), nic)));
    for (section, tables) in [("port", port), ("priority", priority)] {
        let tables = tables.as_mut().and_then(Value::as_object_mut).into_iter().flatten();
        for (name, table) in tables {
            let inner = table.as_object_mut().into_iter().flatten();
            let inner = inner.filter(|(key, _)| ["queue", "nic"].contains(&key.as_str()));
            places.extend(inner.map(|(key, queue)| (format!("{section}.{name}.{key}"), queue)));
        }
    }
    places
}

/// The discipline at `path` in bytes. Settings that are no amounts of data stay as they are.
fn in_bytes(queue: &mut Value, path: &str, bdp: Option<Bytes>, faults: &mut Faults) {
    let Some(map) = queue.as_object_mut() else { return };
    let kind = map.get("kind").and_then(Value::as_str).unwrap_or_default();
    let Some(component) = Queue::all().iter().find(|one| one.name == kind) else { return };
    for param in component.params.iter().filter(|param| is_amount(&param.kind)) {
        let Some(value) = map.get_mut(param.name) else { continue };
        let Some(share) = value.as_str().and_then(share) else { continue };
        if bdp.is_none() {
            let rule = "must be an amount of data: without two hosts that reach each other there is no bandwidth-delay product";
            faults.add(&format!("{path}.{}", param.name), Code::NoPath.rule(rule), value);
        }
        *value = Bytes((bdp.unwrap_or(Bytes(1)).as_u64() as f64 * share).round() as u64).show();
    }
}

/// Faults of shares show what `document` has, not the bytes that stand for it. A text that is nearly one gets a hint.
pub fn as_written(document: &Map<String, Value>, faults: &mut [Fault]) {
    let mut sections = ["queue", "nic", "port", "priority"].map(|name| {
        let section = document.get(name)?;
        // Nearly no file has shares, and a section may have thousands of ports.
        section.to_string().to_lowercase().contains(UNIT).then(|| section.clone())
    });
    for (path, queue) in places(sections.each_mut()) {
        for (key, value) in queue.as_object().into_iter().flatten() {
            let Some(text) = value.as_str().filter(|text| text.to_lowercase().contains(UNIT)) else {
                continue;
            };
            let path = format!("{path}.{key}");
            for fault in faults.iter_mut().filter(|fault| fault.path == path) {
                fault.value = Value::from(text).to_string();
                if share(text).is_none() && fault.hint.is_empty() {
                    fault.hint = "a share of the bandwidth-delay product is written \"0.25bdp\"".into();
                }
            }
        }
    }
}

/// Whether a discipline has a setting that is written so.
fn has_share(queue: &Value) -> bool {
    let texts = queue.as_object().into_iter().flat_map(Map::values);
    texts.filter_map(Value::as_str).any(|text| share(text).is_some())
}

fn is_amount(kind: &Kind) -> bool {
    match kind {
        Kind::Bytes | Kind::Size => true,
        Kind::OrNone(kind) => is_amount(kind),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn shares_are_plain_numbers_with_the_unit() {
        for (text, expected) in [
            ("0.25bdp", Some(0.25)),
            ("1bdp", Some(1.0)),
            ("0bdp", Some(0.0)),
            ("bdp", None),
            ("-1bdp", None),
            (".5bdp", None),
            ("1.bdp", None),
            ("1e3bdp", None),
            ("1.2.3bdp", None),
            ("2BDP", None),
            ("1000001bdp", None),
        ] {
            assert_eq!(share(text), expected, "{text}");
        }
    }

    /// Amounts of data alone are converted, wherever a discipline stands; the product is asked for once, and only if it is needed.
    #[test]
    fn amounts_become_bytes() {
        let trimming = |limit: &str, kmin: &str| json!({"kind": "trimming", "limit": limit, "kmin": kmin, "newest": "1bdp", "kmax": "9KB"});
        let written = trimming("1bdp", "0.2bdp");
        let mut queue = Some(written.clone());
        let mut nic = Some(json!({"kind": "threshold", "mark_at": "65pkt"}));
        let mut port = Some(json!({"a->b": {"rate": "1Gbps", "queue": written}, "c->d": 7}));
        let mut priority = Some(json!({"0": {"nic": written}}));
        let mut faults = Faults::default();
        let sections = [&mut queue, &mut nic, &mut port, &mut priority];
        convert(sections, || Some(Bytes(151_111)), &mut faults);
        let expected = trimming("151111B", "30222B");
        assert_eq!(queue, Some(expected.clone()));
        assert_eq!(nic, Some(json!({"kind": "threshold", "mark_at": "65pkt"})));
        assert_eq!(port, Some(json!({"a->b": {"rate": "1Gbps", "queue": expected}, "c->d": 7})));
        assert_eq!(priority, Some(json!({"0": {"nic": expected}})));
        let mut plain = Some(json!({"kind": "drop-tail", "limit": "10pkt"}));
        convert([&mut plain, &mut None, &mut None, &mut None], || panic!("nothing needs it"), &mut faults);
    }

    /// A fault shows the share that was written; one that is not a share shows an example.
    #[test]
    fn faults_show_shares() {
        let queue = json!({"kind": "ramp", "kmin": "0.2bdp", "kmax": "0.1BDP"});
        let document = json!({"queue": queue, "port": {"a.0->b": {"queue": queue}}});
        let mut faults = Faults::default();
        for path in ["queue.kmin", "port.a.0->b.queue.kmin", "queue.kmax", "nic.kmin"] {
            faults.add(path, Code::Conflict.rule("must not be"), &"5B".into());
        }
        as_written(document.as_object().unwrap(), &mut faults.0);
        let told: Vec<_> = faults.0.iter().map(|f| (f.value.as_str(), f.hint.contains("0.25bdp"))).collect();
        let expected = [("0.2bdp", false), ("0.2bdp", false), ("0.1BDP", true), ("5B", false)];
        assert_eq!(
            told,
            expected
                .map(|(value, hint)| (Value::from(value).to_string(), hint))
                .each_ref()
                .map(|(v, h)| (v.as_str(), *h))
        );
    }

    /// Without hosts each share is a fault.
    #[test]
    fn without_a_product_shares_are_faults() {
        let mut queue = Some(json!({"kind": "ramp", "kmin": "0.25bdp", "kmax": "0.75bdp"}));
        let mut faults = Faults::default();
        convert([&mut queue, &mut None, &mut None, &mut None], || None, &mut faults);
        let paths: Vec<_> = faults.0.iter().map(|fault| (fault.path.as_str(), fault.code)).collect();
        assert_eq!(paths, [("queue.kmin", Code::NoPath), ("queue.kmax", Code::NoPath)]);
    }
}
