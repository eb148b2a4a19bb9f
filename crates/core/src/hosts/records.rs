//! Records of connections: their rows in the tables, the ideal times of their messages, and
//! their traces.

use super::bundles::Part;
use super::ends::{Message, ReceivingEnd, SendingEnd};
use super::facts::{ClassRecord, FlowId, MessageRow, Pair, TimeoutCounts};
use super::work::Hosts;
use crate::cc::CongestionControl;
use crate::net::{Directory, Net};
use crate::probe::traces::FlowTraceRow;
use crate::routing::ideal::Burst;
use crate::transport::datagram::{Late, Received};
use crate::transport::half::SenderCounts;
use crate::transport::roce::wire::{AETH, RETH};
use crate::transport::{AnyReceiver, AnySender, Config, TransportKind};
use shallows_units::{Bytes, Span, Time};

/// A row of the table `flows`.
#[derive(Debug, Clone)]
pub struct FlowRow {
    /// Running number.
    pub serial: u32,
    /// Load, class and transport, by number.
    pub load: u16,
    /// Class, by number.
    pub class: u16,
    /// Configuration, by number.
    pub config: u16,
    /// Sender and receiver.
    pub ends: Pair,
    /// Bytes written, if bounded.
    pub bytes: Option<u64>,
    /// Start.
    pub opened: Time,
    /// End.
    pub ended: Option<Time>,
    /// When the acknowledgement of its last byte was back.
    pub acked: Option<Time>,
    /// Bytes delivered in order in the whole run.
    pub delivered: u64,
    /// Unique bytes that arrived since the warm-up, in order or not.
    pub arrived: u64,
    /// Time over which they arrived.
    pub over: Span,
    /// Time over which the sender was watched, until its last acknowledgement.
    pub watched: Span,
    /// The sender's counts.
    pub sent: SenderCounts,
    /// Integral of the congestion window in byte ps.
    pub cwnd_time: u128,
    /// The receiver's counts.
    pub received: crate::transport::receiver::ReceiverCounts,
    /// Packets dropped, either way.
    pub drops: u64,
    /// Its timeouts, by kind.
    pub timeouts: TimeoutCounts,
    /// Congestion window at the end, in bytes, if it bounds anything.
    pub cwnd: Option<u64>,
    /// Slow-start threshold at the end.
    pub ssthresh: Option<f64>,
    /// Alpha at the end.
    pub alpha: Option<f64>,
    /// The fate of its datagrams, if it sends such.
    pub datagrams: Option<Box<Datagrams>>,
    /// The fate of its credits, over ExpressPass.
    pub credits: Option<Box<Credits>>,
}

/// The fate of the credits of one connection.
#[derive(Debug, Clone, Copy)]
pub struct Credits {
    /// Sent by the receiver.
    pub sent: u64,
    /// Each let a packet out.
    pub used: u64,
    /// There was nothing to send.
    pub wasted: u64,
    /// Dropped by ports, or lost on wires.
    pub dropped: u64,
}

/// The fate of the datagrams of one sender.
#[derive(Debug, Clone, Copy)]
pub struct Datagrams {
    /// Those that waited for room in the host's port.
    pub late: Late,
    /// Those that came.
    pub received: Received,
    /// Packets still under way.
    pub in_flight: u64,
}

