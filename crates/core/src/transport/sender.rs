//! The sending end of a connection: its state, its opening and its application.
//!
//! Source: RFC 9293. It handles acknowledgements in `acks.rs`, sends in `sending.rs`, recovers in `recovery.rs`, `by_count.rs` or
//! `by_time.rs` and keeps its timers in `timers.rs`.
//! Left out: data in both directions of one connection; urgent data; path MTU discovery; undoing
//! spurious reductions (RFC 3522, RFC 5682).

use super::config::Config;
use super::detection::LossDetection;
use super::explicit::Explicit;
use super::recovery::Recovery;
use super::rtt::RttEstimator;
use super::scoreboard::Scoreboard;
use super::settings::Opening;
use super::timers::{EarlyTimer, Pacing};
use super::usage::Usage;
use super::window::Window;
use crate::cc::{CongestionControl, Cx, FlowInfo, MessageInfo};
use crate::net::Net;
use crate::packet::Flags;
use shallows_units::{Span, Time};

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

/// Counts of a sender, for the statistics.
#[derive(Debug, Clone, Copy, Default)]
pub struct SenderCounts {
    /// Packets handed to the NIC.
    pub packets: u64,
    /// Packets among them whose data were sent before.
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
}

/// A sender's state of explicit congestion notification.
#[derive(Debug, Clone, Copy)]
pub struct EcnState {
    /// Both ends agreed on it.
    pub agreed: bool,
    /// The last acknowledgement carried ECN-Echo.
    pub(super) echoed: bool,
    /// The next new segment reports a reduction (CWR).
    pub(super) tell_cwr: bool,
    /// AccECN: the receiver's counter as last received, and bytes of marked segments not yet reported.
    pub(super) ace: (u8, u64),
}

/// The sending end.
pub struct Sender {
    /// The flow.
    pub flow: u32,
    /// By which switches forward its packets.
    pub label: u32,
    /// Where the connection is.
    pub state: State,
    /// Its state of congestion.
    pub recovery: Recovery,
    /// SACK's scoreboard; a FIN shows in no block.
    pub board: Scoreboard,
    /// How it finds losses.
    pub losses: LossDetection,
    /// Explicit congestion notification.
    pub ecn: EcnState,
    /// The application will write no more.
    pub closing: bool,
    /// How far the window is used.
    pub(super) usage: Usage,
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
    pub(super) round_end: u64,
    /// Congestion control and its window.
    pub window: Window,
    /// Round-trip time and timeout.
    pub rtt: RttEstimator,
    /// When the retransmission timer expires.
    pub rto_at: Time,
    /// The timer that comes before it.
    pub(super) early: EarlyTimer,
    /// Pacing, and room in the host's port.
    pub(super) pacing: Pacing,
    /// State of a protocol with headers.
    pub(super) explicit: Explicit,
    /// Time of the soonest event that will look at all these timers.
    pub timer_at: Time,
    /// When the last data packet was sent.
    pub(super) last_sent: Time,
    /// Karn: the end of the timed segment and when it was sent; 0 when none is.
    pub(super) timed: (u64, Time),
    /// Statistics.
    pub counts: SenderCounts,
}

impl Sender {
    /// A connection not yet opened.
    pub fn new(flow: u32, label: u32, info: &FlowInfo<'_>, config: &Config, now: Time) -> Self {
        let cc = config.cc.start(info, &Cx { now, rules: &config.rules });
        Sender {
            flow,
            label,
            state: State::Closed,
            recovery: Recovery::Open,
            board: Scoreboard::default(),
            losses: LossDetection::new(config),
            ecn: EcnState { agreed: config.ecn, echoed: false, tell_cwr: false, ace: (0, 0) },
            closing: false,
            usage: Usage::default(),
            una: 0,
            next: 0,
            high: 0,
            written: 0,
            reduced_until: 0,
            round_end: 0,
            window: Window::new(cc, now),
            rtt: RttEstimator::default(),
            rto_at: Time::MAX,
            early: EarlyTimer::default(),
            pacing: Pacing::default(),
            explicit: Explicit::default(),
            timer_at: Time::MAX,
            last_sent: now,
            timed: (0, Time::ZERO),
            counts: SenderCounts::default(),
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

    pub(super) fn send_syn(&mut self, config: &Config, net: &mut Net) {
        // RFC 3168 s.6.1.1: an ECN-setup SYN has both ECE and CWR.
        // RFC 3168 s.6.1.1.1: an answer that does not come may be due to ECN.
        let ecn = config.ecn && !(config.settings.ecn_fallback && self.rtt.timeouts > 0);
        let flags = Flags::SYN.with_if(Flags::ECE.with(Flags::CWR), ecn);
        let ect = ecn && config.ect_on_control;
        self.emit_raw(0, 0, flags.with_if(config.ect, ect), config, net);
        self.rto_at = self.rto_from(net.now, config);
    }

    /// The application is about to write a message.
    pub fn announce(&mut self, message: &MessageInfo, config: &Config, now: Time) {
        self.steer(config, now, |cc, cx| cc.on_message(message, cx));
    }

    /// The application writes `bytes` more.
    pub fn write(&mut self, bytes: u64, config: &Config, net: &mut Net) {
        self.written = self.written.saturating_add(bytes);
        self.pump(config, net);
    }

    /// The application closes: a FIN follows the written data.
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

    /// The warm-up ends: statistics begin.
    pub fn restart_counts(&mut self, now: Time) {
        self.counts = SenderCounts::default();
        self.window.restart(now);
    }

    /// Smoothed round-trip time, if there is one.
    pub fn srtt(&self) -> Option<Span> {
        Some(self.rtt.srtt()).filter(|srtt| *srtt > Span::ZERO)
    }
}
