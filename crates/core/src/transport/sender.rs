//! The sending end of a connection: its state, its opening and its application.
//!
//! Source: RFC 9293. It handles acknowledgements in `acks.rs`, sends in `sending.rs`, recovers in `recovery.rs`, `by_count.rs` or
//! `by_time.rs` and keeps its timers in `timers.rs`.
//! Left out: data in both directions of one connection; urgent data; path MTU discovery; undoing
//! spurious reductions (RFC 3522, RFC 5682).

use super::config::Config;
use super::detection::LossDetection;
use super::explicit::Explicit;
use super::half::{Half, State};
use super::rates::Rates;
use super::recovery::Recovery;
use super::rtt::RttEstimator;
use super::scoreboard::Scoreboard;
use super::timers::{EarlyTimer, Pacing};
use super::usage::Usage;
use crate::cc::{AnyCc, CongestionControl, Cx, FlowInfo, MessageInfo};
use crate::net::Net;
use crate::packet::Flags;
use shallows_units::{Span, Time};

/// A sender's state of explicit congestion notification.
#[derive(Debug, Clone, Copy)]
pub struct EcnState {
    /// Both ends agreed on it.
    pub agreed: bool,
    /// The last acknowledgement carried ECN-Echo.
    pub(super) echoed: bool,
    /// The next new segment reports a reduction (CWR).
    pub(super) send_cwr: bool,
    /// AccECN: the receiver's counter as last received, and bytes of marked segments not yet reported.
    pub(super) ace: (u8, u64),
}

/// The sending end.
pub struct Sender {
    /// The part that all transports have in common.
    pub half: Half,
    /// Its state of congestion.
    pub recovery: Recovery,
    /// SACK's scoreboard; a FIN shows in no block.
    pub board: Scoreboard,
    /// How it finds losses.
    pub losses: LossDetection,
    /// Samples of the delivery rate, where the congestion control asks for them.
    pub(super) rates: Option<Box<Rates>>,
    /// Explicit congestion notification.
    pub ecn: EcnState,
    /// How far the window is used.
    pub(super) usage: Usage,
    /// Next number to send (SND.NXT); falls back after a timeout.
    pub next: u64,
    /// One beyond the highest number ever sent.
    pub high: u64,
    /// No further ECN reduction until more than this is acknowledged.
    pub reduced_until: u64,
    /// A round ends when more than this is acknowledged.
    pub(super) round_end: u64,
    /// Round-trip time and timeout.
    pub rtt: RttEstimator,
    /// The timer that comes before it.
    pub(super) early: EarlyTimer,
    /// Pacing, and room in the host's port.
    pub(super) pacing: Pacing,
    /// State of a protocol with headers.
    pub(super) explicit: Explicit,
    /// When the last data packet was sent.
    pub(super) last_sent: Time,
    /// Karn: the end of the timed segment and when it was sent; 0 when none is.
    pub(super) timed: (u64, Time),
}

impl Sender {
    /// A connection not yet opened.
    pub fn new(flow: u32, label: u32, info: &FlowInfo<'_>, config: &Config, now: Time) -> Self {
        Sender {
            half: Half::new(flow, label, info, config, now),
            recovery: Recovery::Open,
            board: Scoreboard::default(),
            losses: LossDetection::new(config),
            rates: config.samples.then(Box::default),
            ecn: EcnState { agreed: config.ecn, echoed: false, send_cwr: false, ace: (0, 0) },
            usage: Usage::new(config),
            next: 0,
            high: 0,
            reduced_until: 0,
            round_end: 0,
            rtt: RttEstimator::new(info.path.base_rtt, &config.settings),
            early: EarlyTimer::default(),
            pacing: Pacing::default(),
            explicit: Explicit::default(),
            last_sent: now,
            timed: (0, Time::ZERO),
        }
    }

    /// Opens the connection.
    pub fn open(&mut self, config: &Config, net: &mut Net) {
        if config.shakes_hands() {
            self.half.state = State::SynSent;
            self.send_syn(config, net);
        } else {
            self.half.state = State::Established;
        }
    }

    pub(super) fn send_syn(&mut self, config: &Config, net: &mut Net) {
        // RFC 3168 s.6.1.1: an ECN-setup SYN has both ECE and CWR.
        // RFC 3168 s.6.1.1.1: an answer that does not come may be due to ECN. With AccECN the first repetition still asks for it
        // (RFC 9768 s.3.1.4.1; tcp_retransmit_skb: icsk_retransmits > 1).
        let asks = u64::from(config.counts_echoes());
        let ecn = config.ecn && !(config.settings.ecn_fallback && self.rtt.timeouts > asks);
        let flags = Flags::SYN.with_if(Flags::ECE.with(Flags::CWR), ecn);
        let ect = ecn && config.ect_on_syn;
        self.emit_raw(0, 0, flags.with_if(config.ect, ect), config, net);
        self.half.rto_at = self.rto_from(net.now, config);
    }

    /// The application is about to write a message.
    pub fn announce(&mut self, message: &MessageInfo, config: &Config, now: Time) {
        self.with_cc(config, now, |cc, cx| cc.on_message(message, cx));
    }

    /// The application writes `bytes` more.
    pub fn write(&mut self, bytes: u64, config: &Config, net: &mut Net) {
        if config.samples {
            self.note_app_limit(config);
        }
        self.half.write(bytes);
        self.pump(config, net);
    }

    /// The application closes: a FIN follows the written data.
    pub fn close(&mut self, config: &Config, net: &mut Net) {
        self.half.closing = config.shakes_hands();
        self.pump(config, net);
    }

    /// Smoothed round-trip time, if there is one.
    pub fn srtt(&self) -> Option<Span> {
        self.rtt.known()
    }

    /// Lets the congestion control act.
    #[inline(always)]
    pub(super) fn with_cc<R>(
        &mut self,
        config: &Config,
        now: Time,
        act: impl FnOnce(&mut AnyCc, &Cx<'_>) -> R,
    ) -> R {
        self.half.window.with_cc(&config.rules, now, act)
    }
}
