//! Unit strings: `"25us"`, `"1.5Gbps"`, `"150KB"`, `"65pkt"`.
//!
//! One reader and one writer over a table of units. Nothing is rounded: a number that is not a whole multiple
//! of the smallest unit is refused. Case counts, since `ms` and `Mbps` differ from `Ms` and `mbps`.

use std::fmt;

/// The fault of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitFault {
    /// It is not a number with a unit.
    Form,
    /// It has no unit, or an unknown one.
    Unit,
    /// It is negative, too large, or not whole.
    Range,
}

/// The rule that a text breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitError {
    /// The fault.
    pub fault: UnitFault,
    /// The rule as a sentence part: `must be a time such as "25us" (units: ...)`.
    pub rule: String,
    /// A text that may have been meant, or empty.
    pub hint: String,
}

impl UnitError {
    fn new(fault: UnitFault, rule: String) -> Self {
        UnitError { fault, rule, hint: String::new() }
    }
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.rule)?;
        if self.hint.is_empty() { Ok(()) } else { write!(f, "; {}", self.hint) }
    }
}

impl std::error::Error for UnitError {}

/// A dimension that a text can measure.
pub(crate) struct Dimension {
    /// With an article: `a time`.
    pub what: &'static str,
    /// As in a file: `25us`.
    pub example: &'static str,
    /// Units and how much of the smallest each is, in the order shown to users.
    pub units: &'static [(&'static str, u64)],
    /// Other spellings, in lower case, each with the unit that it may have meant.
    pub aliases: &'static [(&'static str, &'static str)],
}

impl Dimension {
    /// Reads `text`: its value in the smallest unit, and the unit it was written in.
    pub fn read(&self, text: &str) -> Result<(u64, &'static str), UnitError> {
        if text.starts_with('-') {
            return Err(self.must(">= 0"));
        }
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
        if whole.is_empty() || fraction.is_empty() || fraction.contains('.') {
            return Err(UnitError::new(UnitFault::Form, format!("must be {self}")));
        }
        if unit.is_empty() {
            return Err(UnitError::new(UnitFault::Unit, format!("needs a unit: {self}")));
        }
        let Some(&(unit, scale)) = self.units.iter().find(|(name, _)| *name == unit) else {
            let meant = self.meant(unit).map(|meant| format!("did you mean \"{number}{meant}\"?"));
            let error = UnitError::new(UnitFault::Unit, format!("must be {self}"));
            return Err(UnitError { hint: meant.unwrap_or_default(), ..error });
        };
        let smallest = self.units[0].0;
        let part = part_of(fraction, scale);
        let part = part.ok_or_else(|| self.must(&format!("a whole number of {smallest}")))?;
        whole
            .parse::<u64>()
            .ok()
            .and_then(|n| n.checked_mul(scale)?.checked_add(part))
            .map(|value| (value, unit))
            .ok_or_else(|| self.must(&format!("<= {}{smallest}", u64::MAX)))
    }

    /// Writes `value` in the largest unit of powers of 1000 that makes it a whole number.
    pub fn write(&self, value: u64, zero: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimal = self.units.iter().filter(|(unit, _)| !unit.ends_with("iB"));
        match decimal.filter(|(_, scale)| value.is_multiple_of(*scale)).max_by_key(|(_, scale)| *scale) {
            Some((unit, scale)) if value > 0 => f.pad(&format!("{}{unit}", value / scale)),
            _ => f.pad(&format!("0{zero}")),
        }
    }

    /// The error that a value of this dimension must be so.
    pub fn must(&self, be: &str) -> UnitError {
        UnitError::new(UnitFault::Range, format!("must be {be}: {self}"))
    }

    /// The unit that a wrong spelling most likely stands for.
    fn meant(&self, unit: &str) -> Option<&'static str> {
        let plain = unit.trim().to_lowercase();
        let same = self.units.iter().find(|(name, _)| name.to_lowercase() == plain).map(|(name, _)| *name);
        same.or_else(|| self.aliases.iter().find(|(alias, _)| *alias == plain).map(|(_, name)| *name))
    }
}

impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units: Vec<_> = self.units.iter().map(|(name, _)| *name).collect();
        write!(f, "{} such as \"{}\" (units: {})", self.what, self.example, units.join(", "))
    }
}

/// `scale` times the decimal fraction `0.digits`, if that is a whole number.
fn part_of(digits: &str, scale: u64) -> Option<u64> {
    let digits = digits.trim_end_matches('0');
    // With a last digit other than 0, more than 30 digits are whole at no scale of ours (2^30, 10^12).
    let tens = 10u128.checked_pow(digits.len() as u32).filter(|_| digits.len() <= 30)?;
    let number: u128 = if digits.is_empty() { 0 } else { digits.parse().ok()? };
    let common = greatest_common_divisor(tens, scale.into());
    let (tens, scale) = (tens / common, u128::from(scale) / common);
    // number < tens, so the product stays below the scale.
    number.is_multiple_of(tens).then(|| (number / tens * scale) as u64)
}

