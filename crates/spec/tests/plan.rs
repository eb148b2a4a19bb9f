//! The numbers of a plan: every quantity of the record.

use serde_json::{Value, json};
use shallows_units::{Bytes, Rate, Span};

/// Every text of the record that reads as a quantity, by its path.
fn quantities(record: &Value, path: &str, found: &mut Vec<(String, u64)>) {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match record {
        Value::Object(map) => map.iter().for_each(|(key, value)| quantities(value, &below(key), found)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(i, item)| quantities(item, &below(&i.to_string()), found));
        }
        Value::String(text) => {
            let span = Span::parse(text).ok().map(Span::as_ps);
            let rate = Rate::parse(text).ok().map(Rate::as_bps);
            let number = span.or(rate).or(Bytes::parse(text).ok().map(Bytes::as_u64));
            found.extend(number.map(|number| (path.to_owned(), number)));
        }
        _ => {}
    }
}

#[test]
fn a_plan_has_every_quantity_of_the_record_as_a_number() {
    let sizes = json!({"kind": "uniform", "min": "1KB", "max": "1MB"});
    let document = json!({
        "duration": "20ms",
        "warmup": "1500us",
        "topology": {"kind": "star", "senders": 2, "rate": "10Gbps", "delay": "2500ns"},
        "queue": {"kind": "red", "limit": "150KB", "min": "30KB", "max": "90KB"},
        "port": {"switch->r0": {"rate": "1Gbps", "queue": {"kind": "codel", "limit": "100pkt"}}},
        "transport": {"cc": {"kind": "prague"}, "initial_window": "14600B"},
        "traffic": {
            "web": {"kind": "poisson", "from": "s0", "to": "r0", "sizes": sizes, "every": "100us",
                "deadline": {"kind": "uniform", "min": "1ms", "max": "2ms"}},
            "list": {"kind": "table", "flows": [{"from": "s1", "to": "r0", "bytes": "5KB", "start": "3us"}]},
        },
        "probe": {"queue_trace": "20us", "flow_trace": "change"},
    });
    let text = document.to_string();
    let checked: Value = serde_json::from_str(&shallows_spec::check(&text)).expect("JSON");
    assert_eq!(checked["faults"], json!([]));
    let plan: Value =
        serde_json::from_str(&shallows_spec::plan(&text).expect("a good document")).expect("JSON");
    let mut wanted = vec![];
    quantities(&checked["experiment"], "", &mut wanted);
    let numbers = plan["numbers"].as_object().expect("a table");
    let mut got: Vec<(String, u64)> =
        numbers.iter().map(|(path, number)| (path.clone(), number.as_u64().expect("a number"))).collect();
    wanted.sort();
    got.sort();
    assert!(wanted.len() > 40, "{wanted:?}");
    assert_eq!(got, wanted);
}

#[test]
fn groups_of_equal_next_hops_are_those_of_the_network() {
    let fabric =
        json!({"kind": "leaf-spine", "leaves": 2, "spines": 3, "hosts_per_leaf": 2, "rate": "1Gbps"});
    let star = json!({"kind": "star", "senders": 4, "rate": "1Gbps", "delay": "1us"});
    let document = |topology: &Value| {
        json!({"duration": "1ms", "topology": topology, "queue": "drop-tail", "transport": {"cc": "newreno"},
            "traffic": {"a": {"kind": "bulk", "from": "*", "to": "*"}}})
        .to_string()
    };
    let read = |text: String| serde_json::from_str::<Value>(&text).expect("JSON");
    let groups = read(shallows_spec::ways(&document(&fabric)).expect("a good document"));
    let plan = read(shallows_spec::plan(&document(&fabric)).expect("a good document"));
    let name =
        |node: &Value| plan["nodes"][node.as_u64().unwrap() as usize]["name"].as_str().unwrap().to_owned();
    // Each leaf has one group of all its uplinks, for the hosts of the other leaf; a spine has none.
    let found: Vec<_> = groups.as_array().unwrap().iter().collect();
    assert_eq!(found.iter().map(|one| name(&one["node"])).collect::<Vec<_>>(), ["leaf0", "leaf1"]);
    assert_eq!([&found[0]["hosts"], &found[1]["hosts"]], [&json!([2, 3]), &json!([0, 1])]);
    for one in found {
        let ports = one["ports"].as_array().unwrap();
        let to = ports.iter().map(|port| name(&plan["ports"][port.as_u64().unwrap() as usize]["to"]));
        assert_eq!(to.collect::<Vec<_>>(), ["spine0", "spine1", "spine2"]);
        let route = &plan["routes"][one["hosts"][0].as_u64().unwrap() as usize]
            [one["node"].as_u64().unwrap() as usize];
        assert_eq!(route, &ports[0]);
    }
    assert_eq!(read(shallows_spec::ways(&document(&star)).expect("a good document")), json!([]));
}
