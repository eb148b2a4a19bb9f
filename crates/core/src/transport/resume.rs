//! Careful resume: a connection jumps to half of the window that an earlier one has saved, and retreats if that was too much.
//!
//! Source: RFC 9959, by its last draft (draft-ietf-tsvwg-careful-resume): s.3 for the phases and s.4 for the guidance. The saved
//! window and round trip are settings; each connection of a load has a set of its own (s.3.2 lets one connection use a set).
//! Numbers are bytes of the stream, and a FIN is one.
//! Readings: PipeSize counts data that SACK reports, and in the Safe Retreat Phase no data that was sent again (s.4.5 asks for
//! the reception of unvalidated packets). A window that is not below the jump does not jump. A lost SYN ends it.
//! Left out: observing and lifetime (s.3.1, s.4.3.1), signals of a changed path other than the round trip, and BBR's notes
//! (appendix C).

use super::acks::Heard;
use super::config::Config;
use super::sender::Sender;
use super::settings::TransportSettings;
use crate::cc::{Algorithm, Congestion, CongestionControl};
use crate::net::Net;
use crate::params::{Code, Faults};
use shallows_units::{Span, Time};

/// RFC 9959 s.4.2.1: a round trip longer than so many saved ones shows a changed path.
const LONGER: u64 = 10;

/// The saved parameters of congestion control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Saved {
    /// RFC 9959 s.3.3, `jump_cwnd`: min(max_jump, saved_cwnd / 2).
    jump: u64,
    /// RFC 9959 `saved_rtt`.
    rtt: Span,
}

impl Saved {
    /// Those of the settings, if there are any.
    pub(super) fn of(settings: &TransportSettings) -> Option<Saved> {
        let most = settings.max_jump.map_or(u64::MAX, |size| settings.bytes(size));
        let half = settings.bytes(settings.saved_cwnd?) / 2;
        Some(Saved { jump: half.min(most), rtt: settings.saved_rtt? })
    }

    /// RFC 9959 s.3.2, s.4.2.1: whether a round trip is too short for the saved window.
    fn is_too_short(&self, rtt: Span) -> bool {
        rtt.as_ps().saturating_mul(2) <= self.rtt.as_ps()
    }

    /// RFC 9959 s.4.2.1: whether a round trip shows another path.
    fn is_too_long(&self, rtt: Span) -> bool {
        rtt.as_ps() > self.rtt.as_ps().saturating_mul(LONGER)
    }
}

/// RFC 9959 s.3: the phases before a connection returns to its normal control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The path is to be confirmed (s.3.2).
    Reconnaissance,
    /// Data beyond the normal window is sent, paced (s.3.3).
    Unvalidated,
    /// It is acknowledged (s.3.4).
    Validating,
    /// It met congestion (s.3.5).
    SafeRetreat,
}

/// A connection that resumes.
#[derive(Debug)]
pub struct Resumption {
    saved: Saved,
    phase: Phase,
    /// One beyond the initial data: all that was sent before the first acknowledgement.
    initial_end: Option<u64>,
    /// Least round trip, if there is one, and the latest.
    rtts: Option<(Span, Span)>,
    /// When the jump was.
    since: Time,
    /// RFC 9959 `PipeSize`.
    pipe_size: u64,
    /// The window after the jump.
    jump: u64,
    /// The first unvalidated byte.
    first: u64,
    /// One beyond the last unvalidated byte.
    last: u64,
    /// Bytes below `last` that SACK had reported, and that are not acknowledged by number, after the acknowledgement before.
    held: u64,
}

impl Resumption {
    /// A connection begins that resumes, if the settings say so.
    pub(super) fn begin(settings: &TransportSettings) -> Option<Box<Self>> {
        let begun = |saved| Resumption {
            saved,
            phase: Phase::Reconnaissance,
            initial_end: None,
            rtts: None,
            since: Time::ZERO,
            pipe_size: 0,
            jump: 0,
            first: 0,
            last: 0,
            held: 0,
        };
        Saved::of(settings).map(begun).map(Box::new)
    }

    /// RFC 9959 s.4.3.2: the time between an unvalidated packet of so many bytes and the next, by the present round trip. The window
    /// here counts payload, so the packet does too.
    pub(super) fn interval(&self, size: u64) -> Span {
        match (self.phase, self.rtts) {
            (Phase::Unvalidated, Some((_, rtt))) => {
                let product = u128::from(rtt.as_ps()) * u128::from(size);
                Span::ps(product.div_ceil(u128::from(self.jump.max(1))) as u64)
            }
            _ => Span::ZERO,
        }
    }

    /// RFC 9959 s.3.3: more than a round trip has passed since the jump.
    fn is_over(&self, now: Time) -> bool {
        self.rtts.is_some_and(|(_, rtt)| now > self.since + rtt)
    }
}