fn greatest_common_divisor(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use crate::{Bytes, Rate, Size, Span, Time};
    use proptest::prelude::*;

    const SPAN: &str = "a time such as \"25us\" (units: ps, ns, us, ms, s)";
    const DATA: &str =
        "an amount of data in bytes such as \"150KB\" (units: B, KB, MB, GB, TB, KiB, MiB, GiB)";
    const RATE: &str = "a rate in bits a second such as \"10Gbps\" (units: bps, Kbps, Mbps, Gbps, Tbps)";

    fn span_fault(text: &str) -> String {
        Span::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn decimals_are_exact() {
        assert_eq!(Span::parse("0.5us"), Ok(Span::ns(500)));
        assert_eq!(Span::parse("18446744.073709551615s"), Ok(Span::ps(u64::MAX)));
        assert_eq!(Span::parse("1.500s"), Ok(Span::ms(1500)));
        assert_eq!(Rate::parse("1.5Gbps"), Ok(Rate::mbps(1500)));
        assert_eq!(Rate::parse("12.5Gbps").unwrap().to_string(), "12500Mbps");
        assert_eq!(Bytes::parse("0.5KiB"), Ok(Bytes(512)));
        assert_eq!(Bytes::parse("0.000000000931322574615478515625GiB"), Ok(Bytes(1))); // 2^-30
        assert_eq!(span_fault("0.3ps"), format!("must be a whole number of ps: {SPAN}"));
        assert!(Span::parse("0.0000000000000000000000000000000000000000000001s").is_err());
    }

    #[test]
    fn canonical_form_is_the_largest_whole_unit() {
        for (text, span) in [
            ("25us", Span::ps(25_000_000)),
            ("1500ns", Span::ns(1500)),
            ("0s", Span::ZERO),
            ("18446744073709551615ps", Span::ps(u64::MAX)),
        ] {
            assert_eq!((text, Ok(span)), (span.to_string().as_str(), Span::parse(text)));
        }
        assert_eq!(Bytes(1_500_000).to_string(), "1500KB");
        assert_eq!(Bytes(65_536).to_string(), "65536B");
        assert_eq!(Bytes(0).to_string(), "0B");
        assert_eq!(Size::Packets(65).to_string(), "65pkt");
        assert_eq!(format!("{:>6}", Span::us(25)), "  25us");
    }

    #[test]
    fn refusals_state_the_rule() {
        for text in ["", "us", "NaN", "inf", "+5us", ".5us", "5.us", "1.2.3us", "1e3us", "5 parsecs"] {
            assert_eq!(span_fault(text), format!("must be {SPAN}"), "{text:?}");
        }
        assert_eq!(span_fault("25"), format!("needs a unit: {SPAN}"));
        assert_eq!(span_fault("-25us"), format!("must be >= 0: {SPAN}"));
        assert_eq!(span_fault("18446745s"), format!("must be <= 18446744073709551615ps: {SPAN}"));
        assert_eq!(
            span_fault("99999999999999999999ps"),
            format!("must be <= 18446744073709551615ps: {SPAN}")
        );
        assert_eq!(Rate::parse("0Gbps").unwrap_err().to_string(), format!("must be > 0: {RATE}"));
        assert!(Size::parse("0.5pkt").is_err());
    }

    #[test]
    fn near_misses_are_suggested() {
        let meant = |expected: &str, meant: &str| format!("must be {expected}; did you mean \"{meant}\"?");
        assert_eq!(span_fault("25 us"), meant(SPAN, "25us"));
        assert_eq!(span_fault("25µs"), meant(SPAN, "25us"));
        assert_eq!(span_fault("0.2sec"), meant(SPAN, "0.2s"));
        let data = |text: &str| Bytes::parse(text).unwrap_err().to_string();
        assert_eq!(data("150kb"), meant(DATA, "150KB"));
        assert_eq!(data("1mib"), meant(DATA, "1MiB"));
        assert_eq!(data("10Mbit"), format!("must be {DATA}"));
        assert_eq!(data("10Mbps"), format!("must be {DATA}"));
        let rate = |text: &str| Rate::parse(text).unwrap_err().to_string();
        assert_eq!(rate("10gbps"), meant(RATE, "10Gbps"));
        assert_eq!(rate("10Gbit"), meant(RATE, "10Gbps"));
        assert_eq!(rate("10Gb/s"), meant(RATE, "10Gbps"));
        assert!(Size::parse("65packets").unwrap_err().to_string().ends_with("did you mean \"65pkt\"?"));
    }

    proptest! {
        #[test]
        fn what_is_shown_parses_back(n: u64, zeros in 0u32..19) {
            let n = n / 10u64.pow(zeros) * 10u64.pow(zeros);
            prop_assert_eq!(Span::parse(&Span::ps(n).to_string()), Ok(Span::ps(n)));
            prop_assert_eq!(Time::parse(&Time::ps(n).to_string()), Ok(Time::ps(n)));
            prop_assert_eq!(Bytes::parse(&Bytes(n).to_string()), Ok(Bytes(n)));
            prop_assert_eq!(Size::parse(&Bytes(n).to_string()), Ok(Size::Bytes(Bytes(n))));
            prop_assert_eq!(Size::parse(&Size::Packets(n).to_string()), Ok(Size::Packets(n)));
            let n = n.max(1);
            prop_assert_eq!(Rate::parse(&Rate::bps(n).to_string()), Ok(Rate::bps(n)));
        }

        #[test]
        fn no_text_panics(text: String, number in "[0-9.]{0,40}", unit in "(ps|s|GiB|Tbps|pkt)") {
            for text in [text, number + &unit] {
                let _ = (Span::parse(&text), Rate::parse(&text), Size::parse(&text));
            }
        }

        #[test]
        fn decimals_shift_by_the_unit(whole in 0u64..18_000_000, part in 0u64..1_000_000_000_000) {
            let text = format!("{whole}.{part:012}s");
            prop_assert_eq!(Span::parse(&text), Ok(Span::ps(whole * 1_000_000_000_000 + part)));
        }
    }
}
