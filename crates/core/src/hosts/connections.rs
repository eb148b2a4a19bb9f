//! All connections: loads open, feed and close them here, whatever cells their ends are in.
//!
//! In a single cell all happens at once, at the present. Among several, loads run before the cells do: an end is
//! made at once, since it does nothing by itself, and its application's wishes reach it as an order for a time.

use super::bundles::{Bundle, Shared};
use super::cell::Cell;
use super::ends::{About, Block, Message, ReceivingEnd, SendingEnd};
use super::facts::TimeoutCounts;
use super::facts::{FlowId, Pair, Write};
use super::records::FlowRow;
use super::roster::Life;
pub use super::roster::{CONNECTION_BYTES, Class, MAX_FLOWS, Opener, Roster};
use super::work::Order;
use crate::cc::{Algorithm, FlowInfo, PathInfo};
use crate::events::Source;
use crate::net::{Change, Connection, Directory, Net, STAMPED};
use crate::routing::graph::NodeId;
use crate::routing::table::Entry;
use crate::transport::{AnyReceiver, AnySender, State, TransportKind};
use shallows_units::{Rate, Time};
use std::cmp::Reverse;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

/// All connections, at a time.
pub struct Connections<'a> {
    /// The cells.
    pub cells: &'a [Mutex<Cell>],
    /// Their shared data.
    pub directory: &'a RwLock<Directory>,
    /// The list of connections.
    pub roster: &'a mut Roster,
    /// The caller's present.
    pub now: Time,
}

/// The lock's content; a thread that panicked ends the run anyway.
pub fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Messages that are no longer held.
pub fn done(cells: &[Mutex<Cell>]) -> u64 {
    cells.iter().map(|cell| locked(cell).hosts.messages_done).sum()
}

