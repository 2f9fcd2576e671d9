//! The epsilon that gives a wanted perplexity, by continuation (docs/method.md, section 8).

use std::ops::RangeInclusive;

use super::model::Perplexity;
use super::params::{DEFAULT_PERPLEXITY, Params, Smoothing};
use crate::error::Result;
use crate::kernel::{Accuracy, exp_of_minus_all};
use crate::matrix::{Matrix, dot};
use crate::parallel;
use crate::samples::Span;
use crate::solvers::{Objective, Point};
use crate::transport::{MANY_SAMPLES, Scalings, row_entropies};

/// The smallest epsilon of a search, in units of the smallest component: samples that still share something are at the same place.
const SMALLEST_EPSILON: f64 = 1e-12;
const MAX_ROUNDS: usize = 60;
/// How often epsilon may be moved while the subspace is on its way. Where the optimum jumps, only bounds find an end.
const MAX_FOLLOWS: usize = 12;
/// The longest such move, on the scale of logarithms.
const LONGEST_FOLLOW: f64 = 1.0;
/// About how many distances the first epsilon is guessed by, where there are many samples.
const GUESS: usize = 1 << 22;
/// How far above the smallest perplexity that can be had a fit is taken, on the scale of logarithms.
const ABOVE_FLOOR: f64 = 0.01;
/// The least step to begin with; and later, when epsilon is about known.
const FIRST_REACH: f64 = 0.01;
const LATER_REACH: f64 = 2e-4;
/// How slowly log(perplexity) is taken to grow with log(epsilon), in units of how it grows at a subspace that is held: what moves with
/// epsilon makes it grow faster. Two perplexities on different ways to the optimum may say otherwise.
const LEAST_GROWTH: f64 = 0.7;
/// The slopes that a step is taken by.
const SLOPES: RangeInclusive<f64> = 0.2..=10.0;
/// Between bounds that are no further apart than what is close enough, the perplexity jumps; and between near ones, if it grows as steeply as this.
const NEAR: f64 = 0.02;
const STEEP: f64 = 30.0;

/// By how much rounding may change the entropy of a plan that is measured without a pass.
const MOST_ROUNDING: f64 = 1e-4;

/// An epsilon, and the perplexity there.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Tried {
    epsilon: f64,
    perplexity: f64,
}

impl Tried {
    fn logs(self) -> (f64, f64) {
        (self.epsilon.ln(), self.perplexity.ln())
    }
}

/// A bracketed secant iteration on log(perplexity) against log(epsilon): the perplexity rises with epsilon.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct PerplexitySearch {
    target: f64,
    /// The logarithm of the number of samples: perplexities are below it.
    most: f64,
    /// The largest epsilon known to be too small, and the smallest known to be too large.
    lower: Option<Tried>,
    upper: Option<Tried>,
    /// The newest.
    last: Option<Tried>,
    slope: f64,
    least_slope: f64,
    /// How far the bounds were apart, on the scale of logarithms, when the last step was chosen.
    width: Option<f64>,
    /// The least step while one of the bounds is missing; it doubles.
    reach: f64,
    rounds: usize,
    /// How often epsilon was moved on the way.
    follows: usize,
    /// The smallest perplexity that can be had, where the wanted one is below it.
    floor: Option<f64>,
    /// Whether the bounds enclose nothing but a jump.
    at_jump: bool,
}

impl PerplexitySearch {
    /// For a perplexity among `samples`. `slope` says how log(perplexity) grows with log(epsilon) at the subspace of the beginning.
    pub fn new(target: f64, samples: f64, slope: f64) -> Self {
        let slope = if slope.is_nan() { 1.0 } else { clamped(slope, *SLOPES.start()) };
        Self {
            target: target.ln(),
            most: samples.ln(),
            lower: None,
            upper: None,
            last: None,
            slope,
            least_slope: clamped(LEAST_GROWTH * slope, *SLOPES.start()),
            width: None,
            reach: FIRST_REACH,
            rounds: 0,
            follows: 0,
            floor: None,
            at_jump: false,
        }
    }

