//! The file format of Shallows experiments: sections, checks, the resolved record, the schema.
//!
//! One run's document is a JSON object (the file's TOML without `sweep` and `seeds`). It is read into
//! an [`Experiment`] with every default in place; all faults are collected. `docs/architecture.md`
//! specifies the format.

mod drill;
mod emissions;
mod numbers;
mod plan;
mod read;
mod schema;
mod shares;
mod show;

use serde_json::{Map, Value, json};
use shallows_core::cc::{Algorithm, MakeControl};
use shallows_core::params::custom::Declared;
use shallows_core::params::{Code, Fault, Faults, Rule};
use shallows_core::workload::{MakeWorkload, Traffic};
use shallows_core::{Experiment, Simulation};
use std::sync::Arc;

pub use drill::drill;
pub use emissions::emissions;
pub use numbers::numbers;
pub use plan::{plan, ways};
pub use schema::schema;

/// Hash of the sources that this build was made from, so that no stored result outlives an edit.
pub const SOURCE_HASH: &str = env!("SHALLOWS_SOURCE_HASH");

/// Largest document in bytes.
const MAX_DOCUMENT: usize = 256 << 20;

/// Checks a document: `{"faults": [...], "experiment": resolved or null, "memory": {"bytes", "parts"} or null}`,
/// without building parts that grow with it.
pub fn check(document: &str) -> String {
    let checked = table(document).and_then(|map| {
        let experiment = experiment_of(&map)?;
        let estimate = experiment.check().map_err(|faults| as_written(&map, faults))?;
        Ok((experiment, estimate))
    });
    let answer = match checked {
        Err(faults) => json!({"faults": list(&faults), "experiment": null, "memory": null}),
        Ok((experiment, estimate)) => {
            json!({"faults": [], "experiment": show::resolved(&experiment), "memory": estimate.show()})
        }
    };
    answer.to_string()
}

/// Builds the run of a document, or gives all faults.
pub fn load(document: &str) -> Result<Simulation, Vec<Fault>> {
    load_with(document, &mut NoMakers, None)
}

/// Builds the run of a document whose declared components come from `makers`; a run takes at most so many
/// bytes of memory, if that is bounded.
pub fn load_with(
    document: &str,
    makers: &mut dyn Makers,
    memory: Option<u64>,
) -> Result<Simulation, Vec<Fault>> {
    let map = table(document)?;
    let mut experiment = experiment_of(&map)?;
    simulable(&experiment)?;
    let seed = experiment.run.seed;
    let mut faults = Faults::default();
    for load in &mut experiment.loads {
        if let Algorithm::Custom(custom) = &mut load.transport.cc {
            custom.made = makers.control(custom.declared(), &custom.values, seed);
            require(custom.made.is_some(), custom.declared(), &mut faults);
        }
        if let Traffic::Custom(custom) = &mut load.traffic {
            custom.made = makers.workload(custom.declared(), &custom.values);
            require(custom.made.is_some(), custom.declared(), &mut faults);
        }
    }
    if !faults.0.is_empty() {
        return Err(faults.into_list());
    }
    experiment.build_within(memory).map_err(|faults| as_written(&map, faults))
}

/// For documents that declare nothing.
pub struct NoMakers;

/// An error for each part of an experiment that only another backend runs.
pub fn simulable(experiment: &Experiment) -> Result<(), Vec<Fault>> {
    let mut faults = Faults::default();
    let own = Algorithm::all().iter().filter(|one| one.backend.is_none()).map(|one| one.name);
    let own: Vec<_> = own.collect();
    for load in &experiment.loads {
        let cc = &load.transport.cc;
        if let Some(backend) = cc.backend() {
            let rule = format!("is not part of the simulator, which has {}", own.join(", "));
            let path = format!("traffic.{}.transport.cc", load.name);
            let rule = Code::Unsupported.rule(rule).hint(format!("run with --backend {backend}"));
            faults.add(&path, rule, &Value::Object(cc.show()));
        }
    }
    if faults.0.is_empty() { Ok(()) } else { Err(faults.0) }
}

/// Gives the code behind declared components; `None` for a name that it does not know.
pub trait Makers {
    /// Makes a congestion control with these settings.
    fn control(
        &mut self,
        declared: &Declared,
        values: &Map<String, Value>,
        seed: u64,
    ) -> Option<Arc<dyn MakeControl>>;
    /// Makes a workload with these settings.
    fn workload(&mut self, declared: &Declared, values: &Map<String, Value>)
    -> Option<Arc<dyn MakeWorkload>>;
}

impl Makers for NoMakers {
    fn control(&mut self, _: &Declared, _: &Map<String, Value>, _: u64) -> Option<Arc<dyn MakeControl>> {
        None
    }
    fn workload(&mut self, _: &Declared, _: &Map<String, Value>) -> Option<Arc<dyn MakeWorkload>> {
        None
    }
}

fn require(found: bool, declared: &Declared, faults: &mut Faults) {
    if !found {
        let rule = format!("needs {}:{}, which was not given to this run", declared.module, declared.class);
        faults.add("python.components", Code::Missing.rule(rule), &declared.name.as_str().into());
    }
}

/// The table that a document is.
fn table(document: &str) -> Result<Map<String, Value>, Vec<Fault>> {
    let fault = |rule: Rule| vec![Fault::new("document", rule, &Value::Null)];
    if document.len() > MAX_DOCUMENT {
        return Err(fault(Code::TooMany.rule(format!("must be at most {} MiB", MAX_DOCUMENT >> 20))));
    }
    match serde_json::from_str(document) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err(fault(Code::WrongType.rule("must be a table"))),
        Err(e) => Err(fault(Code::WrongForm.rule(format!("must be JSON: {e}")))),
    }
}

/// The experiment of a document, or all faults that its sections show.
pub fn parse(document: &str) -> Result<Experiment, Vec<Fault>> {
    experiment_of(&table(document)?)
}

fn experiment_of(map: &Map<String, Value>) -> Result<Experiment, Vec<Fault>> {
    let mut faults = Faults::default();
    match read::experiment(map, &mut faults) {
        Some(experiment) if faults.0.is_empty() => Ok(experiment),
        partial => {
            // The valid sections are checked all the same, so that faults across sections are reported too.
            if let Some(Err(Faults(mut more))) = partial.filter(|_| !faults.enough()).map(|e| e.check()) {
                more.retain(|fault| !faults.0.iter().any(|cause| cause.may_explain(fault)));
                faults.0.append(&mut more);
            }
            shares::as_written(map, &mut faults.0);
            Err(faults.into_list())
        }
    }
}

/// The faults of a checked document, with values as it has them.
fn as_written(map: &Map<String, Value>, mut faults: Faults) -> Vec<Fault> {
    shares::as_written(map, &mut faults.0);
    faults.into_list()
}

fn list(faults: &[Fault]) -> Vec<Value> {
    let shown = |f: &Fault| json!({"code": f.code.word(), "path": f.path, "rule": f.rule, "value": f.value, "hint": f.hint});
    faults.iter().map(shown).collect()
}
