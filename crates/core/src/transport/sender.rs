//! The sending end of a connection: what to send, when, and what to make of acknowledgements.
//!
//! Sources: RFC 9293 (connection, Nagle), RFC 5681 (fast retransmit, idle restart), RFC 6298 (timer),
//! RFC 3168 s.6.1.2 (one reduction a window). Recovery is in `recovery.rs`.
//! Left out: data in both directions of one connection; urgent data; path MTU discovery; undoing
//! spurious reductions (RFC 3522, RFC 5682); RACK and tail loss probes (RFC 8985).

use super::recovery::{Phase, Repair};
use super::rtt::RttEstimator;
use super::settings::{Config, EceGrowth, Opening, RttBy};
use crate::cc::{Ack, AnyCc, Congestion, CongestionControl, Cx, FlowInfo};
use crate::net::Net;
use crate::net::packet::{Extension, Flags, NONE, Packet};
use shallows_units::{Bytes, Span, Time};

/// Where the connection is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Nothing sent yet.
    Closed,
    /// SYN sent.
    SynSent,
    /// Data may flow.
    Established,
    /// Given up after too many timeouts.
    Failed,
}

/// What a sender did, for the statistics.
#[derive(Debug, Clone, Copy, Default)]
pub struct SenderCounts {
    /// Packets handed to the NIC.
    pub packets: u64,
    /// Of them, data sent before.
    pub retransmissions: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Fast recoveries entered.
    pub fast_recoveries: u64,
    /// Reductions for ECN-Echo.
    pub ecn_reductions: u64,
    /// Sum over acknowledgements of the smoothed RTT in ps.
    pub srtt_sum: u128,
    /// Acknowledgements of new data.
    pub acks: u64,
    /// Integral of the congestion window in byte ps.
    pub cwnd_time: u128,
}

/// The sending end.
pub struct Sender {
    /// The flow.
    pub flow: u32,
    /// Path to the receiver.
    pub route: u32,
    /// Where the connection is.
    pub state: State,
    /// What the transport is doing about congestion.
    pub phase: Phase,
    /// Both ends agreed on ECN.
    pub ecn: bool,
    /// The application will write no more.
    pub closing: bool,
    /// The last acknowledgement carried ECN-Echo.
    ece_before: bool,
    /// The next new segment tells of a reduction.
    tell_cwr: bool,
    /// The window, not the application, ended the last sending.
    window_limited: bool,
    /// Oldest number not acknowledged (SND.UNA).
    pub una: u64,
    /// Next number to send (SND.NXT); falls back after a timeout.
    pub next: u64,
    /// One beyond the highest number ever sent.
    pub high: u64,
    /// Bytes that the application has written.
    pub written: u64,
    /// No further ECN reduction until more than this is acknowledged.
    pub reduced_until: u64,
    /// A round ends when more than this is acknowledged.
    round_end: u64,
    /// Congestion control.
    pub cc: AnyCc,
    /// Its window in bytes, asked for after each call that may move it: an acknowledgement needs it
    /// four times.
    pub(super) cwnd: u64,
    /// Round-trip time and timeout.
    pub rtt: RttEstimator,
    /// When the retransmission timer expires.
    pub rto_at: Time,
    /// When pacing lets the next packet out.
    pace_at: Time,
    /// Time of the soonest event that will look at the two above.
    pub timer_at: Time,
    /// When the last data packet was sent.
    last_sent: Time,
    /// Karn: the end of the timed segment and when it was sent; 0 when none is.
    timed: (u64, Time),
    /// Recovery.
    pub repair: Repair,
    /// Statistics.
    pub counts: SenderCounts,
    /// When `cwnd_time` was last brought up.
    pub counted_at: Time,
}

impl Sender {
    /// A connection not yet opened.
    pub fn new(flow: u32, route: u32, info: &FlowInfo<'_>, config: &Config, now: Time) -> Self {
        let cc = config.cc.start(info, &Cx { now, rules: &config.rules });
        Sender {
            flow,
            route,
            state: State::Closed,
            phase: Phase::Open,
            ecn: config.ecn,
            closing: false,
            ece_before: false,
            tell_cwr: false,
            window_limited: false,
            una: 0,
            next: 0,
            high: 0,
            written: 0,
            reduced_until: 0,
            round_end: 0,
            cwnd: cc.cwnd().as_u64(),
            cc,
            rtt: RttEstimator::default(),
            rto_at: Time::MAX,
            pace_at: Time::ZERO,
            timer_at: Time::MAX,
            last_sent: now,
            timed: (0, Time::ZERO),
            repair: Repair::default(),
            counts: SenderCounts::default(),
            counted_at: now,
        }
    }

