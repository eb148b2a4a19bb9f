//! Congestion controls written in Python.

use crate::errors::{Shared, bad, noted};
use crate::facts::{Ack, FlowStart};
use crate::values::{Settings, instance, moment};
use pyo3::intern;
use pyo3::prelude::*;
use shallows_core::cc::{
    Ack as CoreAck, Congestion, CongestionControl, Cx, FlowInfo, MakeControl, WindowRules,
};
use shallows_units::{Bytes, Rate, Time};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// No window is larger, in bytes: a larger one is a mistake of the algorithm.
const LARGEST: f64 = (1u64 << 50) as f64;

/// The methods that a class has of its own.
struct Methods {
    on_ack: bool,
    on_round: bool,
    on_timeout: bool,
    on_idle: bool,
    on_lost_syn: bool,
}

/// Makes the controls of one algorithm.
pub struct Maker {
    class: Py<PyAny>,
    name: String,
    settings: Settings,
    seed: u64,
    methods: Methods,
    serial: AtomicU32,
    shared: Arc<Shared>,
}

impl Maker {
    /// For a class of `shallows.CongestionControl`.
    pub fn new(
        py: Python<'_>,
        class: Py<PyAny>,
        settings: Settings,
        seed: u64,
        shared: Arc<Shared>,
    ) -> PyResult<Self> {
        let base = py.import("shallows.authoring.base")?.getattr("CongestionControl")?;
        let own =
            |name: &str| -> PyResult<bool> { Ok(!class.bind(py).getattr(name)?.is(&base.getattr(name)?)) };
        let by_round: String = class.bind(py).getattr("cadence")?.extract()?;
        let methods = Methods {
            on_ack: by_round != "round" && own("on_ack")?,
            on_round: own("on_round")?,
            on_timeout: own("on_timeout")?,
            on_idle: own("on_idle")?,
            on_lost_syn: own("on_lost_syn")?,
        };
        let name = class.bind(py).getattr("__qualname__")?.extract()?;
        Ok(Maker { class, name, settings, seed, methods, serial: AtomicU32::new(0), shared })
    }
}

impl MakeControl for Maker {
    fn announce(&self, serial: u32) {
        self.serial.store(serial, Ordering::Relaxed);
    }

    fn start(&self, flow: &FlowInfo<'_>, cx: &Cx<'_>) -> Box<dyn CongestionControl> {
        let serial = self.serial.load(Ordering::Relaxed);
        let rules = cx.rules;
        let start = FlowStart {
            id: serial,
            now: cx.now.as_secs_f64(),
            mss: rules.mss,
            initial_window: rules.initial_window,
            initial_ssthresh: rules.initial_ssthresh,
            restart_window: rules.restart_window,
            cwnd_floor: rules.cwnd_floor,
            cwnd_max: rules.cwnd_max,
            ssthresh_floor: rules.ssthresh_floor,
            slow_start_limit: rules.slow_start_limit,
            growth: growth(rules),
            bytes: flow.bytes,
            traffic_class: flow.class.into(),
            seed: self.seed,
        };
        Python::attach(|py| {
            let made = (|| {
                let object = instance(py, &self.class, &self.settings)?;
                object.call_method1(intern!(py, "start"), (start,))?;
                let bound = |own: bool, name: &str| -> PyResult<Option<Py<PyAny>>> {
                    Ok(if own { Some(object.getattr(name)?.unbind()) } else { None })
                };
                Ok(Live {
                    on_ack: bound(self.methods.on_ack, "on_ack")?,
                    on_round: bound(self.methods.on_round, "on_round")?,
                    on_timeout: bound(self.methods.on_timeout, "on_timeout")?,
                    on_idle: bound(self.methods.on_idle, "on_idle")?,
                    on_lost_syn: bound(self.methods.on_lost_syn, "on_lost_syn")?,
                    on_congestion: object.getattr("on_congestion")?.unbind(),
                    object: object.unbind(),
                })
            })();
            let mut control = Control {
                live: None,
                name: self.name.clone(),
                serial,
                shared: self.shared.clone(),
                last: Ack::default(),
                round: Ack::default(),
                cwnd: rules.initial_window as u64,
                ssthresh: None,
                pacing: None,
            };
            match made {
                Ok(live) => {
                    control.live = Some(live);
                    control.read_back(py, "start", cx);
                }
                Err(error) => control.fail(py, error, "start", cx.now),
            }
            Box::new(control)
        })
    }
}

