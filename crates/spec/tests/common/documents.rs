//! A good document, and changes to it.

use serde_json::{Value, json};

/// Three senders behind a threshold queue.
pub fn good() -> Value {
    json!({
        "duration": "1ms",
        "topology": {"kind": "star", "senders": 3},
        "queue": {"kind": "threshold", "limit": "250pkt", "mark_at": "65pkt"},
        "transport": {"cc": {"kind": "dctcp"}},
        "traffic": {"long": {"kind": "bulk", "from": "s*", "to": "r0"}},
    })
}

/// The good document with some values changed; `null` removes a key.
pub fn with(changes: &[(&str, Value)]) -> Value {
    let mut document = good();
    for (path, value) in changes {
        let (table, key) = path.rsplit_once('.').unwrap_or(("", path));
        let at =
            table.split('.').filter(|part| !part.is_empty()).fold(&mut document, |at, part| &mut at[part]);
        match value {
            Value::Null => _ = at.as_object_mut().expect("a table").remove(key),
            value => at[key] = value.clone(),
        }
    }
    document
}
