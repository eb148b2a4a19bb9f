//! A cell at work in a window: all packets from other cells are known when it begins.
//!
//! Order in a cell is by time. At one time the orders of applications come first, then packets from other cells by link
//! and number, then the cell's own events as in a run of one cell. None of this depends on where windows begin and
//! end, nor on which thread works a cell.

use super::cell::{Cell, handle, take_changes};
pub use super::foresight::LONGEST;
use super::foresight::{AHEAD, Landings};
use crate::net::{Directory, Mailbox, Mailboxes, Net, Network, Parcel};
use crate::packet::{Carried, NONE};
use shallows_units::{Span, Time};

/// A thread's data for one cell after another.
#[derive(Default)]
pub struct WindowScratch {
    mailbox: Mailbox,
    landings: Landings,
}

impl WindowScratch {
    /// The packet that lands as number `number`.
    #[inline(always)]
    fn parcel(&self, number: usize) -> &Parcel {
        &self.mailbox.parcels[Landings::place(self.landings.keys[number])]
    }

    /// Asks for the memory that number `number` will need, and more for those before it.
    #[inline(always)]
    fn foresee(&mut self, number: usize, network: &mut Network, directory: &Directory) {
        if number < self.landings.keys.len() {
            let parcel = self.parcel(number);
            let way = network.way(parcel.end, &parcel.packet, directory);
            self.landings.ways.push(way);
            network.store.foresee_free(AHEAD);
            if let Some(port) = way.get() {
                network.foresee(port);
            }
        }
        self.landings.foresee(number, network);
    }
}

/// A window.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    /// It begins here.
    pub begin: Time,
    /// It ends before this.
    pub until: Time,
    /// Packets that land before this are handed over at its end.
    pub next_until: Time,
    /// A wire between cells takes at least this.
    pub lookahead: Span,
}

impl Cell {
    /// Works the window. `scratch` is empty; `mailbox` is exchanged for its earlier contents. Returns when the cell must
    /// work again, if nothing comes from others.
    pub fn work(
        &mut self,
        window: Window,
        mailbox: &mut Mailbox,
        scratch: &mut WindowScratch,
        mailboxes: &impl Mailboxes,
        directory: &Directory,
    ) -> Time {
        self.foresee_ports(window.until, &mut scratch.landings);
        self.collect(window, mailbox, scratch);
        self.foresee_wires(&scratch.landings);
        (0..AHEAD).for_each(|number| scratch.foresee(number, &mut self.network, directory));
        self.foresee_ends(&scratch.landings, directory);
        let mut next = 0;
        loop {
            let order_at = self.orders.front().map_or(Time::MAX, |order| order.0);
            let until = window.until.min(order_at);
            next = self.work_until(until, next, scratch, directory);
            if order_at >= window.until {
                break;
            }
            self.perform_until(order_at, directory);
        }
        self.network.now = window.until;
        let lands = self.network.hand_over(window.next_until, mailboxes, directory);
        self.wanted_at(lands, window.lookahead)
    }

    /// Carries out the orders of applications due by `until`.
    pub fn perform_until(&mut self, until: Time, directory: &Directory) {
        while let Some((at, place, order)) = self.orders.front().copied().filter(|order| order.0 <= until) {
            self.orders.pop_front();
            self.network.now = at;
            self.perform(place, order, directory);
        }
    }

    /// Hands over the packets that land before `until` in other cells; nothing else is done.
    pub fn hand_over(
        &mut self,
        until: Time,
        lookahead: Span,
        mailboxes: &impl Mailboxes,
        directory: &Directory,
    ) -> Time {
        let lands = self.network.hand_over(until, mailboxes, directory);
        self.wanted_at(lands, lookahead)
    }

