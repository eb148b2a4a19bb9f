//! DCQCN: the rate control of RoCE's network cards, by marks.
//!
//! Sources: Zhu et al. 2015, "Congestion Control for Large-Scale RDMA Deployments" (SIGCOMM), as Zhu, Ghobadi, Misra
//! and Padhye 2016, "ECN or Delay" (CoNEXT) restate it; for `parameters = "vendor"` the simulator of HPCC's
//! authors (rdma-hw.cc, 9f4be2a), whose run.py calls them "dcqcn", as network cards are delivered.
//! Over TCP there are no congestion notification packets (CNPs). Each acknowledgement echoes the mark of its segment
//! instead, and the sender spaces the notifications as the receiver's card would. The spacing is the same; a notification
//! comes as late as an acknowledgement. With delayed acknowledgements the receiver answers a change of mark at once (RFC
//! 8257 s.3.2).
//! Over RoCEv2 the receiver's card sends them, spaced by `transport.cnp_interval`, and the paper's set cuts at each.
//! The card's timers are worked off when an acknowledgement comes, over RoCEv2 also before each packet, so that a rate grows
//! no sooner than that. Losses and timeouts change no rate: the sources run it over lossless Ethernet.
//! Left out: the extra reduction of QCN after the first cycle; a card's limit on the CNPs that it makes.

use super::parts::own_rate::{OwnRate, by_own_rate};
use super::{Ack, CcSettings, Congestion, CongestionControl, Cx, EcnUse, FlowInfo};
use crate::params::{Code, Faults, ParamType};
use shallows_units::{Bytes, Rate, Span, Time};

crate::choices! {
    /// A set of constants, for those that are not written.
    pub enum Set {
        /// The constants of the papers of 2015 and 2016.
        Paper = "paper",
        /// As network cards are delivered: HPCC's authors' simulator.
        Vendor = "vendor",
    }
}

crate::params! {
    /// DCQCN. The rate control of RoCE's network cards, by marks (Zhu 2015). A constant that is "none" follows from
    /// `parameters`.
    pub struct Settings {
        /// The set of constants.
        parameters: Set = "paper", "", "Zhu 2015 and 2016; vendor: HPCC's authors' simulator, rate-dependent constants at 25 Gb/s times the card's rate";
        /// Weight of a notification in alpha.
        g: f64 = 0.00390625, "(0, 1]", "Zhu 2016: 1/256; vendor too";
        /// Time without a notification after which alpha shrinks; "none": 55 us, vendor 1 us.
        alpha_period: Option<Span> = "none", "(0s, 1s]", "Zhu 2016: tau' = 55 us; vendor 1 us, by the clock";
        /// Least time between two cuts; "none": 50 us, vendor 4 us. Over RoCEv2 the paper's set cuts at each notification.
        cut_interval: Option<Span> = "none", "(0s, 1s]", "Zhu 2016: tau = 50 us between notifications; vendor looks each 4 us";
        /// Time between two increases; "none": 55 us, vendor 300 us.
        increase_period: Option<Span> = "none", "(0s, 1s]", "Zhu 2016: T = 55 us; vendor 300 us";
        /// Data between two increases; "none": 10 MB, and no such counter for the vendor.
        increase_bytes: Option<Bytes> = "none", "[1B, ]", "Zhu 2016: B = 10 MB; the vendor's simulator has none";
        /// Rounds of fast recovery; "none": 5, vendor 1.
        recovery_rounds: Option<u64> = "none", "[0, 1000]", "Zhu 2016: F = 5; vendor 1";
        /// Additive step; "none": 40 Mb/s, vendor 5 Mb/s at 25 Gb/s.
        additive: Option<Rate> = "none", "[1bps, ]", "Zhu 2016: R_AI = 40 Mb/s; vendor 5 Mb/s x rate / 25 Gb/s";
        /// Step of the hyper increase; "none": 200 Mb/s, vendor 50 Mb/s at 25 Gb/s.
        hyper: Option<Rate> = "none", "[1bps, ]", "the papers print none; simulator of DCQCN's authors: 200 Mb/s; vendor 50 Mb/s x rate / 25 Gb/s";
        /// Whether every cut makes the present rate the target; "none": yes, vendor only if a timer has fired since the last.
        clamp: Option<bool> = "none", "", "Zhu 2016: R_T = R_C at each cut; vendor: EcnClampTgtRate 0";
        /// First rate; "none": the network card's.
        initial_rate: Option<Rate> = "none", "", "Zhu 2015: line rate";
        /// Least rate.
        min_rate: Rate = "100Mbps", "[1bps, ]", "simulators of DCQCN's and HPCC's authors; cards 1 Mb/s";
        /// A window of the rate times this bounds the data in flight, or "none".
        window_rtt: Option<Span> = "none", "(0s, 100s]", "Li 2019 (HPCC): DCQCN+win has the base round-trip time";
    }
}

