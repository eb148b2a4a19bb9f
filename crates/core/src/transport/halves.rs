//! The two ends of a connection over any transport, as hosts see them.

use super::config::{Config, TransportKind};
use super::datagram::{DatagramReceiver, DatagramSender, Late};
use super::expresspass::{CreditReceiver, CreditSender};
use super::half::{Half, SenderCounts, State, TakesTurns};
use super::homa::{HomaReceiver, HomaSender};
use super::ndp::{NdpReceiver, NdpSender};
use super::receiver::{Receiver, ReceiverCounts};
use super::roce::{Reader, Requester, Responder, Source};
use super::sender::Sender;
use super::uec::{UecReceiver, UecSender};
use super::window::Window;
use crate::cc::{FlowInfo, MessageInfo};
use crate::net::Net;
use shallows_units::{Rate, Span, Time};

/// The sending end.
#[allow(clippy::large_enum_variant)] // most are TCP's, and a pointer to each would cost them
pub enum AnySender {
    /// TCP's.
    Tcp(Sender),
    /// A queue pair's.
    Roce(Requester),
    /// A queue pair's that is read from.
    Read(Source),
    /// NDP's.
    Ndp(NdpSender),
    /// ExpressPass's.
    Credit(CreditSender),
    /// Homa's.
    Homa(HomaSender),
    /// Ultra Ethernet's.
    Uec(UecSender),
    /// A socket's of datagrams.
    Datagram(DatagramSender),
}

/// One call for an end of any kind.
macro_rules! any {
    ($on:expr, $end:ident => $call:expr) => {
        match $on {
            Self::Tcp($end) => $call,
            Self::Roce($end) => $call,
            Self::Read($end) => $call,
            Self::Ndp($end) => $call,
            Self::Credit($end) => $call,
            Self::Homa($end) => $call,
            Self::Uec($end) => $call,
            Self::Datagram($end) => $call,
        }
    };
}

/// One call for a sending end of any kind, whose kind is looked at once.
macro_rules! with_sender {
    ($on:expr, $end:ident => $call:expr) => {
        match $on {
            $crate::transport::AnySender::Tcp($end) => $call,
            $crate::transport::AnySender::Roce($end) => $call,
            $crate::transport::AnySender::Read($end) => $call,
            $crate::transport::AnySender::Ndp($end) => $call,
            $crate::transport::AnySender::Credit($end) => $call,
            $crate::transport::AnySender::Homa($end) => $call,
            $crate::transport::AnySender::Uec($end) => $call,
            $crate::transport::AnySender::Datagram($end) => $call,
        }
    };
}
pub(crate) use with_sender;

impl AnySender {
    /// A connection not yet opened.
    pub fn new(flow: u32, label: u32, info: &FlowInfo<'_>, config: &Config, now: Time) -> Self {
        match config.kind {
            TransportKind::Tcp => AnySender::Tcp(Sender::new(flow, label, info, config, now)),
            TransportKind::Roce if config.roce.reads.is_some() => {
                AnySender::Read(Source::new(flow, label, info, config, now))
            }
            TransportKind::Roce => AnySender::Roce(Requester::new(flow, label, info, config, now)),
            TransportKind::Ndp => AnySender::Ndp(NdpSender::new(flow, label, info, config, now)),
            TransportKind::ExpressPass => {
                AnySender::Credit(CreditSender::new(flow, label, info, config, now))
            }
            TransportKind::Homa => AnySender::Homa(HomaSender::new(flow, label, info, config, now)),
            TransportKind::Uec => AnySender::Uec(UecSender::new(flow, label, info, config, now)),
            TransportKind::Datagram => {
                AnySender::Datagram(DatagramSender::new(flow, label, info, config, now))
            }
        }
    }

    // ---- the application ----

    /// Opens the connection.
    pub fn open(&mut self, config: &Config, net: &mut Net) {
        match self {
            AnySender::Tcp(sender) => sender.open(config, net),
            other => other.half_mut().state = State::Established,
        }
    }

    /// The application is about to write a message.
    pub fn announce(&mut self, message: &MessageInfo, config: &Config, now: Time) {
        any!(self, end => end.announce(message, config, now));
    }

    /// The application writes `bytes` more.
    pub fn write(&mut self, bytes: u64, config: &Config, net: &mut Net) {
        any!(self, end => end.write(bytes, config, net));
    }

    /// No more will be written.
    pub fn close(&mut self, config: &Config, net: &mut Net) {
        if let AnySender::Tcp(sender) = self {
            sender.close(config, net);
        }
    }

