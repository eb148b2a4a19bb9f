//! The C interface: a network from an experiment, whose messages a program sends. `shallows.h` is its documentation.
//!
//! Every function takes a pointer that [`shallows_new`] returned, or texts that end with a zero byte. A panic does not
//! leave this crate.
#![allow(unsafe_code)] // a foreign interface

mod program;

use program::{Call, KIND, Maker, Shared, State, locked};
use serde_json::{Value, json};
use shallows_core::{Control, Simulation};
use shallows_units::{Span, Time};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

/// All the program asked for has happened.
const DONE: c_int = 0;
/// The time was reached first.
const REACHED: c_int = 1;
/// The experiment's duration is over.
const OVER: c_int = 2;
/// An error; `shallows_error` has its text.
const FAILED: c_int = -1;

/// The time between two looks whether all has happened. Results do not depend on it.
const LOOK_EVERY: Span = Span::us(10);

/// A function of the program.
type Function = Option<unsafe extern "C" fn(*mut c_void)>;

/// A network with its run.
pub struct Network {
    /// Away while it runs, so that a function that calls `shallows_run` is refused.
    simulation: Mutex<Option<Box<Simulation>>>,
    shared: Shared,
    names: Vec<CString>,
    /// The rate of each host's links together, in bit/s.
    rates: Vec<u64>,
    /// The texts of the last error, the last counts and the last hash.
    texts: Mutex<[CString; 3]>,
}

impl Network {
    fn fail(&self, why: impl Into<Vec<u8>>) -> c_int {
        self.keep(0, why);
        FAILED
    }

    fn keep(&self, place: usize, text: impl Into<Vec<u8>>) -> *const c_char {
        let mut texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        texts[place] = plain(text);
        texts[place].as_ptr()
    }

    /// The answer of `ask` about the run, unless it is under way.
    fn answer(&self, place: usize, ask: impl FnOnce(&Simulation) -> String) -> *const c_char {
        let kept = self.simulation.lock().unwrap_or_else(PoisonError::into_inner);
        match kept.as_ref() {
            Some(simulation) => self.keep(place, ask(simulation)),
            None => {
                self.fail("the network runs, or its run has failed");
                std::ptr::null()
            }
        }
    }
}

/// A text for C: without zero bytes.
fn plain(text: impl Into<Vec<u8>>) -> CString {
    let mut bytes = text.into();
    bytes.retain(|byte| *byte != 0);
    CString::new(bytes).unwrap_or_default()
}

fn call(function: Function, argument: *mut c_void) -> Option<Call> {
    function.map(|function| Call { function, argument })
}

/// A fault as one line.
fn line(fault: &Value) -> String {
    let part = |name: &str| fault[name].as_str().unwrap_or_default();
    let mut text = format!("{}: {}", part("path"), part("rule"));
    if !part("value").is_empty() {
        text += &format!(", got {}", part("value"));
    }
    if !part("hint").is_empty() {
        text += &format!(" ({})", part("hint"));
    }
    text
}

/// A network from the text of an experiment, or all faults, a line each.
fn made(text: &str) -> Result<Network, String> {
    let lines = |faults: &[Value]| faults.iter().map(line).collect::<Vec<_>>().join("\n");
    let mut document = if text.trim_start().starts_with('{') {
        serde_json::from_str(text).map_err(|error| format!("the experiment is no JSON: {error}"))?
    } else {
        shallows_lab::document::document(text, &[]).map_err(|faults| lines(&faults))?
    };
    let table = document.as_object_mut().ok_or("an experiment is a table")?;
    if table.contains_key("python") {
        return Err("python: a program brings no components in Python".into());
    }
    let traffic = table.entry("traffic").or_insert_with(|| json!({}));
    if !traffic[KIND].is_null() {
        return Err(format!("traffic.{KIND}: is the load of the program itself; give this one another name"));
    }
    traffic[KIND] = json!({"kind": KIND});
    let declared =
        json!({"section": "traffic", "name": KIND, "module": "c", "class": KIND, "source_hash": ""});
    table.insert("python".into(), json!({"components": [declared]}));
    let document = document.to_string();
    let shared = Shared::default();
    let told = |faults: Vec<shallows_core::params::Fault>| {
        let shown: Vec<_> = faults
            .iter()
            .map(|f| shallows_lab::document::fault(&f.path, &f.rule, &f.value, &f.hint))
            .collect();
        lines(&shown)
    };
    let plan: Value = shallows_spec::plan(&document)
        .map(|plan| serde_json::from_str(&plan).unwrap_or_default())
        .map_err(told)?;
    let (names, rates) = hosts(&plan);
    let mut maker = Maker(shared.clone());
    let simulation = shallows_spec::load_with(&document, &mut maker, None).map_err(told)?;
    let simulation = Mutex::new(Some(Box::new(simulation)));
    Ok(Network { simulation, shared, names, rates, texts: Mutex::default() })
}