    /// The smallest perplexity that can be had, where the wanted one is below it: samples that repeat spread over one another at any
    /// epsilon.
    pub fn floor(&self) -> Option<f64> {
        self.floor
    }

    /// Whether the numbers are such as a search has: it may come from a file.
    pub fn is_sane(&self) -> bool {
        let tried = [self.lower, self.upper, self.last].into_iter().flatten();
        let positive = tried
            .flat_map(|t| [t.epsilon, t.perplexity])
            .chain(self.floor)
            .all(|x| x.is_normal() && x.is_sign_positive());
        positive
            && [self.target, self.most, self.reach].iter().all(|x| x.is_finite())
            && [self.slope, self.least_slope].iter().all(|slope| SLOPES.contains(slope))
    }

    /// The next epsilon, at least `lowest`, or none when the perplexity is within the relative distance `close` of the target, or as near
    /// as it gets.
    pub fn next(&mut self, epsilon: f64, perplexity: f64, close: f64, lowest: f64) -> Option<f64> {
        let (x, y, lowest) = (epsilon.ln(), perplexity.ln(), lowest.ln());
        (self.rounds, self.at_jump) = (self.rounds + 1, false);
        if self.is_close(perplexity, close) || self.rounds >= MAX_ROUNDS {
            return None;
        }
        if y > self.target && x <= lowest + 1e-9 {
            // At so small an epsilon only samples at the same place share anything. The target moves to just above that.
            self.floor = Some(perplexity);
            self.target = (y + ABOVE_FLOOR).min(0.5 * (y + self.most));
            self.least_slope = *SLOPES.start();
            self.forget_bounds();
        }
        let tried = Tried { epsilon, perplexity };
        let bound = if y < self.target { &mut self.lower } else { &mut self.upper };
        *bound = Some(tried);
        let bounds = self.lower.zip(self.upper).map(|(lower, upper)| (lower.epsilon.ln(), upper.epsilon.ln()));
        // A jump of the optimum, or bounds that the moving subspace has overtaken: nothing in between.
        self.at_jump = self.lower.zip(self.upper).is_some_and(|(lower, upper)| {
            let (width, height) = ((upper.epsilon / lower.epsilon).ln(), (upper.perplexity / lower.perplexity).ln());
            width < close || (width < NEAR && height > STEEP * width)
        });
        if self.at_jump {
            return None;
        }
        if let Some((x0, y0)) = self.last.map(Tried::logs)
            && (x - x0).abs() > 1e-9
        {
            self.slope = clamped((y - y0) / (x - x0), self.least_slope);
        }
        self.last = Some(tried);
        let step = ((self.target - y) / self.slope).clamp(-4.0, 4.0);
        let next = match bounds {
            Some((lower, upper)) => {
                let width = upper - lower;
                // The middle halves them, but for rounding.
                let halved = self.width.is_none_or(|before| width <= 0.501 * before);
                self.width = Some(width);
                let inner = lower + 0.05 * width..=upper - 0.05 * width;
                if halved && inner.contains(&(x + step)) { x + step } else { 0.5 * (lower + upper) }
            }
            // Where the perplexity hardly answers, steps grow until it does.
            None => {
                let long = step.abs().max(self.reach);
                self.reach = (2.0 * self.reach).min(4.0);
                x + long.copysign(step)
            }
        };
        Some(next.max(lowest).exp())
    }

    /// Whether epsilon may still be moved while the subspace is on its way.
    pub fn may_follow(&self) -> bool {
        self.follows < MAX_FOLLOWS && self.floor.is_none()
    }

