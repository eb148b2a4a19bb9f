//! Amounts of data: bytes, or bytes against packets.

use crate::text::{Dimension, UnitError};
use std::cmp::Ordering;
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub, SubAssign};

macro_rules! byte_units {
    ($($more:expr),*) => {
        &[
            ("B", 1),
            ("KB", 1_000),
            ("MB", 1_000_000),
            ("GB", 1_000_000_000),
            ("TB", 1_000_000_000_000),
            ("KiB", 1 << 10),
            ("MiB", 1 << 20),
            ("GiB", 1 << 30),
            $($more),*
        ]
    };
}

const BYTES: Dimension = Dimension {
    what: "an amount of data in bytes",
    example: "150KB",
    units: byte_units!(),
    aliases: &[("k", "KB"), ("m", "MB"), ("g", "GB"), ("byte", "B"), ("bytes", "B")],
};

const SIZE: Dimension = Dimension {
    what: "an amount in bytes or packets",
    example: "150KB\" or \"65pkt",
    units: byte_units!(("pkt", 1)),
    aliases: &[("p", "pkt"), ("pkts", "pkt"), ("packet", "pkt"), ("packets", "pkt")],
};

/// An amount of data in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(pub u64);

/// An amount of data in bytes or in packets, as a file gives it.
///
/// Bytes and packets do not compare: how they relate depends on the packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Size {
    /// So many bytes.
    Bytes(Bytes),
    /// So many packets.
    Packets(u64),
}

impl Bytes {
    /// The number of bytes.
    pub const fn as_u64(self) -> u64 {
        self.0
    }

    /// The difference, or zero where `other` is larger.
    pub const fn saturating_sub(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_sub(other.0))
    }

    /// Reads a text such as `"150KB"`.
    pub fn parse(text: &str) -> Result<Self, UnitError> {
        BYTES.read(text).map(|(bytes, _)| Bytes(bytes))
    }
}

impl Size {
    /// Reads a text such as `"150KB"` or `"65pkt"`.
    pub fn parse(text: &str) -> Result<Self, UnitError> {
        Ok(match SIZE.read(text)? {
            (packets, "pkt") => Size::Packets(packets),
            (bytes, _) => Size::Bytes(Bytes(bytes)),
        })
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        BYTES.write(self.0, "B", f)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Size::Bytes(bytes) => bytes.fmt(f),
            Size::Packets(packets) => f.pad(&format!("{packets}pkt")),
        }
    }
}

impl PartialOrd for Size {
    fn partial_cmp(&self, other: &Size) -> Option<Ordering> {
        match (self, other) {
            (Size::Bytes(a), Size::Bytes(b)) => a.partial_cmp(b),
            (Size::Packets(a), Size::Packets(b)) => a.partial_cmp(b),
            _ => None,
        }
    }
}

impl Add for Bytes {
    type Output = Bytes;
    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0 + other.0)
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Bytes) {
        *self = *self + other;
    }
}

/// The difference. A larger right side is a mistake of the caller: it stops a debug build and gives
/// zero in a release build.
impl Sub for Bytes {
    type Output = Bytes;
    fn sub(self, other: Bytes) -> Bytes {
        debug_assert!(other <= self, "{other} is more than {self}");
        self.saturating_sub(other)
    }
}

impl SubAssign for Bytes {
    fn sub_assign(&mut self, other: Bytes) {
        *self = *self - other;
    }
}

impl Mul<u64> for Bytes {
    type Output = Bytes;
    fn mul(self, times: u64) -> Bytes {
        Bytes(self.0 * times)
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Bytes>>(all: I) -> Bytes {
        all.fold(Bytes(0), Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_compare_within_one_unit_only() {
        assert!(Size::Packets(2) > Size::Packets(1));
        assert!(Size::Bytes(Bytes(1)) < Size::Bytes(Bytes(2)));
        assert_eq!(Size::Packets(1).partial_cmp(&Size::Bytes(Bytes(1))), None);
    }

    #[test]
    fn bytes_add_up() {
        let packets = [Bytes(1500), Bytes(40)];
        assert_eq!(packets.into_iter().sum::<Bytes>() - Bytes(40), Bytes(750) * 2);
        assert_eq!(Bytes(40).saturating_sub(Bytes(41)), Bytes(0));
    }
}
