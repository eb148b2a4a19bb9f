//! The settings of Homa, and the form in which both ends work with them.

use crate::cc::Algorithm;
use crate::params::{Code, Component, Faults, Params};
use crate::sizes::Sizes;
use crate::transport::settings::{Opening, TransportSettings};
use serde_json::Value;
use shallows_units::{Bytes, Size, Span};

/// The name by which `transport.profile` chooses Homa.
pub const PROFILE: &str = "homa";
/// The only control that runs over it.
const CONTROL: &str = "line-rate";
/// Priorities that an experiment may declare.
const MOST_LEVELS: u64 = 8;

crate::params! {
    /// Homa. Messages begin with the bytes of a round trip, and receivers grant the rest, shortest first, on priorities that they
    /// choose. `cc` is line-rate, since grants are all the control there is. Levels are the priorities from 0 on:
    /// scheduled ones below, unscheduled ones above, and all but data in the highest.
    pub struct HomaSettings {
        /// Payload of a full packet.
        mtu: Bytes = "1440B", "[1B, 9000B]", "ours: with the header a packet of 1500 bytes, the authors' simulator's";
        /// Bytes of a packet's header, and of grants.
        header: Bytes = "60B", "[1B, 200B]", "ours";
        /// Bytes of a message that leave without a grant, and bytes that grants keep on the way, in whole packets.
        rtt_bytes: Bytes = "10000B", "[1B, 1GB]", "the authors' simulator: a round trip at 10 Gb/s";
        /// Priorities of unscheduled packets; without any they have the highest scheduled one.
        unscheduled_levels: u64 = 1, "[0, 7]", "Montazeri 2018 s.3.4: by the share of unscheduled bytes, 1 for the largest messages";
        /// Priorities of scheduled packets.
        scheduled_levels: u64 = 7, "[1, 8]", "Montazeri 2018 s.3.4: the other of 8";
        /// Sizes of messages from which on unscheduled packets have the next lower priority, one fewer than `unscheduled_levels`.
        cutoffs: Vec<Bytes> = [], "[1B, ]", "none; `sizes` has them computed";
        /// Sizes of messages, by which each unscheduled level gets equally many bytes, or "none".
        sizes: Option<Sizes> = "none", "", "Montazeri 2018 s.3.4; its receivers measure them";
        /// Messages to which a receiver grants at a time, or "none" for as many as scheduled levels.
        overcommitment: Option<u64> = "none", "[1, 1000000]", "Montazeri 2018 s.3.5";
        /// A receiver asks again for what was granted when nothing has come for so long, and a sender that gets no answer sends again.
        timeout: Span = "2ms", "(0s, 10000s]", "ours: Montazeri 2018 s.3.7 speaks of a few milliseconds";
    }
    facts {
        not_tcp: "Homa",
    }
}

/// The settings in the form in which both ends work with them. Of a load over another transport they are the defaults, and unused.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Bytes that leave without a grant, in whole packets.
    pub rtt_bytes: u64,
    /// Lowest unscheduled priority, and how many.
    pub unscheduled: (u8, u8),
    /// Scheduled priorities.
    pub scheduled: u8,
    /// The largest messages of each unscheduled level but the last, highest level first.
    pub cutoffs: Vec<u64>,
    /// Messages to which a receiver grants at a time.
    pub overcommitment: usize,
    /// Time after which what is missing is asked for.
    pub timeout: Span,
}

impl Rules {
    /// The rules of a load with `settings`.
    pub fn new(settings: &HomaSettings) -> Self {
        let (above, below) = (settings.unscheduled_levels, settings.scheduled_levels);
        let mtu = settings.mtu.as_u64();
        let rtt_bytes = settings.rtt_bytes.as_u64().div_ceil(mtu) * mtu;
        let cutoffs = match &settings.sizes {
            Some(sizes) => cutoffs(sizes, rtt_bytes, above),
            None => settings.cutoffs.iter().map(|bytes| bytes.as_u64()).collect(),
        };
        Rules {
            rtt_bytes,
            unscheduled: (if above == 0 { below - 1 } else { below } as u8, above.max(1) as u8),
            scheduled: below as u8,
            cutoffs,
            overcommitment: settings.overcommitment.unwrap_or(below) as usize,
            timeout: settings.timeout,
        }
    }