    /// The application begins to send datagrams, as its pair number `pair`.
    pub fn emit(&mut self, pair: u64, config: &Config, net: &mut Net) {
        if let AnySender::Datagram(sender) = self {
            sender.emit(pair, config, net);
        }
    }

    // ---- events ----

    /// A timer event has come.
    #[inline]
    pub fn on_timer(&mut self, config: &Config, net: &mut Net) {
        any!(self, end => end.on_timer(config, net));
    }

    /// Packets have left the host's port: it looks again at `at`.
    pub fn on_room(&mut self, at: Time) {
        match self {
            AnySender::Tcp(sender) => sender.on_room(at),
            AnySender::Roce(requester) => requester.turn.at = at,
            AnySender::Read(source) => source.turn.at = at,
            AnySender::Ndp(sender) => sender.turn.at = at,
            AnySender::Credit(_) => {} // a credit is all that it waits for
            AnySender::Homa(sender) => sender.turn.at = at,
            AnySender::Uec(sender) => sender.turn.at = at,
            AnySender::Datagram(sender) => sender.at = at,
        }
    }

    /// When it wants to be woken.
    #[inline]
    pub fn wake_at(&self) -> Time {
        any!(self, end => end.wake_at())
    }

    /// Time of the soonest event that will look at its timers.
    #[inline]
    pub fn timer_at(&mut self) -> &mut Time {
        &mut self.half_mut().timer_at
    }

    /// The retransmission timer has expired by `now`.
    pub fn expires(&self, now: Time) -> bool {
        now >= self.half().rto_at
    }

    /// The warm-up ends: statistics begin.
    pub fn restart_counts(&mut self, now: Time) {
        self.half_mut().restart_counts(now);
        match self {
            AnySender::Datagram(sender) => sender.late = Late::default(),
            AnySender::Credit(sender) => (sender.used, sender.wasted, sender.dropped) = (0, 0, 0),
            _ => {}
        }
    }

    // ---- its state ----

    /// The part that all have in common.
    #[inline]
    pub fn half(&self) -> &Half {
        any!(self, end => &end.half)
    }

    #[inline]
    fn half_mut(&mut self) -> &mut Half {
        any!(self, end => &mut end.half)
    }

    /// Where the connection is in its life.
    #[inline]
    pub fn state(&self) -> State {
        self.half().state
    }

    /// Everything written, and the FIN if any, has been acknowledged.
    #[inline]
    pub fn all_acknowledged(&self) -> bool {
        self.half().all_acknowledged()
    }

    /// The receiver closes too, by a FIN of its own.
    pub fn closes_both(&self) -> bool {
        matches!(self, AnySender::Tcp(sender) if sender.half.closing)
    }

    /// Oldest number not acknowledged.
    pub fn una(&self) -> u64 {
        self.half().una
    }

    /// Bytes that the application has written.
    pub fn written(&self) -> u64 {
        self.half().written
    }

    /// Bytes known to have arrived beyond the acknowledgement.
    pub fn sacked(&self) -> u64 {
        match self {
            AnySender::Tcp(sender) => sender.board.bytes(),
            AnySender::Roce(requester) => requester.sacked(),
            AnySender::Read(_) | AnySender::Datagram(_) | AnySender::Credit(_) => 0,
            AnySender::Ndp(sender) => sender.sacked(),
            AnySender::Homa(sender) => sender.sacked(),
            AnySender::Uec(sender) => sender.sacked(),
        }
    }

    /// Bytes in flight as the window counts them.
    pub fn flight(&self, config: &Config) -> u64 {
        match self {
            AnySender::Tcp(sender) => sender.flight(config),
            AnySender::Roce(requester) => requester.flight(),
            AnySender::Read(_) | AnySender::Datagram(_) => 0, // nobody tells it what came
            AnySender::Ndp(sender) => sender.flight(),
            AnySender::Credit(sender) => sender.flight(),
            AnySender::Homa(sender) => sender.flight(),
            AnySender::Uec(sender) => sender.flight(),
        }
    }

    /// Smoothed round-trip time, if there is one.
    pub fn srtt(&self) -> Option<Span> {
        any!(self, end => end.srtt())
    }

    /// Congestion control and its window.
    pub fn window(&self) -> &Window {
        &self.half().window
    }

    /// Congestion control and its window, to bring its integral up.
    pub fn window_mut(&mut self) -> &mut Window {
        &mut self.half_mut().window
    }

