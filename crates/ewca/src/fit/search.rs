//! The epsilon that gives a wanted mean perplexity, by continuation.

use serde::{Deserialize, Serialize};

const MAX_ROUNDS: usize = 60;

/// A bracketed secant iteration on log(perplexity) against log(epsilon): the perplexity rises with epsilon.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Search {
    target: f64,
    /// The largest log(epsilon) known to be too small, and the smallest known to be too large.
    lower: Option<f64>,
    upper: Option<f64>,
    /// The newest point: log(epsilon), log(perplexity).
    last: Option<(f64, f64)>,
    slope: f64,
    rounds: usize,
}

impl Search {
    /// `slope` is a first guess of how log(perplexity) grows with log(epsilon).
    pub fn new(target: f64, slope: f64) -> Self {
        Self { target: target.ln(), lower: None, upper: None, last: None, slope: slope.clamp(0.2, 10.0), rounds: 0 }
    }

    /// The next epsilon, or none when the perplexity is within the relative distance `close` of the target, or as near as it
    /// gets.
    pub fn next(&mut self, epsilon: f64, perplexity: f64, close: f64) -> Option<f64> {
        let (x, y) = (epsilon.ln(), perplexity.ln());
        self.rounds += 1;
        if (y - self.target).abs() <= close || self.rounds >= MAX_ROUNDS {
            return None;
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
        let mut next = x + ((self.target - y) / self.slope).clamp(-4.0, 4.0);
        match (self.lower, self.upper) {
            (Some(lower), Some(upper))
                if !(lower + 0.05 * (upper - lower)..=upper - 0.05 * (upper - lower)).contains(&next) =>
            {
                next = 0.5 * (lower + upper);
            }
            _ => {}
        }
        Some(next.exp())
    }

    /// Forgets the bounds, keeps the slope: for when the subspace has changed.
    pub fn again(&mut self) {
        (self.lower, self.upper, self.last, self.rounds) = (None, None, None, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_its_target_on_curves_and_stops_at_jumps() {
        let curve = |e: f64| 1.0 + 99.0 * e / (e + 30.0);
        for (start, target) in [(1e-3, 10.0), (1e6, 10.0), (1.0, 1.05), (1.0, 95.0)] {
            let (mut search, mut epsilon, mut rounds) = (Search::new(target, 1.0), start, 0);
            while let Some(next) = search.next(epsilon, curve(epsilon), 1e-3) {
                epsilon = next;
                rounds += 1;
            }
            assert!((curve(epsilon) / target - 1.0).abs() < 2e-3, "{start} {target} {epsilon}");
            assert!(rounds < 25, "{rounds}");
        }
        let jump = |e: f64| if e < 7.0 { 5.0 } else { 20.0 };
        let (mut search, mut epsilon) = (Search::new(10.0, 1.0), 1.0);
        while let Some(next) = search.next(epsilon, jump(epsilon), 1e-3) {
            epsilon = next;
        }
        assert!((epsilon / 7.0 - 1.0).abs() < 1e-3);
    }
}
