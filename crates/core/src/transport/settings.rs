//! The settings of TCP: the choices, their defaults and sources, and the combinations that are refused.

use crate::cc::parts::window::{Arithmetic, Growth, Halves};
use crate::params::{Code, Faults};
use crate::port_control::MOST_BYTES;
use shallows_units::{Bytes, Size, Span};

crate::choices! {
    /// How a connection begins.
    pub enum Opening {
        /// SYN, SYN+ACK, ACK.
        Handshake = "handshake",
        /// It already stands.
        Established = "established",
    }
}

crate::choices! {
    /// Whether data packets are ECN-capable.
    pub enum EcnMode {
        /// As the congestion control needs.
        Auto = "auto",
        /// Negotiated (RFC 3168).
        On = "on",
        /// Never.
        Off = "off",
    }
}

crate::choices! {
    /// Which codepoint ECN-capable packets carry.
    pub enum Codepoint {
        /// As the congestion control needs.
        Auto = "auto",
        /// ECT(0): classic ECN and Linux's DCTCP.
        Ect0 = "ect0",
        /// ECT(1): L4S.
        Ect1 = "ect1",
    }
}

crate::choices! {
    /// How a receiver reports marks.
    pub enum EchoMode {
        /// As the congestion control needs.
        Auto = "auto",
        /// ECE until CWR (RFC 3168 s.6.1.3).
        UntilCwr = "until-cwr",
        /// Each mark (RFC 8257 s.3.2).
        PerPacket = "per-packet",
        /// A counter of marks (AccECN, RFC 9768): the ACE field, without the option.
        Counted = "accecn",
        /// Never: a broken receiver, for negative experiments.
        Never = "never",
    }
}

crate::choices! {
    /// Which acknowledgements with ECN-Echo stop growth.
    pub enum EceGrowth {
        /// Each (RFC 3168 s.6.1.2).
        Each = "each",
        /// The first of a run (ns-2).
        First = "first",
        /// The first of a run; and where one reduces the window, that comes before its growth (ns-2's two-way TCP).
        /// Algorithms with a window of their own do not grow on such a one.
        CutFirst = "cut-first",
        /// Every one until the reduced window is acknowledged (Linux, state CWR).
        Round = "round",
    }
}

crate::choices! {
    /// The segments that ECN makes a receiver acknowledge at once.
    pub enum EcnAcks {
        /// Those before a change of CE (RFC 8257 s.3.2 figure 1).
        Change = "change",
        /// That, the segment that brings the change, one with CWR, and two from the first mark of RFC 3168's on
        /// (Linux).
        Linux = "linux",
    }
}

crate::choices! {
    /// The unit in which a part of a stream is counted.
    pub enum Counted {
        /// In bytes.
        Bytes = "bytes",
        /// In segments.
        Segments = "segments",
    }
}

crate::choices! {
    /// Whether SYN, pure acknowledgements and retransmissions are ECN-capable too.
    pub enum ControlEct {
        /// Never.
        Never = "never",
        /// Where the congestion control cannot do without ECN; but for SYN also where marks are counted (AccECN).
        Needed = "needed",
        /// Always.
        Always = "always",
    }
}

crate::choices! {
    /// How losses are found with SACK.
    pub enum LossDetection {
        /// By the data sacked above (RFC 6675).
        Rfc6675 = "rfc6675",
        /// By the times of sending (RFC 8985).
        Rack = "rack",
    }
}

crate::choices! {
    /// How recovery by SACK counts the data in flight.
    pub enum Pipe {
        /// Lost segments are not in flight (RFC 6675 `SetPipe`).
        Rfc6675 = "rfc6675",
        /// One segment less for each acknowledgement; lost ones count until the recovery ends
        /// (Fall and Floyd 1996 s.4; ns-2).
        Sack1 = "sack1",
    }
}

