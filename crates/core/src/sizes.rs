//! Distributions of flow sizes.

use crate::events::random::Stream;
use crate::params::{Code, Faults, Kind, ParamType, Rule};
use serde_json::Value;
use shallows_units::Bytes;

crate::params! {
    /// Every flow of one size.
    pub struct Fixed {
        /// Bytes of each flow.
        bytes: Bytes = required, "[1B, ]", "the user's application";
    }
}

crate::params! {
    /// Sizes between two bounds, all equally likely.
    pub struct Uniform {
        /// Smallest flow.
        min: Bytes = required, "[1B, ]", "the user's application";
        /// Largest flow.
        max: Bytes = required, "[1B, ]", "the user's application";
    }
}

crate::params! {
    /// Pareto sizes between two bounds: many small flows and few very large ones.
    pub struct Pareto {
        /// Shape a: the share of flows larger than x falls as x to the power of -a.
        shape: f64 = 1.2, "(0, 10]", "between the 1.05 and 1.5 fitted to file sizes (Crovella and Bestavros 1997)";
        /// Smallest flow.
        min: Bytes = required, "[1B, ]", "the user's application";
        /// Largest flow, where the distribution is cut.
        max: Bytes = required, "[1B, ]", "the user's application";
    }
}

/// A point of a distribution function: bytes, percent of flows not larger.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct CdfPoint(pub f64, pub f64);

impl ParamType for CdfPoint {
    fn kind() -> Kind {
        Kind::List(Box::new(Kind::Real))
    }
    fn parse(value: &Value) -> Result<Self, Rule> {
        match value.as_array().map(Vec::as_slice) {
            Some([bytes, percent]) => match (bytes.as_f64(), percent.as_f64()) {
                (Some(b), Some(p)) if b >= 0.0 && (0.0..=100.0).contains(&p) => Ok(CdfPoint(b, p)),
                _ => Err(Code::OutOfRange.rule("must be [bytes >= 0, percent from 0 to 100]")),
            },
            _ => Err(Code::WrongType.rule("must be a pair [bytes, percent]")),
        }
    }
    fn show(&self) -> Value {
        serde_json::json!([self.0, self.1])
    }
    fn stand_in() -> Self {
        CdfPoint(0.0, 0.0)
    }
}

crate::params! {
    /// Sizes from a measured distribution function, straight between its points.
    pub struct Empirical {
        /// Name of the distribution, as in `shallows/document/flow_sizes`.
        name: String = "", "", "recorded with the result";
        /// Points [bytes, percent of flows not larger], rising; filled in from the named file.
        points: Vec<CdfPoint> = required, "", "`shallows/document/flow_sizes` names its sources";
    }
}

crate::components! {
    /// A distribution of flow sizes.
    pub enum Sizes, "size distribution" {
        "fixed" => Fixed(Fixed),
        "uniform" => Uniform(Uniform),
        "pareto" => Pareto(Pareto),
        "empirical" => Empirical(Empirical),
    }
}

crate::nested! {
    Sizes,
    Sizes::Fixed(Fixed { bytes: Bytes(1) }),
    "must be a table such as { kind = \"fixed\", bytes = \"10KB\" }"
}

impl Sizes {
    fn check(&self, path: &str, faults: &mut Faults) {
        let ordered = |min: Bytes, max: Bytes, faults: &mut Faults| {
            if max < min {
                let rule = Code::Conflict.rule(format!("must be >= min ({min})"));
                faults.add(&format!("{path}.max"), rule, &max.show());
            }
        };
        match self {
            Sizes::Fixed(_) => {}
            Sizes::Uniform(s) => ordered(s.min, s.max, faults),
            Sizes::Pareto(s) => ordered(s.min, s.max, faults),
            Sizes::Empirical(s) => {
                let rising = s.points.windows(2).all(|w| w[0].0 <= w[1].0 && w[0].1 <= w[1].1);
                let whole = s.points.first().is_some_and(|p| p.1 < 100.0)
                    && s.points.last().is_some_and(|p| p.1 == 100.0);
                if !rising || !whole || s.points.len() < 2 {
                    let rule = "must rise in both numbers and end at 100 percent";
                    faults.add(&format!("{path}.points"), Code::WrongForm.rule(rule), &s.points.show());
                }
            }
        }
    }

    /// All of one size.
    pub fn fixed(bytes: Bytes) -> Self {
        Sizes::Fixed(Fixed { bytes })
    }

    /// The largest size that may be drawn, in bytes.
    pub fn largest(&self) -> u64 {
        match self {
            Sizes::Fixed(s) => s.bytes.as_u64(),
            Sizes::Uniform(s) => s.max.as_u64(),
            Sizes::Pareto(s) => s.max.as_u64(),
            Sizes::Empirical(s) => s.points.last().map_or(1, |point| (point.0 as u64).max(1)),
        }
    }

