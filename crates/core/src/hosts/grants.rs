//! The grants of Homa: each host that receives chooses the messages to which it grants.
//!
//! Source: Montazeri et al. 2018 (SIGCOMM) s.3.3 to s.3.5. With each packet that comes a host looks at the messages that are
//! not granted whole: it grants to those with least left, one of each sender, as many as its overcommitment. A message whose
//! grants are all sent makes room for the next. Of equally much left that of the older connection comes first.

use super::work::Hosts;
use crate::net::Net;
use crate::transport::AnyReceiver;
use std::collections::BTreeMap;

/// The receivers to which something may be granted, by host: their places in this cell.
#[derive(Debug, Default)]
pub struct Grants(BTreeMap<u32, Vec<u32>>);

impl Hosts {
    /// A packet has come to the receiver at `place`: its host grants.
    #[inline(never)] // TCP's path through the same function stays short
    pub(super) fn grant(&mut self, place: u32, net: &mut Net) {
        let end = &mut self.receivers[place as usize];
        let (node, config) = (end.about.ends.1.0, end.about.config);
        let AnyReceiver::Homa(receiver) = &mut end.receiver else { return };
        let places = self.grants.0.entry(node).or_default();
        if !receiver.listed && receiver.wants().is_some() {
            receiver.listed = true;
            places.push(place);
        }
        let receivers = &mut self.receivers;
        let mut wanting = vec![];
        places.retain(|place| {
            let end = &mut receivers[*place as usize];
            let (sender, serial) = (end.about.ends.0.0, end.about.serial);
            let AnyReceiver::Homa(receiver) = &mut end.receiver else { return false };
            let wants = receiver.wants();
            receiver.listed = wants.is_some();
            wanting.extend(wants.map(|(left, start)| (left, serial, start, sender, *place)));
            receiver.listed
        });
        wanting.sort_unstable();
        let rules = &self.configs[config as usize].homa;
        let mut active: Vec<(u32, u64, u32)> = vec![];
        for (_, _, start, sender, place) in wanting {
            if active.len() == rules.overcommitment {
                break;
            }
            if active.iter().all(|(other, ..)| *other != sender) {
                active.push((sender, start, place));
            }
        }
        let count = active.len();
        for (rank, (_, start, place)) in active.into_iter().enumerate() {
            let level = rules.scheduled_level(rank, count);
            let end = &mut self.receivers[place as usize];
            let AnyReceiver::Homa(receiver) = &mut end.receiver else { continue };
            let sent = net.totals.sent;
            receiver.grant(start, level, &self.configs[end.about.config as usize], net);
            end.passed.0 += net.totals.sent - sent;
            super::work::arm(receiver.rto_at, &mut receiver.timer_at, end.timer, net);
        }
    }

    /// The receiver at `place` leaves the host.
    pub(super) fn forget_grants(&mut self, place: u32, node: u32) {
        if let Some(places) = self.grants.0.get_mut(&node) {
            places.retain(|other| *other != place);
        }
    }
}
