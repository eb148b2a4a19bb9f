//! The sending end sends as the window, the application and pacing allow.
//!
//! Sources: RFC 9293 s.3.7.4 (Nagle), RFC 5681 s.4.1 (idle restart), RFC 3168 s.6.1 (codepoints and
//! CWR).

use super::config::Config;
use super::half::State;
use super::sender::Sender;
use super::settings::RttBy;
use crate::cc::CongestionControl;
use crate::net::Net;
use crate::packet::{Flags, NONE};
use shallows_units::Time;

/// Linux `tcp_tso_win_divisor`.
const TSO_WIN_DIVISOR: u64 = 3;

impl Sender {
    /// Bytes in flight as the window counts them (RFC 6675 `pipe` during recovery by SACK).
    #[inline(always)]
    pub fn flight(&self, config: &Config) -> u64 {
        if self.recovery.is_open() && self.board.is_empty() {
            return self.next - self.half.una;
        }
        self.repair_flight(config)
    }

    /// Sends all that may be sent now.
    #[inline(never)]
    pub fn pump(&mut self, config: &Config, net: &mut Net) {
        self.pump_here(config, net);
    }

    /// `pump`, compiled into its caller: for acknowledgements, which are half of all packets.
    #[inline(always)]
    pub(super) fn pump_here(&mut self, config: &Config, net: &mut Net) {
        if self.half.state != State::Established {
            return;
        }
        (self.pacing.holds, self.pacing.port_at) = (false, Time::MAX);
        let high = self.high;
        if config.pumps_plainly {
            self.pump_data(config, net)
        } else {
            self.pump_otherwise(config, net)
        }
        if config.rules.arithmetic.in_segments() {
            self.note_use(high, config);
        }
        if self.early.wants_probe {
            self.schedule_probe(config, net.now);
        }
        // RFC 6298 s.5.6 times a retransmission from when it leaves, not from when it is due.
        if self.pacing.holds && self.flight(config) == 0 {
            self.half.rto_at = Time::MAX;
        }
    }

    /// Sends with a protocol's headers, after a jump, or where the most data in flight counts.
    #[inline(never)]
    fn pump_otherwise(&mut self, config: &Config, net: &mut Net) {
        if config.explicit {
            self.pump_explicit(config, net)
        } else {
            self.pump_resuming(config, net)
        }
        if config.caps_growth {
            self.note_flight(config);
        }
    }

    /// Sends as the window, the application and pacing allow.
    #[inline(always)]
    pub(super) fn pump_data(&mut self, config: &Config, net: &mut Net) {
        let limit = self.half.limit();
        if self.next == self.half.una && self.next < limit {
            self.after_idle(config, net);
        }
        if !self.recovery.is_open() && !self.pump_repair(config, net) {
            return;
        }
        let mss = config.rules.mss;
        let mut flight = self.flight(config);
        let window = self.send_window(config);
        self.usage.window_limited = false;
        let mut together = 0;
        // Without room the run ends, also in the midst of a window of a million packets.
        while self.next < limit && net.room > 0 {
            let (seq, gap_end) = self.next_gap();
            let payload = self.half.written.saturating_sub(seq).min(mss).min(gap_end - seq);
            let fin = self.half.closing && seq + payload == self.half.written;
            if seq >= limit {
                self.next = limit;
                break;
            }
            let starts = together == 0;
            if config.settings.burst > 1 && starts {
                together = self.gather(flight, window, limit, config);
                if together == 0 {
                    self.usage.window_limited = true;
                    break;
                }
            }
            if flight > 0 && flight + payload > window {
                self.usage.window_limited = true;
                break;
            }
            // A sender that its receiver limits does not use its window: RFC 7661 s.4.3, Linux tcp_snd_wnd_test.
            if flight > 0 && seq + payload - self.half.una > config.receive_window {
                break;
            }
            let holds_short = config.settings.nagle && payload < mss && !fin && flight > 0;
            if holds_short && seq >= self.high && self.awaits_earlier(config) {
                break;
            }
            if starts && self.held_by_port(config, net) {
                break;
            }
            if self.held_by_pace(net.now) {
                break;
            }
            self.send_new(seq, payload, config, net);
            flight += payload + u64::from(fin);
            together = together.saturating_sub(1);
        }
    }

    /// Whether a short segment waits: RFC 9293 s.3.7.4 while any data is outstanding, Linux `tcp_minshall_check` while a
    /// short segment is.
    #[inline(never)]
    fn awaits_earlier(&self, config: &Config) -> bool {
        !config.rules.arithmetic.in_segments() || self.usage.short_end > self.half.una
    }

