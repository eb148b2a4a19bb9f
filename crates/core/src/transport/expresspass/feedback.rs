//! The rate of a flow's credits.
//!
//! Source: Cho et al. 2017 s.3.2, algorithm 1. Once an update period, a round trip, the receiver looks at the share of its credits that
//! were dropped. At most the target: the rate moves by the weight w towards the link's credit rate and the target beyond it, and a
//! second increase in a row moves w half way to its maximum. Above: the rate falls to what passed and the target beyond it, and w
//! is halved, to its minimum at least. A flow alone ends at C (1 + target), of which the port drops target / (1 + target).
//! The rate is at least a credit a round trip (the authors' simulator: `min_rate`).
//!
//! The authors' simulator differs: w grows by 0.05, and the target is 1/8 of the distance to the link's rate.

use super::settings::Rules;

/// The control of one flow. Rates are in credits a second.
#[derive(Debug, Clone, Copy)]
pub struct Feedback {
    /// The present rate.
    pub rate: f64,
    /// How far an increase goes.
    pub w: f64,
    /// The rate of credits that fills the receiver's link.
    most: f64,
    /// The period before was an increase.
    grew: bool,
}

impl Feedback {
    /// At the first rate, at a link that `most` credits a second fill.
    pub fn new(most: f64, rules: &Rules) -> Self {
        Feedback { rate: rules.first_rate * most, w: rules.w_first, most, grew: false }
    }

    /// A period is over, in which `dropped` of `total` credits were. At least `least` credits go in a second.
    pub fn update(&mut self, (dropped, total): (u64, u64), least: f64, rules: &Rules) {
        let loss = dropped as f64 / total as f64;
        let beyond = 1.0 + rules.target_loss;
        if loss <= rules.target_loss {
            if self.grew {
                self.w = (self.w + rules.w_max) / 2.0;
            }
            self.rate = (1.0 - self.w) * self.rate + self.w * self.most * beyond;
        } else {
            self.rate = self.rate * (1.0 - loss) * beyond;
            self.w = (self.w / 2.0).max(rules.w_min);
        }
        self.grew = loss <= rules.target_loss;
        self.rate = self.rate.max(least);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Params;
    use crate::transport::expresspass::ExpressPassSettings;

    fn rules(first_rate: f64, w_first: f64) -> Rules {
        Rules { first_rate, w_first, ..Rules::new(&ExpressPassSettings::defaults()) }
    }

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-12, "{a} is not {b}");
    }

    /// Algorithm 1 by hand, with 1/2 for the first rate and w: 0.5, then 0.5 0.5 + 0.5 1.1 = 0.8, 0.95, 1.025, 1.0625; the sum's limit is 1.1.
    #[test]
    fn a_flow_alone_reaches_its_link_in_three_periods() {
        let rules = rules(0.5, 0.5);
        let mut one = Feedback::new(1.0, &rules);
        for expected in [0.8, 0.95, 1.025, 1.0625] {
            one.update((0, 10), 0.0, &rules);
            close(one.rate, expected);
        }
        (0..60).for_each(|_| one.update((1, 11), 0.0, &rules));
        close(one.rate, 1.1);
        assert!(
            1.0 - 1.0 / 1.1 < rules.target_loss,
            "it keeps its rate though the port drops what is too much"
        );
    }

    /// By hand from w = 1/16: the first increase keeps w, the next ones move it half way to 1/2.
    #[test]
    fn w_grows_with_increases_in_a_row_and_is_halved_by_losses() {
        let rules = rules(0.5, 0.0625);
        let mut one = Feedback::new(1.0, &rules);
        for (w, rate) in [
            (0.0625, 0.5 * 0.9375 + 1.1 * 0.0625),
            (0.28125, 0.5375 * 0.71875 + 1.1 * 0.28125),
            (0.390625, 0.695703125 * 0.609375 + 1.1 * 0.390625),
        ] {
            one.update((0, 5), 0.0, &rules);
            close(one.w, w);
            close(one.rate, rate);
        }
        // Half of them dropped: to half of the rate and a tenth beyond it.
        let before = one.rate;
        one.update((5, 10), 0.0, &rules);
        close(one.rate, before * 0.55);
        close(one.w, 0.1953125);
        // An increase behind a decrease keeps w.
        one.update((0, 10), 0.0, &rules);
        close(one.w, 0.1953125);
        (0..20).for_each(|_| one.update((9, 10), 0.25, &rules));
        close(one.w, 0.01);
        close(one.rate, 0.25);
    }

    /// Two flows at a port that lets one credit's rate through and drops from both alike end at equal rates (Cho 2017 s.4): from any two
    /// rates, the sum's loss is about the target and the difference shrinks with each decrease and increase.
    #[test]
    fn two_flows_become_equal() {
        let rules = rules(0.5, 0.5);
        let mut flows = [0.05, 1.0].map(|rate| Feedback { rate, ..Feedback::new(1.0, &rules) });
        let mut losses = vec![];
        for period in 0..200 {
            let sum: f64 = flows.iter().map(|flow| flow.rate).sum();
            let loss = (1.0 - 1.0 / sum).max(0.0);
            let of_thousand = (loss * 1e6) as u64;
            flows.iter_mut().for_each(|flow| flow.update((of_thousand, 1_000_000), 0.0, &rules));
            if period >= 100 {
                losses.push(loss);
            }
        }
        assert!((flows[0].rate - flows[1].rate).abs() < 0.01, "{flows:?}");
        let mean = losses.iter().sum::<f64>() / losses.len() as f64;
        assert!((mean - rules.target_loss).abs() < 0.03, "{mean}");
    }
}