impl CcSettings for Settings {
    fn begins_at_line_rate(&self) -> bool {
        true
    }

    fn changes_every(&self) -> Option<Span> {
        // Zhu 2015 s.3.1: notifications of a flow, each of which cuts, are N = 50 us apart.
        Some(Constants::of(self, 0.0).increase_period.min(Span::us(50)))
    }

    fn paces_wire(&self) -> bool {
        true
    }

    fn rdma(&self) -> bool {
        true
    }

    fn needs_no_acks(&self) -> bool {
        true
    }

    fn check_over_roce(&self, path: &str, faults: &mut Faults) {
        if let Some(interval) = self.cut_interval.filter(|_| self.parameters == Set::Paper) {
            let rule = "changes nothing: over RoCEv2 the paper's set cuts at each notification, and the receiver spaces those \
                        by transport.cnp_interval";
            faults.add(&format!("{path}.cut_interval"), Code::Conflict.rule(rule), &interval.show());
        }
    }
}

/// The constants in use.
#[derive(Debug, Clone)]
struct Constants {
    g: f64,
    alpha_period: Span,
    cut_interval: Span,
    increase_period: Span,
    increase_bytes: Option<u64>,
    recovery_rounds: u32,
    additive: f64,
    hyper: f64,
    clamp: bool,
    vendor: bool,
}

impl Constants {
    fn of(s: &Settings, line: f64) -> Self {
        let vendor = s.parameters == Set::Vendor;
        let span = |written: Option<Span>, paper: u64, card: u64| {
            written.unwrap_or(Span::us(if vendor { card } else { paper }))
        };
        let step = |written: Option<Rate>, paper: f64, card: f64| match written {
            Some(rate) => rate.as_bps() as f64,
            None if vendor => card * line / 25e9,
            None => paper,
        };
        Constants {
            g: s.g,
            alpha_period: span(s.alpha_period, 55, 1),
            cut_interval: span(s.cut_interval, 50, 4),
            increase_period: span(s.increase_period, 55, 300),
            increase_bytes: match s.increase_bytes {
                Some(bytes) => Some(bytes.as_u64()),
                None => (!vendor).then_some(10_000_000),
            },
            recovery_rounds: s.recovery_rounds.unwrap_or(if vendor { 1 } else { 5 }) as u32,
            additive: step(s.additive, 40e6, 5e6),
            hyper: step(s.hyper, 200e6, 50e6),
            clamp: s.clamp.unwrap_or(!vendor),
            vendor,
        }
    }
}

/// The reaction point after its first notification.
#[derive(Debug, Clone)]
struct Reaction {
    constants: Constants,
    /// R_T in bit/s.
    target: f64,
    alpha: f64,
    /// When alpha is next brought up, and whether a notification has come since the last time (vendor).
    alpha_at: Time,
    noted: bool,
    /// Nothing is left of alpha: its clock is not followed until a notification comes.
    rests: bool,
    /// When a cut is possible again, and whether a notification waits for it (vendor).
    cut_at: Time,
    pending: bool,
    /// The next increase by time, and the byte at which the next by data comes.
    increase_at: Time,
    increase_byte: u64,
    /// Increases by time and by data since the last cut.
    rounds: (u32, u32),
}