impl TransportSettings {
    /// The window to which connections jump, in bytes; 0 if they do not resume.
    pub fn first_jump(&self) -> u64 {
        Saved::of(self).map_or(0, |saved| saved.jump)
    }

    /// Whether connections can resume with the other settings and with `cc`.
    pub(super) fn check_resume(&self, path: &str, cc: &Algorithm, faults: &mut Faults) {
        let mut fault = |key: &str, rule: String, value: String| {
            faults.add(&format!("{path}.{key}"), Code::Conflict.rule(rule), &value.into());
        };
        let Some(cwnd) = self.saved_cwnd.map(|size| size.to_string()) else {
            if let Some(rtt) = self.saved_rtt {
                fault(
                    "saved_rtt",
                    "needs saved_cwnd: a connection resumes from both".into(),
                    rtt.to_string(),
                );
            }
            if let Some(jump) = self.max_jump {
                fault("max_jump", "needs saved_cwnd, of which half is the jump".into(), jump.to_string());
            }
            return;
        };
        if self.saved_rtt.is_none() {
            fault(
                "saved_cwnd",
                "needs saved_rtt: the round trip confirms the path (RFC 9959 s.3.2)".into(),
                cwnd.clone(),
            );
        }
        if !self.sack {
            let rule = "needs sack = true, which tells which packets of a jump arrived";
            fault("saved_cwnd", rule.into(), cwnd.clone());
        }
        if self.arithmetic.in_segments() {
            let rule = "needs arithmetic = \"exact\": Linux has no careful resume";
            fault("saved_cwnd", rule.into(), cwnd.clone());
        }
        if !cc.resumes() {
            let rule =
                format!("must be none with cc = \"{}\", which cannot begin from a saved window", cc.kind());
            fault("saved_cwnd", rule, cwnd);
        }
    }
}

impl Sender {
    fn phase(&self) -> Option<Phase> {
        self.usage.resume.as_ref().map(|resume| resume.phase)
    }

    /// A packet goes out: after a jump the next one waits for the pace of the round trip.
    pub(super) fn pace_jump(&mut self, size: u64, now: Time) {
        if let Some(resume) = &self.usage.resume {
            self.pacing.postpone(resume.interval(size), now);
        }
    }

    /// RFC 9959 s.3.3 (appendix A: "CWND is not increased") and s.3.5.
    pub(super) fn holds_growth(&self) -> bool {
        matches!(self.phase(), Some(Phase::Unvalidated | Phase::SafeRetreat))
    }

    /// The Safe Retreat Phase is under way.
    pub(super) fn retreats(&self) -> bool {
        self.phase() == Some(Phase::SafeRetreat)
    }

    /// An acknowledgement reports deliveries, of which `sacked` bytes by SACK, before any loss that it shows.
    #[inline]
    pub(super) fn note_delivery(&mut self, heard: Heard, sacked: u64, rtt: Option<Span>) {
        let (high, repairs) = (self.high, !self.recovery.is_open());
        if let Some(resume) = &mut self.usage.resume {
            if let Some(rtt) = rtt {
                let least = resume.rtts.map_or(rtt, |(least, _)| least.min(rtt));
                resume.rtts = Some((least, rtt));
            }
            match resume.phase {
                Phase::Reconnaissance => _ = resume.initial_end.get_or_insert(high),
                // s.3.3, s.3.4: all that is newly acknowledged.
                Phase::Unvalidated | Phase::Validating => resume.pipe_size += heard.delivered,
                // s.4.5: a repaired hole is no unvalidated packet that arrived.
                Phase::SafeRetreat if repairs => {}
                Phase::SafeRetreat => resume.pipe_size += heard.delivered - sacked,
            }
        }
    }

    /// Blocks of SACK have been read. In the Safe Retreat Phase they report the unvalidated packets that arrived.
    #[cold]
    pub(super) fn note_sacked(&mut self) {
        let board = &self.board;
        if let Some(resume) = self.usage.resume.as_mut().filter(|resume| resume.phase == Phase::SafeRetreat) {
            resume.pipe_size += board.bytes_below(resume.last).saturating_sub(resume.held);
        }
    }

    /// The control has acted on an acknowledgement: phases that end with it.
    #[cold]
    pub(super) fn pass_phases(&mut self, config: &Config, now: Time) {
        self.pass_phase(config, now);
        let board = &self.board;
        if let Some(resume) = self.usage.resume.as_mut().filter(|resume| resume.phase == Phase::SafeRetreat) {
            resume.held = board.bytes_below(resume.last);
        }
    }

