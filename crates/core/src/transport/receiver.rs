//! The receiving end of a connection: reassembly, acknowledgements, echo of marks.
//!
//! Sources: RFC 9293 (order), RFC 5681 s.4.2 (delayed acknowledgements), RFC 2018 (SACK), RFC 3168
//! s.6.1.3 (ECN-Echo until CWR), RFC 8257 s.3.2 (each mark echoed), RFC 9768 s.3.2.2 (marks counted), RFC
//! 7323 s.4.3 (which timestamp is echoed). Misbehaving receivers: Savage, Cardwell, Wetherall and Anderson 1999, "TCP
//! Congestion Control with a Misbehaving Receiver", s.2.1 (ACK division), s.2.2 (forged duplicate acknowledgements) and
//! s.2.3 (optimistic acknowledgements); RFC 3540 s.1 (marks that are hidden).
//! Left out: reneging; a window that shrinks (the application reads at once, so the window is always
//! the whole buffer, and is not carried in packets); D-SACK; forged
//! stamps; acknowledgements that run ahead of their own accord and not as data come; RFC 3540's nonce.

use super::config::Config;
use super::ranges::Ranges;
use super::settings::{EchoMode, EcnAcks};
use super::timers::expiry;
use crate::net::Net;
use crate::packet::{Extension, Flags, NONE, Packet};
use crate::port_control::Feedback;
use shallows_units::Time;

/// SACK blocks that fit beside other options (RFC 2018 s.3: three with timestamps, else four).
const SACK_BLOCKS_WITH_TIMESTAMPS: usize = 3;

/// Counts of a receiver, for the statistics.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReceiverCounts {
    /// Data packets that came with CE.
    pub marks: u64,
    /// Data packets that came.
    pub packets: u64,
    /// Sum of their waits in switch queues in ps.
    pub wait_sum: u128,
    /// Sum of their one-way delays in ps.
    pub delay_sum: u128,
}

impl ReceiverCounts {
    /// A data packet comes at `now`; whether it is marked.
    #[inline]
    pub fn add(&mut self, packet: &Packet, now: Time) -> bool {
        let marked = packet.flags.any(Flags::CE);
        self.packets += 1;
        self.marks += u64::from(marked);
        self.wait_sum += u128::from(packet.waited);
        self.delay_sum += u128::from((now - packet.stamp).as_ps());
        marked
    }
}

/// The receiving end.
#[derive(Debug, Clone)]
pub struct Receiver {
    /// The flow.
    flow: u32,
    /// By which switches forward its packets.
    label: u32,
    /// Next byte expected; everything below has been delivered.
    pub next: u64,
    /// Held beyond `next`.
    held: Ranges,
    /// Starts of the ranges that grew last, newest first (RFC 2018 s.4).
    recent: [u64; 4],
    /// Number after the last byte of the stream, once the FIN has come.
    fin_at: Option<u64>,
    /// Everything and the FIN have been delivered; the own FIN is acknowledged.
    pub closed: bool,
    /// Segments not yet acknowledged, or their bytes (`ack_counts`).
    pending: u64,
    /// When to acknowledge at the latest.
    pub ack_at: Time,
    /// Time of the soonest event that will look at `ack_at`.
    pub timer_at: Time,
    /// Timestamp to echo.
    echo_stamp: Time,
    /// Segments still to be acknowledged one by one.
    quick: u64,
    /// When the last data packet came.
    last_data: Time,
    /// RFC 8257 `DCTCP.CE`, RFC 3168's "send ECE until CWR", or the last packet's CE (RFC 9768).
    ce: bool,
    /// RFC 9768 `r.cep`, and how many of these no acknowledgement has reported yet. Both ends begin with 0
    /// and not with 5, since only differences count.
    marks: (u8, u8),
    /// Both ends agreed on ECN.
    pub ecn: bool,
    /// Header of the newest packet that brought one, to be echoed with the next that goes back.
    header: Feedback,
    /// Statistics.
    pub counts: ReceiverCounts,
}