/// One flow's control.
#[derive(Debug, Clone)]
pub struct Control {
    own: OwnRate,
    /// Bytes sent so far.
    sent: u64,
    reaction: Box<Reaction>,
    /// A notification has come: until then the card does not limit the flow.
    limited: bool,
}

impl Control {
    /// Needs each mark reported.
    pub const ECN: EcnUse = EcnUse::PerPacket;

    /// At the start of a flow.
    pub fn start(settings: &Settings, flow: &FlowInfo<'_>, cx: &Cx<'_>) -> Self {
        let own = OwnRate::new(settings.initial_rate, settings.min_rate, settings.window_rtt, flow, cx);
        let reaction = Reaction {
            constants: Constants::of(settings, own.most()),
            target: own.bps(),
            alpha: 1.0,
            alpha_at: Time::MAX,
            noted: false,
            rests: false,
            cut_at: Time::ZERO,
            pending: false,
            increase_at: Time::MAX,
            increase_byte: u64::MAX,
            rounds: (0, 0),
        };
        Control { own, sent: 0, reaction: Box::new(reaction), limited: false }
    }

    /// The first notification. The paper's rule cuts at once; cards set alpha to 1, and look again a cut's interval later.
    fn begin(&mut self, now: Time) {
        self.limited = true;
        let reaction = &mut *self.reaction;
        reaction.alpha_at = now + reaction.constants.alpha_period;
        reaction.increase_at = now + reaction.constants.increase_period;
        reaction.increase_byte =
            reaction.constants.increase_bytes.map_or(u64::MAX, |bytes| self.sent.saturating_add(bytes));
        if reaction.constants.vendor {
            reaction.cut_at = now + reaction.constants.cut_interval;
            (reaction.noted, reaction.pending) = (false, true);
        }
    }

    /// Works off the timers that have struck by `now`, in their order.
    fn advance(&mut self, now: Time) {
        loop {
            let reaction = &mut *self.reaction;
            let cut_at = if reaction.pending { reaction.cut_at } else { Time::MAX };
            let alpha_at = if reaction.rests { Time::MAX } else { reaction.alpha_at };
            let next = alpha_at.min(cut_at).min(reaction.increase_at);
            if next > now {
                break;
            }
            // rdma-hw.cc: alpha first, a cut 1 ns later.
            if next == alpha_at {
                self.age(next);
            } else if next == cut_at {
                self.cut(next);
            } else {
                reaction.increase_at = next + reaction.constants.increase_period;
                reaction.rounds.0 = reaction.rounds.0.saturating_add(1);
                self.increase();
            }
        }
        while self.sent >= self.reaction.increase_byte {
            let reaction = &mut *self.reaction;
            reaction.increase_byte += reaction.constants.increase_bytes.unwrap_or(u64::MAX);
            reaction.rounds.1 = reaction.rounds.1.saturating_add(1);
            self.increase();
        }
    }

    /// Zhu 2016: alpha <- (1 - g) alpha where no notification came for tau'. Cards: by the clock, with g more where one came.
    fn age(&mut self, at: Time) {
        let reaction = &mut *self.reaction;
        let g = reaction.constants.g;
        let noted = std::mem::take(&mut reaction.noted) && reaction.constants.vendor;
        reaction.alpha = (1.0 - g) * reaction.alpha + if noted { g } else { 0.0 };
        reaction.alpha_at = at + reaction.constants.alpha_period;
        // Nothing is left of it: the clock need not be followed through a long silence.
        if reaction.alpha < 1e-12 && !noted {
            (reaction.alpha, reaction.rests) = (0.0, true);
        }
    }

