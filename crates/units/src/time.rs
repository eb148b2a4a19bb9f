//! Times and spans of time, in picoseconds.

use crate::text::{Dimension, UnitError};
use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

const TIME: Dimension = Dimension {
    what: "a time",
    example: "25us",
    units: &[("ps", 1), ("ns", 1_000), ("us", 1_000_000), ("ms", 1_000_000_000), ("s", 1_000_000_000_000)],
    aliases: &[("µs", "us"), ("μs", "us"), ("usec", "us"), ("msec", "ms"), ("nsec", "ns"), ("sec", "s")],
};

/// A moment of a run: picoseconds since its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

/// A length of time in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0);
    /// Later than any moment of a run: never.
    pub const MAX: Time = Time(u64::MAX);

    /// So many picoseconds after the start.
    pub const fn ps(ps: u64) -> Time {
        Time(ps)
    }

    /// Picoseconds since the start.
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Seconds since the start, for an algorithm's own law and for people.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// The span since `earlier`, or zero where that is later than `self`.
    pub const fn saturating_sub(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// Reads a text such as `"25us"`.
    pub fn parse(text: &str) -> Result<Self, UnitError> {
        Span::parse(text).map(|span| Time(span.0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);

    /// So many picoseconds.
    pub const fn ps(n: u64) -> Span {
        Span(n)
    }

    /// So many nanoseconds.
    pub const fn ns(n: u64) -> Span {
        Span(n * 1_000)
    }

    /// So many microseconds.
    pub const fn us(n: u64) -> Span {
        Span(n * 1_000_000)
    }

    /// So many milliseconds.
    pub const fn ms(n: u64) -> Span {
        Span(n * 1_000_000_000)
    }

    /// So many seconds.
    pub const fn s(n: u64) -> Span {
        Span(n * 1_000_000_000_000)
    }

    /// Picoseconds.
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Seconds, for an algorithm's own law and for people.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// The difference, or zero where `other` is longer.
    pub const fn saturating_sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }

    /// Reads a text such as `"25us"`.
    pub fn parse(text: &str) -> Result<Self, UnitError> {
        TIME.read(text).map(|(ps, _)| Span(ps))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        TIME.write(self.0, "s", f)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        TIME.write(self.0, "s", f)
    }
}

/// A moment that no count of picoseconds reaches is [`Time::MAX`], never.
impl Add<Span> for Time {
    type Output = Time;
    fn add(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

/// The span since an earlier time. A later one is a mistake of the caller: it stops a debug build and
/// gives zero in a release build. [`Time::saturating_sub`] is for times in any order.
impl Sub for Time {
    type Output = Span;
    fn sub(self, earlier: Time) -> Span {
        debug_assert!(earlier <= self, "{earlier} is later than {self}");
        self.saturating_sub(earlier)
    }
}

/// The moment so long before. One before the start is a mistake of the caller: it stops a debug
/// build and gives the start in a release build.
impl Sub<Span> for Time {
    type Output = Time;
    fn sub(self, span: Span) -> Time {
        debug_assert!(span.0 <= self.0, "{span} before {self} the run had not begun");
        Time(self.0.saturating_sub(span.0))
    }
}

impl Add for Span {
    type Output = Span;
    fn add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Span) {
        *self = *self + other;
    }
}

/// The difference. A longer right side is a mistake of the caller: it stops a debug build and gives
/// zero in a release build.
impl Sub for Span {
    type Output = Span;
    fn sub(self, other: Span) -> Span {
        debug_assert!(other <= self, "{other} is longer than {self}");
        self.saturating_sub(other)
    }
}

impl SubAssign for Span {
    fn sub_assign(&mut self, other: Span) {
        *self = *self - other;
    }
}

impl Mul<u64> for Span {
    type Output = Span;
    fn mul(self, times: u64) -> Span {
        Span(self.0.saturating_mul(times))
    }
}

impl Div<u64> for Span {
    type Output = Span;
    fn div(self, parts: u64) -> Span {
        Span(self.0 / parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_spans_add_up() {
        let later = Time::ZERO + Span::us(25);
        assert_eq!(later - Time::ps(1), Span::ps(24_999_999));
        assert_eq!(later - Span::us(25), Time::ZERO);
        assert_eq!(Time::ZERO.saturating_sub(later), Span::ZERO);
        assert_eq!(Span::us(25) * 4, Span::ns(100_000));
        assert_eq!(Span::us(25) / 4, Span::ns(6_250));
        assert_eq!(Span::s(2).as_secs_f64(), 2.0);
    }

    #[test]
    fn what_is_too_late_to_count_is_never() {
        let long = Span::ps(u64::MAX - 1);
        assert_eq!(Time::ps(5) + long, Time::MAX);
        assert_eq!((long + long, long * 3), (Span::ps(u64::MAX), Span::ps(u64::MAX)));
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "25us is later than 0s")]
    fn a_clock_that_runs_backwards_is_noticed() {
        let _ = Time::ZERO - (Time::ZERO + Span::us(25));
    }
}
