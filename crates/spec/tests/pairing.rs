//! Senders and receivers: the order of pairs, permutations of every load that has pairs, and lists of faults that end.

mod common;

use common::{Tables, run};
use serde_json::{Value, json};

fn document(load: Value) -> Value {
    json!({"duration": "1ms", "topology": {"kind": "fat-tree", "k": 4, "hosts_per_edge": 1}, "queue": "drop-tail",
        "transport": {"cc": "newreno"}, "traffic": {"t": load}})
}

/// Senders and receivers of the connections, in the order of their opening.
fn ends(load: Value) -> Vec<(String, String)> {
    let simulation = run(&document(load));
    let tables = Tables::of(&simulation);
    let words = |column| tables.words("flows", column).into_iter().map(str::to_string);
    words("src").zip(words("dst")).collect()
}

#[test]
fn pairs_keep_the_order_of_their_lists() {
    let load = |from: Value, to: Value| {
        ends(json!({"kind": "bulk", "from": from, "to": to, "pattern": "pairs", "bytes": "1KB"}))
    };
    let pair = |from: u64, to: u64| (format!("h{from}"), format!("h{to}"));
    // Halves swapped: each host sends to the one half the network away, not to itself.
    let swapped = load("h*".into(), json!(["h4..h7", "h0..h3"]));
    assert_eq!(swapped, (0..8).map(|i| pair(i, (i + 4) % 8)).collect::<Vec<_>>());
    // A host counts where it is named first; patterns bring theirs in the network's order.
    let named = load(json!(["h3", "h1..h2", "h3"]), json!(["h7", "h6", "h5"]));
    assert_eq!(named, [pair(3, 7), pair(1, 6), pair(2, 5)]);
}

#[test]
fn messages_may_be_a_permutation() {
    for connection in ["persistent", "fresh"] {
        let load = json!({"kind": "messages", "from": "h*", "pattern": "permutation", "bytes": "1KB",
            "interval": "10ms", "connection": connection});
        let ends = ends(load);
        let mut to: Vec<&String> = ends.iter().map(|(_, to)| to).collect();
        to.sort();
        to.dedup();
        assert_eq!((ends.len(), to.len()), (8, 8));
        assert!(ends.iter().all(|(from, to)| from != to));
    }
}

fn faults(document: &Value) -> Vec<Value> {
    let answer: Value = serde_json::from_str(&shallows_spec::check(&document.to_string())).expect("JSON");
    answer["faults"].as_array().expect("a list").clone()
}

#[test]
fn receivers_are_asked_for_where_there_is_no_permutation() {
    let load = json!({"kind": "messages", "from": "h0", "bytes": "1KB", "interval": "1ms"});
    let found = faults(&document(load));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["path"], "traffic.t.to");
}

/// A hundred thousand faults are reported as fifty and a number, each cut to a readable length.
#[test]
fn lists_of_faults_end() {
    let mut many = document(json!({}));
    let long = json!({"kind": "bulk", "from": "nobody", "to": "x".repeat(100_000)});
    many["traffic"] = json!({"one": long, "two": long});
    let small = json!({"kind": "bulk", "from": "nobody", "to": "no one"});
    let mut fewer = document(json!({}));
    fewer["traffic"] =
        (0..100).map(|i| (format!("t{i}"), small.clone())).collect::<serde_json::Map<_, _>>().into();
    let found = faults(&fewer);
    assert_eq!(found.len(), 51);
    assert_eq!((&found[50]["path"], &found[50]["rule"]), (&json!("document"), &json!("has 150 more faults")));
    let found = faults(&many);
    assert!(found.iter().all(|fault| fault.to_string().len() < 2000), "{}", found[0].to_string().len());

    let mut graph = document(json!({"kind": "bulk", "from": "a", "to": "b"}));
    let links: Vec<Value> = (0..100_000).map(|i| json!({"from": format!("n{i}"), "to": "b"})).collect();
    graph["topology"] = json!({"kind": "graph", "hosts": ["a", "b"], "links": links});
    let found = faults(&graph);
    assert!(
        found.len() == 51 && found[50]["rule"].as_str().expect("text").contains("more faults"),
        "{}",
        found[50]
    );
}

/// Sixty thousand loads are checked one after the other, not each against all.
#[test]
fn many_loads_are_checked() {
    let mut many = document(json!({}));
    let load =
        |i: u64| json!({"kind": "bulk", "from": "h0", "to": "h1", "bytes": "1KB", "class": format!("c{i}")});
    many["traffic"] =
        (0..6_000).map(|i| (format!("t{i}"), load(i))).collect::<serde_json::Map<_, _>>().into();
    assert_eq!(faults(&many), [Value::Null; 0]);
}