impl FlowRow {
    /// The row of a connection at `now`, with statistics since `measured_from`.
    pub fn new(
        sending: &mut SendingEnd,
        receiving: &mut ReceivingEnd,
        unbounded: bool,
        measured_from: Time,
        now: Time,
    ) -> Self {
        let about = sending.about;
        let counts = sending.sender.counts();
        let cwnd_time = sending.sender.window_mut().count(now);
        let from = about.opened.max(measured_from);
        let until = receiving.ended.unwrap_or(now);
        // No acknowledgement of a READ comes, even where it was opened at time 0.
        let came = sending.acked_at > about.opened && sending.acked_at >= from;
        FlowRow {
            serial: about.serial,
            load: about.load,
            class: about.class,
            config: about.config,
            ends: about.ends,
            bytes: (!unbounded).then_some(sending.sender.written()),
            opened: about.opened,
            ended: receiving.ended,
            acked: receiving.ended.and((came && sending.blocks.is_empty()).then_some(sending.acked_at)),
            delivered: receiving.receiver.delivered(),
            arrived: receiving.receiver.arrived() - receiving.arrived_before,
            over: until.max(from) - from,
            watched: now - from,
            sent: SenderCounts { timeouts: counts.timeouts + receiving.timeouts.all, ..counts },
            cwnd_time,
            received: *receiving.receiver.counts(),
            drops: sending.lost - sending.lost_before,
            timeouts: sending.timeouts + receiving.timeouts,
            cwnd: sending.sender.window().bound(),
            ssthresh: sending.sender.window().cc().ssthresh(),
            alpha: alpha(&sending.sender),
            datagrams: match (&sending.sender, &receiving.receiver) {
                (AnySender::Datagram(sender), AnyReceiver::Datagram(receiver)) => {
                    let (late, received) = (sender.late, receiver.received);
                    // Those under way that left before the statistics began are not among the sent ones.
                    let in_flight = sending.under_way(receiving).min(counts.packets - received.datagrams);
                    Some(Box::new(Datagrams { late, received, in_flight }))
                }
                _ => None,
            },
            credits: match (&sending.sender, &receiving.receiver) {
                (AnySender::Credit(sender), AnyReceiver::Credit(receiver)) => Some(Box::new(Credits {
                    sent: receiver.credits,
                    used: sender.used,
                    wasted: sender.wasted,
                    dropped: sender.dropped,
                })),
                _ => None,
            },
        }
    }
}

impl Hosts {
    /// The row of a message that came whole at `ended`, or has not by `now`; at the receiving end `place`, of the connection with
    /// the running number `flow`.
    pub(super) fn record_message(
        &mut self,
        (place, flow): (usize, u32),
        message: &Message,
        ended: Option<Time>,
        (now, directory): (Time, &Directory),
    ) {
        self.messages_done += 1;
        if message.started < self.measured_from || message.asks {
            return;
        }
        let ideal = self.ideal(place, message, directory);
        let ideal_back = self.ideal_back(place, directory);
        let Message { bytes, started, deadline, tag, .. } = *message;
        let met = deadline.and_then(|deadline| match ended {
            Some(ended) => Some(ended - started <= deadline),
            None => (now - started >= deadline).then_some(false),
        });
        let about = self.receivers[place].about;
        let (load, class) = (about.load, about.class);
        self.message_rows.push(MessageRow {
            flow,
            load,
            class,
            tag,
            bytes,
            started,
            ended,
            ideal,
            end: message.end,
            acked: None,
            ideal_back,
            deadline,
            met,
        });
    }

    /// Time the message would take alone on the empty network, with a window that never limits: the
    /// handshake where it waited for one, or the request that reads it, then its packets, store and forward.
    pub(super) fn ideal(&mut self, place: usize, message: &Message, directory: &Directory) -> Span {
        let about = self.receivers[place].about;
        let config = &self.configs[about.config as usize];
        let (mss, header) = (config.rules.mss, u64::from(config.header));
        // A queue pair's first packet may have a header more, and its last.
        let rules = Some(&config.roce).filter(|_| config.kind == TransportKind::Roce);
        let [more, tail] = rules.map_or([0; 2], |rules| [rules.first, rules.last].map(u64::from));
        let (from, to) = about.ends;
        let chooses = config.chooses_paths();
        let ideals = &mut self.ideals;
        let mut time = |ends: Pair, packets: u64, last: u64| {
            let full = mss + header;
            let burst = Burst { packets, first: Bytes(full + more), full: Bytes(full), last: Bytes(last) };
            let wire = |link| directory.best(link);
            match &directory.fastest {
                Some(fastest) => fastest.time(&directory.routing, ends, burst, wire),
                None => ideals.time(&directory.routing, ends, burst, chooses, wire),
            }
        };
        let handshake = if message.first_of_fresh {
            time((from, to), 0, header) + time((to, from), 0, header)
        } else {
            Span::ZERO
        };
        let request = match config.roce.reads {
            Some(_) => time((to, from), 0, header + u64::from(RETH)),
            None => Span::ZERO,
        };
        let full = (message.bytes - 1) / mss;
        let last = message.bytes - full * mss + header + if full == 0 { more } else { tail };
        handshake + request + time((from, to), full, last)
    }