    /// Statistics.
    pub fn counts(&self) -> SenderCounts {
        self.half().counts
    }
}

/// The receiving end.
#[allow(clippy::large_enum_variant)] // as above
pub enum AnyReceiver {
    /// TCP's.
    Tcp(Receiver),
    /// A queue pair's.
    Roce(Responder),
    /// A queue pair's that reads.
    Read(Reader),
    /// NDP's.
    Ndp(NdpReceiver),
    /// ExpressPass's.
    Credit(CreditReceiver),
    /// Homa's.
    Homa(HomaReceiver),
    /// Ultra Ethernet's.
    Uec(UecReceiver),
    /// A socket's of datagrams.
    Datagram(DatagramReceiver),
}

impl AnyReceiver {
    /// Waiting for the first byte; `rate` is that of the link by which it comes.
    pub fn new(flow: u32, label: u32, config: &Config, (rate, base): (Rate, Span)) -> Self {
        match config.kind {
            TransportKind::Tcp => AnyReceiver::Tcp(Receiver::new(flow, label, config)),
            TransportKind::Roce if config.roce.reads.is_some() => AnyReceiver::Read(Reader::new(flow, label)),
            TransportKind::Roce => AnyReceiver::Roce(Responder::new(flow, label)),
            TransportKind::Ndp => AnyReceiver::Ndp(NdpReceiver::new(flow, label, config, rate)),
            TransportKind::ExpressPass => AnyReceiver::Credit(CreditReceiver::new(flow, label, config, rate)),
            TransportKind::Homa => AnyReceiver::Homa(HomaReceiver::new(flow, label)),
            TransportKind::Uec => AnyReceiver::Uec(UecReceiver::new(flow, label, config, (rate, base))),
            TransportKind::Datagram => AnyReceiver::Datagram(DatagramReceiver::default()),
        }
    }

    /// TCP's.
    #[inline]
    pub fn tcp(&mut self) -> Option<&mut Receiver> {
        match self {
            AnyReceiver::Tcp(receiver) => Some(receiver),
            _ => None,
        }
    }

    /// All has been delivered, and the own FIN acknowledged.
    pub fn closed(&self) -> bool {
        match self {
            AnyReceiver::Tcp(receiver) => receiver.closed,
            _ => true,
        }
    }

    /// It sends nothing more by itself: its host gives it no further turn for credit.
    pub fn rests(&self) -> bool {
        match self {
            AnyReceiver::Uec(receiver) => receiver.rests(),
            _ => true,
        }
    }

    /// Bytes of the stream delivered in order.
    #[inline]
    pub fn delivered(&self) -> u64 {
        match self {
            AnyReceiver::Tcp(receiver) => receiver.delivered(),
            AnyReceiver::Roce(responder) => responder.delivered,
            AnyReceiver::Read(reader) => reader.next,
            AnyReceiver::Ndp(receiver) => receiver.next,
            AnyReceiver::Credit(receiver) => receiver.next,
            AnyReceiver::Homa(receiver) => receiver.next,
            AnyReceiver::Uec(receiver) => receiver.next,
            AnyReceiver::Datagram(receiver) => receiver.bytes,
        }
    }

    /// Bytes of the stream that have arrived, in order or not, each once.
    pub fn arrived(&self) -> u64 {
        match self {
            AnyReceiver::Tcp(receiver) => receiver.arrived(),
            AnyReceiver::Roce(responder) => responder.arrived(),
            AnyReceiver::Read(reader) => reader.next,
            AnyReceiver::Ndp(receiver) => receiver.arrived(),
            AnyReceiver::Credit(receiver) => receiver.arrived(),
            AnyReceiver::Homa(receiver) => receiver.arrived(),
            AnyReceiver::Uec(receiver) => receiver.arrived(),
            AnyReceiver::Datagram(receiver) => receiver.bytes,
        }
    }

    /// The warm-up ends: statistics begin.
    pub fn restart_counts(&mut self, now: Time) {
        match self {
            AnyReceiver::Datagram(receiver) => receiver.restart(now),
            AnyReceiver::Credit(receiver) => {
                (receiver.credits, receiver.counts) = (0, ReceiverCounts::default());
            }
            other => *other.counts() = ReceiverCounts::default(),
        }
    }

    /// Statistics.
    pub fn counts(&mut self) -> &mut ReceiverCounts {
        any!(self, end => &mut end.counts)
    }
}
