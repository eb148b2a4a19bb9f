//! The settings of TCP in the form in which both ends work with them.

use super::datagram::Emission;
use super::expresspass;
use super::homa::{self, HomaSettings};
use super::ndp::{self, NdpSettings};
use super::profiles::{Other, Transport};
use super::roce::{RoceSettings, Rules};
use super::settings::{
    AppLimitChecks, Codepoint, ControlEct, Counted, EchoMode, EcnAcks, EcnMode, GrowthCap, LossDetection,
    MAX_WINDOW, Opening, TransportSettings,
};
use super::uec::{self, UecSettings};
use crate::cc::{Algorithm, EcnUse, WindowRules};
use crate::packet::Flags;
use crate::params::Params;
use shallows_units::{Size, Span};
use std::sync::Arc;

/// The transports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransportKind {
    /// TCP.
    Tcp,
    /// RoCEv2's queue pairs.
    Roce,
    /// NDP.
    Ndp,
    /// ExpressPass.
    ExpressPass,
    /// Homa.
    Homa,
    /// Ultra Ethernet's.
    Uec,
    /// Datagrams, without connections.
    Datagram,
}

/// The settings in the form the transport works with.
#[derive(Debug, Clone)]
pub struct Config {
    /// As read.
    pub settings: TransportSettings,
    /// Congestion control.
    pub cc: Algorithm,
    /// Whose settings they are.
    pub kind: TransportKind,
    /// For queue pairs.
    pub roce: Rules,
    /// For NDP.
    pub ndp: ndp::Rules,
    /// For ExpressPass.
    pub expresspass: expresspass::Rules,
    /// For Homa.
    pub homa: homa::Rules,
    /// For Ultra Ethernet's.
    pub uec: uec::Rules,
    /// For datagrams: the law of a load.
    pub emission: Option<Arc<dyn Emission>>,
    /// For the congestion control.
    pub rules: WindowRules,
    /// Bytes of headers on each packet.
    pub header: u16,
    /// TCP small queues: most bytes in the host's port, if they are bounded.
    pub small_queues: Option<u64>,
    /// Bytes of a full packet on the wire.
    pub packet: u64,
    /// Receive window in bytes.
    pub receive_window: u64,
    /// Data packets are ECN-capable.
    pub ecn: bool,
    /// Pure acknowledgements and retransmissions are ECN-capable too.
    pub ect_on_control: bool,
    /// SYN and SYN+ACK are ECN-capable.
    pub ect_on_syn: bool,
    /// A segment without ECT, after others with it, makes the receiver acknowledge at once.
    pub asks_for_ect: bool,
    /// The codepoint of ECN-capable packets.
    pub ect: Flags,
    /// How the receiver reports marks.
    pub echo: EchoMode,
    /// Acknowledgements that are as nearly all are take a short way (`prediction.rs`).
    pub predicts: bool,
    /// The congestion control gets samples of the delivery rate, and keeps its own window while losses are repaired.
    pub samples: bool,
    /// It then asks at acknowledgements and timers too whether its application limits it.
    pub asks_app_limit: bool,
    /// Seed of the run, for congestion controls that draw.
    pub seed: u64,
    /// Packets carry a header that switches read and write.
    pub explicit: bool,
    /// Bytes of headers that count against the pacing rate: a rate that switches give is the wire's.
    pub paced_header: u64,
    /// Losses are found by time (RFC 8985), which needs SACK.
    pub rack: bool,
    /// And a lost tail is probed for.
    pub probes: bool,
    /// A probe's allowance for a single segment's acknowledgement (RFC 8985 `TLP.max_ack_delay`).
    pub single_ack_delay: Span,
    /// Waiting data is counted in bytes at a receiver.
    pub ack_counts_bytes: bool,
    /// The receiver acknowledges at once from so much waiting data on, in segments or in bytes.
    pub ack_from: u64,
    /// A segment with this is acknowledged at once.
    pub ack_at_once: Flags,
    /// The receiver acknowledges otherwise than the data came.
    pub misbehaves: bool,
    /// How far it acknowledges beyond the data that came, in bytes; 0 for an honest one.
    pub ack_ahead: u64,
    /// The receiver reports the data it holds.
    pub reports_held: bool,
    /// Only whole segments of a window let segments out.
    pub whole_windows: bool,
    /// A window that its sender does not fill grows to a bound.
    pub caps_growth: bool,
    /// Sending needs neither headers of a protocol nor these two.
    pub pumps_plainly: bool,
    /// Connections resume from a saved window.
    pub resumes: bool,
    /// The congestion control answers marks one by one: they do not stop growth of themselves.
    pub counts_marks: bool,
}