    fn pass_phase(&mut self, config: &Config, now: Time) {
        let Some(resume) = &self.usage.resume else { return };
        let (saved, una) = (resume.saved, self.half.una);
        match resume.phase {
            Phase::Reconnaissance => {}
            Phase::Unvalidated => {
                if resume.rtts.is_some_and(|(least, _)| saved.is_too_short(least)) {
                    self.begin_retreat(config, now); // s.3.3: the path has changed
                } else if una > resume.first {
                    self.end_jump(config, now); // s.3.3: an unvalidated packet is acknowledged
                }
            }
            Phase::Validating if una >= resume.last => self.usage.resume = None,
            Phase::Validating => {}
            Phase::SafeRetreat if una >= resume.last => {
                // s.3.5: PipeSize x Beta.
                let share = resume.pipe_size as f64 * config.settings.resume_beta;
                self.usage.resume = None;
                self.set_window(
                    self.half.window.bytes(),
                    Some(share.max(config.rules.ssthresh_floor)),
                    config,
                    now,
                );
            }
            Phase::SafeRetreat => {}
        }
    }

    /// Sends, and jumps or ends the jump as sending allows.
    #[cold]
    pub(super) fn pump_resuming(&mut self, config: &Config, net: &mut Net) {
        self.limit_jump(config, net.now);
        self.pump_data(config, net);
        if self.may_jump() {
            self.jump(config, net.now);
            if self.phase() == Some(Phase::Unvalidated) {
                self.pump_data(config, net);
            }
        }
        if self.phase() == Some(Phase::Unvalidated)
            && self.flight(config) + config.rules.mss > self.half.window.bytes()
        {
            self.end_jump(config, net.now); // s.3.3: all unvalidated packets are sent
        }
    }

    /// RFC 9959 s.3.3: the jump lasts no longer than a round trip.
    fn limit_jump(&mut self, config: &Config, now: Time) {
        let over = |resume: &Resumption| resume.phase == Phase::Unvalidated && resume.is_over(now);
        if self.usage.resume.as_deref().is_some_and(over) {
            self.end_jump(config, now);
        }
    }

    /// RFC 9959 s.3.2, "path confirmed": all initial data is acknowledged. The jump waits until the window, and nothing else, holds
    /// data back.
    fn may_jump(&self) -> bool {
        let confirmed = self.usage.resume.as_ref().is_some_and(|resume| {
            resume.phase == Phase::Reconnaissance
                && resume.initial_end.is_some_and(|end| self.half.una >= end)
        });
        let quiet = self.recovery.is_open() && self.board.is_empty() && self.losses.dup_acks() == 0;
        confirmed && quiet && self.usage.window_limited && !self.pacing.holds
    }

    /// RFC 9959 s.3.3, on entry; or back to normal where the round trip does not confirm the path (s.3.2, s.4.2.1).
    fn jump(&mut self, config: &Config, now: Time) {
        let (flight, high, cwnd) = (self.flight(config), self.high, self.half.window.bytes());
        let Some(resume) = &mut self.usage.resume else { return };
        let saved = resume.saved;
        let Some((least, _)) = resume.rtts else { return };
        let jump = saved.jump.min(config.rules.cwnd_max as u64);
        if saved.is_too_short(least) || saved.is_too_long(least) || jump <= cwnd {
            self.usage.resume = None;
            return;
        }
        (resume.phase, resume.since, resume.jump) = (Phase::Unvalidated, now, jump);
        (resume.pipe_size, resume.first) = (flight, high);
        self.set_window(jump, None, config, now);
    }

    /// RFC 9959 s.3.3, "check flight_size": the part of the jump that is not used is taken back.
    fn end_jump(&mut self, config: &Config, now: Time) {
        let (flight, high, initial) = (self.flight(config), self.high, config.rules.initial_window as u64);
        let Some(resume) = &mut self.usage.resume else { return };
        if flight < initial || flight <= resume.pipe_size {
            let cwnd = resume.pipe_size.max(initial);
            self.usage.resume = None;
            self.set_window(cwnd, None, config, now);
        } else {
            (resume.phase, resume.last) = (Phase::Validating, high);
            self.set_window(flight, None, config, now);
        }
    }

    /// The control has answered congestion. RFC 9959 s.3.2: before the jump, careful resume ends; s.3.6: after a timeout too. Else
    /// the sender retreats.
    #[cold]
    pub(super) fn retreat(&mut self, why: Congestion, config: &Config, now: Time) {
        match self.phase() {
            Some(Phase::Unvalidated | Phase::Validating) if why != Congestion::Timeout => {
                self.begin_retreat(config, now);
            }
            Some(Phase::SafeRetreat) if why != Congestion::Timeout => {}
            _ => self.usage.resume = None,
        }
    }

