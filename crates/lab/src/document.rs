//! Experiments as a page writes them: a TOML text and overrides, made into one document for the checker.
//!
//! `shallows/document/` does this for files; here there are none. Distributions of flow sizes that come along are known by name.

use serde_json::{Map, Number, Value, json};
use toml_edit::{Document, DocumentMut, Item, Table, Value as Written};

/// Characters of an experiment.
const MOST_BYTES: usize = 200_000;

/// Distributions of flow sizes that come with Shallows, as CSV.
const SIZES: [(&str, &str); 5] = [
    ("alibaba_storage", include_str!("../../../python/shallows/document/flow_sizes/alibaba_storage.csv")),
    ("data_mining", include_str!("../../../python/shallows/document/flow_sizes/data_mining.csv")),
    ("facebook_hadoop", include_str!("../../../python/shallows/document/flow_sizes/facebook_hadoop.csv")),
    ("google_rpc", include_str!("../../../python/shallows/document/flow_sizes/google_rpc.csv")),
    ("web_search", include_str!("../../../python/shallows/document/flow_sizes/web_search.csv")),
];

/// Sections of a file that describe studies of several runs, and what another backend needs.
const OTHER: [&str; 7] = ["sweep", "compare", "tune", "seeds", "summary", "expect", "linux"];

/// A fault as the checker shows it.
pub fn fault(path: &str, rule: &str, value: &str, hint: &str) -> Value {
    json!({"code": "invalid", "path": path, "rule": rule, "value": value, "hint": hint})
}

/// The document of a text with `path=value` overrides, or all faults.
pub fn document(text: &str, settings: &[String]) -> Result<Value, Vec<Value>> {
    if text.len() > MOST_BYTES {
        let rule = format!("is longer than the {MOST_BYTES} bytes that this page accepts");
        return Err(vec![fault("file", &rule, "", "use the command line")]);
    }
    let mut document = parsed(text).map_err(|message| vec![fault("file", &message, "", "")])?;
    let mut faults = vec![];
    for setting in settings {
        match setting.split_once('=') {
            Some((path, value)) if !path.trim().is_empty() => {
                if let Err(rule) = set(&mut document, path.trim(), value_of(value.trim())) {
                    faults.push(fault(path.trim(), &rule, "", ""));
                }
            }
            _ => faults.push(fault("second scheme", "must be path=value", setting, "transport.cc=cubic")),
        }
    }
    OTHER.iter().for_each(|section| drop(document.remove(*section)));
    if document.contains_key("python") {
        let rule = "is off: a browser runs no Python code";
        faults.push(fault("python", rule, "", "use the command line or ./shallows web --allow-python"));
    }
    let mut document = Value::Object(document);
    fill_in(&mut document, &mut faults);
    if faults.is_empty() { Ok(document) } else { Err(faults) }
}

fn parsed(text: &str) -> Result<Map<String, Value>, String> {
    let document = Document::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let line = text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1;
        format!("is not TOML: {} (line {line})", error.message().lines().next().unwrap_or_default())
    })?;
    table(document.as_table())
}

fn table(table: &Table) -> Result<Map<String, Value>, String> {
    table.iter().map(|(key, item)| Ok((key.to_owned(), item_of(item)?))).collect()
}

fn item_of(item: &Item) -> Result<Value, String> {
    match item {
        Item::None => Ok(Value::Null),
        Item::Value(value) => written(value),
        Item::Table(inner) => Ok(Value::Object(table(inner)?)),
        Item::ArrayOfTables(tables) => tables.iter().map(|each| Ok(Value::Object(table(each)?))).collect(),
    }
}

fn written(value: &Written) -> Result<Value, String> {
    Ok(match value {
        Written::String(text) => text.value().as_str().into(),
        Written::Integer(number) => (*number.value()).into(),
        Written::Float(number) => {
            let number = Number::from_f64(*number.value());
            Value::Number(number.ok_or("holds a number that is not finite")?)
        }
        Written::Boolean(flag) => (*flag.value()).into(),
        Written::Datetime(_) => return Err("holds a date, which no experiment has".into()),
        Written::Array(values) => values.iter().map(written).collect::<Result<Value, String>>()?,
        Written::InlineTable(inner) => {
            let pairs = inner.iter().map(|(key, value)| Ok((key.to_owned(), written(value)?)));
            Value::Object(pairs.collect::<Result<_, String>>()?)
        }
    })
}

/// A TOML value, or the text itself if it is none.
fn value_of(text: &str) -> Value {
    let held = parsed(&format!("value = {text}")).ok().filter(|table| table.len() == 1);
    held.and_then(|mut table| table.remove("value")).unwrap_or_else(|| text.into())
}

/// The keys of a dotted path; a key with a dot in it is quoted as in TOML.
fn keys_of(path: &str) -> Vec<String> {
    match toml_edit::Key::parse(path) {
        Ok(keys) => keys.iter().map(|key| key.get().to_owned()).collect(),
        Err(_) => path.split('.').map(str::to_owned).collect(),
    }
}

/// Puts a value at a dotted path. A missing table is made; a bare word becomes the table of that component.
fn set(document: &mut Map<String, Value>, path: &str, value: Value) -> Result<(), String> {
    let mut keys = keys_of(path);
    let last = keys.pop().filter(|last| !last.is_empty()).ok_or("is not a path of keys separated by dots")?;
    let mut table = document;
    for key in keys {
        let inner = table.entry(key.clone()).or_insert_with(|| Value::Object(Map::new()));
        if inner.is_string() {
            *inner = json!({"kind": inner.take()});
        }
        table = inner.as_object_mut().ok_or_else(|| format!("cannot be set: {key} is not a table"))?;
    }
    table.insert(last, value);
    Ok(())
}

