//! Jitter of a wire: each packet takes some time more, by a distribution, alike for neighbours or not, in order or not.
//!
//! Source: Linux net/sched/sch_netem.c, `delay TIME JITTER CORRELATION distribution NAME` and tc-netem(8), with two deviations. The
//! extra time begins at 0, so that a wire is never shorter than its delay: netem's `delay 10ms 2ms` is a delay of 8 ms and a jitter of
//! 2 ms here. Correlated times keep their distribution: they follow a Gaussian process of the correlation (a Gaussian copula, Nelsen
//! 2006 s.2.3), where netem mixes each draw with the last one and so narrows the distribution.

use crate::events::random::Stream;
use shallows_units::{Span, Time};
use std::f64::consts::{PI, SQRT_2};

crate::choices! {
    /// The distribution of extra times. All have the mean `jitter`.
    pub enum JitterLaw {
        /// Uniform from 0 to twice the mean.
        Uniform = "uniform",
        /// Normal with a third of the mean as standard deviation, cut off at 0 and at twice the mean.
        Normal = "normal",
        /// Exponential.
        Exponential = "exponential",
        /// Pareto of shape 3, from two thirds of the mean on.
        Pareto = "pareto",
    }
}

crate::choices! {
    /// Whether packets may overtake each other for their extra times.
    pub enum JitterOrder {
        /// A packet waits for those before it.
        Kept = "kept",
        /// It does not.
        Free = "free",
    }
}

/// Shape of the Pareto distribution: the least whole one with a variance and a third moment that is infinite.
const SHAPE: f64 = 3.0;

/// The jitter of one wire.
#[derive(Debug)]
pub struct Jitter {
    /// Distribution.
    pub law: JitterLaw,
    /// Its mean.
    pub mean: Span,
    /// Correlation of neighbours.
    pub correlation: f64,
    /// Packets keep their order.
    pub order: JitterOrder,
    /// The Gaussian process, and when the last packet landed.
    pub state: (f64, Time),
    /// Random numbers of this wire's jitter alone.
    pub random: Stream,
}

impl Jitter {
    /// When the packet whose time on the wire ends at `now` lands; call once for each.
    pub fn lands(&mut self, now: Time) -> Time {
        let z = self.correlation * self.state.0
            + libm::sqrt(1.0 - self.correlation * self.correlation) * self.normal();
        self.state.0 = z;
        let at = now + Span::ps((self.mean.as_ps() as f64 * self.law.quantile(z)) as u64);
        if self.order == JitterOrder::Free {
            return at;
        }
        // No two at one instant, so that nothing but the order decides between them.
        self.state.1 = at.max(self.state.1 + Span::ps(1));
        self.state.1
    }

    /// A normal number of mean 0 and variance 1 (Box and Muller 1958).
    fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.random.unit()));
        radius * libm::cos(2.0 * PI * self.random.unit())
    }
}

impl JitterLaw {
    /// The extra time, in means, whose share of lesser ones is that of normal numbers below `z`.
    fn quantile(self, z: f64) -> f64 {
        // The share above z, which does not vanish for large z.
        let above = 0.5 * libm::erfc(z / SQRT_2);
        match self {
            JitterLaw::Uniform => 2.0 * (1.0 - above),
            JitterLaw::Normal => (1.0 + z / 3.0).clamp(0.0, 2.0),
            JitterLaw::Exponential => -libm::log(above),
            JitterLaw::Pareto => (SHAPE - 1.0) / SHAPE * libm::pow(above, -1.0 / SHAPE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jitter(law: JitterLaw, correlation: f64, order: JitterOrder) -> Jitter {
        let (state, random) = ((0.0, Time::ZERO), Stream::new(5, "jitter", 0));
        Jitter { law, mean: Span::us(10), correlation, order, state, random }
    }

    /// 200 000 extra times in means.
    fn times(law: JitterLaw, correlation: f64) -> Vec<f64> {
        let mut wire = jitter(law, correlation, JitterOrder::Free);
        (0..200_000).map(|_| (wire.lands(Time::ZERO) - Time::ZERO).as_ps() as f64 / 1e7).collect()
    }

    fn mean(of: &[f64]) -> f64 {
        of.iter().sum::<f64>() / of.len() as f64
    }

    /// Mean and variance of each law, correlated or not: a correlation changes neither. Variances by hand: 4/12, 1/9 (less what is
    /// cut off at three deviations, 2.7 % of it by integration), 1, and 3/4 of ((a - 1)/a)^2 = 1/3 for Pareto.
    #[test]
    fn each_law_has_its_mean_and_variance() {
        for (law, variance, slack) in [
            (JitterLaw::Uniform, 1.0 / 3.0, 0.02),
            (JitterLaw::Normal, 0.98 / 9.0, 0.03),
            (JitterLaw::Exponential, 1.0, 0.05),
            (JitterLaw::Pareto, 1.0 / 3.0, 0.25),
        ] {
            for correlation in [0.0, 0.5] {
                let times = times(law, correlation);
                let middle = mean(&times);
                // Four standard errors; correlated ones count as a third as many.
                let error = 4.0 * (variance / times.len() as f64 * 3.0).sqrt();
                assert!((middle - 1.0).abs() < error, "{law:?} {correlation}: mean {middle}");
                let spread = mean(&times.iter().map(|t| (t - middle) * (t - middle)).collect::<Vec<_>>());
                assert!((spread / variance - 1.0).abs() < slack, "{law:?} {correlation}: {spread}");
            }
        }
    }

    /// The uniform law of a Gaussian copula has the correlation 6 / pi asin(rho / 2) (Kruskal 1958).
    #[test]
    fn neighbours_have_the_correlation() {
        for rho in [0.0, 0.25, 0.9] {
            let times = times(JitterLaw::Uniform, rho);
            let middle = mean(&times);
            let products: Vec<f64> = times.windows(2).map(|w| (w[0] - middle) * (w[1] - middle)).collect();
            let found = mean(&products) * 3.0;
            let want = 6.0 / PI * libm::asin(rho / 2.0);
            assert!((found - want).abs() < 0.02, "{rho}: {found}, by theory {want}");
        }
    }

    #[test]
    fn kept_order_is_kept() {
        let mut wire = jitter(JitterLaw::Exponential, 0.0, JitterOrder::Kept);
        let mut last = Time::ZERO;
        for packet in 0..10_000u64 {
            let now = Time::ZERO + Span::us(1) * packet;
            let at = wire.lands(now);
            assert!(at > last && at >= now);
            last = at;
        }
    }
}
