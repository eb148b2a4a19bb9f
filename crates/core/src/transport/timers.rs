//! The sending end's timer: one event that serves the retransmission timeout (RFC 6298 s.5), the probes before it
//! (RFC 8985 s.8) and pacing.

use super::config::Config;
use super::half::State;
use super::sender::Sender;
use crate::cc::CongestionControl;
use crate::net::Net;
use shallows_units::{Bytes, Span, Time};

/// Linux kernel/time/timer.c: timers of fewer ticks than this are kept to the tick (`LVL_START(1)`).
const FINE_TICKS: u64 = 63;
/// The next levels of its wheel are so many bits coarser each (`LVL_CLK_SHIFT`), and reach so much further.
const LEVEL_BITS: u32 = 3;

/// When a timer set at `now` for `span` expires. With ticks of `grain` it is as in Linux: with a tick, never early
/// (`calc_index`), and in steps of 8 ticks from 63 ticks on, of 64 from 504 on, and so on.
#[inline(always)]
pub fn expiry(now: Time, span: Span, grain: Span) -> Time {
    if grain == Span::ZERO { now + span } else { on_wheel(now, span, grain) }
}

#[inline(never)]
fn on_wheel(now: Time, span: Span, grain: Span) -> Time {
    let grain = grain.as_ps();
    let ticks = span.as_ps().div_ceil(grain);
    let (mut level, mut reach) = (0, FINE_TICKS);
    while ticks >= reach && level < 8 * LEVEL_BITS {
        (level, reach) = (level + LEVEL_BITS, reach << LEVEL_BITS);
    }
    let tick = (((now.as_ps() / grain + ticks) >> level) + 1) << level;
    Time::ps(tick.saturating_mul(grain))
}

/// The timer that comes before the retransmission timer (RFC 8985 s.5.4).
#[derive(Debug, Clone, Copy)]
pub struct EarlyTimer {
    /// When it expires.
    pub at: Time,
    /// Its purpose.
    pub purpose: Purpose,
    /// A loss probe is to be scheduled once all is sent that may be sent.
    pub wants_probe: bool,
}

/// The purpose of the early timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A loss probe is due (PTO).
    Probe,
    /// All segments not delivered until now are lost.
    Reordering,
}

impl Default for EarlyTimer {
    fn default() -> Self {
        EarlyTimer { at: Time::MAX, purpose: Purpose::Probe, wants_probe: false }
    }
}

/// Reasons in the host to hold the next packet back.
#[derive(Debug, Clone, Copy)]
pub struct Pacing {
    /// When pacing lets the next packet out.
    pub at: Time,
    /// Data waits for that alone.
    pub holds: bool,
    /// When fewer of its bytes stand in its host's port, if it waits for that and the time is known.
    pub port_at: Time,
}

impl Default for Pacing {
    fn default() -> Self {
        Pacing { at: Time::ZERO, holds: false, port_at: Time::MAX }
    }
}

impl Pacing {
    /// So long after `now`, or after a pending wait, the next packet may leave.
    pub fn postpone(&mut self, wait: Span, now: Time) {
        self.at = self.at.max(now) + wait;
    }
}

impl Sender {
    /// When this sender wants to be woken.
    #[inline(always)]
    pub fn wake_at(&self) -> Time {
        let soon = self.half.rto_at.min(self.early.at).min(self.explicit.ask_at).min(self.pacing.port_at);
        if self.pacing.holds { soon.min(self.pacing.at) } else { soon }
    }

    /// A timer event has come.
    pub fn on_timer(&mut self, config: &Config, net: &mut Net) {
        if config.asks_app_limit {
            self.note_app_limit(config);
        }
        if net.now >= self.early.at {
            return self.on_early_timer(config, net);
        }
        if net.now < self.half.rto_at {
            return self.pump(config, net);
        }
        self.half.counts.timeouts += 1;
        if self.rtt.timeouts >= config.settings.max_timeouts {
            return self.give_up();
        }
        let first = self.rtt.timeouts == 0;
        self.rtt.expire(&config.settings);
        if self.half.state == State::SynSent {
            return self.send_syn(config, net);
        }
        self.recover_by_timeout(first, config, net);
    }

    /// Nothing is sent any more, and so there is nothing left to wake for: not the retransmission timer, not a
    /// request, and not a packet that pacing held back.
    fn give_up(&mut self) {
        self.half.state = State::Failed;
        (self.half.rto_at, self.early.at, self.explicit.ask_at) = (Time::MAX, Time::MAX, Time::MAX);
        (self.pacing.holds, self.pacing.port_at) = (false, Time::MAX);
    }

    /// When a retransmission timer set at `now` expires.
    #[inline(always)]
    pub(super) fn rto_from(&self, now: Time, config: &Config) -> Time {
        expiry(now, self.rtt.rto(&config.settings), config.settings.timer_grain)
    }

    /// Whether pacing keeps the next packet back; then the timer lets it out. A sender that only pacing
    /// keeps from sending fills its window: its rate follows from that.
    #[inline(always)]
    pub(super) fn held_by_pace(&mut self, now: Time) -> bool {
        self.pacing.holds = self.pacing.at > now;
        self.usage.window_limited |= self.pacing.holds;
        self.pacing.holds
    }

    /// `size` bytes go out: the next packet waits for as long as they take at the pacing rate, whatever
    /// was saved up before. So bursts are one packet, and a retransmission sent at once is made up for.
    #[inline(always)]
    pub(super) fn pace(&mut self, size: u64, now: Time) {
        if let Some(rate) = self.half.window.cc().pacing_rate() {
            self.pacing.postpone(rate.transmit(Bytes(size)), now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand from timer.c: 40 ticks from tick 3 on are over in the tick after the 43rd; 201 end with the next eighth
    /// tick after the 204th, 208; 1000 with the next 64th after the 1003rd, 1024.
    #[test]
    fn ticks_of_a_wheel_are_never_early_and_coarser_the_longer() {
        let set = Time::ZERO + Span::us(3400);
        let at = |span: Span| expiry(set, span, Span::ms(1)).as_ps() / 1_000_000_000;
        assert_eq!(
            [at(Span::us(200)), at(Span::ms(40)), at(Span::ms(201)), at(Span::s(1))],
            [5, 44, 208, 1024]
        );
        assert_eq!(expiry(set, Span::us(5), Span::ZERO), set + Span::us(5));
    }
}