/// Names of the hosts in the plan, and the rates of the links that leave each.
fn hosts(plan: &Value) -> (Vec<CString>, Vec<u64>) {
    let list = |name: &str| plan[name].as_array().into_iter().flatten();
    let mut leaving = std::collections::BTreeMap::<u64, u64>::new();
    for port in list("ports") {
        let (from, rate) = (port["from"].as_u64(), port["rate_bps"].as_u64());
        let sum = leaving.entry(from.unwrap_or_default()).or_default();
        *sum = sum.saturating_add(rate.unwrap_or_default());
    }
    let hosts = (0..).zip(list("nodes")).filter(|(_, node)| node["host"] == true);
    let named = hosts.filter_map(|(place, node)| Some((plain(node["name"].as_str()?), place)));
    named.map(|(name, place)| (name, leaving.get(&place).copied().unwrap_or_default())).unzip()
}

/// Makes a network from the text of an experiment. Null, and the faults in `error`, if there are some.
///
/// # Safety
/// `experiment` ends with a zero byte; `error` has room for `size` bytes, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shallows_new(
    experiment: *const c_char,
    error: *mut c_char,
    size: usize,
) -> *mut Network {
    let text = unsafe { CStr::from_ptr(experiment) }.to_string_lossy().into_owned();
    let found = catch_unwind(|| made(&text)).unwrap_or_else(|_| Err("the simulator panicked".into()));
    match found {
        Ok(network) => Box::into_raw(Box::new(network)),
        Err(why) => {
            if !error.is_null() && size > 0 {
                let why = plain(why);
                let length = why.as_bytes().len().min(size - 1);
                unsafe {
                    std::ptr::copy_nonoverlapping(why.as_ptr(), error, length);
                    *error.add(length) = 0;
                }
            }
            std::ptr::null_mut()
        }
    }
}

/// Frees a network.
///
/// # Safety
/// `network` came from [`shallows_new`], is not used again, and does not run.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shallows_free(network: *mut Network) {
    if !network.is_null() {
        drop(unsafe { Box::from_raw(network) });
    }
}

/// The number of hosts.
///
/// # Safety
/// `network` came from [`shallows_new`]; so for all that follow.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shallows_hosts(network: *const Network) -> u32 {
    unsafe { &*network }.names.len() as u32
}

/// The name of a host; null if there is none with this number.
///
/// # Safety
/// See [`shallows_hosts`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shallows_host(network: *const Network, host: u32) -> *const c_char {
    unsafe { &*network }.names.get(host as usize).map_or(std::ptr::null(), |name| name.as_ptr())
}

/// The rates of the links that leave a host, together, in bit/s; 0 if there is none with this number.
///
/// # Safety
/// See [`shallows_hosts`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shallows_host_rate(network: *const Network, host: u32) -> u64 {
    unsafe { &*network }.rates.get(host as usize).copied().unwrap_or_default()
}

/// The present in ps.
///
/// # Safety
/// See [`shallows_hosts`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shallows_now(network: *const Network) -> u64 {
    locked(&unsafe { &*network }.shared).now.as_ps()
}

/// Sends a message.
///
/// # Safety
/// See [`shallows_hosts`]. `done` may be called with `argument` until the network is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shallows_send(
    network: *const Network,
    src: u32,
    dst: u32,
    bytes: u64,
    tag: u64,
    done: Function,
    argument: *mut c_void,
) -> c_int {
    let network = unsafe { &*network };
    let asked = locked(&network.shared).send((src, dst, tag), bytes, call(done, argument));
    asked.map_or_else(|why| network.fail(why), |()| DONE)
}