    /// Zhu 2016: R_T <- R_C, R_C <- R_C (1 - alpha / 2), with the alpha before; counters and timers begin anew.
    fn cut(&mut self, at: Time) {
        let rate = self.own.bps();
        let reaction = &mut *self.reaction;
        if reaction.constants.clamp || reaction.rounds.0 > 0 {
            reaction.target = rate;
        }
        let alpha = reaction.alpha;
        if reaction.constants.vendor {
            reaction.cut_at = at + reaction.constants.cut_interval;
        } else {
            let g = reaction.constants.g;
            reaction.alpha = (1.0 - g) * alpha + g;
            (reaction.alpha_at, reaction.rests) = (at + reaction.constants.alpha_period, false);
        }
        reaction.pending = false;
        reaction.rounds = (0, 0);
        reaction.increase_at = at + reaction.constants.increase_period;
        reaction.increase_byte =
            reaction.constants.increase_bytes.map_or(u64::MAX, |bytes| self.sent.saturating_add(bytes));
        self.own.set(rate * (1.0 - alpha / 2.0));
    }

    /// Zhu 2016: F rounds of fast recovery, then additive steps, and hyper steps once all counters have passed F. Cards
    /// have one counter, one additive step, and hyper steps that do not grow.
    fn increase(&mut self) {
        let reaction = &mut *self.reaction;
        let constants = &reaction.constants;
        let (time, data) = reaction.rounds;
        let least = if constants.increase_bytes.is_some() { time.min(data) } else { time };
        let beyond = least.saturating_sub(constants.recovery_rounds);
        let step = if time.max(data) <= constants.recovery_rounds {
            0.0
        } else if constants.vendor && beyond > 1 {
            constants.hyper
        } else if !constants.vendor && beyond > 0 {
            f64::from(beyond) * constants.hyper
        } else {
            constants.additive
        };
        reaction.target = (reaction.target + step).min(self.own.most());
        self.own.set(f64::midpoint(self.own.bps(), reaction.target));
        if self.own.bps() >= self.own.most() {
            // No further increase does anything before the next cut.
            (reaction.increase_at, reaction.increase_byte) = (Time::MAX, u64::MAX);
        }
    }
}

/// A clock that struck at `last` strikes next at `now` or later.
fn on_clock(last: Time, each: Span, now: Time) -> Time {
    let late = (now - last.min(now)).as_ps();
    last + Span::ps(late.div_ceil(each.as_ps()) * each.as_ps())
}

impl Control {
    /// A notification has come.
    fn notified(&mut self, now: Time) {
        let first = !self.limited;
        if first {
            self.begin(now);
        }
        let reaction = &mut *self.reaction;
        if reaction.constants.vendor {
            // rdma-hw.cc cnp_received_mlx: the first notification does not count for alpha, which it sets to 1.
            reaction.noted |= !first;
            if std::mem::take(&mut reaction.rests) {
                reaction.alpha_at = on_clock(reaction.alpha_at, reaction.constants.alpha_period, now);
            }
            if !reaction.pending {
                reaction.cut_at = on_clock(reaction.cut_at, reaction.constants.cut_interval, now);
                reaction.pending = true;
            }
        } else {
            reaction.cut_at = now + reaction.constants.cut_interval;
            self.cut(now);
        }
    }
}

impl CongestionControl for Control {
    fn on_ack(&mut self, ack: &Ack, cx: &Cx<'_>) {
        self.sent = ack.sent;
        if self.limited {
            self.advance(cx.now);
        }
        // Over TCP the sender spaces the notifications, where cards' senders do not.
        let early = !self.reaction.constants.vendor && cx.now < self.reaction.cut_at;
        if ack.ece && !early {
            self.notified(cx.now);
        }
    }

    fn on_cnp(&mut self, cx: &Cx<'_>) {
        self.notified(cx.now);
    }

    fn keep_time(&mut self, sent: u64, cx: &Cx<'_>) {
        self.sent = sent;
        if self.limited {
            self.advance(cx.now);
        }
    }

    fn on_congestion(&mut self, _why: Congestion, _flight: u64, _cx: &Cx<'_>) {}

    by_own_rate!();

    fn observe(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("rate_bps", self.own.bps());
        put("target_bps", self.reaction.target);
        put("alpha", self.reaction.alpha);
    }
}

#[cfg(test)]
mod tests;