    /// A better epsilon, at least `lowest`, where the perplexity of a subspace on its way is not `close`. What was known of other subspaces is
    /// forgotten.
    pub fn follow(&mut self, epsilon: f64, perplexity: f64, close: f64, lowest: f64) -> Option<f64> {
        let step = (self.target - perplexity.ln()) / self.slope;
        let next = epsilon * step.clamp(-LONGEST_FOLLOW, LONGEST_FOLLOW).exp();
        // At the lowest a search would find a floor.
        if self.is_close(perplexity, close) || next.is_nan() || next <= lowest {
            return None;
        }
        self.follows += 1;
        (self.lower, self.upper, self.last, self.width) = (None, None, None, None);
        Some(next)
    }

    /// Whether a perplexity is as near to the target as is asked for, on the scale of logarithms.
    pub fn is_close(&self, perplexity: f64, close: f64) -> bool {
        self.distance(perplexity) <= close
    }

    /// How far a perplexity is from the target, on the scale of logarithms.
    pub fn distance(&self, perplexity: f64) -> f64 {
        (perplexity.ln() - self.target).abs()
    }

    /// Whether the search has ended at a jump: the perplexity is too low on one side of it, and too high on the other.
    pub fn is_at_jump(&self) -> bool {
        self.at_jump
    }

    /// Forgets the bounds, keeps the slope: for when the subspace has changed.
    pub fn reset_bracket(&mut self) {
        self.forget_bounds();
        self.rounds = 0;
        // Just above a floor the perplexity hardly answers.
        if self.floor.is_none() {
            self.reach = LATER_REACH;
        }
    }

    fn forget_bounds(&mut self) {
        (self.lower, self.upper, self.last, self.width, self.reach) = (None, None, None, None, FIRST_REACH);
        self.at_jump = false;
    }
}

fn clamped(slope: f64, least: f64) -> f64 {
    slope.clamp(least, *SLOPES.end())
}

/// The perplexity of the plan of `point`, as accurately as a search needs it: a pass is made only where rounding would show otherwise.
pub(super) fn rough_perplexity(objective: &mut Objective<'_>, point: &Point) -> Result<f64> {
    if let Some(known) = perplexity_without_a_pass(objective, point) {
        return Ok(known);
    }
    let accuracy = objective.rough_accuracy();
    Ok(perplexity_with(objective, point, accuracy)?.overall)
}

/// The perplexity by what is known of a point, where that is accurate enough. With log pi_ij = log u_i + log u_j - |z_i - z_j|^2 / epsilon, and
/// since the plan's cost, sum_ij pi_ij |z_i - z_j|^2, is tr Z' diag(a) Z - tr V'MV, the mean entropy of the rows takes no look at pairs.
fn perplexity_without_a_pass(objective: &Objective<'_>, point: &Point) -> Option<f64> {
    let Span { weights, total_count, .. } = &*objective.span;
    let variance: f64 = point.variances.iter().sum();
    let rounding = if objective.single { f64::from(f32::EPSILON) } else { 16.0 * f64::EPSILON };
    // An approximate kernel is not that of the distances.
    if objective.kernel.landmarks().is_some() || rounding * variance > MOST_ROUNDING * point.epsilon {
        return None;
    }
    let trace: f64 = (0..point.frame_m_frame.rows()).map(|j| point.frame_m_frame.get(j, j)).sum();
    let (mut sum, mut total) = ((variance - trace) / point.epsilon, 0.0);
    for ((a, f), row_sum) in weights.iter().zip(&point.potential).zip(&point.row_sums) {
        if *row_sum > 0.0 {
            let count = total_count.map_or(0.0, |count| (a * count).ln());
            sum += row_sum * (row_sum.ln() - 2.0 * (a.ln() + f) + count);
            total += row_sum;
        }
    }
    let entropy = sum / total;
    entropy.is_finite().then(|| entropy.max(0.0).exp())
}

/// The perplexity of the plan of `point`: one pass.
pub(super) fn perplexity(objective: &mut Objective<'_>, point: &Point) -> Result<Perplexity> {
    perplexity_with(objective, point, Accuracy::default())
}