/// The word of the file.
fn growth(rules: &WindowRules) -> String {
    use shallows_core::params::ParamType;
    rules.growth.show().as_str().unwrap_or_default().to_owned()
}

/// The Python side of a control.
struct Live {
    object: Py<PyAny>,
    on_ack: Option<Py<PyAny>>,
    on_round: Option<Py<PyAny>>,
    on_timeout: Option<Py<PyAny>>,
    on_idle: Option<Py<PyAny>>,
    on_lost_syn: Option<Py<PyAny>>,
    on_congestion: Py<PyAny>,
}

/// One flow's control.
pub struct Control {
    /// Nothing where it could not start.
    live: Option<Live>,
    name: String,
    serial: u32,
    shared: Arc<Shared>,
    /// The last acknowledgement.
    last: Ack,
    /// Sums of the round trip under way.
    round: Ack,
    cwnd: u64,
    ssthresh: Option<f64>,
    pacing: Option<Rate>,
}

impl Control {
    fn fail(&self, py: Python<'_>, error: PyErr, method: &str, now: Time) {
        let note = format!("in {}.{method} of flow {} at {}", self.name, self.serial, moment(now));
        self.shared.fail(noted(py, error, &note));
    }

    /// Calls one method, with a word before the acknowledgement where it takes one, and reads back.
    fn call(
        &mut self,
        method: &'static str,
        pick: impl Fn(&Live) -> Option<&Py<PyAny>>,
        why: Option<&'static str>,
        ack: Ack,
        cx: &Cx<'_>,
    ) {
        if self.shared.has_failed() {
            return;
        }
        Python::attach(|py| {
            let Some(live) = &self.live else { return };
            let called = (|| {
                let Some(bound) = pick(live) else { return Ok(()) };
                match why {
                    Some(word) => bound.call1(py, (word, ack))?,
                    None => bound.call1(py, (ack,))?,
                };
                Ok(())
            })();
            match called {
                Ok(()) => self.read_back(py, method, cx),
                Err(error) => self.fail(py, error, method, cx.now),
            }
        });
    }

    /// Takes over `cwnd`, `ssthresh` and `pacing_rate`, and checks them.
    fn read_back(&mut self, py: Python<'_>, method: &str, cx: &Cx<'_>) {
        let Some(live) = &self.live else { return };
        let object = live.object.bind(py);
        let read = (|| {
            let written = object.getattr(intern!(py, "cwnd"))?;
            let cwnd = self.number(&written, "cwnd", method, cx)?;
            if cwnd > LARGEST {
                return Err(self.bad(&written, "cwnd", "must be at most 2**50 bytes", method, cx));
            }
            // The transport sends no part of a segment ahead, and holds the window that the file allows:
            // the algorithm continues from the window in force.
            let held = cwnd.max(cx.rules.mss as f64).min(cx.rules.cwnd_max);
            if held != cwnd {
                object.setattr(intern!(py, "cwnd"), held)?;
            }
            let written = object.getattr(intern!(py, "ssthresh"))?;
            let ssthresh = if written.is_none() {
                None
            } else if written.extract::<f64>().is_ok_and(|none_yet| none_yet == f64::INFINITY) {
                Some(f64::INFINITY)
            } else {
                Some(self.number(&written, "ssthresh", method, cx)?)
            };
            let written = object.getattr(intern!(py, "pacing_rate"))?;
            let pacing = if written.is_none() {
                None
            } else {
                let rate = self.number(&written, "pacing_rate", method, cx)?;
                Some(Rate::bps((rate as u64).max(1)))
            };
            Ok((held as u64, ssthresh, pacing))
        })();
        match read {
            Ok(read) => (self.cwnd, self.ssthresh, self.pacing) = read,
            Err(error) => self.shared.fail(error),
        }
    }