    /// Time of an acknowledgement on the empty network, from the receiver back; none of a READ, which nobody acknowledges.
    fn ideal_back(&mut self, place: usize, directory: &Directory) -> Option<Span> {
        let about = self.receivers[place].about;
        let config = &self.configs[about.config as usize];
        let queue_pair = config.kind == TransportKind::Roce;
        let last = Bytes(u64::from(config.header + if queue_pair { AETH } else { 0 }));
        // The sizes of the data's packets: their tables of fastest ways serve acknowledgements too.
        let full = config.rules.mss + u64::from(config.header);
        let first = full + if queue_pair { u64::from(config.roce.first) } else { 0 };
        let burst = Burst { packets: 0, first: Bytes(first), full: Bytes(full), last };
        let (ends, wire) = ((about.ends.1, about.ends.0), |link| directory.best(link));
        let time = match &directory.fastest {
            Some(fastest) => fastest.time(&directory.routing, ends, burst, wire),
            None => self.ideals.time(&directory.routing, ends, burst, false, wire),
        };
        config.roce.reads.is_none().then_some(time)
    }

    /// Rows of the messages that a connection has not delivered.
    pub(super) fn undelivered_messages(&mut self, place: usize, now: Time, directory: &Directory) {
        for message in std::mem::take(&mut self.receivers[place].messages) {
            let serial = self.receivers[place].about.serial;
            let (message, serial) = match self.parts.gives_up((serial, message.end)) {
                Part::Alone => (message, serial),
                Part::Waits => {
                    self.messages_done += 1;
                    continue;
                }
                Part::Last(shared) => (message.as_whole(&shared), shared.serial),
            };
            self.record_message((place, serial), &message, None, (now, directory));
        }
    }

    /// The warm-up ends at `now`: statistics begin.
    pub(super) fn restart(&mut self, now: Time) {
        self.measured_from = now;
        self.message_rows.clear();
        self.acked.clear();
        self.waits.iter_mut().for_each(ClassRecord::clear);
        for end in &mut self.senders {
            end.sender.restart_counts(now);
            end.lost_before = end.lost;
            end.timeouts = Default::default();
        }
        for end in &mut self.receivers {
            end.receiver.restart_counts(now);
            end.arrived_before = end.receiver.arrived();
            end.timeouts = Default::default();
        }
    }

    /// A row of the flow trace if the window or the pacing rate has changed; both ends are in this cell.
    #[cold]
    pub(super) fn trace_change(&mut self, id: FlowId, net: &Net) {
        let connection = &net.directory.connections[id as usize];
        let sending = &mut self.senders[connection.sender.1 as usize];
        let window = sending.sender.window();
        let present = (window.bytes(), window.cc().pacing_rate());
        if present != sending.traced_last && !sending.vacant {
            sending.traced_last = present;
            let receiving = &self.receivers[connection.receiver.1 as usize];
            let config = &self.configs[sending.about.config as usize];
            if receiving.counts_from(self.measured_from) {
                self.trace_rows.push(trace_row(sending, receiving, config, net.now));
            }
        }
    }
}

/// A row of the flow trace.
pub(super) fn trace_row(
    sending: &SendingEnd,
    receiving: &ReceivingEnd,
    config: &Config,
    now: Time,
) -> FlowTraceRow {
    let sender = &sending.sender;
    FlowTraceRow {
        time: now,
        flow: sending.about.serial,
        cwnd: sender.window().bound().map(|bytes| bytes as f64),
        ssthresh: sender.window().cc().ssthresh(),
        srtt: sender.srtt().map(|srtt| srtt.as_ps() as f64),
        alpha: alpha(sender),
        pacing: sender.window().cc().pacing_rate().map(|rate| rate.as_bps() as f64),
        delivered: receiving.receiver.delivered(),
        arrived: receiving.receiver.arrived(),
        flight: sender.flight(config),
    }
}

/// The estimate of congestion of a sender whose algorithm has one.
pub(crate) fn alpha(sender: &AnySender) -> Option<f64> {
    let mut found = None;
    sender.window().cc().observe(&mut |name, value| {
        if name == "alpha" {
            found = Some(value);
        }
    });
    found
}
