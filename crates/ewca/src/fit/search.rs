//! The epsilon that gives a wanted perplexity, by continuation.

use serde::{Deserialize, Serialize};

const MAX_ROUNDS: usize = 60;
/// How far above the smallest perplexity that can be had a fit is taken, on the scale of logarithms.
const ABOVE_FLOOR: f64 = 0.01;

/// A bracketed secant iteration on log(perplexity) against log(epsilon): the perplexity rises with epsilon.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Search {
    target: f64,
    /// The logarithm of the number of samples: perplexities are below it.
    most: f64,
    /// The largest log(epsilon) known to be too small, and the smallest known to be too large.
    lower: Option<f64>,
    upper: Option<f64>,
    /// The newest point: log(epsilon), log(perplexity).
    last: Option<(f64, f64)>,
    slope: f64,
    /// The least step while one of the bounds is missing; it doubles.
    reach: f64,
    rounds: usize,
    /// The smallest perplexity that can be had, where the wanted one is below it.
    floor: Option<f64>,
}

impl Search {
    /// For a perplexity among `samples`. `slope` is a first guess of how log(perplexity) grows with log(epsilon).
    pub fn new(target: f64, samples: f64, slope: f64) -> Self {
        Self {
            target: target.ln(),
            most: samples.ln(),
            lower: None,
            upper: None,
            last: None,
            slope: if slope.is_nan() { 1.0 } else { slope.clamp(0.2, 10.0) },
            reach: 0.01,
            rounds: 0,
            floor: None,
        }
    }

    /// The smallest perplexity that can be had, where the wanted one is below it: samples that repeat spread over one another at any
    /// epsilon.
    pub fn floor(&self) -> Option<f64> {
        self.floor
    }

    /// Whether the numbers are such as a search has: it may come from a file.
    pub fn is_sane(&self) -> bool {
        let bounds = [self.lower, self.upper, self.last.map(|last| last.0), self.last.map(|last| last.1), self.floor];
        let numbers = [self.target, self.most, self.slope, self.reach];
        numbers.into_iter().chain(bounds.into_iter().flatten()).all(f64::is_finite) && self.slope > 0.0
    }

    /// The next epsilon, at least `lowest`, or none when the perplexity is within the relative distance `close` of the target, or as near
    /// as it gets.
    pub fn next(&mut self, epsilon: f64, perplexity: f64, close: f64, lowest: f64) -> Option<f64> {
        let (x, y, lowest) = (epsilon.ln(), perplexity.ln(), lowest.ln());
        self.rounds += 1;
        if (y - self.target).abs() <= close || self.rounds >= MAX_ROUNDS {
            return None;
        }
        if y > self.target && x <= lowest + 1e-9 {
            // At so small an epsilon only samples at the same place share anything. The target moves to just above that.
            self.floor = Some(perplexity);
            self.target = (y + ABOVE_FLOOR).min(0.5 * (y + self.most));
            self.forget_bounds();
        }
        let bound = if y < self.target { &mut self.lower } else { &mut self.upper };
        *bound = Some(x);
        if let (Some(lower), Some(upper)) = (self.lower, self.upper) {
            // A jump of the optimum, or bounds that the moving subspace has overtaken: nothing in between.
            if upper - lower < 1e-7 {
                return None;
            }
        }
        if let Some((x0, y0)) = self.last
            && (x - x0).abs() > 1e-9
        {
            self.slope = ((y - y0) / (x - x0)).clamp(0.2, 10.0);
        }
        self.last = Some((x, y));
        let step = ((self.target - y) / self.slope).clamp(-4.0, 4.0);
        let next = match (self.lower, self.upper) {
            (Some(lower), Some(upper)) => {
                let inner = lower + 0.05 * (upper - lower)..=upper - 0.05 * (upper - lower);
                if inner.contains(&(x + step)) { x + step } else { 0.5 * (lower + upper) }
            }
            // Where the perplexity hardly answers, steps grow until it does.
            _ => {
                let long = step.abs().max(self.reach);
                self.reach = (2.0 * self.reach).min(4.0);
                x + long.copysign(step)
            }
        };
        Some(next.max(lowest).exp())
    }

    /// Forgets the bounds, keeps the slope: for when the subspace has changed.
    pub fn again(&mut self) {
        self.forget_bounds();
        self.rounds = 0;
    }

    fn forget_bounds(&mut self) {
        (self.lower, self.upper, self.last, self.reach) = (None, None, None, 0.01);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the search ends, and after how many rounds.
    fn found(search: &mut Search, start: f64, close: f64, curve: impl Fn(f64) -> f64) -> (f64, usize) {
        let (mut epsilon, mut rounds) = (start, 0);
        while let Some(next) = search.next(epsilon, curve(epsilon), close, 1e-12) {
            assert!(next >= 1e-12 * (1.0 - 1e-12));
            epsilon = next;
            rounds += 1;
        }
        (epsilon, rounds)
    }

    #[test]
    fn finds_its_target_on_curves_and_stops_at_jumps() {
        let curve = |e: f64| 1.0 + 99.0 * e / (e + 30.0);
        for (start, target) in [(1e-3, 10.0), (1e6, 10.0), (1.0, 1.05), (1.0, 95.0), (1e-12, 10.0)] {
            let mut search = Search::new(target, 100.0, 1.0);
            let (epsilon, rounds) = found(&mut search, start, 1e-3, curve);
            assert!((curve(epsilon) / target - 1.0).abs() < 2e-3, "{start} {target} {epsilon}");
            assert!(rounds < 25, "{rounds}");
            assert_eq!(search.floor(), None);
        }
        let jump = |e: f64| if e < 7.0 { 5.0 } else { 20.0 };
        let (epsilon, _) = found(&mut Search::new(10.0, 100.0, 1.0), 1.0, 1e-3, jump);
        assert!((epsilon / 7.0 - 1.0).abs() < 1e-3);
    }

    #[test]
    fn ends_just_above_a_floor() {
        for (start, wanted) in [(1.0, 5.0), (1e-9, 5.0), (1e5, 29.0)] {
            let curve = |e: f64| 30.0 + 70.0 * e / (e + 3.0);
            let mut search = Search::new(wanted, 100.0, 1.0);
            let (epsilon, rounds) = found(&mut search, start, 1e-3, curve);
            assert!((search.floor().unwrap() - 30.0).abs() < 1e-6);
            assert!((curve(epsilon).ln() - 30f64.ln() - ABOVE_FLOOR).abs() < 2e-3, "{}", curve(epsilon));
            assert!(rounds < 40, "{rounds}");
        }
        // A floor next to the number of samples.
        let mut search = Search::new(5.0, 100.0, 1.0);
        let (epsilon, _) = found(&mut search, 1.0, 1e-4, |e: f64| 99.5 + 0.5 * e / (e + 1.0));
        assert!(epsilon > 0.1 && epsilon < 10.0, "{epsilon}");
    }
}
