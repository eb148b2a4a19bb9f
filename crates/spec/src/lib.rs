//! The file format of Shallows experiments: sections, checks, the resolved record, the schema.
//!
//! One run's document is a JSON object (the file's TOML without `sweep` and `seeds`). It is read into
//! an [`Experiment`] with every default in place; all faults are collected. `docs/architecture.md`
//! specifies the format.

mod read;
mod schema;
mod show;

use serde_json::{Value, json};
use shallows_core::params::{Fault, Faults};
use shallows_core::{Experiment, Simulation};

pub use schema::schema;

/// Hash of the sources that this build was made from, so that no stored result outlives an edit.
pub const SOURCE_HASH: &str = env!("SHALLOWS_SOURCE_HASH");

/// Largest document in bytes.
const MAX_DOCUMENT: usize = 64 << 20;

/// Checks a document: `{"faults": [...], "experiment": resolved or null}`.
pub fn check(document: &str) -> String {
    let answer = match parse(document) {
        Err(faults) => json!({"faults": list(&faults), "experiment": null}),
        Ok(experiment) => match experiment.build() {
            Err(Faults(faults)) => json!({"faults": list(&faults), "experiment": null}),
            Ok(_) => json!({"faults": [], "experiment": show::resolved(&experiment)}),
        },
    };
    answer.to_string()
}

/// Builds the run of a document, or gives all faults.
pub fn load(document: &str) -> Result<Simulation, Vec<Fault>> {
    parse(document)?.build().map_err(|Faults(faults)| faults)
}

/// The experiment of a document, or all faults that its sections show.
pub fn parse(document: &str) -> Result<Experiment, Vec<Fault>> {
    let mut faults = Faults::default();
    let fault = |rule: String| {
        vec![Fault { path: "document".into(), rule, value: String::new(), hint: String::new() }]
    };
    if document.len() > MAX_DOCUMENT {
        return Err(fault(format!("must be at most {} MiB", MAX_DOCUMENT >> 20)));
    }
    let value: Value = serde_json::from_str(document).map_err(|e| fault(format!("must be JSON: {e}")))?;
    let Some(map) = value.as_object() else {
        return Err(fault("must be a table".into()));
    };
    match read::experiment(map, &mut faults) {
        Some(experiment) if faults.0.is_empty() => Ok(experiment),
        partial => {
            // What the sections allow is built all the same, so that faults across them come too.
            if let Some(Err(Faults(more))) = partial.map(|experiment| experiment.build()) {
                faults.0.extend(more.into_iter().filter(|f| !f.path.is_empty()));
            }
            faults.0.dedup();
            Err(faults.0)
        }
    }
}

fn list(faults: &[Fault]) -> Vec<Value> {
    faults.iter().map(|f| json!({"path": f.path, "rule": f.rule, "value": f.value, "hint": f.hint})).collect()
}