impl Receiver {
    /// Waiting for the first byte.
    pub fn new(flow: u32, label: u32, config: &Config) -> Self {
        Receiver {
            flow,
            label,
            next: 0,
            held: Ranges::default(),
            recent: [u64::MAX; 4],
            fin_at: None,
            closed: false,
            pending: 0,
            ack_at: Time::MAX,
            timer_at: Time::MAX,
            echo_stamp: Time::ZERO,
            quick: config.settings.quick_acks,
            last_data: Time::ZERO,
            ce: false,
            marks: (0, 0),
            ecn: config.ecn,
            header: Feedback::None,
            counts: ReceiverCounts::default(),
        }
    }

    /// A packet from the sender.
    #[inline(always)]
    pub fn on_packet(&mut self, packet: &Packet, config: &Config, net: &mut Net) {
        let headers =
            config.header + if packet.extension == NONE { 0 } else { self.take_header(packet, net) };
        if packet.flags.any(Flags(Flags::SYN.0 | Flags::ACK.0 | Flags::PROBE.0)) {
            return self.on_control(packet, config, net);
        }
        let payload = u64::from(packet.size - headers);
        let marked = self.counts.add(packet, net.now) && !config.settings.hide_marks;
        self.echo_mark(packet, marked, config, net);
        // tcp_event_data_recv: after a gap longer than its own RTO, here the least there is.
        if config.settings.quick_acks > self.quick && net.now - self.last_data > config.settings.min_rto {
            self.quick = config.settings.quick_acks;
        }
        self.last_data = net.now;

        let in_order = packet.seq == self.next && self.held.is_empty() && !packet.flags.any(Flags::FIN);
        if in_order && !config.misbehaves {
            if self.pending == 0 {
                self.echo_stamp = packet.stamp; // RFC 7323 s.4.3: of the oldest segment not acknowledged
            }
            self.next += payload;
            self.pending += if config.ack_counts_bytes { payload } else { 1 };
            let quick = self.quick > 0;
            self.quick -= u64::from(quick);
            if quick || self.pending >= config.ack_from || packet.flags.any(config.ack_at_once) {
                self.acknowledge(self.next, config, net);
            } else if self.ack_at == Time::MAX {
                self.ack_at = expiry(net.now, config.settings.ack_delay, config.settings.timer_grain);
            }
        } else {
            self.on_disorder(packet, payload, config, net);
        }
    }

    /// Marks and CWR, before the segment is counted.
    #[inline(always)]
    fn echo_mark(&mut self, packet: &Packet, marked: bool, config: &Config, net: &mut Net) {
        // tcp_data_ecn_check: "if ECT is not set on a segment, and we already seen ECT on a previous segment, it is probably a
        // retransmit".
        if config.asks_for_ect && self.ecn && !packet.ecn_capable() && self.arrived() > 0 {
            self.quick = self.quick.max(2);
        }
        match config.echo {
            EchoMode::PerPacket => {
                // RFC 8257 s.3.2 figure 1: a change of CE acknowledges at once the segments before it.
                if marked != self.ce {
                    if self.pending > 0 {
                        self.acknowledge_apart(config, net);
                    }
                    if config.settings.ecn_acks == EcnAcks::Linux {
                        self.quick = self.quick.max(1); // dctcp_ece_ack_update: ICSK_ACK_NOW
                    }
                    self.ce = marked;
                }
            }
            EchoMode::UntilCwr => {
                // RFC 3168 s.6.1.3: CWR ends the echo of earlier marks, not of this packet's.
                if packet.flags.any(Flags::CWR) {
                    self.ce = false;
                }
                if marked && !self.ce && config.settings.ecn_acks == EcnAcks::Linux {
                    self.quick = self.quick.max(2); // tcp_data_ecn_check
                }
                self.ce |= marked;
            }
            EchoMode::Counted => {
                self.marks.0 = self.marks.0.wrapping_add(u8::from(marked));
                self.marks.1 += u8::from(marked);
                // RFC 9768 s.3.2.2.5.1: the first mark of a run, and each second one untold, are
                // acknowledged at once.
                if marked && (!self.ce || self.marks.1 >= 2) {
                    self.quick = self.quick.max(1);
                }
                self.ce = marked;
            }
            EchoMode::Auto | EchoMode::Never => {}
        }
        // tcp_ecn_accept_cwr: the sender's window may be a single segment.
        if packet.flags.any(Flags::CWR) && config.settings.ecn_acks == EcnAcks::Linux {
            self.quick = self.quick.max(1);
        }
    }