/// Waits for a message.
///
/// # Safety
/// See [`shallows_send`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shallows_recv(
    network: *const Network,
    dst: u32,
    src: u32,
    bytes: u64,
    tag: u64,
    done: Function,
    argument: *mut c_void,
) -> c_int {
    let network = unsafe { &*network };
    let mut state = locked(&network.shared);
    match state.receive((src, dst, tag), bytes, call(done, argument)) {
        Ok(at_once) => {
            // It is called by the run as all others are, in this very instant.
            at_once.into_iter().for_each(|call| state.schedule(Span::ZERO, call));
            DONE
        }
        Err(why) => {
            drop(state);
            network.fail(why)
        }
    }
}

/// Calls a function after a time in ps.
///
/// # Safety
/// See [`shallows_send`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shallows_schedule(
    network: *const Network,
    after_ps: u64,
    function: Function,
    argument: *mut c_void,
) -> c_int {
    let network = unsafe { &*network };
    match call(function, argument) {
        Some(call) => {
            locked(&network.shared).schedule(Span::ps(after_ps), call);
            DONE
        }
        None => network.fail("a function is needed, got null"),
    }
}

/// Runs until all has happened that the program asked for, or until a time in ps.
///
/// # Safety
/// See [`shallows_hosts`]. The functions of the program are called in this thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shallows_run(network: *const Network, until_ps: u64) -> c_int {
    let network = unsafe { &*network };
    let taken = network.simulation.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(mut simulation) = taken else {
        return network.fail("the network runs already, or its run has failed");
    };
    let ended = catch_unwind(AssertUnwindSafe(|| run(&network.shared, &mut simulation, Time::ps(until_ps))));
    match ended {
        Ok(Ok(code)) => {
            *network.simulation.lock().unwrap_or_else(PoisonError::into_inner) = Some(simulation);
            code
        }
        Ok(Err(why)) => network.fail(why),
        Err(_) => network.fail("the simulator panicked"),
    }
}

fn run(shared: &Shared, simulation: &mut Simulation, until: Time) -> Result<c_int, String> {
    let control = Control::new();
    let idle = |state: &State| state.pending() == (0, 0);
    loop {
        let at = simulation.now();
        let next = {
            let mut state = locked(shared);
            state.now = state.now.max(at);
            if idle(&state) {
                return Ok(DONE);
            }
            if at >= until {
                return Ok(REACHED);
            }
            let mut next = Time::ps(at.as_ps().saturating_add(LOOK_EVERY.as_ps()));
            if state.pending().0 == 0 {
                // No message is under way: nothing happens before the next function.
                next = state.next_call().map_or(next, |call| call.max(next));
            }
            state.until = next.min(until);
            state.until
        };
        let ended = simulation.advance(next, &control).map_err(|error| error.to_string())?;
        let mut state = locked(shared);
        if let Some(why) = state.fault.take() {
            return Err(why);
        }
        if ended {
            state.over = true;
            return Ok(if idle(&state) { DONE } else { OVER });
        }
    }
}

/// Messages that were asked for and have not arrived.
///
/// # Safety
/// See [`shallows_hosts`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shallows_under_way(network: *const Network) -> u64 {
    locked(&unsafe { &*network }.shared).pending().0
}

/// Receives for which no message has come.
///
/// # Safety
/// See [`shallows_hosts`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shallows_waiting(network: *const Network) -> u64 {
    locked(&unsafe { &*network }.shared).waiting()
}

/// The text of the last error.
///
/// # Safety
/// See [`shallows_hosts`]. The text stands until the next error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shallows_error(network: *const Network) -> *const c_char {
    let texts = unsafe { &*network }.texts.lock().unwrap_or_else(PoisonError::into_inner);
    texts[0].as_ptr()
}

/// Counts of the run so far as JSON: events, packets, drops. Null while it runs.
///
/// # Safety
/// See [`shallows_hosts`]. The text stands until it is asked for again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shallows_counts(network: *const Network) -> *const c_char {
    unsafe { &*network }.answer(1, |simulation| simulation.manifest_counts()["counts"].to_string())
}

/// The hash of all tables of the run so far, in 64 hex digits. Null while it runs.
///
/// # Safety
/// See [`shallows_counts`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shallows_tables_hash(network: *const Network) -> *const c_char {
    unsafe { &*network }.answer(2, |simulation| shallows_lab::digest::of_tables(&simulation.tables()))
}