    /// When the cell must work again; `lands` is when the next of its packets lands in another cell.
    fn wanted_at(&mut self, lands: Time, lookahead: Span) -> Time {
        let later = self.later.iter().map(|parcel| parcel.packet.at).min().unwrap_or(Time::MAX);
        let hand_over = Time::ps(lands.as_ps().saturating_sub(lookahead.as_ps()));
        self.network.events.next_at().min(later).min(hand_over)
    }

    /// Takes the packets from other cells, and sorts those that land in the window.
    fn collect(&mut self, window: Window, mailbox: &mut Mailbox, scratch: &mut WindowScratch) {
        let Landings { keys, ways, begin, spread, .. } = &mut scratch.landings;
        *begin = window.begin;
        keys.clear();
        ways.clear();
        scratch.mailbox.parcels.clear();
        scratch.mailbox.parcels.append(&mut self.later);
        let known = scratch.mailbox.parcels.len();
        if known == 0 {
            std::mem::swap(&mut scratch.mailbox.parcels, &mut mailbox.parcels);
        } else {
            scratch.mailbox.parcels.append(&mut mailbox.parcels);
        }
        if !mailbox.extensions.is_empty() {
            self.take_over(&mut scratch.mailbox.parcels[known..], &mut mailbox.extensions);
        }
        let (parcels, length, mut latest) =
            (&scratch.mailbox.parcels, window.until - window.begin, window.begin);
        keys.extend(parcels.iter().enumerate().map(|(place, parcel)| {
            latest = latest.max(parcel.packet.at);
            // A key has no room for a packet that lands long after the window.
            Landings::key((parcel.packet.at - window.begin).min(LONGEST), place)
        }));
        if latest >= window.until {
            let later = keys.extract_if(.., |key| *key >= Landings::key(length, 0));
            self.later.extend(later.map(|key| parcels[Landings::place(key)]));
        }
        spread.sort(keys, length.as_ps());
        settle_ties(keys, parcels);
    }

    /// The cell keeps the extensions of `parcels` from now on.
    #[inline(never)]
    fn take_over(&mut self, parcels: &mut [Parcel], carried: &mut Carried) {
        for parcel in parcels.iter_mut().filter(|parcel| parcel.packet.extension != NONE) {
            let number = parcel.packet.extension;
            parcel.packet.extension = self.network.extensions.take_over(number, carried);
        }
        carried.clear();
    }

    /// Handles the events before `until`, parcels from number `next` on; returns the number of the next one.
    fn work_until(
        &mut self,
        until: Time,
        mut next: usize,
        scratch: &mut WindowScratch,
        directory: &Directory,
    ) -> usize {
        let Cell { network, hosts, handled, .. } = self;
        let mut net = Net { network, directory };
        loop {
            let lands = scratch.landings.at(next).map_or(until, |at| at.min(until));
            while let Some((at, event)) = net.events.pop_before(lands) {
                net.now = at;
                *handled += 1;
                handle(event, hosts, &mut net);
            }
            if lands == until {
                return next;
            }
            scratch.foresee(next + AHEAD, net.network, directory);
            let (parcel, way) = (scratch.parcel(next), scratch.landings.ways[next]);
            next += 1;
            net.now = lands;
            *handled += 1;
            if let Some(packet) = net.network.land_parcel(parcel, way, directory) {
                hosts.on_packet(&packet, &mut net);
            }
            if !net.network.changes.is_empty() {
                take_changes(hosts, &mut net);
            }
        }
    }
}

/// Puts packets of one time in order by link, those of one link as they left; the times are in order.
fn settle_ties(keys: &mut [u64], parcels: &[Parcel]) {
    let mut next = 0;
    let tie = |keys: &[u64]| keys.windows(2).position(|pair| Landings::same_time(pair[0], pair[1]));
    while let Some(place) = tie(&keys[next..]) {
        let first = next + place;
        let tied = keys[first..].iter().take_while(|key| Landings::same_time(**key, keys[first])).count();
        next = first + tied;
        keys[first..next].sort_unstable_by_key(|key| (parcels[Landings::place(*key)].link, *key));
    }
}