    /// Anything but the next segment of an unbroken stream: acknowledged at once (RFC 5681 s.4.2).
    #[cold]
    fn on_disorder(&mut self, packet: &Packet, payload: u64, config: &Config, net: &mut Net) {
        if packet.flags.any(Flags::FIN) {
            self.fin_at = Some(packet.seq + payload);
        }
        let before = (self.next, self.top());
        let beyond = packet.seq + payload;
        if beyond <= self.next {
            self.quick = self.quick.max(config.settings.quick_acks); // tcp_data_queue, of old data
        }
        if packet.seq <= self.next {
            if self.pending == 0 || beyond > self.next {
                self.echo_stamp = packet.stamp;
            }
            self.next = self.next.max(beyond);
            while let Some(end) = self.held.take_through(self.next) {
                self.next = self.next.max(end);
            }
        } else {
            self.held.add(packet.seq, beyond);
            let start = self.held.holding(packet.seq).map_or(packet.seq, |r| r.0);
            let place = self.recent.iter().position(|r| *r == start).unwrap_or(self.recent.len() - 1);
            self.recent[..=place].rotate_right(1);
            self.recent[0] = start;
        }
        if self.fin_at == Some(self.next) {
            self.next += 1; // FIN takes one number
        }
        self.pending += 1;
        // Any acknowledgement is one of those that were to go at once: Linux tcp_event_ack_sent ends ICSK_ACK_NOW and
        // calls tcp_dec_quickack_mode, RFC 9768's counter has been reported.
        self.quick -= u64::from(self.quick > 0);
        if config.misbehaves {
            let beyond = beyond + u64::from(packet.flags.any(Flags::FIN));
            self.acknowledge_falsely(before, packet, beyond, config, net);
        } else {
            self.acknowledge_apart(config, net);
        }
    }

    /// One beyond the newest byte that came.
    fn top(&self) -> u64 {
        self.held.end().unwrap_or(0).max(self.next)
    }

    /// Acknowledges more than came, in pieces, or more than once. A packet came up to `beyond`, a FIN included; before it the data in order
    /// ended at `before.0`, and the newest at `before.1`.
    fn acknowledge_falsely(
        &mut self,
        before: (u64, u64),
        packet: &Packet,
        beyond: u64,
        config: &Config,
        net: &mut Net,
    ) {
        let (mut from, mut to) = (before.0, self.next);
        if config.ack_ahead > 0 {
            // A sender ignores the acknowledgement of what it has not sent (RFC 9293 s.3.10.7.4). In slow start it has sent
            // as much again as it has got acknowledged. Nothing lies beyond pushed data. A repeat shows that it ignored one.
            let ahead = |top: u64| top + config.ack_ahead.min(top);
            let ends = packet.flags.any(Flags(Flags::PUSH.0 | Flags::FIN.0));
            from = ahead(before.1);
            to = if ends || beyond <= before.1 { self.top().max(beyond) } else { ahead(self.top()) };
            self.echo_stamp = packet.stamp; // the stamp of before a hole would look like a long round trip
        }
        let bytes = to.saturating_sub(from);
        let pieces = (config.settings.ack_pieces * bytes.div_ceil(config.rules.mss)).min(bytes).max(1);
        for piece in 1..pieces {
            let part = u128::from(bytes) * u128::from(piece) / u128::from(pieces);
            self.acknowledge(from + part as u64, config, net);
        }
        self.acknowledge(to, config, net);
        // Behind a FIN they would be FINs of our own again.
        let repeats = if self.fin_delivered() { 0 } else { config.settings.ack_repeats };
        for _ in 0..repeats {
            self.acknowledge(to, config, net);
        }
    }

    /// Keeps the header for the echo; returns its bytes.
    fn take_header(&mut self, packet: &Packet, net: &mut Net) -> u16 {
        let Some(Extension { feedback, .. }) = net.extension(packet) else { return 0 };
        if !matches!(feedback, Feedback::None) {
            self.header = feedback;
        }
        feedback.bytes(false)
    }