    /// RFC 9959 s.3.5, on entry: at most PipeSize / 2, and here at least a segment.
    fn begin_retreat(&mut self, config: &Config, now: Time) {
        let (high, cwnd) = (self.high, self.half.window.bytes());
        let Some(resume) = &mut self.usage.resume else { return };
        if resume.phase == Phase::Unvalidated {
            resume.last = high;
        }
        resume.phase = Phase::SafeRetreat;
        let most = (resume.pipe_size / 2).max(config.rules.mss);
        self.set_window(cwnd.min(most), None, config, now);
    }

    fn set_window(&mut self, cwnd: u64, ssthresh: Option<f64>, config: &Config, now: Time) {
        let before = self.half.window.bytes();
        self.with_cc(config, now, |cc, _| cc.set_window(cwnd as f64, ssthresh));
        self.forget_flight(before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Params;
    use shallows_units::{Bytes, Size};

    fn resumption(phase: Phase, rtts: Option<(Span, Span)>) -> Resumption {
        let saved = Saved { jump: 50_000, rtt: Span::us(100) };
        let since = Time::ZERO + Span::us(7);
        let (initial_end, jump) = (None, 50_000);
        Resumption { saved, phase, initial_end, rtts, since, pipe_size: 0, jump, first: 0, last: 0, held: 0 }
    }

    /// RFC 9959 s.3.3: `jump_cwnd` = min(max_jump, saved_cwnd / 2).
    #[test]
    fn a_jump_is_half_of_the_saved_window_or_its_bound() {
        let saved = |cwnd: Option<u64>, most: Option<u64>, rtt: Option<Span>| {
            let size = |bytes: u64| Size::Bytes(Bytes(bytes));
            let settings = TransportSettings {
                saved_cwnd: cwnd.map(size),
                max_jump: most.map(size),
                saved_rtt: rtt,
                ..TransportSettings::defaults()
            };
            (settings.first_jump(), Saved::of(&settings).is_some(), Resumption::begin(&settings).is_some())
        };
        let rtt = Some(Span::us(100));
        assert_eq!(saved(Some(100_001), None, rtt), (50_000, true, true));
        assert_eq!(saved(Some(100_000), Some(49_999), rtt), (49_999, true, true));
        assert_eq!(saved(Some(100_000), Some(50_001), rtt), (50_000, true, true));
        assert_eq!(saved(Some(100_000), None, None), (0, false, false));
        assert_eq!(saved(None, None, rtt), (0, false, false));
    }

    /// RFC 9959 s.4.2.1: the path is another if a round trip is at most half of the saved one, or more than ten of them.
    #[test]
    fn a_round_trip_between_half_and_ten_saved_ones_confirms_the_path() {
        let saved = Saved { jump: 1, rtt: Span::us(100) };
        let ps = |offset: i64, us: u64| Span::ps((Span::us(us).as_ps() as i64 + offset) as u64);
        assert_eq!([-1, 0, 1].map(|off| saved.is_too_short(ps(off, 50))), [true, true, false]);
        assert_eq!([-1, 0, 1].map(|off| saved.is_too_long(ps(off, 1000))), [false, false, true]);
    }

    /// RFC 9959 s.4.3.2: unvalidated packets leave at the pace of the jump in a round trip, the latest one, and no others wait.
    #[test]
    fn unvalidated_packets_fill_the_latest_round_trip() {
        let rtts = Some((Span::us(80), Span::us(100)));
        let interval = |phase, size| resumption(phase, rtts).interval(size);
        assert_eq!(interval(Phase::Unvalidated, 1000), Span::us(2));
        assert_eq!(interval(Phase::Unvalidated, 50_000), Span::us(100));
        // A part of a picosecond counts as one.
        let third =
            Resumption { jump: 3, ..resumption(Phase::Unvalidated, Some((Span::ps(1), Span::ps(1)))) };
        assert_eq!([1, 2, 3, 4].map(|size| third.interval(size)), [1, 1, 1, 2].map(Span::ps));
        for phase in [Phase::Reconnaissance, Phase::Validating, Phase::SafeRetreat] {
            assert_eq!(interval(phase, 1000), Span::ZERO);
        }
        assert_eq!(resumption(Phase::Unvalidated, None).interval(1000), Span::ZERO);
    }

    /// RFC 9959 s.3.3: the jump lasts for a round trip, and is over when more has passed.
    #[test]
    fn a_jump_lasts_a_round_trip() {
        let resume = resumption(Phase::Unvalidated, Some((Span::us(80), Span::us(100))));
        let end = Time::ZERO + Span::us(107);
        assert_eq!([end, end + Span::ps(1)].map(|now| resume.is_over(now)), [false, true]);
        assert!(!resumption(Phase::Unvalidated, None).is_over(Time::MAX));
    }
}