    /// Sends the next part of the stream, `payload` bytes from `seq` on.
    #[inline(always)]
    pub(super) fn send_new(&mut self, seq: u64, payload: u64, config: &Config, net: &mut Net) {
        let fin = self.half.closing && seq + payload == self.half.written;
        self.emit(seq, payload, fin, config, net);
        if config.resumes {
            self.pace_jump(payload, net.now);
        }
        if !self.recovery.is_open()
            && let Some(prr) = self.recovery.prr()
        {
            prr.on_send(payload);
        }
        let end = seq + payload + u64::from(fin);
        if payload < config.rules.mss {
            self.usage.short_end = end;
        }
        if self.losses.on_send(seq, end, fin, net.now) {
            self.early.wants_probe = config.probes;
        }
        self.next = end;
        self.high = self.high.max(end);
    }

    /// Segments to send together now, 0 to wait for more room: Linux `tcp_tso_should_defer`. A whole burst
    /// goes, or a third of the window, or the rest of the data; an idle sender waits for nothing.
    #[inline(never)]
    fn gather(&self, flight: u64, window: u64, limit: u64, config: &Config) -> u64 {
        let (mss, most) = (config.rules.mss, config.settings.burst);
        let room = window.saturating_sub(flight) / mss;
        let left = (limit - self.next).div_ceil(mss);
        let wanted = most.min(window / mss / TSO_WIN_DIVISOR).min(left).max(1);
        if flight == 0 {
            most.min(room.max(1))
        } else if room >= wanted {
            most.min(room)
        } else {
            0
        }
    }

    /// The next part of the stream: after a timeout, sacked data is passed over.
    #[inline(always)]
    fn next_gap(&self) -> (u64, u64) {
        if self.next >= self.high || self.board.is_empty() {
            (self.next, u64::MAX)
        } else {
            self.board.gap_from(self.next)
        }
    }

    #[inline(never)]
    fn after_idle(&mut self, config: &Config, net: &Net) {
        // RFC 5681 s.4.1.
        let idle = net.now - self.last_sent;
        let timeout = self.rtt.rto(&config.settings);
        if config.settings.idle_restart && self.high > 0 && idle > timeout {
            let timeouts = idle.as_ps().div_ceil(timeout.as_ps().max(1)).min(64) as u32;
            let before = self.half.window.bytes();
            self.with_cc(config, net.now, |cc, cx| cc.on_idle(timeouts, cx));
            self.forget_flight(before);
        }
    }

    /// Sends the `payload` bytes from `seq`.
    #[inline(always)]
    pub(super) fn emit(&mut self, seq: u64, payload: u64, fin: bool, config: &Config, net: &mut Net) {
        if config.samples {
            self.note_sending(seq, payload, config, net.now);
        }
        if seq >= self.high {
            return self.emit_new(seq, payload, fin, config, net);
        }
        self.half.counts.retransmissions += 1;
        self.timed = (0, net.now); // Karn: RFC 6298 s.3
        let ect = self.ecn.agreed && config.ect_on_control;
        let flags = Flags::RETRANSMITTED.with_if(Flags::FIN, fin).with_if(config.ect, ect);
        self.emit_data(seq, payload, flags, config, net);
    }

    /// Sends bytes that were never sent before.
    #[inline(always)]
    pub(super) fn emit_new(&mut self, seq: u64, payload: u64, fin: bool, config: &Config, net: &mut Net) {
        if seq == self.half.una {
            let last_sent = self.last_sent;
            self.with_cc(config, net.now, |cc, cx| cc.on_transmit_start(last_sent, cx));
        }
        // RFC 3168 s.6.1.2: CWR on the first new data after the reduction.
        let cwr = std::mem::take(&mut self.ecn.send_cwr);
        let ect = self.ecn.agreed;
        let flags =
            Flags::default().with_if(Flags::FIN, fin).with_if(config.ect, ect).with_if(Flags::CWR, cwr);
        if config.settings.rtt_by == RttBy::Karn && self.timed.0 == 0 {
            self.timed = (seq + payload, net.now);
        }
        self.emit_data(seq, payload, flags, config, net);
    }

    #[inline(always)]
    fn emit_data(&mut self, seq: u64, payload: u64, flags: Flags, config: &Config, net: &mut Net) {
        let now = net.now;
        self.last_sent = now;
        self.pace(payload + config.paced_header, now);
        let flags = flags.with_if(Flags::PUSH, seq + payload == self.half.written);
        if self.half.rto_at == Time::MAX {
            self.half.rto_at = self.rto_from(now, config); // RFC 6298 s.5.1
        }
        self.emit_raw(seq, payload, flags, config, net);
    }

    #[inline(always)]
    pub(super) fn emit_raw(&mut self, seq: u64, payload: u64, flags: Flags, config: &Config, net: &mut Net) {
        self.half.counts.packets += 1;
        let (extension, bytes) =
            if config.explicit { self.header(payload, flags, config, net) } else { (NONE, 0) };
        net.send(&self.half.packet(seq, (config.header + payload as u16 + bytes, flags), extension, net.now));
    }
}
