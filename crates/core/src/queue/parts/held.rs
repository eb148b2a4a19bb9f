//! Packets in order of arrival, and their bytes: the building block of disciplines that decide at departure.

use crate::packet::Packet;
use crate::queue::Backlog;
use shallows_units::{Span, Time};
use std::collections::VecDeque;

/// A line of packets.
#[derive(Debug, Clone, Default)]
pub struct Held {
    packets: VecDeque<Packet>,
    bytes: u64,
}

impl Held {
    /// Adds `packet` at the tail.
    pub fn push(&mut self, packet: Packet) {
        self.bytes += u64::from(packet.size);
        self.packets.push_back(packet);
    }

    /// Takes the packet at the head.
    pub fn pop(&mut self) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.size);
        Some(packet)
    }

    /// The packet at the tail.
    pub fn newest(&self) -> Option<&Packet> {
        self.packets.back()
    }

    /// Takes the packet at the tail.
    pub fn pop_newest(&mut self) -> Option<Packet> {
        let packet = self.packets.pop_back()?;
        self.bytes -= u64::from(packet.size);
        Some(packet)
    }

    /// No packets.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// When the packet at the head came.
    pub fn since(&self) -> Option<Time> {
        self.packets.front().map(|packet| packet.at)
    }

    /// How long the packet at the head has waited; zero when there is none.
    pub fn wait(&self, now: Time) -> Span {
        self.since().map_or(Span::ZERO, |since| now - since)
    }

    /// How many packets.
    pub fn packets(&self) -> u64 {
        self.packets.len() as u64
    }

    /// How many bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Both, with nothing in service.
    pub fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets(), bytes: self.bytes, ..Backlog::default() }
    }

    /// Both, for a gauge, with the `serving` bytes of the packet being transmitted.
    pub fn with_serving(&self, serving: u64) -> Backlog {
        Backlog {
            packets: self.packets() + u64::from(serving > 0),
            bytes: self.bytes + serving,
            serving,
            ..Backlog::default()
        }
    }
}