    /// Opens the connection.
    pub fn open(&mut self, config: &Config, net: &mut Net) {
        match config.settings.opening {
            Opening::Established => self.state = State::Established,
            Opening::Handshake => {
                self.state = State::SynSent;
                self.send_syn(config, net);
            }
        }
    }

    fn send_syn(&mut self, config: &Config, net: &mut Net) {
        // RFC 3168 s.6.1.1: an ECN-setup SYN has both ECE and CWR.
        let ecn = config.ecn;
        let flags = Flags::SYN.with_if(Flags::ECE.with(Flags::CWR), ecn);
        let ect = ecn && config.settings.ect_on_control;
        self.emit_raw(0, 0, flags.with_if(Flags::ECT0, ect), config, net);
        self.rto_at = net.now + self.rtt.rto(&config.settings);
    }

    /// The application writes `bytes` more.
    pub fn write(&mut self, bytes: u64, config: &Config, net: &mut Net) {
        self.written = self.written.saturating_add(bytes);
        self.pump(config, net);
    }

    /// The application closes: after what is written comes a FIN.
    pub fn close(&mut self, config: &Config, net: &mut Net) {
        self.closing = config.settings.opening == Opening::Handshake;
        self.pump(config, net);
    }

    /// One beyond the last number there is to send.
    #[inline]
    pub fn limit(&self) -> u64 {
        self.written.saturating_add(u64::from(self.closing))
    }

    /// Everything written, and the FIN if any, has been acknowledged.
    #[inline]
    pub fn all_acknowledged(&self) -> bool {
        self.una >= self.limit()
    }

    // ---- acknowledgements ----

    /// A packet from the receiver.
    #[inline]
    pub fn on_packet(&mut self, packet: &Packet, sack: Option<Extension>, config: &Config, net: &mut Net) {
        if packet.flags.any(Flags(Flags::SYN.0 | Flags::FIN.0)) && !self.on_control(packet, config, net) {
            return;
        }
        if self.state != State::Established || packet.seq > self.high {
            return;
        }
        let ece = self.ecn && packet.flags.any(Flags::ECE);
        let flight = self.flight(config);
        let newly_sacked = match sack {
            Some(blocks) => self.repair.board.update(blocks.sacked(), self.una.max(packet.seq), self.high),
            None => 0,
        };
        if packet.seq > self.una {
            self.on_new_ack(packet, ece, flight, newly_sacked, config, net);
        } else if packet.seq == self.una && self.next > self.una {
            self.on_duplicate_ack(newly_sacked, config, net);
        }
        if ece {
            self.on_ece(flight, config);
        }
        self.ece_before = ece;
        self.pump(config, net);
    }

    #[inline]
    fn on_new_ack(
        &mut self,
        packet: &Packet,
        ece: bool,
        flight: u64,
        newly_sacked: u64,
        config: &Config,
        net: &mut Net,
    ) {
        let now = net.now;
        let settings = &config.settings;
        let known = if self.repair.board.is_empty() { 0 } else { self.repair.board.advance(packet.seq) };
        let acked = packet.seq - self.una;
        let delivered = acked - known + newly_sacked;
        self.una = packet.seq;
        self.next = self.next.max(self.una);

        let rtt = match settings.rtt_by {
            RttBy::Timestamps => Some(now - packet.stamp),
            RttBy::Karn if self.timed.0 > 0 && self.una >= self.timed.0 => {
                let (_, sent) = std::mem::take(&mut self.timed);
                Some(now - sent)
            }
            RttBy::Karn => None,
        };
        if let Some(rtt) = rtt {
            self.rtt.sample(rtt, settings);
        }
        self.rtt.progress();
        self.rto_at = if self.next > self.una || self.high > self.una {
            now + self.rtt.rto(settings) // RFC 6298 s.5.3
        } else {
            Time::MAX // s.5.2
        };

        let round_ended = self.una > self.round_end;
        if round_ended {
            self.round_end = self.next;
        }
        let srtt = self.rtt.srtt();
        self.counts.acks += 1;
        self.counts.srtt_sum += u128::from(srtt.as_ps());
        self.count_cwnd(now);
        let ack = Ack {
            acked,
            ece,
            round_ended,
            may_grow: self.may_grow(ece, flight, config),
            rtt,
            srtt,
            flight,
            sent: self.high.min(self.written),
        };
        self.cc.on_ack(&ack, &Cx { now, rules: &config.rules });
        self.ask_cwnd();
        if self.phase != Phase::Open || self.repair.dup_acks > 0 || !self.repair.board.is_empty() {
            self.recovery_ack(acked, delivered, config, net);
        }
    }

