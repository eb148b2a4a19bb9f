//! A cell at work in a window: what comes from other cells is known when it begins.
//!
//! Order in a cell is by time. At one time come first what applications want, then packets from other cells by link
//! and number, then the cell's own events as in a run of one cell. None of this depends on where windows begin and
//! end, nor on which thread works a cell.

use super::cell::{Cell, handle, take_changes};
use crate::net::{Commons, Inbox, Net, Parcel, Post};
use crate::packet::NONE;
use shallows_units::{Span, Time};

/// A thread's data for one cell after another.
#[derive(Default)]
pub struct Bench {
    inbox: Inbox,
    /// Time, link and place in `inbox` of what lands in this window.
    keys: Vec<u128>,
}

/// A window.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    /// It begins here.
    pub begin: Time,
    /// It ends before this.
    pub until: Time,
    /// What lands before this is handed over at its end.
    pub next_until: Time,
    /// A wire between cells takes at least this.
    pub lookahead: Span,
}

impl Cell {
    /// Works the window. `bench` holds nothing; `inbox` is exchanged for what it held before. Returns when the cell must
    /// work again, if nothing comes from others.
    pub fn work(
        &mut self,
        window: Window,
        inbox: &mut Inbox,
        bench: &mut Bench,
        post: &dyn Post,
        commons: &Commons,
    ) -> Time {
        self.collect(window.until, inbox, bench);
        let mut next = 0;
        loop {
            let order_at = self.orders.front().map_or(Time::MAX, |order| order.0);
            let until = window.until.min(order_at);
            next = self.work_until(until, next, bench, commons);
            if order_at >= window.until {
                break;
            }
            self.perform_until(order_at, commons);
        }
        self.network.now = window.until;
        let lands = self.network.hand_over(window.next_until, post, commons);
        self.wanted_at(lands, window.lookahead)
    }

    /// Does what applications want by `until`.
    pub fn perform_until(&mut self, until: Time, commons: &Commons) {
        while let Some((at, place, order)) = self.orders.front().copied().filter(|order| order.0 <= until) {
            self.orders.pop_front();
            self.network.now = at;
            self.perform(place, order, commons);
        }
    }

    /// Hands over what lands before `until` in other cells; nothing else is done.
    pub fn hand_over(&mut self, until: Time, lookahead: Span, post: &dyn Post, commons: &Commons) -> Time {
        let lands = self.network.hand_over(until, post, commons);
        self.wanted_at(lands, lookahead)
    }

    /// When the cell must work again; `lands` is when the next of its packets lands in another cell.
    fn wanted_at(&mut self, lands: Time, lookahead: Span) -> Time {
        let later = self.later.iter().map(|parcel| parcel.packet.at).min().unwrap_or(Time::MAX);
        let hand_over = Time::ps(lands.as_ps().saturating_sub(lookahead.as_ps()));
        self.network.events.next_at().min(later).min(hand_over)
    }

    /// Takes what has come from other cells, and sorts what lands before `until`.
    fn collect(&mut self, until: Time, inbox: &mut Inbox, bench: &mut Bench) {
        bench.keys.clear();
        bench.inbox.parcels.clear();
        bench.inbox.extensions.clear();
        let waiting = std::mem::take(&mut self.later);
        bench.inbox.parcels.extend_from_slice(&waiting);
        let known = waiting.len();
        bench.inbox.parcels.append(&mut inbox.parcels);
        for parcel in &mut bench.inbox.parcels[known..] {
            if parcel.packet.extension != NONE {
                let extension = inbox.extensions[parcel.packet.extension as usize];
                parcel.packet.extension = self.network.extensions.put(extension);
            }
        }
        inbox.extensions.clear();
        for (i, parcel) in bench.inbox.parcels.iter().enumerate() {
            if parcel.packet.at < until {
                let key = u128::from(parcel.packet.at.as_ps()) << 64 | u128::from(parcel.link) << 32;
                bench.keys.push(key | i as u128);
            } else {
                self.later.push(*parcel);
            }
        }
        bench.keys.sort_unstable();
    }

    /// Handles what comes before `until`, parcels from number `next` on; returns the number of the next one.
    fn work_until(&mut self, until: Time, mut next: usize, bench: &Bench, commons: &Commons) -> usize {
        let Cell { network, hosts, handled, .. } = self;
        let mut net = Net { network, commons };
        loop {
            let parcel: Option<&Parcel> =
                bench.keys.get(next).map(|key| &bench.inbox.parcels[*key as u32 as usize]);
            let lands = parcel.map_or(until, |parcel| parcel.packet.at.min(until));
            while let Some((at, event)) = net.events.pop_before(lands) {
                net.now = at;
                *handled += 1;
                handle(event, hosts, &mut net);
            }
            let Some(parcel) = parcel.filter(|parcel| parcel.packet.at < until) else { return next };
            next += 1;
            net.now = parcel.packet.at;
            *handled += 1;
            if let Some(packet) = net.network.land_from(parcel, commons) {
                hosts.on_packet(&packet, &mut net);
            }
            if !net.network.changes.is_empty() {
                take_changes(hosts, &mut net);
            }
        }
    }
}