    /// A size in bytes; at least 1.
    pub fn draw(&self, random: &mut Stream) -> u64 {
        match self {
            Sizes::Fixed(s) => s.bytes.as_u64(),
            Sizes::Uniform(s) => s.min.as_u64() + random.below(s.max.as_u64() - s.min.as_u64() + 1),
            Sizes::Pareto(s) => {
                // Inversion of the bounded Pareto distribution function.
                let (low, high, a) = (s.min.as_u64() as f64, s.max.as_u64() as f64, s.shape);
                let kept = 1.0 - libm::pow(low / high, a);
                let size = low / libm::pow(1.0 - random.unit() * kept, 1.0 / a);
                size.clamp(low, high) as u64
            }
            Sizes::Empirical(s) => (inverse(&s.points, random.unit() * 100.0) as u64).max(1),
        }
    }

    /// The distribution function: bytes, and the share of flows not larger, even between points. A Pareto distribution has some of its
    /// own points.
    pub fn points(&self) -> Vec<(f64, f64)> {
        let ends = |min: Bytes, max: Bytes| vec![(min.as_u64() as f64, 0.0), (max.as_u64() as f64, 1.0)];
        match self {
            Sizes::Fixed(s) => vec![(s.bytes.as_u64() as f64, 1.0)],
            Sizes::Uniform(s) => ends(s.min, s.max),
            Sizes::Pareto(s) => {
                let (low, high, a) = (s.min.as_u64() as f64, s.max.as_u64() as f64, s.shape);
                let kept = 1.0 - libm::pow(low / high, a);
                let size = |share: f64| low / libm::pow(1.0 - share * kept, 1.0 / a);
                (0..=PARETO_POINTS)
                    .map(|i| f64::from(i) / f64::from(PARETO_POINTS))
                    .map(|share| (size(share).clamp(low, high), share))
                    .collect()
            }
            Sizes::Empirical(s) => s.points.iter().map(|point| (point.0, point.1 / 100.0)).collect(),
        }
    }

    /// Mean size in bytes, in closed form.
    pub fn mean(&self) -> f64 {
        match self {
            Sizes::Fixed(s) => s.bytes.as_u64() as f64,
            Sizes::Uniform(s) => (s.min.as_u64() as f64 + s.max.as_u64() as f64) / 2.0,
            Sizes::Pareto(s) => {
                let (low, high, a) = (s.min.as_u64() as f64, s.max.as_u64() as f64, s.shape);
                if low == high {
                    return low;
                }
                let ratio = low / high;
                let kept = 1.0 - libm::pow(ratio, a);
                if (a - 1.0).abs() < 1e-9 {
                    low * libm::log(high / low) / kept
                } else {
                    low * a / (a - 1.0) * (1.0 - libm::pow(ratio, a - 1.0)) / kept
                }
            }
            Sizes::Empirical(s) => {
                let first = s.points[0];
                let steps = s.points.windows(2).map(|w| (w[0].0 + w[1].0) / 2.0 * (w[1].1 - w[0].1) / 100.0);
                first.0 * first.1 / 100.0 + steps.sum::<f64>()
            }
        }
    }
}

/// Steps of a Pareto distribution function given by points.
const PARETO_POINTS: u32 = 1000;

/// Bytes at which the distribution function reaches `percent`.
fn inverse(points: &[CdfPoint], percent: f64) -> f64 {
    let at = points.partition_point(|p| p.1 < percent);
    match (at.checked_sub(1).map(|i| points[i]), points.get(at)) {
        (None, Some(first)) => first.0,
        (Some(low), Some(high)) => low.0 + (high.0 - low.0) * (percent - low.1) / (high.1 - low.1),
        (_, None) => points[points.len() - 1].0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(text: &str) -> Sizes {
        let mut faults = Faults::default();
        <Sizes as ParamType>::read(&serde_json::from_str(text).unwrap(), "sizes", &mut faults)
            .unwrap_or_else(|| panic!("{:?}", faults.0))
    }

    /// The mean of many draws is the closed form, within five standard errors.
    #[test]
    fn draws_have_the_mean() {
        for text in [
            r#"{"kind": "uniform", "min": "1KB", "max": "9KB"}"#,
            r#"{"kind": "pareto", "shape": 1.2, "min": "1KB", "max": "1MB"}"#,
            r#"{"kind": "pareto", "shape": 1.0, "min": "1KB", "max": "1MB"}"#,
            r#"{"kind": "empirical", "points": [[0, 0], [10000, 50], [20000, 90], [1000000, 100]]}"#,
        ] {
            let sizes = sizes(text);
            let mut random = Stream::new(7, "sizes", 0);
            let n = 200_000;
            let draws: Vec<f64> = (0..n).map(|_| sizes.draw(&mut random) as f64).collect();
            let mean = draws.iter().sum::<f64>() / f64::from(n);
            let var = draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / f64::from(n);
            let error = (var / f64::from(n)).sqrt();
            assert!(
                (mean - sizes.mean()).abs() < 5.0 * error + 1.0,
                "{text}: {mean} against {}",
                sizes.mean()
            );
        }
    }

    #[test]
    fn a_distribution_function_that_falls_is_refused() {
        let mut faults = Faults::default();
        let value =
            serde_json::json!({"kind": "empirical", "points": [[0, 0], [10, 60], [20, 50], [30, 100]]});
        assert!(<Sizes as ParamType>::read(&value, "sizes", &mut faults).is_none());
        assert_eq!(faults.0[0].path, "sizes.points");
    }
}
