//! The sending end of a connection: its state, its opening and its application.
//!
//! Source: RFC 9293. It hears in `acks.rs`, sends in `sending.rs`, recovers in `recovery.rs` or `by_time.rs` and
//! keeps its timer in `timers.rs`.
//! Left out: data in both directions of one connection; urgent data; path MTU discovery; undoing
//! spurious reductions (RFC 3522, RFC 5682).

use super::by_time::Early;
use super::config::Config;
use super::rack::Rack;
use super::recovery::{Phase, Repair};
use super::rtt::RttEstimator;
use super::settings::Opening;
use super::window::Window;
use crate::cc::{AnyCc, CongestionControl, Cx, FlowInfo, MessageInfo};
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
}

/// The sending end.
pub struct Sender {
    /// The flow.
    pub flow: u32,
    /// By which switches forward its packets.
    pub label: u32,
    /// Where the connection is.
    pub state: State,
    /// The transport's state of congestion.
    pub phase: Phase,
    /// Both ends agreed on ECN.
    pub ecn: bool,
    /// The application will write no more.
    pub closing: bool,
    /// The last acknowledgement carried ECN-Echo.
    pub(super) ece_before: bool,
    /// The next new segment reports a reduction (CWR).
    pub(super) tell_cwr: bool,
    /// The window, not the application, ended the last sending.
    pub(super) window_limited: bool,
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
    /// Congestion control.
    pub cc: AnyCc,
    /// Its window.
    pub window: Window,
    /// Round-trip time and timeout.
    pub rtt: RttEstimator,
    /// When the retransmission timer expires.
    pub rto_at: Time,
    /// When a timer expires that comes before it, and what for.
    pub(super) early_at: Time,
    pub(super) early: Early,
    /// A loss probe is to be scheduled once all is sent that may be sent.
    pub(super) wants_probe: bool,
    /// AccECN: the receiver's counter as last heard, and bytes of marked segments not yet told.
    pub(super) ace: (u8, u64),
    /// Data waits for pacing alone.
    pub(super) waits_for_pace: bool,
    /// When pacing lets the next packet out.
    pub(super) pace_at: Time,
    /// When fewer of its bytes stand in its host's port, if it waits for that and the time is known.
    pub(super) port_at: Time,
    /// When the algorithm wants a header sent, if need be alone.
    pub(super) ask_at: Time,
    /// The least round-trip time so far, as an exact clock shows it; only for protocols with headers.
    pub(super) least_rtt: Span,
    /// Time of the soonest event that will look at the two above.
    pub timer_at: Time,
    /// When the last data packet was sent.
    pub(super) last_sent: Time,
    /// Karn: the end of the timed segment and when it was sent; 0 when none is.
    pub(super) timed: (u64, Time),
    /// Recovery.
    pub repair: Repair,
    /// Segments in flight by time, where losses are found so.
    pub(super) rack: Option<Box<Rack>>,
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
            window: Window::new(&cc, now),
            cc,
            rtt: RttEstimator::default(),
            rto_at: Time::MAX,
            early_at: Time::MAX,
            early: Early::Probe,
            wants_probe: false,
            ace: (0, 0),
            waits_for_pace: false,
            pace_at: Time::ZERO,
            port_at: Time::MAX,
            ask_at: Time::MAX,
            least_rtt: Span::ZERO,
            timer_at: Time::MAX,
            last_sent: now,
            timed: (0, Time::ZERO),
            repair: Repair::default(),
            rack: config.rack.then(Box::default),
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
