//! The places of connections' ends in their cell: they are used again.

use super::ends::{ReceivingEnd, SendingEnd};
use super::work::Hosts;
use crate::events::Event;
use crate::net::Net;
use crate::transport::AnyReceiver;
use shallows_units::Time;

impl Hosts {
    /// Gives a sending end its place and its timer.
    pub fn add_sender(&mut self, mut end: SendingEnd, net: &mut Net) -> u32 {
        let place = self.free_senders.pop().unwrap_or(self.senders.len() as u32);
        if let Some(before) = self.senders.get_mut(place as usize) {
            end.timer = before.timer;
            *before = end;
        } else {
            end.timer = net.events.add(Event::Sender(place));
            self.senders.push(end);
        }
        place
    }

    /// Gives a receiving end its place and its timer.
    pub fn add_receiver(&mut self, mut end: ReceivingEnd, net: &mut Net) -> u32 {
        let place = self.free_receivers.pop().unwrap_or(self.receivers.len() as u32);
        if let Some(before) = self.receivers.get_mut(place as usize) {
            end.timer = before.timer;
            *before = end;
        } else {
            end.timer = net.events.add(Event::Receiver(place));
            self.receivers.push(end);
        }
        place
    }

    /// The place of a sending end is empty.
    pub fn free_sender(&mut self, place: u32) {
        self.senders[place as usize].vacant = true;
        self.free_senders.push(place);
    }

    /// The place of a receiving end is empty.
    pub fn free_receiver(&mut self, place: u32) {
        let end = &mut self.receivers[place as usize];
        end.vacant = true;
        if let Some(receiver) = end.receiver.tcp() {
            receiver.ack_at = Time::MAX; // one whose sender gave up may still want to speak
        } else if let AnyReceiver::Credit(receiver) = &mut end.receiver {
            receiver.rest();
        } else if matches!(end.receiver, AnyReceiver::Ndp(_) | AnyReceiver::Uec(_)) {
            let node = end.about.ends.1.0;
            self.forget_pulls(place, node);
        } else if let AnyReceiver::Homa(receiver) = &mut end.receiver {
            receiver.rto_at = Time::MAX;
            let node = end.about.ends.1.0;
            self.forget_grants(place, node);
        }
        self.free_receivers.push(place);
    }

    /// Bytes of memory that the connections use.
    pub fn memory(&self) -> usize {
        self.senders.capacity() * size_of::<SendingEnd>()
            + self.receivers.capacity() * size_of::<ReceivingEnd>()
    }
}
