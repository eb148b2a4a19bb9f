//! One laboratory: checks experiments, and has a run for each of two schemes.

use crate::layout::{self, layout};
use crate::{digest, document, film};
use serde_json::{Value, json};
use shallows_core::params::Fault;
use shallows_core::{Control, Simulation};
use shallows_units::Time;

/// Directions of links of a network.
const MOST_PORTS: usize = 20_000;
/// Bytes that a run may take, by the checker's estimate; a browser's memory has at most four times as much.
const MOST_MEMORY: u64 = 900_000_000;
/// Packets shown at once.
const MOST_PACKETS: usize = 4000;

/// The runs of a page. Requests and answers are JSON, but for the chunks of films.
#[derive(Default)]
pub struct Session {
    sides: [Option<Side>; 2],
}

/// One run, and a second simulation to look at single packets with.
struct Side {
    document: String,
    simulation: Simulation,
    filming: film::Filming,
    close: Option<Simulation>,
}

/// The answer to a request.
pub enum Answer {
    /// JSON.
    Text(Value),
    /// A chunk of a film.
    Chunk(Vec<u8>),
}

fn listed(faults: &[Fault]) -> Vec<Value> {
    faults.iter().map(|f| document::fault(&f.path, &f.rule, &f.value, &f.hint)).collect()
}

fn settings_of(request: &Value) -> Vec<String> {
    let given = request["settings"].as_array().into_iter().flatten();
    given.filter_map(|each| each.as_str().map(str::to_owned)).collect()
}

impl Session {
    /// Answers one request: `{"do": "check" | "begin" | "chunk" | "end" | "packets" | "put" | "stop", ...}`.
    pub fn answer(&mut self, request: &Value) -> Answer {
        let side = usize::from(request["side"] == 1);
        let text = request["text"].as_str().unwrap_or_default();
        let at = request["at_ps"].as_u64().unwrap_or(0);
        Answer::Text(match request["do"].as_str() {
            Some("version") => json!({"version": shallows_spec::SOURCE_HASH}),
            Some("check") => match checked(text, &settings_of(request)) {
                Ok((document, _)) => json!({"faults": [], "document": document}),
                Err(faults) => json!({"faults": faults}),
            },
            Some("put") => match document::put(
                text,
                request["path"].as_str().unwrap_or_default(),
                &written(&request["value"]),
            ) {
                Ok(text) => json!({"text": text}),
                Err(why) => json!({"error": why}),
            },
            Some("begin") => {
                self.sides[side] = None;
                match begun(request) {
                    Ok((run, header)) => {
                        self.sides[side] = Some(run);
                        header
                    }
                    Err(faults) => json!({"faults": faults}),
                }
            }
            Some("chunk") => match self.chunk(side, request["looks"].as_u64().unwrap_or(1)) {
                Ok(chunk) => return Answer::Chunk(chunk),
                Err(why) => json!({"error": why}),
            },
            Some("end") => match &self.sides[side] {
                Some(run) => {
                    json!({"tables": digest::of_tables(&run.simulation.tables()), "counts": run.simulation.manifest_counts()["counts"]})
                }
                None => json!({"error": "there is no run"}),
            },
            Some("packets") => {
                self.sides[side].as_mut().and_then(|run| run.packets(at)).unwrap_or(Value::Null)
            }
            Some("stop") => {
                self.sides[side] = None;
                Value::Null
            }
            _ => json!({"error": "unknown request"}),
        })
    }

    fn chunk(&mut self, side: usize, looks: u64) -> Result<Vec<u8>, String> {
        let run = self.sides[side].as_mut().ok_or("there is no run")?;
        run.filming.chunk(&mut run.simulation, looks, &Control::new()).map_err(|error| error.to_string())
    }
}

/// A setting as text: a text without its quotes, so that it is put as TOML text again.
fn written(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), |text| format!("{text:?}"))
}

/// The document, and its resolved experiment.
fn checked(text: &str, settings: &[String]) -> Result<(Value, Value), Vec<Value>> {
    let document = document::document(text, settings)?;
    let mut answer: Value =
        serde_json::from_str(&shallows_spec::check(&document.to_string())).unwrap_or_default();
    match answer["faults"].take() {
        Value::Array(faults) if !faults.is_empty() => Err(faults),
        _ => Ok((document, answer["experiment"].take())),
    }
}

/// A run of `text` with `settings`, or of a resolved `experiment`, with the header of its film.
fn begun(request: &Value) -> Result<(Side, Value), Vec<Value>> {
    let experiment = match request.get("experiment") {
        Some(experiment) => experiment.clone(),
        None => checked(request["text"].as_str().unwrap_or_default(), &settings_of(request))?.1,
    };
    let document = experiment.to_string();
    let plan = shallows_spec::plan(&document).map_err(|faults| listed(&faults))?;
    let plan: Value = serde_json::from_str(&plan).unwrap_or_default();
    let ends = layout::ends(&plan);
    if ends.len() > MOST_PORTS {
        let rule = format!("has {} ports, and this page runs networks of at most {MOST_PORTS}", ends.len());
        return Err(vec![document::fault("topology", &rule, "", "use the command line")]);
    }
    let simulation = made(&document).map_err(|faults| listed(&faults))?;
    let duration = plan["numbers"]["duration"].as_u64().unwrap_or(1);
    let ports = plan["ports"].as_array().into_iter().flatten();
    let rates = ports.map(|port| port["rate_bps"].as_f64().unwrap_or(0.0)).collect();
    let filming = film::Filming::new(duration, ends, rates);
    let loads: Vec<&String> =
        experiment["traffic"].as_object().into_iter().flatten().map(|(name, _)| name).collect();
    let header = json!({
        "layout": layout(&plan),
        "duration_ps": duration,
        "every_ps": filming.every_ps(),
        "looks": filming.looks(),
        "loads": loads,
        "title": experiment["title"].as_str().unwrap_or_default(),
        "first": filming.chunks()[0],
        "most": filming.chunks()[1],
        "experiment": experiment,
    });
    Ok((Side { document, simulation, filming, close: None }, header))
}

fn made(document: &str) -> Result<Simulation, Vec<Fault>> {
    shallows_spec::load_with(document, &mut shallows_spec::NoMakers, Some(MOST_MEMORY))
}

impl Side {
    /// Packets under way at a time: from a run of its own, begun again if the time is in the past.
    fn packets(&mut self, at_ps: u64) -> Option<Value> {
        if self.close.as_ref().is_none_or(|run| run.now().as_ps() > at_ps) {
            self.close = made(&self.document).ok();
        }
        let run = self.close.as_mut()?;
        if run.advance(Time::ps(at_ps), &Control::new()).is_err() {
            self.close = None;
            return None;
        }
        let tables = run.observe(MOST_PACKETS);
        tables.iter().find(|table| table.name == "packets").map(|table| film::packets(table, at_ps))
    }
}