/// The contents of the distributions that loads name; a fault for each other file.
fn fill_in(document: &mut Value, faults: &mut Vec<Value>) {
    let mut missing = |path: String, table: &Value, content: &str| {
        if table["name"].is_string() && table.get(content).is_none() {
            faults.push(fault(
                &path,
                "names a file, and this page has none",
                &table["name"].to_string(),
                "use the command line",
            ));
        }
    };
    if document["topology"]["kind"] == "graph" {
        missing("topology.name".into(), &document["topology"], "links");
    }
    for (port, table) in document["port"].as_object().into_iter().flatten() {
        for (kind, content) in [("rates", "points"), ("opportunities", "at")] {
            if table["trace"]["kind"] == kind {
                missing(format!("port.{port}.trace.name"), &table["trace"], content);
            }
        }
    }
    for (name, load) in document.get_mut("traffic").and_then(Value::as_object_mut).into_iter().flatten() {
        for (kind, content) in [("table", "flows"), ("graph", "messages"), ("datagrams", "trace")] {
            if load["kind"] == kind {
                missing(format!("traffic.{name}.name"), load, content);
            }
        }
        if load["sizes"]["kind"] == "empirical" {
            let own = SIZES.iter().find(|(own, _)| load["sizes"]["name"] == *own);
            match own {
                Some((_, csv)) if load["sizes"].get("points").is_none() => {
                    load["sizes"]["points"] = points(csv)
                }
                _ => missing(format!("traffic.{name}.sizes"), &load["sizes"], "points"),
            }
        }
    }
}

/// Pairs of bytes and per cent, below a line of names.
fn points(csv: &str) -> Value {
    let number = |text: &str| text.trim().parse::<f64>().map_or(Value::Null, Value::from);
    let rows = csv.lines().skip(1).filter(|line| !line.trim().is_empty());
    rows.map(|line| line.split(',').map(number).collect::<Value>()).collect()
}

/// The text with a value at a path; comments, order and layout of the rest stay. `value` is TOML or a bare text.
pub fn put(text: &str, path: &str, value: &str) -> Result<String, String> {
    let mut document: DocumentMut = text.parse().map_err(|_| "the file is not TOML")?;
    let mut keys = keys_of(path);
    let last = keys.pop().ok_or("the path is empty")?;
    let mut table: &mut dyn toml_edit::TableLike = document.as_table_mut();
    for key in keys {
        let inner = table.entry(&key).or_insert_with(toml_edit::table);
        if let Some(word) = inner.as_str().map(str::to_owned) {
            let mut made = toml_edit::InlineTable::new();
            made.insert("kind", word.into());
            *inner = toml_edit::value(made);
        }
        table = inner.as_table_like_mut().ok_or_else(|| format!("{key} is not a table"))?;
    }
    let mut fresh: Written = value.parse().unwrap_or_else(|_| value.into());
    match table.get_mut(&last).and_then(Item::as_value_mut) {
        Some(old) => {
            *fresh.decor_mut() = old.decor().clone();
            *old = fresh;
        }
        None => drop(table.insert(&last, Item::Value(fresh))),
    }
    Ok(document.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# a comment\n[queue]\nkind = \"threshold\" # kept\nmark_at = \"65pkt\"\n[transport]\ncc = \"dctcp\"\n";

    #[test]
    fn overrides_reach_into_components_and_quoted_names() {
        let settings =
            ["transport.cc.g=0.25", "port.\"a.b->c\".rate=1Gbps", "queue={kind=\"red\"}"].map(String::from);
        let found = document(TEXT, &settings).expect("a document");
        assert_eq!(found["transport"]["cc"], json!({"kind": "dctcp", "g": 0.25}));
        assert_eq!(found["port"]["a.b->c"]["rate"], "1Gbps");
        assert_eq!(found["queue"], json!({"kind": "red"}));
        assert!(
            document(TEXT, &["queue.kind.x=1".into(), "nothing".into()])
                .is_err_and(|faults| faults.len() == 1)
        );
    }

    #[test]
    fn a_value_is_put_where_it_stands_and_the_rest_stays() {
        let moved = put(TEXT, "queue.mark_at", "20pkt").expect("a text");
        assert_eq!(moved, TEXT.replace("65pkt", "20pkt"));
        let table = put(TEXT, "transport.cc.g", "0.5").expect("a text");
        assert_eq!(parsed(&table).expect("TOML")["transport"]["cc"], json!({"kind": "dctcp", "g": 0.5}));
        assert!(table.starts_with("# a comment\n[queue]\nkind = \"threshold\" # kept\n"));
        assert!(put("x = [", "a", "1").is_err());
    }

    #[test]
    fn faults_name_the_line_and_files_are_refused() {
        let faults = document("a = 1\nb = = 2\n", &[]).expect_err("no TOML");
        assert!(faults[0]["rule"].as_str().is_some_and(|rule| rule.contains("(line 2)")), "{faults:?}");
        let load = "[traffic.x]\nkind = \"table\"\nname = \"mine.csv\"\n";
        assert_eq!(document(load, &[]).expect_err("a file")[0]["path"], "traffic.x.name");
        let sizes = "[traffic.x.sizes]\nkind = \"empirical\"\nname = \"web_search\"\n";
        let filled = document(sizes, &[]).expect("a document");
        assert_eq!(filled["traffic"]["x"]["sizes"]["points"][1], json!([10000.0, 15.0]));
    }
}