crate::choices! {
    /// Where a sender asks whether its application limits it.
    pub enum AppLimitChecks {
        /// At each write, acknowledgement and timer (draft-ietf-ccwg-bbr s.4.1.2.4).
        Events = "events",
        /// At each write (Linux).
        Writes = "writes",
    }
}

crate::choices! {
    /// The bound of a window that its sender does not fill.
    pub enum GrowthCap {
        /// None beside `validate_cwnd`.
        None = "none",
        /// The window to which a round trip would take the most data in flight since the last reduction (maxFS).
        MaxFlight = "max-flight",
    }
}

crate::choices! {
    /// How the round-trip time is measured.
    pub enum RttBy {
        /// From each acknowledgement's echoed timestamp (RFC 7323 s.4).
        Timestamps = "timestamps",
        /// One segment at a time, never a retransmitted one (Karn; RFC 6298 s.3).
        Karn = "karn",
    }
}

crate::params! {
    /// TCP. Settings of both ends of a connection; a profile sets all of them, single settings
    /// override it.
    pub struct TransportSettings {
        /// How a connection begins.
        opening: Opening = "handshake", "", "RFC 9293 s.3.5";
        /// Most payload of a segment.
        mss: Bytes = "1460B", "[1B, 65000B]", "Ethernet's 1500 less 40 bytes of headers";
        /// Headers of each packet as counted on the wire, options excluded.
        header: Bytes = "40B", "[1B, 500B]", "IPv4 and TCP without options";
        /// Whether packets carry the timestamp option (12 bytes more).
        timestamps: bool = false, "", "RFC 7323; the simulator always knows the times";
        /// First congestion window.
        initial_window: Size = "10pkt", "[1pkt, ]", "RFC 6928";
        /// SYNs sent again after which the first window is one segment, or "none". A lost SYN+ACK counts: the SYN goes again for it.
        lost_syns: Option<u64> = 1, "[1, ]", "RFC 5681 s.3.1; Linux tcp_init_transfer: 2, since RFC 6298 waits for 1 s only";
        /// First slow-start threshold, or "none".
        initial_ssthresh: Option<Size> = "none", "[1pkt, ]", "RFC 5681 s.3.1: arbitrarily high";
        /// Receive window, or "none".
        receive_window: Option<Size> = "none", "[1pkt, ]", "data centres tune it out of the way";
        /// Most congestion window, or "none".
        cwnd_max: Option<Size> = "none", "[1pkt, ]", "none but TCP's own, 1 GiB (RFC 7323 s.2.3)";
        /// Whether all bytes of a window let segments out, or its whole segments only.
        window_counts: Counted = "bytes", "", "RFC 5681 counts bytes; ns-2 cuts its window to a whole number";
        /// Least congestion window after an ECN reduction.
        cwnd_floor: Size = "1pkt", "[1pkt, ]", "RFC 8257 s.3.3; Linux and RFC 3168 keep 2";
        /// Least slow-start threshold.
        ssthresh_floor: Size = "2pkt", "[1pkt, ]", "RFC 5681 eq. (4)";
        /// The unit in which acknowledgements let the window grow.
        growth: Growth = "bytes", "", "RFC 3465; Linux tcp_cong_control: acked_sacked";
        /// How windows are counted and rounded.
        arithmetic: Arithmetic = "exact", "", "RFC 5681 counts bytes; Linux's tcp_dctcp.c, tcp_cong.c count segments";
        /// The amount that a loss halves.
        loss_halves: Halves = "flight", "", "RFC 5681 eq. (4); ns-2: the window";
        /// Most segments that one acknowledgement adds in slow start.
        slow_start_limit: f64 = 2.0, "[1, ]", "RFC 3465 s.2.3: L = 2";
        /// Whether only a window that limits the sender may grow.
        validate_cwnd: bool = true, "", "RFC 7661 s.4.3; RFC 5681 is silent";
        /// How far a window grows that its sender does not fill: with "max-flight" to twice the most data in flight since the last reduction
        /// in slow start, and beyond it by the growth of a round trip in congestion avoidance. Needs `validate_cwnd = false`.
        growth_cap: GrowthCap = "none", "", "draft-ietf-ccwg-ratelimited-increase s.3 rule 2: max-flight";
        /// Congestion window that an earlier connection over the path has saved, from which each connection of the load resumes; or "none".
        saved_cwnd: Option<Size> = "none", "[1pkt, ]", "RFC 9959 s.3.1: the bytes of a round trip; connections here save nothing themselves";
        /// Least round-trip time of that connection; or "none".
        saved_rtt: Option<Span> = "none", "(0s, ]", "RFC 9959 s.3.1; s.4.2.1: between a tenth and twice of the present one";
        /// Most window to which a resuming sender jumps, where half of `saved_cwnd` is more; or "none".
        max_jump: Option<Size> = "none", "[1pkt, ]", "RFC 9959 s.3.3 and s.4.3.2: a bound that a sender may configure";
        /// Share of the data that arrived after a jump, to which a sender that retreats sets its slow-start threshold.
        resume_beta: f64 = 0.5, "[0.5, 1]", "RFC 9959 s.2.4 and s.3.5, Beta: 0.5";
        /// Whether an idle sender starts again from the restart window.
        idle_restart: bool = true, "", "RFC 5681 s.4.1";
        /// Whether it starts again from a window that was halved for each timeout of the idle time, in slow start up to three quarters of the old one.
        idle_halves: bool = false, "", "RFC 2861; Linux tcp_cwnd_restart";
        /// Whether the receiver reports the data it holds (RFC 2018), and loss is found by it (RFC 6675).
        sack: bool = true, "", "RFC 2018";
        /// How losses are found with SACK. Without it by duplicate acknowledgements alone (RFC 6582).
        loss_detection: LossDetection = "rfc6675", "", "RFC 6675; Linux's is RFC 8985";
        /// Whether a lost tail is probed for after two round trips; with SACK.
        tail_loss_probe: bool = false, "", "RFC 8985 s.7; Linux's default";
        /// How recovery by RFC 6675 counts the data in flight.
        pipe: Pipe = "rfc6675", "", "RFC 6675 s.4";
        /// Duplicate acknowledgements that signal a loss.
        dup_acks: u64 = 3, "[1, 10000]", "RFC 5681 s.3.2";
        /// Whether the first duplicate acknowledgements each let a new segment out.
        limited_transmit: bool = true, "", "RFC 3042";
        /// Whether recovery sends by proportional rate reduction.
        prr: bool = false, "", "RFC 6937; Linux's default";
        /// Whether ECN reductions too are spread over a round trip by it.
        prr_on_ecn: bool = false, "", "Linux, state CWR";
        /// First retransmission timeout, before any RTT is known.
        initial_rto: Span = "1s", "(0s, ]", "RFC 6298 s.2.1; less where every RTT is known to be short, or a lost SYN decides the tail";
        /// Least retransmission timeout.
        min_rto: Span = "10ms", "(0s, ]", "Alizadeh 2010 s.4: 10 ms in data centres; RFC 6298 says 1 s";
        /// First and least retransmission timeout in round trips of the connection's empty path, in place of `initial_rto` and `min_rto`; or
        /// "none".
        rto_rtts: Option<f64> = "none", "[1.5, 1000]", "Alizadeh 2013 (pFabric) s.4.3: about 3; RFC 6298 knows no path";
        /// Most retransmission timeout.
        max_rto: Span = "60s", "(0s, ]", "RFC 6298 s.2.5";
        /// Factor of the timeout for each one in a row.
        rto_backoff: u64 = 2, "[1, 16]", "RFC 6298 s.5.5";
        /// Timeouts in a row after which the connection is given up.
        max_timeouts: u64 = 15, "[1, 60]", "RFC 9293 s.3.8.3: at least 100 s; Linux tcp_retries2";
        /// Grain G of the sender's clock: RTT samples are rounded to it, timeouts allow for it.
        clock_grain: Span = "0s", "", "exact; RFC 6298 s.4 wants 100 ms or less";
        /// Ticks with which timers expire, the longer ones in coarser steps; 0 for exact ones.
        timer_grain: Span = "0s", "", "exact; Linux: kernel/time/timer.c at HZ = 1000";
        /// The extra wait of loss probes and the reordering timer beyond their time.
        timer_slack: Span = "0s", "", "RFC 8985 s.6.2, 7.2: none; Linux TCP_TIMEOUT_MIN_US: 2 ms";
        /// How the round-trip time is measured.
        rtt_by: RttBy = "timestamps", "", "RFC 7323 s.4";
        /// Segments that one acknowledgement covers at most.
        ack_every: u64 = 1, "[1, 255]", "each segment; RFC 5681 s.4.2: two";
        /// Whether a short segment counts towards `ack_every` as a whole one, or by its bytes: then it waits for more.
        ack_counts: Counted = "segments", "", "RFC 9293 s.3.8.6.3 allows both; ns-2's two-way TCP: bytes";
        /// How long an acknowledgement may wait for the next segment.
        ack_delay: Span = "1ms", "(0s, 500ms]", "data centre; RFC 5681 s.4.2: at most 500 ms";
        /// Acknowledgements by which a misbehaving receiver acknowledges each segment, each a part of its bytes (ACK division).
        ack_pieces: u64 = 1, "[1, 1000]", "RFC 9293 s.3.8.6.3: one; Savage 1999 s.2.1 for more";
        /// Duplicates that a misbehaving receiver sends behind each acknowledgement, as if as many segments had left the network
        /// (forged duplicate acknowledgements).
        ack_repeats: u64 = 0, "[0, 1000]", "RFC 5681 s.4.2: none without a gap; Savage 1999 s.2.2";
        /// How far a misbehaving receiver acknowledges beyond the data that came, never further than as much again; or "none". Lost data
        /// below it is never asked for again, so what holds it is not delivered (optimistic acknowledgements).
        ack_ahead: Option<Size> = "none", "[1pkt, ]", "RFC 9293 s.3.10.7.4: none; Savage 1999 s.2.3";
        /// Segments at the start, after a gap of the minimum RTO, and after one that brought nothing new, that are acknowledged one by one.
        quick_acks: u64 = 0, "", "none in the RFCs; Linux: 16 (tcp_event_data_recv, tcp_data_queue)";
        /// Whether the last segment of what the application has written is acknowledged at once.
        ack_pushed: bool = false, "", "none in the RFCs; Linux tcp_measure_rcv_mss and tcp_cleanup_rbuf, where the application reads at once";
        /// Segments that a sender gathers and sends back to back, at most a third of the window: segmentation offload.
        burst: u64 = 1, "[1, 64]", "Linux tcp_tso_should_defer, tcp_tso_win_divisor = 3; 64 KB are 44 segments";
        /// TCP small queues: most bytes that a sender has in its host's port, or "none". It stops at a 1024th of a second at
        /// its pacing rate, or two packets if that is more, and goes on when one has left.
        small_queues: Option<Bytes> = "4MiB", "[1B, ]", "Linux tcp_small_queue_check, tcp_limit_output_bytes; the RFCs have none";
        /// Where the sender asks whether its application limits it. Samples of the delivery rate that were limited raise an estimate and
        /// never lower it, so this decides what a control that counts on them learns from short messages.
        app_limit_checks: AppLimitChecks = "events", "", "draft-ietf-ccwg-bbr s.4.1.2.4; Linux tcp_sendmsg_locked: writes";
        /// Priority of data packets at ports that tell priorities apart: a lane each (section `priority`).
        priority: u64 = 0, "[0, 7]", "IEEE 802.1Q-2018 s.6.9.3: best effort";
        /// Bytes that a connection has sent, at each of which its data packets fall to the next lower priority (PIAS). All bytes of a connection
        /// count, of whichever message. A retransmission has the priority of its bytes; the authors' module gives it the
        /// latest one, and the first one again after timeouts in a row.
        demote_at: Vec<Bytes> = [], "[1B, ]", "Bai 2015 (PIAS) s.3: thresholds that follow from the sizes of flows";
        /// Priority of acknowledgements, or "none": that of the data, before any demotion.
        ack_priority: Option<u64> = "none", "[0, 7]", "IEEE 802.1Q: a stream's frames carry one priority";
        /// Whether a short segment waits while data is outstanding.
        nagle: bool = false, "", "RFC 9293 s.3.7.4 lets applications turn it off, and RPC libraries do";
        /// Whether data packets are ECN-capable.
        ecn: EcnMode = "auto", "", "DCTCP needs it, NewReno works without";
        /// Which codepoint ECN-capable packets carry.
        ect: Codepoint = "auto", "", "ECT(1) for Prague (RFC 9331 s.4.1), ECT(0) else (RFC 3168 s.5)";
        /// How the receiver reports marks.
        echo: EchoMode = "auto", "", "RFC 8257 s.3.2 for DCTCP, RFC 9768 for Prague, RFC 3168 else";
        /// Whether a misbehaving receiver agrees on ECN and reports no mark. With `echo = "never"` it does not even agree.
        hide_marks: bool = false, "", "RFC 3168 s.6.1.3: each mark is reported; RFC 3540 s.1 for one that hides them";
        /// The segments that ECN makes the receiver acknowledge at once.
        ecn_acks: EcnAcks = "change", "", "RFC 8257 s.3.2; Linux dctcp_ece_ack_update, tcp_ecn_accept_cwr, tcp_data_ecn_check";
        /// Whether a SYN that is sent again no longer asks for ECN.
        ecn_fallback: bool = false, "", "RFC 3168 s.6.1.1.1 allows it; Linux tcp_ecn_fallback";
        /// Whether SYN, pure acknowledgements and retransmissions are ECN-capable too.
        ect_on_control: ControlEct = "never", "", "RFC 3168 s.6.1.1, 6.1.4, 6.1.5: not; Linux tcp_ecn_send: for DCTCP, Prague and AccECN";
        /// Which acknowledgements with ECN-Echo stop growth.
        ece_growth: EceGrowth = "each", "", "RFC 3168 s.6.1.2";
        /// Whether the SYN+ACK's ECN-Echo counts as a mark.
        handshake_marks: bool = false, "", "RFC 3168 s.6.1.1: it agrees on ECN; ns-2's DCTCP counts it";
    }
}