    #[inline]
    pub(super) fn ask_cwnd(&mut self) {
        self.cwnd = self.cc.cwnd().as_u64();
    }

    /// Whether the window may grow on this acknowledgement.
    #[inline]
    fn may_grow(&self, ece: bool, flight: u64, config: &Config) -> bool {
        let settings = &config.settings;
        let by_phase = matches!(self.phase, Phase::Open | Phase::AfterTimeout);
        let by_ecn = match settings.ece_growth {
            EceGrowth::Each => !ece,
            EceGrowth::First => !ece || self.ece_before,
            EceGrowth::Round => !ece && (self.una > self.reduced_until || self.reduced_until == 0),
        };
        // RFC 7661 s.4.3, in Linux's form: slow start goes on while half the window is in use.
        let in_use = || self.window_limited || (self.slow_start() && self.cwnd < 2 * flight);
        by_phase && by_ecn && (!settings.validate_cwnd || in_use())
    }

    fn slow_start(&self) -> bool {
        self.cc.ssthresh().is_some_and(|ssthresh| (self.cwnd as f64) < ssthresh)
    }

    /// RFC 3168 s.6.1.2: at most one reduction a window, and none beside a loss's.
    fn on_ece(&mut self, flight: u64, config: &Config) {
        if self.una <= self.reduced_until || !matches!(self.phase, Phase::Open) {
            return;
        }
        let now = self.counted_at;
        self.counts.ecn_reductions += 1;
        self.cc.on_congestion(Congestion::Ecn, flight, &Cx { now, rules: &config.rules });
        self.ask_cwnd();
        self.reduced_until = self.next;
        self.tell_cwr = true;
        if config.settings.prr_on_ecn {
            self.begin_spread_reduction(flight);
        }
    }

    /// SYN+ACK or FIN; returns whether the rest of the packet is to be looked at.
    #[cold]
    fn on_control(&mut self, packet: &Packet, config: &Config, net: &mut Net) -> bool {
        if packet.flags.any(Flags::SYN) {
            if self.state == State::SynSent {
                self.state = State::Established;
                self.ecn = config.ecn && packet.flags.any(Flags::ECE);
                self.rtt.sample(net.now - packet.stamp, &config.settings);
                self.rtt.progress();
                self.rto_at = Time::MAX;
                if self.limit() == 0 {
                    self.emit_raw(0, 0, self.pure_ack(config), config, net);
                }
                self.pump(config, net);
            }
            return false;
        }
        // The receiver's FIN: acknowledged at once, as often as it comes.
        self.emit_raw(packet.seq + 1, 0, self.pure_ack(config), config, net);
        true
    }

    /// Flags of an acknowledgement without data.
    fn pure_ack(&self, config: &Config) -> Flags {
        Flags::ACK.with_if(Flags::ECT0, self.ecn && config.settings.ect_on_control)
    }

    // ---- sending ----

    /// Bytes in flight as the window counts them (RFC 6675 `pipe` during recovery by SACK).
    #[inline]
    pub fn flight(&self, config: &Config) -> u64 {
        if self.phase == Phase::Open && self.repair.board.is_empty() {
            return self.next - self.una;
        }
        self.repair_flight(config)
    }

    /// Sends what the window, the application and pacing allow.
    #[inline]
    pub fn pump(&mut self, config: &Config, net: &mut Net) {
        if self.state != State::Established {
            return;
        }
        let limit = self.limit();
        if self.next == self.una && self.next < limit {
            self.after_idle(config, net);
        }
        if self.phase == Phase::Recovery && config.settings.sack {
            return self.pump_recovery(config, net);
        }
        let mss = config.rules.mss;
        let mut flight = self.flight(config);
        let window = self.window(config);
        self.window_limited = false;
        while self.next < limit {
            let (seq, gap_end) = self.next_gap();
            let payload = self.written.saturating_sub(seq).min(mss).min(gap_end - seq);
            let fin = self.closing && seq + payload == self.written;
            if seq >= limit {
                self.next = limit;
                break;
            }
            let beyond_receiver = seq + payload - self.una > config.receive_window;
            if flight > 0 && (flight + payload > window || beyond_receiver) {
                self.window_limited = true;
                break;
            }
            // RFC 9293 s.3.7.4: a short segment waits while data is outstanding.
            if config.settings.nagle && payload < mss && !fin && flight > 0 && seq >= self.high {
                break;
            }
            if !self.pace(payload + u64::from(config.header), net) {
                break;
            }
            self.emit(seq, payload, fin, config, net);
            if self.phase == Phase::Reducing {
                self.repair.prr_out += payload; // RFC 6937 s.3
            }
            self.next = seq + payload + u64::from(fin);
            self.high = self.high.max(self.next);
            flight += payload + u64::from(fin);
        }
    }