impl Config {
    /// Whether connections open by a handshake, and close by a FIN.
    pub fn shakes_hands(&self) -> bool {
        self.settings.opening == Opening::Handshake
    }

    /// Whether packets of one message may take several paths because its senders want it so: by entropy values, or by several queue
    /// pairs.
    pub fn chooses_paths(&self) -> bool {
        match self.kind {
            TransportKind::Uec => self.uec.chooses_paths(),
            TransportKind::Roce => self.roce.qps > 1 && self.roce.cuts,
            _ => false,
        }
    }

    /// Whether marks are echoed by counters (AccECN).
    pub fn counts_echoes(&self) -> bool {
        self.echo == EchoMode::Counted
    }

    /// Works out the values that follow from the settings.
    pub fn new(transport: &Transport) -> Self {
        let s = &transport.settings;
        let bytes = |size: Option<Size>| size.map_or(f64::INFINITY, |size| s.bytes(size) as f64);
        let wanted = transport.cc.ecn();
        let echo = match (s.echo, wanted) {
            (EchoMode::Auto, EcnUse::Off) => EchoMode::UntilCwr,
            (EchoMode::Auto, EcnUse::PerPacket) => EchoMode::PerPacket,
            (EchoMode::Auto, EcnUse::Counted) => EchoMode::Counted,
            (set, _) => set,
        };
        let ect_on = |needed: bool| match s.ect_on_control {
            ControlEct::Never => false,
            ControlEct::Needed => needed,
            ControlEct::Always => true,
        };
        let ect_on_syn = ect_on(wanted != EcnUse::Off);
        // tcp_ecn_send: once AccECN is agreed on, INET_ECN_xmit for all that is sent.
        let ect_on_control = ect_on(wanted != EcnUse::Off || echo == EchoMode::Counted);
        let cwnd_max = bytes(s.cwnd_max).min(MAX_WINDOW as f64);
        let initial_window = (s.bytes(s.initial_window) as f64).min(cwnd_max); // Linux tcp_init_cwnd: the clamp holds from the start
        let mut config = Config {
            predicts: false,
            samples: transport.cc.samples(),
            asks_app_limit: transport.cc.samples() && s.app_limit_checks == AppLimitChecks::Events,
            seed: 1,
            rules: WindowRules {
                mss: s.mss.as_u64(),
                overhead: transport.uec().map_or(0, |uec| uec.header.as_u64()),
                initial_window,
                initial_ssthresh: bytes(s.initial_ssthresh),
                growth: s.growth,
                arithmetic: s.arithmetic,
                loss_halves: s.loss_halves,
                slow_start_limit: s.slow_start_limit,
                burst: s.burst,
                cwnd_floor: s.bytes(s.cwnd_floor) as f64,
                ssthresh_floor: s.bytes(s.ssthresh_floor) as f64,
                cwnd_max,
                restart_window: initial_window,
                idle_halves: s.idle_halves,
            },
            header: s.header_bytes() as u16,
            small_queues: s.small_queues.map(|bytes| bytes.as_u64()),
            packet: s.packet_bytes(),
            receive_window: s.receive_window.map_or(u64::MAX, |size| s.bytes(size)),
            ecn: match s.ecn {
                EcnMode::On => true,
                EcnMode::Off => false,
                EcnMode::Auto => wanted != EcnUse::Off,
            },
            ect_on_control,
            ect_on_syn,
            asks_for_ect: s.ecn_acks == EcnAcks::Linux && !ect_on_control,
            ect: match s.ect {
                Codepoint::Ect1 => Flags::ECT1,
                Codepoint::Auto if wanted == EcnUse::Counted => Flags::ECT1,
                Codepoint::Auto | Codepoint::Ect0 => Flags::ECT0,
            },
            explicit: transport.cc.protocol().is_some(),
            paced_header: if transport.cc.paces_wire() { s.header_bytes() } else { 0 },
            echo,
            rack: s.sack && s.loss_detection == LossDetection::Rack,
            probes: s.sack && s.loss_detection == LossDetection::Rack && s.tail_loss_probe,
            single_ack_delay: s
                .arithmetic
                .single_ack_delay(s.delays_acks().then_some(s.ack_delay), s.min_rto),
            ack_counts_bytes: s.ack_counts == Counted::Bytes,
            ack_from: s.ack_every * if s.ack_counts == Counted::Bytes { s.mss.as_u64() } else { 1 },
            ack_at_once: Flags::default().with_if(Flags::PUSH, s.ack_pushed),
            misbehaves: s.misbehaves(),
            ack_ahead: s.ack_ahead.map_or(0, |size| s.bytes(size)),
            // A receiver that runs ahead conceals losses, so it reports no hole.
            reports_held: s.sack && s.ack_ahead.is_none(),
            whole_windows: s.window_counts == Counted::Segments,
            caps_growth: s.growth_cap == GrowthCap::MaxFlight,
            resumes: s.saved_cwnd.is_some(),
            pumps_plainly: transport.cc.protocol().is_none()
                && s.saved_cwnd.is_none()
                && s.growth_cap == GrowthCap::None,
            counts_marks: echo == EchoMode::Counted && wanted == EcnUse::Counted,
            kind: match &transport.other {
                Other::None => TransportKind::Tcp,
                Other::Roce(_) => TransportKind::Roce,
                Other::Ndp(_) => TransportKind::Ndp,
                Other::ExpressPass(_) => TransportKind::ExpressPass,
                Other::Homa(_) => TransportKind::Homa,
                Other::Uec(_) => TransportKind::Uec,
                Other::Datagrams(_) => TransportKind::Datagram,
            },
            emission: None,
            expresspass: transport.expresspass(),
            ndp: ndp::Rules::new(transport.ndp().unwrap_or(&NdpSettings::defaults())),
            homa: homa::Rules::new(transport.homa().unwrap_or(&HomaSettings::defaults())),
            roce: Rules::new(transport.roce().unwrap_or(&RoceSettings::defaults()), &transport.cc),
            uec: uec::Rules::new(transport.uec().unwrap_or(&UecSettings::defaults())),
            cc: transport.cc.clone(),
            settings: s.clone(),
        };
        if config.samples {
            // draft-ietf-ccwg-bbr s.5.6.4.4: the window in a repair is the control's, and no proportional reduction's.
            (config.settings.prr, config.settings.prr_on_ecn) = (false, false);
        }
        config.predicts = config.can_predict();
        config
    }

    /// Priorities of data, of acknowledgements, and of notifications.
    pub fn priorities(&self) -> [u8; 3] {
        let s = &self.settings;
        let acks = s.ack_priority.unwrap_or(s.priority);
        [s.priority, acks, self.roce.cnp_priority.unwrap_or(acks)].map(|priority| priority as u8)
    }

    /// A queue pair's timers do not wait for what is slow or paused: those of IRN.
    pub fn keeps_short_timers(&self) -> bool {
        self.kind == TransportKind::Roce && self.roce.selective
    }

    /// Connections open with a handshake, and close with one.
    pub fn handshakes(&self) -> bool {
        self.settings.opening == Opening::Handshake
    }
}