fn perplexity_with(objective: &mut Objective<'_>, point: &Point, accuracy: Accuracy) -> Result<Perplexity> {
    let u = Scalings::new(&objective.span.weights, &point.potential);
    let Span { weights, total_count, .. } = &*objective.span;
    let kernel = objective.kernel.with_accuracy(&point.scores, point.epsilon, accuracy);
    let entropies = row_entropies(kernel, &u, weights, *total_count);
    match kernel.probe_rows() {
        Some(probe_rows) => Perplexity::of(&entropies, &probe_rows.iter().map(|&i| weights[i]).collect::<Vec<_>>()),
        None => Perplexity::of(&entropies, weights),
    }
}

/// The smallest epsilon that a search may try at these scores.
pub(super) fn smallest_epsilon(point: &Point) -> f64 {
    let smallest = point.variances.iter().rev().copied().find(|v| *v > 0.0).unwrap_or(1.0);
    (SMALLEST_EPSILON * smallest).max(f64::MIN_POSITIVE)
}

/// The perplexity that is wanted, where one is.
pub(super) fn target(span: &Span<'_>, params: &Params) -> Option<f64> {
    match params.smoothing {
        Smoothing::Epsilon(_) => None,
        Smoothing::Perplexity(p) => Some(p),
        Smoothing::Default => Some(DEFAULT_PERPLEXITY.min(1.0 + 0.3 * (span.count() - 1.0))),
    }
}

/// The epsilon to begin with at `frame`, in units of the span, and how log(perplexity) grows with its logarithm.
pub(super) fn first_epsilon(span: &Span<'_>, params: &Params, frame: &Matrix, potential: Option<&[f64]>) -> (f64, f64) {
    match (params.smoothing, target(span, params)) {
        (Smoothing::Epsilon(epsilon), _) => (epsilon / (span.unit * span.unit), 1.0),
        (_, Some(p)) => first_guess(&span.scores(frame), span, potential, p),
        (_, None) => (span.variances[0], 1.0),
    }
}

/// A first epsilon for a wanted perplexity, from a few rows of the kernel, balanced by the potential where there is one; and how
/// log(perplexity) grows with log(epsilon) there.
pub(super) fn first_guess(scores: &Matrix, span: &Span<'_>, potential: Option<&[f64]>, target: f64) -> (f64, f64) {
    let weights = &span.weights;
    let f = |i: usize| potential.map_or(0.0, |f| f[i]);
    // The logarithm of a sample's share of the weight, for each of the samples that it stands for.
    let log = |a: f64| span.total_count.map_or(a.ln(), |count| -count.ln());
    let logs: Vec<f64> = weights.iter().enumerate().map(|(i, &a)| log(a) + f(i)).collect();
    let scaled: Vec<f64> = weights.iter().enumerate().map(|(i, a)| a * f(i).exp()).collect();
    let distances: Vec<Vec<f64>> = spread_rows(scores, weights)
        .map(|i| {
            let mut row = vec![0.0; scores.rows()];
            for (l, z) in scores.row(i).into_iter().enumerate() {
                row.iter_mut().zip(scores.column(l)).for_each(|(sum, x)| *sum += (z - x).powi(2));
            }
            row
        })
        .collect();
    let log_perplexity = |epsilon: f64| {
        let of_row = |row: &Vec<f64>| {
            let mut kernel: Vec<f64> = row.iter().map(|d| d / epsilon).collect();
            exp_of_minus_all(&mut kernel);
            let (mut total, mut sum) = (0.0, 0.0);
            for (((k, d), u), log) in kernel.iter().zip(row).zip(&scaled).zip(&logs) {
                let mass = u * k;
                // What is nothing has nothing to say, also where d / epsilon is infinite.
                if mass > 0.0 {
                    total += mass;
                    sum += mass * (log - d / epsilon);
                }
            }
            total.ln() - sum / total
        };
        let rows = parallel::blocks(distances.len(), 8);
        let parts = parallel::map(&rows, parallel::work(&[distances.len(), scores.rows(), 20]), |part| {
            distances[part].iter().map(of_row).sum::<f64>()
        });
        parts.iter().sum::<f64>() / distances.len() as f64
    };
    let mean_distance = distances.iter().map(|row| dot(row, weights)).sum::<f64>() / distances.len() as f64;
    let (mut low, mut high) = ((1e-9 * mean_distance).ln(), (1e3 * mean_distance).ln());
    // Where passes are dear, a better guess saves some.
    let near = if scores.rows() < MANY_SAMPLES { 0.1 } else { 0.003 };
    while high - low > near {
        let middle = 0.5 * (low + high);
        if log_perplexity(middle.exp()) < target.ln() { low = middle } else { high = middle }
    }
    let guess = 0.5 * (low + high);
    const STEP: f64 = 0.05;
    let slope = (log_perplexity((guess + STEP).exp()) - log_perplexity((guess - STEP).exp())) / (2.0 * STEP);
    (guess.exp(), slope)
}