/// TCP's largest window in bytes (RFC 7323 s.2.3).
pub(super) const MAX_WINDOW: u64 = 1 << 30;

impl TransportSettings {
    /// Whether an acknowledgement may wait for the next segment.
    pub(super) fn delays_acks(&self) -> bool {
        self.ack_every > 1 || self.ack_counts == Counted::Bytes
    }

    /// Whether the receiver acknowledges otherwise than the data came.
    pub(super) fn misbehaves(&self) -> bool {
        self.ack_pieces > 1 || self.ack_repeats > 0 || self.ack_ahead.is_some()
    }

    /// Checks across settings.
    pub(super) fn check(&self, path: &str, explicit: bool, faults: &mut Faults) {
        let mut fault = |key: &str, rule: String, value: String| {
            faults.add(&format!("{path}.{key}"), Code::Conflict.rule(rule), &value.into());
        };
        if self.max_rto < self.min_rto {
            fault("max_rto", format!("must be >= min_rto ({})", self.min_rto), self.max_rto.to_string());
        }
        let feedback = if explicit { MOST_BYTES } else { 0 };
        if self.packet_bytes() + feedback > 65_535 {
            fault("mss", "must leave room for the headers in 65535 bytes".into(), self.mss.to_string());
        }
        if self.delays_acks() && self.ack_delay >= self.min_rto {
            fault(
                "ack_delay",
                format!("must be below min_rto ({}), or each lone segment times out", self.min_rto),
                self.ack_delay.to_string(),
            );
        }
        if let Some(place) = (1..self.demote_at.len()).find(|i| self.demote_at[*i] <= self.demote_at[*i - 1])
        {
            let value = self.demote_at[place].to_string();
            fault(&format!("demote_at.{place}"), "must be above the one before it".into(), value);
        }
        if self.demote_at.len() as u64 > self.priority {
            let rule = format!("must be at most {}, the number of priorities below {0}", self.priority);
            fault("demote_at", rule, self.demote_at.len().to_string());
        }
        if self.tail_loss_probe && self.loss_detection != LossDetection::Rack {
            fault(
                "tail_loss_probe",
                "needs loss_detection = \"rack\" (RFC 8985 s.4)".into(),
                self.tail_loss_probe.to_string(),
            );
        }
        if self.pipe != Pipe::Rfc6675 && self.loss_detection == LossDetection::Rack {
            fault("pipe", "must be rfc6675 with loss_detection = \"rack\"".into(), "sack1".into());
        }
        if self.misbehaves() && self.delays_acks() {
            let rule = "must be 1 with ack_pieces, ack_repeats or ack_ahead: such a receiver acknowledges each segment at once";
            fault("ack_every", rule.into(), self.ack_every.to_string());
        }
        if self.ack_pieces > 1 && self.arithmetic.in_segments() {
            // Linux tcp_clean_rtx_queue counts a segment when all of it is acknowledged, CUBIC's and PRR's counts here each part.
            let rule = "must be 1 with arithmetic = \"linux\", whose counts of segments would take a part for a whole one; write arithmetic = \"exact\"";
            fault("ack_pieces", rule.into(), self.ack_pieces.to_string());
        }
        let below_one = |size: Size| self.bytes(size) < self.mss.as_u64();
        let windows = [
            ("initial_window", Some(self.initial_window)),
            ("receive_window", self.receive_window),
            ("ack_ahead", self.ack_ahead),
            ("cwnd_max", self.cwnd_max),
            ("saved_cwnd", self.saved_cwnd),
            ("max_jump", self.max_jump),
            ("cwnd_floor", Some(self.cwnd_floor)),
        ];
        for (key, size) in windows {
            if let Some(size) = size.filter(|s| below_one(*s)) {
                fault(key, format!("must hold at least one segment of {}", self.mss), size.to_string());
            }
        }
        // A window is filled at once, so one without bound would never be.
        let filled = [
            ("initial_window", self.initial_window),
            ("cwnd_floor", self.cwnd_floor),
            ("ssthresh_floor", self.ssthresh_floor),
        ];
        for (key, size) in filled {
            if self.bytes(size) > MAX_WINDOW {
                fault(key, "must be <= 1GiB, TCP's largest window (RFC 7323 s.2.3)".into(), size.to_string());
            }
        }
    }

    /// `size` in bytes of payload.
    pub fn bytes(&self, size: Size) -> u64 {
        match size {
            Size::Bytes(bytes) => bytes.as_u64(),
            Size::Packets(packets) => packets.saturating_mul(self.mss.as_u64()),
        }
    }

    /// Bytes of headers on each packet.
    pub fn header_bytes(&self) -> u64 {
        // RFC 7323 s.3.2: ten bytes, padded to twelve.
        self.header.as_u64() + if self.timestamps { 12 } else { 0 }
    }

    /// Bytes of a full packet on the wire.
    pub fn packet_bytes(&self) -> u64 {
        self.mss.as_u64() + self.header_bytes()
    }
}