impl Connections<'_> {
    fn directory(&self) -> RwLockReadGuard<'_, Directory> {
        self.directory.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn connection(&self, id: FlowId) -> Connection {
        self.directory().connections[id as usize]
    }

    fn change<T>(&self, change: impl FnOnce(&mut Directory) -> T) -> T {
        change(&mut self.directory.write().unwrap_or_else(PoisonError::into_inner))
    }

    // ---- calls of workloads ----

    /// Packets of `from` come to `to`.
    pub fn leads(&self, from: NodeId, to: NodeId) -> bool {
        self.change(|directory| directory.routing.leads(from, to))
    }

    /// Opens a connection; `bytes` is the size that the application announces, if it does.
    pub fn open(&mut self, opener: Opener, ends: Pair, bytes: Option<u64>) -> FlowId {
        let config = self.roster.loads[opener.load as usize].config as usize;
        let rules = &self.roster.configs[config].roce;
        let (most, cuts) = (rules.qps, rules.cuts);
        let own = |bytes: u64| if cuts { bytes.div_ceil(most).max(1) } else { bytes };
        let serial = self.roster.opened;
        let id = self.place(opener, ends, bytes.map(own));
        if most > 1 {
            let bundle = Bundle { opener, ends, members: vec![id], serial, most, cuts, turn: 0, written: 0 };
            self.roster.bundles.insert(id, bundle);
        }
        self.order(id, Order::Open);
        id
    }

    /// Opens, writes one message, closes: the congestion control knows of the message before the SYN.
    pub fn send_once(&mut self, opener: Opener, ends: Pair, write: Write) -> FlowId {
        let config = self.roster.loads[opener.load as usize].config as usize;
        if self.roster.configs[config].roce.qps > 1 {
            let id = self.open(opener, ends, Some(write.bytes));
            self.send(id, write);
            self.close(id);
            return id;
        }
        let id = self.place(opener, ends, Some(write.bytes));
        self.announce(id, write);
        self.order(id, Order::Open);
        self.write(id, write.bytes);
        self.close(id);
        id
    }

    /// Writes a message.
    pub fn send(&mut self, id: FlowId, write: Write) {
        if self.roster.bundles.contains_key(&id) {
            return self.send_shared(id, write);
        }
        self.announce(id, write);
        self.write(id, write.bytes);
    }

    /// Writes a message that several queue pairs share.
    fn send_shared(&mut self, id: FlowId, write: Write) {
        let config = self.roster.lives[id as usize].config as usize;
        let payload = self.roster.configs[config].rules.mss;
        let acknowledged = self.roster.configs[config].roce.reads.is_none();
        let bundle = self.roster.bundles.get_mut(&id).expect("the caller has seen it");
        let shares = bundle.share_out(write.bytes, payload);
        let shared = Shared::new(bundle, write);
        let parts = shares.len() as u64;
        let mut work = vec![];
        for (place, bytes) in shares {
            let member = self.member(id, place, Some(bytes));
            let connection = self.connection(member);
            let end = self.roster.lives[member as usize].written.saturating_add(bytes);
            let key = (connection.serial, end);
            locked(&self.cells[connection.receiver.0 as usize]).hosts.parts.add(key, shared, parts);
            if acknowledged {
                locked(&self.cells[connection.sender.0 as usize]).hosts.answers.add(key, shared, parts);
            }
            work.push((member, bytes));
        }
        for (member, bytes) in work {
            self.announce(member, Write { bytes, ..write });
            self.write(member, bytes);
        }
    }

    /// The queue pair at `place` of a bundle, opened if it does not stand yet.
    fn member(&mut self, id: FlowId, place: usize, bytes: Option<u64>) -> FlowId {
        loop {
            let bundle = &self.roster.bundles[&id];
            if let Some(member) = bundle.members.get(place) {
                return *member;
            }
            let (opener, ends) = (bundle.opener, bundle.ends);
            let member = self.place(opener, ends, bytes);
            self.roster.bundles.get_mut(&id).expect("seen above").members.push(member);
            self.order(member, Order::Open);
        }
    }

    /// Writes without end.
    pub fn send_forever(&mut self, id: FlowId) {
        if let Some(most) = self.roster.bundles.get(&id).map(|bundle| bundle.most as usize) {
            let members: Vec<_> = (0..most).map(|place| self.member(id, place, None)).collect();
            members.into_iter().for_each(|member| self.write_forever(member));
        } else {
            self.write_forever(id);
        }
    }

    fn write_forever(&mut self, id: FlowId) {
        self.roster.lives[id as usize].unbounded = true;
        self.change(|directory| directory.connections[id as usize].end = u64::MAX);
        self.write(id, u64::MAX);
    }

    /// Opens a socket that sends the datagrams of its load's pair number `pair`.
    pub fn emit(&mut self, opener: Opener, ends: Pair, pair: u64) -> FlowId {
        let id = self.place(opener, ends, None);
        self.roster.lives[id as usize].unbounded = true;
        self.change(|directory| directory.connections[id as usize].end = u64::MAX);
        self.order(id, Order::Open);
        self.order(id, Order::Emit(pair));
        id
    }

    /// No more will be written.
    pub fn close(&mut self, id: FlowId) {
        match self.roster.bundles.remove(&id) {
            Some(bundle) => bundle.members.into_iter().for_each(|member| self.close_one(member)),
            None => self.close_one(id),
        }
    }

    fn close_one(&mut self, id: FlowId) {
        let (cell, place) = self.connection(id).receiver;
        locked(&self.cells[cell as usize]).hosts.receivers[place as usize].closed = true;
        self.order(id, Order::Close);
    }

    /// Timeouts so far of the connections of a load.
    pub fn timeouts_of(&self, opener: Opener) -> TimeoutCounts {
        let mut all = TimeoutCounts::default();
        self.cells.iter().for_each(|cell| all += locked(cell).hosts.loads[opener.load as usize].timeouts);
        all
    }

    /// Makes a connection's two ends, which have sent nothing yet.
    fn place(&mut self, opener: Opener, ends: Pair, bytes: Option<u64>) -> FlowId {
        let cells = self.cells;
        self.roster.called(|| done(cells));
        let load = self.roster.loads[opener.load as usize];
        let configs = self.roster.configs.clone();
        let config = &configs[load.config as usize];
        let serial = self.roster.opened;
        self.roster.opened += 1;
        let id = self.number();
        let mut longest = std::mem::take(&mut self.roster.longest);
        let (labels, enters, path, last, least) = self.change(|directory| {
            directory.routing.find([ends.0, ends.1]);
            let routing = &directory.routing;
            let enters = [ends.0, ends.1].map(|host| directory.enters(host));
            let (mut rates, mut links) = (None, 0);
            for link in routing.path(ends) {
                let rate = directory.links[link as usize].0;
                let (first, _, least) = rates.unwrap_or((rate, rate, rate));
                (rates, links) = (Some((first, rate, least.min(rate))), links + 1);
            }
            if !routing.is_even() {
                links = routing.most_links(ends) as u32;
            }
            let (mut line_rate, mut last, least) =
                rates.unwrap_or((Rate::bps(1), Rate::bps(1), Rate::bps(1)));
            let spreads = config.kind == TransportKind::Uec && config.chooses_paths();
            if spreads && enters.iter().any(|entry| matches!(entry, Entry::Any(_))) {
                // Values spread packets over all ports that lead to the other end.
                let together = |links: &[u32]| {
                    let rates = links.iter().map(|link| directory.links[*link as usize].0.as_bps());
                    Rate::bps(rates.fold(0, u64::saturating_add).max(1))
                };
                [line_rate, last] = routing.own_links(ends).map(|links| together(&links));
            }
            let there = longest.time(routing, ends, config.packet, &directory.links);
            let back = longest.time(routing, (ends.1, ends.0), 0, &directory.links);
            let (peer_rate, switches) = (last, u32::saturating_sub(links, 1));
            let path = PathInfo { line_rate, peer_rate, switches, base_rtt: there + back };
            (routing.labels(ends, serial), enters, path, last, least)
        });
        self.roster.longest = longest;
        let slowest = self.roster.slowest.entry(opener.load).or_insert((least, path.base_rtt));
        *slowest = (slowest.0.min(least), slowest.1.max(path.base_rtt));
        if let Algorithm::Custom(custom) = &config.cc
            && let Some(made) = &custom.made
        {
            made.announce(serial);
        }
        if config.keeps_short_timers() && config.roce.timeouts[0] <= path.base_rtt {
            let longest = self.roster.short_timers.entry(opener.load).or_default();
            *longest = path.base_rtt.max(*longest);
        }
        if config.cc.paces_wire() {
            self.roster.note_opening(opener.load, ends, self.now);
        }
        let class = &self.roster.classes[load.class as usize];
        let info = FlowInfo { class: &class.name, bytes, path, random: (config.seed, u64::from(serial)) };
        let about = About {
            id,
            serial,
            load: opener.load,
            config: load.config,
            class: load.class,
            ends,
            opened: self.now,
        };
        let sending = SendingEnd {
            sender: AnySender::new(id, labels[0], &info, config, self.now),
            about,
            passed: (0, 0),
            lost: 0,
            doubled: 0,
            blocks: VecDeque::new(),
            awaits: u64::MAX,
            acked_at: Time::ZERO,
            closed: false,
            vacant: false,
            timer: Source::NONE,
            timeouts: TimeoutCounts::default(),
            traced: class.traced,
            traced_last: (0, None),
            lost_before: 0,
        };
        let receiving = ReceivingEnd {
            receiver: AnyReceiver::new(id, labels[1], config, (last, path.base_rtt)),
            about,
            passed: (0, 0),
            messages: VecDeque::new(),
            closed: false,
            vacant: false,
            ended: None,
            timer: Source::NONE,
            arrived_before: 0,
            timeouts: TimeoutCounts::default(),
        };
        let cells = [ends.0, ends.1].map(|host| self.roster.cell_of[host.index()]);
        let sender = self.in_cell(cells[0], |cell, directory| {
            cell.hosts.add_sender(sending, &mut Net { network: &mut cell.network, directory })
        });
        let receiver = self.in_cell(cells[1], |cell, directory| {
            cell.hosts.add_receiver(receiving, &mut Net { network: &mut cell.network, directory })
        });
        let connection = Connection {
            serial,
            class: load.class,
            demotion: match config.kind {
                TransportKind::Homa => STAMPED,
                _ if config.settings.demote_at.is_empty() => 0,
                _ => load.config + 1,
            },
            priorities: config.priorities(),
            back: labels[1],
            enters,
            sender: (cells[0], sender),
            receiver: (cells[1], receiver),
            end: 0,
        };
        let life = Life { written: 0, unbounded: false, opened: self.now, config: load.config, stands: true };
        self.change(|directory| match directory.connections.get_mut(id as usize) {
            Some(place) => *place = connection,
            None => directory.connections.push(connection),
        });
        match self.roster.lives.get_mut(id as usize) {
            Some(place) => *place = life,
            None => self.roster.lives.push(life),
        }
        if let Some(all) = &mut self.roster.all_opened {
            all.push((opener.load, ends));
        }
        self.roster.overflowed |= self.roster.lives.len() >= MAX_FLOWS;
        id
    }

    /// A number for a connection that opens now.
    fn number(&mut self) -> FlowId {
        let roster = &mut *self.roster;
        if roster.numbers_stay {
            return roster.lives.len() as u32;
        }
        if let Some(Reverse((from, id))) = roster.resting.peek().copied()
            && from <= self.now
        {
            roster.resting.pop();
            return id;
        }
        roster.vacant.pop().unwrap_or(roster.lives.len() as u32)
    }

    fn in_cell<T>(&self, cell: u32, act: impl FnOnce(&mut Cell, &Directory) -> T) -> T {
        act(&mut locked(&self.cells[cell as usize]), &self.directory())
    }

    /// A request of the application to the sending end, or to one that reads, at the present.
    fn order(&mut self, id: FlowId, order: Order) {
        let connection = self.connection(id);
        let (cell, place) =
            if matches!(order, Order::Read(_)) { connection.receiver } else { connection.sender };
        let (at_once, now) = (self.cells.len() == 1, self.now);
        self.in_cell(cell, |cell, directory| match at_once {
            true => cell.perform(place, order, directory),
            false => cell.orders.push_back((now, place, order)),
        });
        if !at_once {
            self.roster.ordered.push(cell);
        }
    }

    /// Tells the records and the congestion control of a message that is about to be written.
    fn announce(&mut self, id: FlowId, write: Write) {
        let (now, cells) = (self.now, self.cells);
        self.roster.announced += 1;
        self.roster.called(|| done(cells));
        let life = self.roster.lives[id as usize];
        let handshake = self.roster.configs[life.config as usize].handshakes();
        let end = life.written.saturating_add(write.bytes);
        let message = Message {
            end,
            bytes: write.bytes,
            started: now,
            tag: write.tag,
            first_of_fresh: handshake && life.written == 0 && life.opened == now,
            deadline: write.deadline,
            asks: write.asks,
        };
        let (cell, place) = self.connection(id).receiver;
        locked(&self.cells[cell as usize]).hosts.receivers[place as usize].messages.push_back(message);
        let serial = self.connection(id).serial;
        if let Some(all) = &mut self.roster.all_announced {
            all.push((serial, end));
        }
        let block = Block { end, bytes: write.bytes };
        self.order(id, Order::Announce(block, write.deadline.map(|span| now + span)));
        self.change(|directory| directory.connections[id as usize].end = end);
    }

    fn write(&mut self, id: FlowId, bytes: u64) {
        let life = &mut self.roster.lives[id as usize];
        life.written = life.written.saturating_add(bytes);
        let (until, config) = (life.written, life.config);
        self.order(id, Order::Write(bytes));
        if self.roster.configs[config as usize].roce.reads.is_some() {
            self.order(id, Order::Read(until));
        }
    }

    // ---- ends ----

    /// Ends a connection if nothing is left to do at either end and none of its packets is under way.
    pub fn release_if_ended(&mut self, id: FlowId) {
        if !self.roster.lives[id as usize].stands {
            return;
        }
        let connection = self.connection(id);
        let over = self.with_ends(connection, |sending, receiving| {
            let failed = sending.sender.state() == State::Failed;
            let both_closed = !sending.sender.closes_both() || receiving.receiver.closed();
            let complete = sending.sender.all_acknowledged() && receiving.messages.is_empty() && both_closed;
            // A load may still write to a sender that failed; the row then says how it ended.
            let silent = sending.under_way(receiving) == 0 && receiving.receiver.rests();
            sending.closed && (complete || failed) && silent
        });
        if !over {
            return;
        }
        self.record(id, connection);
        let roster = &mut *self.roster;
        roster.lives[id as usize].stands = false;
        if self.cells.len() == 1 {
            roster.vacant.push(id);
        } else {
            roster.resting.push(Reverse((self.now + roster.rest, id)));
        }
        locked(&self.cells[connection.sender.0 as usize]).hosts.free_sender(connection.sender.1);
        locked(&self.cells[connection.receiver.0 as usize]).hosts.free_receiver(connection.receiver.1);
    }

    /// The rows of a connection that ends now.
    fn record(&mut self, id: FlowId, connection: Connection) {
        let (now, from) = (self.now, self.roster.measured_from);
        let unbounded = self.roster.lives[id as usize].unbounded;
        let row = self.with_ends(connection, |sending, receiving| {
            receiving.counts_from(from).then(|| FlowRow::new(sending, receiving, unbounded, from, now))
        });
        self.roster.flow_rows.extend(row);
        self.in_cell(connection.receiver.0, |cell, directory| {
            cell.hosts.undelivered_messages(connection.receiver.1 as usize, now, directory);
        });
    }

    /// Both ends of a connection.
    fn with_ends<T>(
        &self,
        connection: Connection,
        act: impl FnOnce(&mut SendingEnd, &mut ReceivingEnd) -> T,
    ) -> T {
        let ((one, sender), (two, receiver)) = (connection.sender, connection.receiver);
        let mut first = locked(&self.cells[one as usize]);
        if one == two {
            let hosts = &mut first.hosts;
            return act(&mut hosts.senders[sender as usize], &mut hosts.receivers[receiver as usize]);
        }
        let mut second = locked(&self.cells[two as usize]);
        act(&mut first.hosts.senders[sender as usize], &mut second.hosts.receivers[receiver as usize])
    }

    /// The warm-up ends: statistics begin.
    pub fn restart(&mut self) {
        self.roster.measured_from = self.now;
        self.roster.flow_rows.clear();
        self.roster.waits.clear();
        for cell in self.cells {
            locked(cell).hosts.restart(self.now);
        }
    }

    /// The run ends: rows of the connections still open.
    pub fn finish(&mut self) {
        for id in 0..self.roster.lives.len() as u32 {
            if self.roster.lives[id as usize].stands {
                self.record(id, self.connection(id));
            }
        }
        self.roster.flow_rows.sort_by_key(|row| row.serial);
    }

    /// A row of the flow trace for each traced connection, but for those that were complete before the warm-up ended:
    /// until their last acknowledgement has come they stand, and `flows` has no row of them.
    pub fn trace_all(&mut self) {
        for id in 0..self.roster.lives.len() as u32 {
            if !self.roster.lives[id as usize].stands {
                continue;
            }
            let connection = self.connection(id);
            if self.roster.classes[connection.class as usize].traced {
                let now = self.now;
                let config = &self.roster.configs[self.roster.lives[id as usize].config as usize];
                let from = self.roster.measured_from;
                let row = self.with_ends(connection, |sending, receiving| {
                    let counts = receiving.counts_from(from);
                    counts.then(|| super::records::trace_row(sending, receiving, config, now))
                });
                self.roster.trace_rows.extend(row);
            }
        }
    }

    /// A packet of a connection was lost or doubled in a cell that is not its sender's.
    pub fn on_change(&mut self, change: &Change) {
        let (cell, place) = self.connection(change.flow).sender;
        locked(&self.cells[cell as usize]).hosts.on_change(change, place);
    }
}