    /// SYN, a header alone, or the sender's last acknowledgement.
    #[cold]
    fn on_control(&mut self, packet: &Packet, config: &Config, net: &mut Net) {
        if packet.flags.any(Flags::PROBE) {
            // Answered at once, and apart from the acknowledgements that may be waiting.
            let waiting = std::mem::replace(&mut self.echo_stamp, packet.stamp);
            self.reply(Flags::ACK.with(Flags::PROBE), self.next, config, net);
            self.echo_stamp = waiting;
            return;
        }
        if packet.flags.any(Flags::SYN) {
            // RFC 3168 s.6.1.1: an ECN-setup SYN has ECE and CWR; the answer has ECE.
            let able = config.echo != EchoMode::Never;
            self.ecn = able && packet.flags.any(Flags::ECE) && packet.flags.any(Flags::CWR);
            self.echo_stamp = packet.stamp;
            let flags = Flags::SYN.with(Flags::ACK).with_if(Flags::ECE, self.ecn);
            self.reply(flags, 0, config, net);
        } else if self.fin_delivered() && packet.seq > self.next {
            self.closed = true;
            self.ack_at = Time::MAX;
        }
    }

    /// All data and the FIN have come.
    pub fn fin_delivered(&self) -> bool {
        self.fin_at.is_some_and(|end| self.next > end)
    }

    /// Bytes of the stream delivered in order.
    #[inline]
    pub fn delivered(&self) -> u64 {
        self.next - u64::from(self.fin_delivered())
    }

    /// Bytes that have arrived, in order or not, each once.
    pub fn arrived(&self) -> u64 {
        self.delivered() + self.held.bytes()
    }

    /// The acknowledgement timer expired.
    pub fn on_timer(&mut self, config: &Config, net: &mut Net) {
        if net.now >= self.ack_at {
            self.acknowledge_apart(config, net);
        }
    }

    /// Acknowledges all that came, from a place that few packets reach.
    #[inline(never)]
    fn acknowledge_apart(&mut self, config: &Config, net: &mut Net) {
        self.acknowledge(self.next, config, net);
    }

    /// Acknowledges all below `number`: for an honest receiver all that came in order.
    #[inline(always)]
    fn acknowledge(&mut self, number: u64, config: &Config, net: &mut Net) {
        self.pending = 0;
        self.ack_at = Time::MAX;
        self.marks.1 = 0;
        let ece = self.ecn && self.ce && !matches!(config.echo, EchoMode::Never | EchoMode::Counted);
        let mut flags = Flags::ACK.with_if(Flags::ECE, ece).with_ace(self.marks.0);
        if self.fin_delivered() && !self.closed && number == self.next {
            // The application closes at the end of the stream: our FIN goes with the
            // acknowledgement, and again after the longest plausible round trip.
            flags = flags.with(Flags::FIN);
            self.ack_at = net.now + config.settings.initial_rto;
        }
        self.reply(flags, number, config, net);
    }

    #[inline(always)]
    fn reply(&mut self, flags: Flags, seq: u64, config: &Config, net: &mut Net) {
        let mut extension = NONE;
        let mut size = config.header;
        if config.reports_held && !self.held.is_empty() {
            let blocks = self.sack_blocks(config.settings.timestamps);
            size += 4 + 8 * u16::from(blocks.blocks); // RFC 2018 s.3, with two bytes of padding
            extension = net.extensions.put(&blocks);
        }
        if !matches!(self.header, Feedback::None) {
            let feedback = std::mem::take(&mut self.header);
            size += feedback.bytes(true);
            extension = net.extensions.add_header(extension, feedback);
        }
        let control = if flags.any(Flags::SYN) { config.ect_on_syn } else { config.ect_on_control };
        let ect = self.ecn && control;
        net.send(&Packet {
            at: Time::ZERO,
            seq,
            stamp: self.echo_stamp,
            waited: 0,
            flow: self.flow,
            label: self.label,
            extension,
            size,
            flags: flags.with(Flags::REVERSE).with_if(config.ect, ect),
        });
    }

    /// RFC 2018 s.4: the range that the newest segment belongs to first, then those reported before.
    #[inline(never)]
    fn sack_blocks(&self, timestamps: bool) -> Extension {
        let room = if timestamps { SACK_BLOCKS_WITH_TIMESTAMPS } else { 4 };
        let mut list = Extension::default();
        let mut put = |range: (u64, u64)| {
            let n = list.blocks as usize;
            if n < room && !list.sack[..n].contains(&range) {
                list.sack[n] = range;
                list.blocks += 1;
            }
        };
        self.recent.iter().filter_map(|start| self.held.holding(*start)).for_each(&mut put);
        self.held.iter().rev().for_each(&mut put);
        list
    }
}