    /// What of the stream comes next: after a timeout, what was sacked is passed over.
    #[inline]
    fn next_gap(&self) -> (u64, u64) {
        if self.next >= self.high || self.repair.board.is_empty() {
            (self.next, u64::MAX)
        } else {
            self.repair.board.gap_from(self.next)
        }
    }

    fn after_idle(&mut self, config: &Config, net: &Net) {
        // RFC 5681 s.4.1.
        let idle = net.now - self.last_sent;
        if config.settings.idle_restart && self.high > 0 && idle > self.rtt.rto(&config.settings) {
            self.cc.on_idle(&Cx { now: net.now, rules: &config.rules });
            self.ask_cwnd();
        }
    }

    /// Whether pacing lets a packet of `size` bytes out now; if not, the timer is set.
    #[inline]
    pub(super) fn pace(&mut self, size: u64, net: &Net) -> bool {
        let Some(rate) = self.cc.pacing_rate() else { return true };
        if self.pace_at > net.now {
            return false;
        }
        self.pace_at = net.now + rate.transmit(Bytes(size));
        true
    }

    /// Sends the `payload` bytes from `seq`.
    #[inline]
    pub(super) fn emit(&mut self, seq: u64, payload: u64, fin: bool, config: &Config, net: &mut Net) {
        let now = net.now;
        let again = seq < self.high;
        let ect = self.ecn && (!again || config.settings.ect_on_control);
        let mut flags = Flags::default().with_if(Flags::FIN, fin).with_if(Flags::ECT0, ect);
        if again {
            flags = flags.with(Flags::RETRANSMITTED);
            self.counts.retransmissions += 1;
            self.timed = (0, now); // Karn: RFC 6298 s.3
        } else {
            // RFC 3168 s.6.1.2: CWR on the first new data after the reduction.
            flags = flags.with_if(Flags::CWR, std::mem::take(&mut self.tell_cwr));
            if config.settings.rtt_by == RttBy::Karn && self.timed.0 == 0 {
                self.timed = (seq + payload, now);
            }
        }
        self.last_sent = now;
        if self.rto_at == Time::MAX {
            self.rto_at = now + self.rtt.rto(&config.settings); // RFC 6298 s.5.1
        }
        self.emit_raw(seq, payload, flags, config, net);
    }

    #[inline]
    fn emit_raw(&mut self, seq: u64, payload: u64, flags: Flags, config: &Config, net: &mut Net) {
        self.counts.packets += 1;
        net.send(&Packet {
            at: Time::ZERO,
            seq,
            stamp: net.now,
            waited: 0,
            flow: self.flow,
            route: self.route,
            extension: NONE,
            size: config.header + payload as u16,
            flags,
        });
    }

    // ---- timers ----

    /// When this sender wants to be woken.
    #[inline]
    pub fn wake_at(&self, now: Time) -> Time {
        if self.pace_at > now { self.rto_at.min(self.pace_at) } else { self.rto_at }
    }

    /// A timer event has come.
    pub fn on_timer(&mut self, config: &Config, net: &mut Net) {
        if net.now < self.rto_at {
            return self.pump(config, net);
        }
        self.counts.timeouts += 1;
        if self.rtt.timeouts >= config.settings.max_timeouts {
            self.state = State::Failed;
            self.rto_at = Time::MAX;
            return;
        }
        let first = self.rtt.timeouts == 0;
        self.rtt.expire(&config.settings);
        if self.state == State::SynSent {
            return self.send_syn(config, net);
        }
        self.count_cwnd(net.now);
        self.recover_by_timeout(first, config, net);
    }

    /// Brings the integral of the window up to `now`.
    #[inline]
    pub fn count_cwnd(&mut self, now: Time) {
        let span = (now - self.counted_at).as_ps();
        self.counts.cwnd_time += u128::from(self.cwnd) * u128::from(span);
        self.counted_at = now;
    }

    /// The warm-up ends: statistics begin.
    pub fn restart_counts(&mut self, now: Time) {
        self.counts = SenderCounts::default();
        self.counted_at = now;
    }

    /// Smoothed round-trip time, if there is one.
    pub fn srtt(&self) -> Option<Span> {
        Some(self.rtt.srtt()).filter(|srtt| *srtt > Span::ZERO)
    }
}