    /// The priority of the unscheduled packets of a message of `bytes` (s.3.4).
    pub fn unscheduled_level(&self, bytes: u64) -> u8 {
        let (lowest, levels) = self.unscheduled;
        let falls = self.cutoffs.partition_point(|most| *most < bytes) as u8;
        lowest + levels - 1 - falls.min(levels - 1)
    }

    /// The priority of scheduled packets of the message that is number `rank` of `active` by what is left: the lowest levels are
    /// used first, so that a shorter message that comes later finds a higher one free (s.3.4).
    pub fn scheduled_level(&self, rank: usize, active: usize) -> u8 {
        let used = active.min(self.scheduled.into());
        used.saturating_sub(1 + rank) as u8
    }
}

/// The largest messages of each of `levels` but the lowest, so that all carry equally many unscheduled bytes, which are the first
/// `most` bytes of each message (s.3.4; the authors' simulator: `STATIC_CBF_UNIFORM`).
pub fn cutoffs(sizes: &Sizes, most: u64, levels: u64) -> Vec<u64> {
    let points = sizes.points();
    let whole = unscheduled(&points, f64::INFINITY, most as f64);
    (1..levels)
        .map(|level| {
            let wanted = whole * level as f64 / levels as f64;
            let (mut low, mut high) = (0, sizes.largest());
            while low < high {
                let middle = low + (high - low) / 2;
                if unscheduled(&points, middle as f64, most as f64) >= wanted {
                    high = middle;
                } else {
                    low = middle + 1;
                }
            }
            low
        })
        .collect()
}

/// Mean over all messages of the unscheduled bytes of those up to `largest`, where sizes are even between points (bytes, share).
fn unscheduled(points: &[(f64, f64)], largest: f64, most: f64) -> f64 {
    let mut before = (points[0].0, 0.0);
    let mut sum = 0.0;
    for &(bytes, share) in points {
        let ((from, below), mass) = (before, share - before.1);
        before = (bytes, share);
        debug_assert!(mass >= 0.0 && below <= share);
        if bytes == from {
            sum += if bytes <= largest { mass * bytes.min(most) } else { 0.0 };
            continue;
        }
        let to = bytes.min(largest);
        if to <= from {
            continue;
        }
        let bend = most.clamp(from, to);
        let area = (bend * bend - from * from) / 2.0 + most * (to - bend);
        sum += mass / (bytes - from) * area;
    }
    sum
}

impl HomaSettings {
    /// Priorities that it uses, from 0 on.
    pub fn levels(&self) -> u64 {
        self.unscheduled_levels + self.scheduled_levels
    }

    /// The settings of TCP that both transports share, for the parts of a run that ask for no more.
    pub fn common(&self) -> TransportSettings {
        TransportSettings {
            opening: Opening::Established,
            mss: self.mtu,
            header: self.header,
            initial_window: Size::Bytes(self.rtt_bytes),
            dup_acks: 1, // a later packet reports nothing, so that the last of a message alone is its tail
            small_queues: Some(Bytes(1)),
            priority: (self.levels() - 1).min(MOST_LEVELS - 1),
            ..TransportSettings::defaults()
        }
    }

