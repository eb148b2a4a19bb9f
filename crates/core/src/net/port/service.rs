//! The three ways in which a port queues, and what it keeps for each.

use crate::events::Source;
use crate::net::Directory;
use crate::net::pfc::{Pausing, ones};
use crate::net::port::counts::TrimCounts;
use crate::net::port::sockets::Sockets;
use crate::packet::Packet;
use crate::probe::inner::InnerRecords;
use crate::queue::{AnyAdmission, Backlog, InnerQueues, Line, QueueDisc};
use shallows_units::Index;

/// How a port queues.
pub enum Service {
    /// Decides at arrival, serves in order.
    Arrival(AnyAdmission),
    /// Serves a few packets in order of arrival, in the chain; the others wait behind them and are decided at departure.
    Lined(Box<Lined>),
    /// Decides at departure.
    Departure(Box<Scheduled>),
}

impl Service {
    /// The service of a discipline that decides at departure.
    pub fn departure(disc: Box<dyn QueueDisc>) -> Self {
        let line = disc.line();
        let behind = Scheduled::new(disc);
        match line {
            Some(line) => Service::Lined(Box::new(Lined { line, behind })),
            None => Service::Departure(Box::new(behind)),
        }
    }

    /// The discipline that decides at departure, where there is one.
    pub fn scheduled(&self) -> Option<&Scheduled> {
        match self {
            Service::Arrival(_) => None,
            Service::Lined(lined) => Some(&lined.behind),
            Service::Departure(scheduled) => Some(scheduled),
        }
    }

    /// The port's scheduler, to be changed.
    pub fn scheduled_mut(&mut self) -> Option<&mut Scheduled> {
        match self {
            Service::Arrival(_) => None,
            Service::Lined(lined) => Some(&mut lined.behind),
            Service::Departure(scheduled) => Some(scheduled),
        }
    }
}

/// A discipline with its line, at work.
pub struct Lined {
    /// The line.
    pub line: Line,
    /// The discipline behind it. The port's chain has the packet in transmission.
    pub behind: Scheduled,
}

/// A discipline that decides at departure, at work.
pub struct Scheduled {
    /// Holds the packets.
    pub disc: Box<dyn QueueDisc>,
    /// The contents of the discipline when it was last called.
    standing: Backlog,
    /// Being transmitted.
    pub serving: Option<Packet>,
    /// Its events: the end of a transmission, or the time to ask the discipline again.
    pub source: Source,
    /// Records of its queues, where it has several.
    pub inner: Option<Box<InnerRecords>>,
    /// Priority of the packet being transmitted, and the port that is charged for it.
    pub of: (u8, Index),
    /// The port's part in flow control, if any.
    pub pausing: Option<Box<Pausing>>,
    /// The packets of each connection here, in a host whose senders bound them.
    pub sockets: Option<Box<Sockets>>,
    /// Packets that the discipline trimmed.
    pub trimming: TrimCounts,
}

impl Scheduled {
    /// At work with `disc`, empty.
    pub fn new(disc: Box<dyn QueueDisc>) -> Self {
        let of = (0, Index::NONE);
        let (source, trimming) = (Source::NONE, TrimCounts::default());
        let standing = disc.backlog();
        let (serving, inner, pausing, sockets) = (None, None, None, None);
        Scheduled { disc, standing, serving, source, inner, of, pausing, sockets, trimming }
    }

    /// Tells the record of the inner queues, where there is one, of `packet` and its queue's number.
    #[inline]
    pub fn note(
        &mut self,
        packet: &Packet,
        directory: &Directory,
        record_it: impl FnOnce(&mut InnerRecords, &dyn InnerQueues, usize),
    ) {
        if let Some(record) = &mut self.inner
            && let Some(queues) = self.disc.inner()
        {
            record_it(record, queues, queues.of(packet, directory.priority(packet)));
        }
    }

    /// Packets and bytes held, the one being transmitted included.
    #[inline]
    pub fn held(&self) -> (u64, u64) {
        let serving = self.serving_bytes();
        (self.standing.packets + u64::from(serving > 0), self.standing.bytes + serving)
    }

    /// Bytes held of `priority`, the packet being transmitted included.
    pub fn held_of(&self, priority: u8) -> u64 {
        let serving = if self.of.0 == priority { self.serving_bytes() } else { 0 };
        self.disc.held_of(priority) + serving
    }

    /// Bytes held that stand in reserves of `reserve` bytes for each lossy priority.
    pub fn held_in_reserves(&self, reserve: u64) -> u64 {
        if self.disc.has_lanes() {
            let lossless = self.pausing.as_ref().map_or(0, |pausing| pausing.lossless);
            let lossy = ones(!lossless).map(|priority| self.held_of(priority).min(reserve));
            return lossy.sum();
        }
        self.held().1.min(reserve)
    }

    /// The contents of the discipline.
    #[inline]
    pub fn standing(&self) -> Backlog {
        self.standing
    }

    /// Bytes of the packet being transmitted.
    #[inline]
    pub(in crate::net) fn serving_bytes(&self) -> u64 {
        self.serving.as_ref().map_or(0, |packet| u64::from(packet.size))
    }

    /// Nothing is transmitted, and no pause frame has to be.
    #[inline]
    pub(in crate::net) fn is_free(&self) -> bool {
        self.serving.is_none() && !self.pausing.as_ref().is_some_and(|pausing| pausing.has_frame())
    }

    /// The discipline has been called.
    #[inline]
    pub fn count(&mut self) {
        self.standing = self.disc.backlog();
    }
}