    /// A finite number above 0.
    fn number(&self, value: &Bound<'_, PyAny>, name: &str, method: &str, cx: &Cx<'_>) -> PyResult<f64> {
        match value.extract::<f64>() {
            Ok(number) if number.is_finite() && number > 0.0 => Ok(number),
            _ => Err(self.bad(value, name, "must be a finite number above 0", method, cx)),
        }
    }

    fn bad(&self, value: &Bound<'_, PyAny>, name: &str, rule: &str, method: &str, cx: &Cx<'_>) -> PyErr {
        let shown = value.repr().map_or_else(|_| "?".into(), |text| text.to_string());
        let text = format!(
            "flow {} at {}: {}.{method} left {name} = {shown}, which {rule}",
            self.serial,
            moment(cx.now),
            self.name,
        );
        bad(value.py(), text)
    }
}

impl CongestionControl for Control {
    fn on_ack(&mut self, core: &CoreAck, cx: &Cx<'_>) {
        let ack = Ack {
            now: cx.now.as_secs_f64(),
            acked: core.acked,
            delivered: core.delivered,
            marked: if core.ece { core.acked } else { 0 },
            ece: core.ece,
            round_ended: core.round_ended,
            may_grow: core.may_grow,
            rtt: core.rtt.map(|rtt| rtt.as_secs_f64()),
            srtt: core.srtt.as_secs_f64(),
            flight: core.flight,
            sent: core.sent,
        };
        let round = &mut self.round;
        *round = Ack {
            acked: round.acked + ack.acked,
            delivered: round.delivered + ack.delivered,
            marked: round.marked + ack.marked,
            ece: round.ece || ack.ece,
            may_grow: round.may_grow || ack.may_grow,
            rtt: ack.rtt.or(round.rtt),
            ..ack
        };
        let Some(live) = &self.live else { return };
        let (by_ack, by_round) = (live.on_ack.is_some(), live.on_round.is_some());
        self.last = ack.clone();
        if by_ack {
            self.call("on_ack", |live| live.on_ack.as_ref(), None, ack, cx);
        }
        if core.round_ended {
            let round = std::mem::take(&mut self.round);
            if by_round {
                self.call("on_round", |live| live.on_round.as_ref(), None, round, cx);
            }
        }
    }

    fn on_congestion(&mut self, why: Congestion, flight: u64, cx: &Cx<'_>) {
        let ack = Ack { now: cx.now.as_secs_f64(), flight, ..self.last.clone() };
        if why == Congestion::Timeout && self.live.as_ref().is_some_and(|live| live.on_timeout.is_some()) {
            return self.call("on_timeout", |live| live.on_timeout.as_ref(), None, ack, cx);
        }
        let word = match why {
            Congestion::Loss => "loss",
            Congestion::LossAfterEcn => "loss-after-ecn",
            Congestion::Ecn => "ecn",
            Congestion::Timeout => "timeout",
        };
        self.call("on_congestion", |live| Some(&live.on_congestion), Some(word), ack, cx);
    }

    fn cwnd(&self) -> Bytes {
        Bytes(self.cwnd)
    }

    fn ssthresh(&self) -> Option<f64> {
        self.ssthresh
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing
    }

    fn on_idle(&mut self, _timeouts: u32, cx: &Cx<'_>) {
        let ack = Ack { now: cx.now.as_secs_f64(), ..self.last.clone() };
        self.call("on_idle", |live| live.on_idle.as_ref(), None, ack, cx);
    }

    fn on_lost_syn(&mut self, cx: &Cx<'_>) {
        let ack = Ack { now: cx.now.as_secs_f64(), ..self.last.clone() };
        self.call("on_lost_syn", |live| live.on_lost_syn.as_ref(), None, ack, cx);
    }

    fn observe(&self, put: &mut dyn FnMut(&'static str, f64)) {
        let Some(live) = &self.live else { return };
        let alpha = Python::attach(|py| {
            live.object.bind(py).getattr(intern!(py, "alpha")).ok()?.extract::<f64>().ok()
        });
        if let Some(alpha) = alpha.filter(|alpha| alpha.is_finite()) {
            put("alpha", alpha);
        }
    }
}