    /// Checks across settings, which stand at `path`.
    pub fn check(&self, path: &str, cc: Option<&Algorithm>, faults: &mut Faults) {
        let levels = self.levels();
        if levels > MOST_LEVELS {
            let most = MOST_LEVELS - self.unscheduled_levels;
            let rule = format!("must be at most {most}: there are {MOST_LEVELS} priorities for all levels");
            let at = format!("{path}.scheduled_levels");
            faults.add(&at, Code::Conflict.rule(rule), &self.scheduled_levels.into());
        }
        let needed = self.unscheduled_levels.max(1) - 1;
        let at = format!("{path}.cutoffs");
        let count = self.cutoffs.len() as u64;
        if self.sizes.is_some() && count > 0 {
            let rule = Code::Conflict.rule("changes nothing: they follow from sizes");
            faults.add(&at, rule, &count.into());
        } else if self.sizes.is_none() && count != needed {
            let rule = format!("must have {needed}, one fewer than unscheduled_levels; or write sizes");
            faults.add(&at, Code::Conflict.rule(rule), &count.into());
        }
        if let Some(place) = (1..self.cutoffs.len()).find(|i| self.cutoffs[*i] <= self.cutoffs[*i - 1]) {
            let rule = Code::Conflict.rule("must be above the one before it");
            faults.add(&format!("{at}.{place}"), rule, &self.cutoffs[place].to_string().into());
        }
        let Some(cc) = cc else { return };
        if cc.kind() != CONTROL {
            let rule = format!("must be \"{CONTROL}\": over Homa the receiver's grants set the rate");
            faults.add(&format!("{path}.cc"), Code::Unsupported.rule(rule), &cc.kind().into());
        } else if let Some(bound) = cc.show().get("window_rtt").filter(|bound| **bound != "none") {
            let rule = "changes nothing: over Homa the receiver's grants bound the data in flight";
            faults.add(&format!("{path}.cc.window_rtt"), Code::Conflict.rule(rule), bound);
        }
    }

    /// The discipline of hosts' ports where `[nic]` is not written: of the flows there the one with least left sends first (s.3.2).
    pub fn nic() -> Value {
        serde_json::json!({"kind": "pfabric", "limit": "1000000pkt"})
    }

    /// The profile as a component, for lists and reference pages.
    pub fn component() -> Component {
        Component::of::<Self>(PROFILE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sizes::{CdfPoint, Empirical, Sizes};

    fn even(largest: f64) -> Sizes {
        Sizes::Empirical(Empirical {
            name: String::new(),
            points: vec![CdfPoint(0.0, 0.0), CdfPoint(largest, 100.0)],
        })
    }

    /// Sizes even from 0 to 10 000. Where all bytes are unscheduled, those up to x are x^2 / 2, so that quarters end at the roots of
    /// quarters. Where 5000 of a message are, thirds of 5000^2 / 2 + 5000 * 5000 are 5000^2 / 2 each.
    #[test]
    fn levels_carry_equally_many_bytes() {
        assert_eq!(cutoffs(&even(10_000.0), 1_000_000, 4), [5000, 7072, 8661]);
        assert_eq!(cutoffs(&even(10_000.0), 5000, 3), [5000, 7500]);
        assert_eq!(cutoffs(&Sizes::fixed(Bytes(700)), 5000, 3), [700, 700]);
        assert_eq!(cutoffs(&even(10_000.0), 5000, 1), Vec::<u64>::new());
    }

    /// Seven levels, three above: a message at a cut-off has the level of those below it. Two active messages have the two
    /// lowest levels, and twelve share the lowest from the fourth on.
    #[test]
    fn levels_follow_from_sizes_and_ranks() {
        let rules = Rules::new(&HomaSettings {
            unscheduled_levels: 3,
            scheduled_levels: 4,
            cutoffs: vec![Bytes(100), Bytes(1000)],
            ..HomaSettings::defaults()
        });
        assert_eq!(
            [1, 100, 101, 1000, 1001, 1 << 40].map(|bytes| rules.unscheduled_level(bytes)),
            [6, 6, 5, 5, 4, 4]
        );
        assert_eq!([0, 1].map(|rank| rules.scheduled_level(rank, 2)), [1, 0]);
        assert_eq!([0, 3, 11].map(|rank| rules.scheduled_level(rank, 12)), [3, 0, 0]);
        let alone = Rules::new(&HomaSettings {
            unscheduled_levels: 0,
            scheduled_levels: 2,
            ..HomaSettings::defaults()
        });
        assert_eq!((alone.unscheduled_level(1), alone.scheduled_level(0, 1)), (1, 0));
    }
}