/// By how many rows of the kernel a first epsilon is guessed.
pub(super) fn rows_of_first_guess(samples: usize) -> usize {
    if samples < MANY_SAMPLES { 16 } else { parallel::lines_of(samples, GUESS, 16..=100) }
}

/// Samples that are spread over the cloud: those at equal steps of weight along the first axis. The choice depends neither on the
/// samples' order nor on whether weights or repeated samples were given, and so the search ends at the same epsilon.
pub(super) fn spread_rows(scores: &Matrix, weights: &[f64]) -> impl Iterator<Item = usize> {
    let rows = rows_of_first_guess(scores.rows());
    let along = scores.column(0);
    let mut order: Vec<usize> = (0..along.len()).collect();
    order.sort_by(|&i, &j| along[i].total_cmp(&along[j]));
    let mut reached = 0.0;
    let ends: Vec<f64> = order
        .iter()
        .map(|&i| {
            reached += weights[i];
            reached
        })
        .collect();
    (0..rows).map(move |step| {
        let at = (step as f64 + 0.5) / rows as f64;
        order[ends.partition_point(|&end| end < at).min(order.len() - 1)]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the search ends, and after how many rounds.
    fn found(search: &mut PerplexitySearch, start: f64, close: f64, curve: impl Fn(f64) -> f64) -> (f64, usize) {
        let (mut epsilon, mut rounds) = (start, 0);
        while let Some(next) = search.next(epsilon, curve(epsilon), close, 1e-12) {
            assert!(next >= 1e-12 * (1.0 - 1e-12));
            epsilon = next;
            rounds += 1;
        }
        (epsilon, rounds)
    }

    #[test]
    fn epsilon_follows_a_subspace_on_its_way() {
        let mut search = PerplexitySearch::new(10.0, 100.0, 0.5);
        // Near enough, and a step by the slope.
        assert_eq!(search.follow(2.0, 9.6, 0.05, 1e-12), None);
        let next = search.follow(2.0, 9.0, 0.05, 1e-12).unwrap();
        assert!((next - 2.0 * (10.0f64 / 9.0).powi(2)).abs() < 1e-12, "{next}");
        // Never too far, nor below the lowest, and only so often.
        assert!((search.follow(2.0, 99.0, 0.05, 1e-12).unwrap() - 2.0 / std::f64::consts::E).abs() < 1e-12);
        assert_eq!(search.follow(2.0, 99.0, 0.05, 1.0), None);
        assert_eq!(search.follow(2.0, f64::NAN, 0.05, 1e-12), None);
        assert!(search.may_follow());
        for _ in 2..MAX_FOLLOWS {
            search.follow(2.0, 1.0, 0.05, 1e-12).unwrap();
        }
        assert!(!search.may_follow());
        // Bounds of another subspace are forgotten.
        let mut search = PerplexitySearch::new(10.0, 100.0, 1.0);
        search.next(1.0, 5.0, 1e-3, 1e-12).unwrap();
        search.next(3.0, 20.0, 1e-3, 1e-12).unwrap();
        let bounds = |search: &PerplexitySearch| search.lower.zip(search.upper);
        assert!(bounds(&search).is_some());
        assert_eq!(search.follow(2.0, 5.0, 0.05, 2.0 * std::f64::consts::E), None);
        assert!(bounds(&search).is_some());
        search.follow(2.0, 5.0, 0.05, 1e-12).unwrap();
        assert_eq!((search.lower, search.upper), (None, None));
        // Short steps stay short when epsilon is about known.
        search.reset_bracket();
        search.follow(2.0, 9.9, 1e-3, 1e-12).unwrap();
        let next = search.next(2.0, 9.98, 1e-3, 1e-12).unwrap();
        assert!((next / 2.0).ln() < 0.5 * FIRST_REACH, "{next}");
    }

    #[test]
    fn finds_its_target_on_curves_and_stops_at_jumps() {
        let curve = |e: f64| 1.0 + 99.0 * e / (e + 30.0);
        for (start, target) in [(1e-3, 10.0), (1e6, 10.0), (1.0, 1.05), (1.0, 95.0), (1e-12, 10.0)] {
            let mut search = PerplexitySearch::new(target, 100.0, 1.0);
            let (epsilon, rounds) = found(&mut search, start, 1e-3, curve);
            assert!((curve(epsilon) / target - 1.0).abs() < 2e-3, "{start} {target} {epsilon}");
            assert!(rounds < 25, "{rounds}");
            assert!(search.floor().is_none() && !search.is_at_jump());
        }
        // A high step is told from afar, a low one only between bounds that are as near as is close enough.
        for (higher, near, most) in [(20.0, NEAR, 15), (5.2, 2e-3, 25), (5.1, 1e-3, 25)] {
            let jump = |e: f64| if e < 7.0 { 5.0 } else { higher };
            for part in [0.2, 0.8] {
                let wanted = 5.0 + part * (higher - 5.0);
                let mut search = PerplexitySearch::new(wanted, 100.0, 1.0);
                let (epsilon, rounds) = found(&mut search, 1.0, 1e-3, jump);
                assert!((epsilon / 7.0).ln().abs() < near && rounds < most, "{higher}: {epsilon} {rounds}");
                assert!(search.is_at_jump());
                let [low, high] = [5.0, higher].map(|perplexity| search.distance(perplexity));
                assert_eq!(low < high, part < 0.5);
                // The next subspace may have the perplexity.
                search.reset_bracket();
                assert!(!search.is_at_jump());
            }
        }
        // Steep is not a jump, as long as the bounds are not near.
        let steep = |e: f64| if e < 7.0 { 5.0 } else { 5.0 * (e / 7.0).powi(20) };
        let mut search = PerplexitySearch::new(6.0, 100.0, 1.0);
        let (epsilon, _) = found(&mut search, 1.0, 1e-3, steep);
        assert!((steep(epsilon) / 6.0 - 1.0).abs() < 1e-3 && !search.is_at_jump(), "{epsilon}");
        // Near enough after all.
        assert_eq!(search.next(7.0, 6.0, 1e-3, 1e-12), None);
        assert!(!search.is_at_jump());
    }

    #[test]
    fn ends_just_above_a_floor() {
        for (start, wanted) in [(1.0, 5.0), (1e-9, 5.0), (1e5, 29.0)] {
            let curve = |e: f64| 30.0 + 70.0 * e / (e + 3.0);
            let mut search = PerplexitySearch::new(wanted, 100.0, 1.0);
            let (epsilon, rounds) = found(&mut search, start, 1e-3, curve);
            assert!((search.floor().unwrap() - 30.0).abs() < 1e-6);
            assert!((curve(epsilon).ln() - 30f64.ln() - ABOVE_FLOOR).abs() < 2e-3, "{}", curve(epsilon));
            assert!(rounds < 40, "{rounds}");
        }
        // A floor next to the number of samples.
        let mut search = PerplexitySearch::new(5.0, 100.0, 1.0);
        let (epsilon, _) = found(&mut search, 1.0, 1e-4, |e: f64| 99.5 + 0.5 * e / (e + 1.0));
        assert!(epsilon > 0.1 && epsilon < 10.0, "{epsilon}");
    }

    /// The logarithm of the next epsilon, from those of an epsilon and of its perplexity.
    fn after(search: &mut PerplexitySearch, x: f64, y: f64) -> Option<f64> {
        search.next(x.exp(), y.exp(), 1e-3, 1e-12).map(f64::ln)
    }

    fn close(found: Option<f64>, wanted: f64) {
        assert!(found.is_some_and(|x| (x - wanted).abs() < 1e-9), "{found:?}, not {wanted}");
    }

    #[test]
    fn steps_are_those_of_the_secant() {
        let mut search = PerplexitySearch::new(3f64.exp(), 1e9, 2.0);
        // By the first guess of the slope, then by that of the last two.
        close(after(&mut search, -1.0, 1.0), -1.0 + (3.0 - 1.0) / 2.0);
        close(after(&mut search, 0.0, 2.5), 0.0 + (3.0 - 2.5) / 1.5);
        // A slope from 0.7 of the first one to 10, and steps of 4 at the most.
        close(after(&mut search, 1.0, 2.9), 1.0 + (3.0 - 2.9) / 1.4);
        close(after(&mut search, 1.1, 2.5), 1.1 + (3.0 - 2.5) / 1.4);
        close(after(&mut search, 1.2, -9.0), 1.2 + 4.0);
        // Never below 0.2, whatever the first one.
        let mut flat = PerplexitySearch::new(3f64.exp(), 1e9, 0.01);
        close(after(&mut flat, 1.0, 2.9), 1.0 + (3.0 - 2.9) / 0.2);
        close(after(&mut flat, 1.1, 2.91), 1.1 + (3.0 - 2.91) / 0.2);
        // The same epsilon again says nothing about the slope.
        let mut same = PerplexitySearch::new(3f64.exp(), 1e9, 2.0);
        close(after(&mut same, 1.0, 1.0), 1.0 + (3.0 - 1.0) / 2.0);
        close(after(&mut same, 1.0, 2.0), 1.0 + (3.0 - 2.0) / 2.0);
        let mut steep = PerplexitySearch::new(3f64.exp(), 1e9, 1.0);
        close(after(&mut steep, 0.0, 1.0), 2.0);
        close(after(&mut steep, 0.01, 2.0), 0.01 + (3.0 - 2.0) / 10.0);
        // From above as from below.
        let mut above = PerplexitySearch::new(3f64.exp(), 1e9, 1.0);
        close(after(&mut above, 5.0, 4.0), 4.0);
        close(after(&mut above, 4.0, 3.5), 4.0 - 0.5 / 0.7);
    }

    #[test]
    fn between_bounds_a_secant_must_halve_them_and_keep_away_from_them() {
        let between = |y: f64| {
            let mut search = PerplexitySearch::new(3f64.exp(), 1e9, 1.0);
            close(after(&mut search, 0.0, 1.0), 2.0);
            (after(&mut search, 2.0, y), search)
        };
        // The secant through (0, 1) and (2, y): to where it is 3.
        close(between(5.0).0, 1.0);
        close(between(4.0).0, 2.0 - 1.0 / 1.5);
        // Nearer than a twentieth to a bound, at either side, the middle is taken.
        close(between(3.15).0, 2.0 - 0.15 / 1.075);
        close(between(3.05).0, 1.0);
        let mut low = PerplexitySearch::new(3f64.exp(), 1e9, 1.0);
        close(after(&mut low, 2.0, 5.0), 0.0);
        close(after(&mut low, 0.0, 2.85), 0.15 / 1.075);
        let mut low = PerplexitySearch::new(3f64.exp(), 1e9, 1.0);
        close(after(&mut low, 2.0, 5.0), 0.0);
        close(after(&mut low, 0.0, 2.95), 1.0);
        // Bounds that did not halve: the middle, whatever the secant says.
        let (_, mut search) = between(5.0);
        close(after(&mut search, 0.9, 2.5), 0.5 * (0.9 + 2.0));
        let (_, mut search) = between(5.0);
        close(after(&mut search, 1.1, 2.5), 1.1 + 0.5 / (2.5 / 0.9));
        // The middle halves them, whichever way it is rounded.
        for x in [1.0 - 1e-12, 1.0 + 1e-12] {
            let (_, mut search) = between(5.0);
            close(after(&mut search, x, 2.5), 1.0 + 0.5 / 2.5);
        }
        // They are forgotten with the subspace; the slope is kept.
        let (_, mut search) = between(5.0);
        search.reset_bracket();
        close(after(&mut search, 0.0, 1.0), 1.0);
    }

    #[test]
    fn steps_grow_where_the_perplexity_does_not_answer() {
        let mut search = PerplexitySearch::new(3f64.exp(), 1e9, 1.0);
        let mut x = 0.0;
        for step in 0..12 {
            let next = after(&mut search, x, 2.998).unwrap();
            // What the slope says, 0.002 and up to 0.01, until the least step is longer; 4 at the most.
            let wanted = (0.01 * 2f64.powi(step)).min(4.0);
            assert!((next - x - wanted).abs() < 1e-9, "{step}: {}", next - x);
            x = next;
        }
        let mut search = PerplexitySearch::new(3f64.exp(), 1e9, 1.0);
        close(after(&mut search, 0.0, 3.002), -0.01);
    }

    #[test]
    fn a_search_ends_after_some_rounds() {
        let mut search = PerplexitySearch::new(3f64.exp(), 1e9, 1.0);
        for again in [false, true] {
            if again {
                search.reset_bracket();
            }
            let rounds = (0..).take_while(|&i| after(&mut search, 0.1 * i as f64, 1.0).is_some()).count();
            assert_eq!(rounds, MAX_ROUNDS - 1);
        }
        assert!(!search.is_close(3f64.exp() * 1.0011, 1e-3) && search.is_close(3f64.exp() * 1.0009, 1e-3));
    }

    #[test]
    fn searches_with_numbers_that_none_has_are_told() {
        let good = {
            let mut search = PerplexitySearch::new(5.0, 100.0, 1.0);
            search.next(1.0, 2.0, 1e-3, 1e-12);
            search.next(2.0, 8.0, 1e-3, 1e-12);
            search
        };
        assert!(good.is_sane() && good.lower.is_some() && good.upper.is_some());
        let bad = Some(Tried { epsilon: -1.0, perplexity: 2.0 });
        let worse = Some(Tried { epsilon: 1.0, perplexity: f64::NAN });
        for other in [
            PerplexitySearch { lower: bad, ..good.clone() },
            PerplexitySearch { upper: worse, ..good.clone() },
            PerplexitySearch { last: bad, ..good.clone() },
            PerplexitySearch { floor: Some(0.0), ..good.clone() },
            PerplexitySearch { target: f64::NAN, ..good.clone() },
            PerplexitySearch { most: f64::INFINITY, ..good.clone() },
            PerplexitySearch { slope: 0.0, ..good.clone() },
            PerplexitySearch { reach: f64::NAN, ..good.clone() },
        ] {
            assert!(!other.is_sane(), "{other:?}");
        }
        assert_eq!(
            [PerplexitySearch::new(5.0, 9.0, f64::NAN).slope, PerplexitySearch::new(5.0, 9.0, 99.0).slope],
            [1.0, 10.0]
        );
    }
}
