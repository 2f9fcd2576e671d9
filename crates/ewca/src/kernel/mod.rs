//! The Gaussian kernel of the scores, K_ij = exp(-|z_i - z_j|^2 / epsilon), as passes over tiles.
//!
//! A *pass* is one application of the n x n kernel to a few columns. A [`KernelLayout`] says where points stand and how passes are
//! made; [`KernelLayout::at`] gives the [`Kernel`] of scores at an epsilon, with which passes are made: over all pairs of points
//! (`exact`), or by an approximation (`nystrom`).
//!
//! This is the only module with `unsafe` code: instructions of the processor (`lanes`), behind the test that it has them.

mod arrange;
mod bounds;
mod exact;
mod lanes;
mod nystrom;
mod peak;
mod tally;
mod tile;

use std::sync::Arc;
use std::time::Duration;

pub(crate) use arrange::FEWEST_SORTED_POINTS;
use arrange::{Arrangement, in_blocks_of_neighbours, padded, pair_bytes};
use bounds::{Moves, TileDistances};
use exact::{Exact, Kept};
use lanes::{Element, Job, Lanes, exp_of_minus};
use nystrom::{Landmarks, Nystrom};
pub use peak::Peak;
pub(crate) use tally::Tally;
pub use tally::Work;
use tally::{Clock, Counts};
use tile::PADDING;

use crate::matrix::Matrix;
use crate::team::TeamHandle;

/// The share of a plan's mass that passes may leave out at the least.
pub(crate) const NEGLIGIBLE: f64 = 1e-13;
/// Multiply-adds that an exponential is worth.
const EXP_COST: usize = 14;

/// How passes over a kernel are made.
#[derive(Debug, Clone, Copy, Default)]
pub struct KernelOptions {
    /// Never leaves a pair of points out. By default, among many points, those that cannot matter are.
    pub keep_far_pairs: bool,
    /// The most bytes in which what a pass computes of K is kept for the next one over the same points.
    pub kept_bytes: usize,
    /// Approximates K by so many landmarks: see `nystrom`. Pairs are not left out then, and all is done in double precision.
    pub landmarks: Option<usize>,
}

/// How accurate passes are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Accuracy {
    /// The share of a plan's mass that a pass may leave out.
    pub negligible: f64,
    /// Computes K in single precision where it is not approximate; sums over tiles stay in double.
    pub single: bool,
}

impl Default for Accuracy {
    /// As accurate as can be.
    fn default() -> Self {
        Self { negligible: NEGLIGIBLE, single: false }
    }
}

/// Where points stand, and how passes over them are made.
#[derive(Debug)]
pub struct KernelLayout {
    shared: Arc<Shared>,
    counts: Arc<Counts>,
    /// How far tiles of points were apart when that was last looked at.
    distances: Option<Arc<TileDistances>>,
    /// The last one that was asked for, whose memory is used again.
    kernel: Option<Kernel>,
}

/// What all kernels of a layout share.
#[derive(Debug)]
struct Shared {
    arrangement: Arrangement,
    skip_far_pairs: bool,
    kept_bytes: usize,
    landmarks: Option<Landmarks>,
    member: TeamHandle,
    /// What passes, and the making of kernels, have taken so far.
    clock: Clock,
}

impl KernelLayout {
    /// Points by whose places the rows of scores stand together: as many as the scores will have.
    #[must_use]
    pub fn new(layout_points: &Matrix, options: KernelOptions) -> Self {
        Self::of_team(layout_points, options, TeamHandle::default())
    }

    /// The same, where other processes compute some of the pairs: they have the same points and make the same passes.
    pub(crate) fn of_team(layout_points: &Matrix, options: KernelOptions, member: TeamHandle) -> Self {
        let KernelOptions { keep_far_pairs, kept_bytes, landmarks } = options;
        let mut arrangement = Arrangement::new(layout_points);
        let landmarks = landmarks.map(|count| Landmarks::new(layout_points, count, &mut arrangement));
        let exact = landmarks.is_none();
        let shared = Shared {
            skip_far_pairs: !keep_far_pairs && exact && layout_points.rows() > FEWEST_SORTED_POINTS,
            // Each process has its share of the pairs.
            kept_bytes: kept_bytes / member.size(),
            arrangement,
            landmarks,
            member,
            clock: Clock::default(),
        };
        Self { shared: Arc::new(shared), counts: Arc::default(), distances: None, kernel: None }
    }

    /// The same layout, with a count of its own.
    pub(crate) fn again(&self) -> Self {
        Self { shared: self.shared.clone(), counts: Arc::default(), distances: self.distances.clone(), kernel: None }
    }

    /// The kernel of the rows of `scores`.
    pub fn at(&mut self, scores: &Matrix, epsilon: f64) -> &Kernel {
        self.with_accuracy(scores, epsilon, Accuracy::default())
    }

    /// The same, with passes that are no more accurate than need be.
    pub fn with_accuracy(&mut self, scores: &Matrix, epsilon: f64, accuracy: Accuracy) -> &Kernel {
        let shared = self.shared.clone();
        let _running = shared.clock.run();
        let points = Points::new(self, scores, epsilon);
        let mut kernel = match self.kernel.take() {
            Some(kernel) if kernel.points.scaled == points.scaled => kernel,
            last => {
                let method: Box<dyn Method> = match &self.shared.landmarks {
                    Some(landmarks) => Box::new(Nystrom::new(landmarks, &points)),
                    None => {
                        let kept = last.and_then(|last| last.method.into_kept());
                        Box::new(Exact::new(self.near(&points), kept))
                    }
                };
                Kernel { points, method }
            }
        };
        kernel.method.set_accuracy(accuracy, &kernel.points);
        self.kernel.insert(kernel)
    }

    /// How far tiles are apart, where some may be left out, and how far they have moved since.
    fn near(&mut self, points: &Points) -> Option<(Arc<TileDistances>, Moves)> {
        if !self.shared.skip_far_pairs {
            return None;
        }
        let known = self.distances.take().and_then(|known| known.moves_to(points).map(|moves| (known, moves)));
        let near = known.or_else(|| {
            let distances = Arc::new(TileDistances::new(points));
            distances.moves_to(points).map(|moves| (distances.clone(), moves))
        });
        self.distances = near.as_ref().map(|(distances, _)| distances.clone());
        near
    }

    /// The number of landmarks, where K is approximated.
    pub(crate) fn landmarks(&self) -> Option<usize> {
        self.shared.landmarks.as_ref().map(Landmarks::count)
    }

    /// Number of passes so far.
    #[must_use]
    pub fn passes(&self) -> usize {
        self.counts.passes()
    }

    /// The time that all kernels of this layout have taken so far.
    pub(crate) fn elapsed(&self) -> Duration {
        self.shared.clock.elapsed()
    }

    /// What the passes so far took.
    #[must_use]
    pub fn work(&self) -> Work {
        self.counts.tally().work()
    }

    /// The counts so far.
    pub(crate) fn tally(&self) -> Tally {
        self.counts.tally()
    }

    /// Goes on counting from here.
    pub(crate) fn count_from(&mut self, tally: Tally) {
        self.counts.set(tally);
    }

    /// Bytes that a kernel between n points in k dimensions takes, with what a pass of k + 1 columns holds.
    #[must_use]
    pub fn bytes(points: usize, dimensions: usize) -> usize {
        let stride = if points <= FEWEST_SORTED_POINTS { padded(points) } else { points.saturating_add(points / 4) };
        let places = stride.saturating_mul(3 * dimensions + 2).saturating_mul(8);
        places.saturating_add(if points > FEWEST_SORTED_POINTS { pair_bytes(points) } else { 0 })
    }

    /// Bytes that all of a kernel takes where what was computed is kept.
    pub(crate) fn most_kept(points: usize) -> usize {
        // A little more, for blocks that are not full.
        let stride = padded(points).saturating_add(points / 20);
        stride.saturating_mul(stride.saturating_add(arrange::LEAF)) / 2 * size_of::<f64>()
    }

    /// Bytes that an approximation by landmarks takes beside that, with what a pass of k + 1 columns holds.
    pub(crate) fn landmark_bytes(landmarks: usize, dimensions: usize) -> usize {
        Landmarks::numbers(landmarks, dimensions + 1).saturating_mul(8)
    }
}

/// Points at their places.
#[derive(Debug)]
struct Points {
    shared: Arc<Shared>,
    counts: Arc<Counts>,
    epsilon: f64,
    dimensions: usize,
    /// Coordinates divided by sqrt(epsilon), coordinate by coordinate.
    scaled: Vec<f64>,
}

impl Points {
    fn new(layout: &KernelLayout, scores: &Matrix, epsilon: f64) -> Self {
        let shared = &layout.shared;
        let scale = 1.0 / epsilon.sqrt();
        let columns = (0..scores.columns()).map(|j| scores.column(j));
        let mut scaled = shared.arrangement.scattered(columns, |z| z * scale);
        shared.arrangement.pad(&mut scaled);
        if let Some(landmarks) = &shared.landmarks {
            landmarks.place(&shared.arrangement, &mut scaled);
        }
        let counts = layout.counts.clone();
        Self { shared: shared.clone(), counts, epsilon, dimensions: scores.columns(), scaled }
    }
}

/// A way to make passes. The columns carry a plan with the scalings `u` (a exp f): where u_i K_ij u_j is nothing beside the plan's
/// mass, K_ij may be taken for 0.
trait Method: std::fmt::Debug + Send + Sync {
    /// K `right`.
    fn apply(&self, points: &Points, right: &Matrix, u: &[f64]) -> Matrix;

    /// The same for `right` = [u, diag(u) Z] with the points Z, up to a factor: columns from which the derivative of u'Ku by the points
    /// follows. They differ from K `right` only where K is approximated.
    fn apply_with_points(&self, points: &Points, right: &Matrix, u: &[f64]) -> Matrix {
        self.apply(points, right, u)
    }

    /// The exact K `right`, and with `with_cost` one column more, the sums of K_ij D_ij right_j0 with D = -log K; in all rows, or in the
    /// rows that are known exactly.
    fn exact(&self, points: &Points, right: &Matrix, u: &[f64], with_cost: bool) -> Matrix;

    /// Makes passes so accurate from now on, where that can be chosen.
    fn set_accuracy(&mut self, _accuracy: Accuracy, _points: &Points) {}

    /// How many tiles of K are kept.
    #[cfg(test)]
    fn kept_tiles(&self) -> usize {
        0
    }

    /// The tiles that were kept, whose memory is used again.
    fn into_kept(self: Box<Self>) -> Option<Kept> {
        None
    }
}

/// The Gaussian kernel K_ij = exp(-|z_i - z_j|^2 / epsilon) between n points, in memory that grows with n alone.
///
/// ```
/// use ewca::{Kernel, Matrix};
/// let points = Matrix::from_row_major(3, 1, &[0.0, 1.0, 3.0])?;
/// let sums = Kernel::of(&points, 2.0).apply(&Matrix::from_row_major(3, 1, &[1.0, 1.0, 1.0])?, &[1.0; 3]);
/// assert!((sums.get(0, 0) - (1.0 + (-0.5f64).exp() + (-4.5f64).exp())).abs() < 1e-15);
/// # Ok::<(), ewca::Error>(())
/// ```
#[derive(Debug)]
pub struct Kernel {
    points: Points,
    method: Box<dyn Method>,
}

impl Kernel {
    /// The kernel of the rows of `scores`, computed in each pass.
    #[must_use]
    pub fn of(scores: &Matrix, epsilon: f64) -> Self {
        let mut layout = KernelLayout::new(scores, KernelOptions::default());
        let points = Points::new(&layout, scores, epsilon);
        Self { method: Box::new(Exact::new(layout.near(&points), None)), points }
    }

    /// One pass: K `right`. The columns carry a plan with the scalings `u` (a exp f): where u_i K_ij u_j is nothing beside the
    /// plan's mass, K_ij may be taken for 0.
    ///
    /// # Panics
    /// Where `right` or `u` have not one row for each point.
    #[must_use]
    pub fn apply(&self, right: &Matrix, u: &[f64]) -> Matrix {
        let _running = self.points.shared.clock.run();
        self.method.apply(&self.points, right, u)
    }

    /// The same for `right` = [u, diag(u) Z] with the points Z, up to a factor: columns from which the derivative of u'Ku by the points
    /// follows. They differ from K `right` only where K is approximated.
    pub(crate) fn apply_with_points(&self, right: &Matrix, u: &[f64]) -> Matrix {
        let _running = self.points.shared.clock.run();
        self.method.apply_with_points(&self.points, right, u)
    }

    /// The points whose rows are known exactly where K is approximated; None where all are.
    pub(crate) fn probe_rows(&self) -> Option<&[usize]> {
        self.points.shared.landmarks.as_ref().map(Landmarks::probe_rows)
    }

    /// The exact K `right`, in the rows of the probe_rows alone where there are some.
    pub(crate) fn exact(&self, right: &Matrix, u: &[f64]) -> Matrix {
        let _running = self.points.shared.clock.run();
        self.method.exact(&self.points, right, u, false)
    }

    /// One pass: the entropy of each row of the distribution q_ij proportional to u_j K_ij. Where K is approximated, of the rows of
    /// the probe_rows.
    #[must_use]
    pub fn row_entropies(&self, u: &[f64]) -> Vec<f64> {
        // With D = -log K and t_i = sum_j u_j K_ij:  H_i = log t_i - sum_j u_j K_ij (log u_j - D_ij) / t_i.
        let logs = |u: f64| if u > 0.0 { u * u.ln() } else { 0.0 };
        let right = Matrix::from_fn(u.len(), 2, |j, c| if c == 0 { u[j] } else { logs(u[j]) });
        let _running = self.points.shared.clock.run();
        let sums = self.method.exact(&self.points, &right, u, true);
        (0..sums.rows())
            .map(|i| {
                let total = sums.get(i, 0);
                let entropy = total.ln() - (sums.get(i, 1) - sums.get(i, 2)) / total;
                // Rounding may leave less than nothing; a NaN stays one.
                if entropy < 0.0 { 0.0 } else { entropy }
            })
            .collect()
    }

    /// One row of K.
    ///
    /// # Panics
    /// Where there is no such point.
    #[must_use]
    pub fn row(&self, row: usize) -> Vec<f64> {
        let Arrangement { places, stride, .. } = &self.points.shared.arrangement;
        let mut line = vec![0.0; places.len().next_multiple_of(4 * PADDING)];
        for coordinate in self.points.scaled.chunks_exact(*stride) {
            let x = coordinate[places[row]];
            line.iter_mut().zip(places).for_each(|(sum, &place)| *sum += (x - coordinate[place]).powi(2));
        }
        f64::dispatch(Exp(&mut line));
        line.truncate(places.len());
        line
    }

    /// Number of passes so far.
    #[must_use]
    pub fn passes(&self) -> usize {
        self.points.counts.passes()
    }
}

/// The rows of `points` in an order in which neighbours stand together.
pub(crate) fn neighbours_together(points: &Matrix) -> Vec<usize> {
    in_blocks_of_neighbours(points).0
}

/// `values = exp(-values)`, for values >= 0.
pub(crate) fn exp_of_minus_all(values: &mut [f64]) {
    let (whole, rest) = values.split_at_mut(values.len() / (4 * PADDING) * (4 * PADDING));
    f64::dispatch(Exp(whole));
    rest.iter_mut().for_each(|x| *x = (-*x).exp());
}

/// `values = exp(-values)`, a multiple of 4 vectors of them.
struct Exp<'a>(&'a mut [f64]);

impl Job<f64> for Exp<'_> {
    #[inline(always)]
    fn run<V: Lanes<Element = f64>>(self) {
        exp_of_minus::<V>(self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn scores(points: usize, dimensions: usize) -> Matrix {
        Matrix::from_row_major(points, dimensions, &testing::gaussian(points, dimensions, 5)).unwrap()
    }

    /// Points around 20 far centres.
    fn clustered(points: usize, dimensions: usize) -> Matrix {
        let (noise, centres) = (scores(points, dimensions), scores(20, dimensions));
        Matrix::from_fn(points, dimensions, |i, j| noise.get(i, j) + 12.0 * centres.get(i % 20, j))
    }

    fn definition(scores: &Matrix, epsilon: f64, i: usize, j: usize) -> f64 {
        let d: f64 = (0..scores.columns()).map(|l| (scores.get(i, l) - scores.get(j, l)).powi(2)).sum();
        (-d / epsilon).exp()
    }

    #[test]
    fn kept_and_computed_give_the_same_bits_and_the_definition() {
        for (points, dimensions) in [(1, 1), (2, 3), (17, 2), (63, 5), (600, 3)] {
            let scores = scores(points, dimensions);
            for columns in [1, 2, 3, 6] {
                let right = Matrix::from_fn(points, columns, |i, j| ((i + 2 * j) as f64).sin());
                let u = vec![1.0; points];
                let kept_bytes = KernelLayout::most_kept(points);
                let mut layout = KernelLayout::new(&scores, KernelOptions { kept_bytes, ..KernelOptions::default() });
                let pairs_of_tiles = layout.shared.arrangement.pairs_of_tiles();
                let kernel = layout.at(&scores, 0.7);
                let computed = kernel.apply(&right, &u);
                // All of it has room.
                assert_eq!(kernel.method.kept_tiles(), pairs_of_tiles);
                assert_eq!(computed, kernel.apply(&right, &u));
                assert_eq!(computed, Kernel::of(&scores, 0.7).apply(&right, &u));
                for (i, c) in [(0, 0), (points - 1, columns - 1), (points / 2, columns / 2)] {
                    let want: f64 = (0..points).map(|j| definition(&scores, 0.7, i, j) * right.get(j, c)).sum();
                    assert!((computed.get(i, c) - want).abs() < 1e-13 * points as f64);
                }
            }
        }
    }

    #[test]
    fn rows_agree_with_the_definition() {
        let scores = scores(70, 4);
        let row = Kernel::of(&scores, 1.3).row(33);
        assert_eq!(row.len(), 70);
        assert!((0..70).all(|j| (row[j] - definition(&scores, 1.3, 33, j)).abs() < 1e-14));
    }

    #[test]
    fn leaving_out_what_does_not_matter_changes_nothing_that_does() {
        let n = 6000;
        let scores = clustered(n, 4);
        let u = vec![1.0 / n as f64; n];
        let right = Matrix::from_fn(n, 5, |i, j| if j == 0 { u[i] } else { u[i] * scores.get(i, j - 1) });
        let all = KernelOptions { keep_far_pairs: true, ..KernelOptions::default() };
        let whole = KernelLayout::new(&scores, all).at(&scores, 1.0).apply(&right, &u);
        let mut layout = KernelLayout::new(&scores, KernelOptions::default());
        let part = layout.at(&scores, 1.0).apply(&right, &u);
        let work = layout.work();
        assert!(work.computed < 0.35, "{work:?}");
        assert!(work.left_out <= 1e-13);
        let missing: f64 = (0..n).map(|i| u[i] * (whole.get(i, 0) - part.get(i, 0)).abs()).sum();
        assert!(missing <= work.left_out + 1e-16, "{missing} {work:?}");
        let i = 4321;
        let want: f64 = (0..n).map(|j| definition(&scores, 1.0, i, j) * right.get(j, 2)).sum();
        assert!((part.get(i, 2) - want).abs() < 1e-14);
    }

    #[test]
    fn single_precision_is_as_good_as_it_can_be() {
        let n = 5000;
        let scores = clustered(n, 3);
        let u = vec![1.0 / n as f64; n];
        let right = Matrix::from_fn(n, 3, |i, j| u[i] * (1.0 + (i * j) as f64 / n as f64));
        let mut layout = KernelLayout::new(&scores, KernelOptions::default());
        let double = layout.at(&scores, 40.0).apply(&right, &u);
        let single =
            layout.with_accuracy(&scores, 40.0, Accuracy { single: true, ..Accuracy::default() }).apply(&right, &u);
        for i in 0..n {
            for c in 0..3 {
                // Coordinates are rounded to 6e-8 of their size (at most 40), so distances are off by about 1e-5 in the exponent.
                let error = (single.get(i, c) / double.get(i, c) - 1.0).abs();
                assert!(error < 2e-5, "{error}");
            }
        }
        assert_eq!(layout.at(&scores, 40.0).apply(&right, &u), double);
    }

    #[test]
    fn perplexities_in_single_precision_are_good_enough_for_a_search() {
        let scores = clustered(3000, 4);
        let u = vec![1.0 / 3000.0; 3000];
        let mut layout = KernelLayout::new(&scores, KernelOptions::default());
        let double = layout.at(&scores, 3.0).row_entropies(&u);
        let single = layout.with_accuracy(&scores, 3.0, Accuracy { negligible: 1e-6, single: true }).row_entropies(&u);
        assert_ne!(single, double);
        let furthest = single.iter().zip(&double).fold(0.0, |m: f64, (x, y)| m.max((x - y).abs()));
        assert!(furthest < 1e-4, "{furthest}");
    }

    #[test]
    fn coordinates_too_large_for_single_precision_stay_in_double() {
        let near = scores(1500, 2);
        for (offset, is_single) in [(900.0, true), (1100.0, false), (1e9, false)] {
            let far = Matrix::from_fn(1500, 2, |i, j| near.get(i, j) + offset);
            let u = vec![1.0; 1500];
            let mut layout = KernelLayout::new(&far, KernelOptions::default());
            let double = layout.at(&far, 1.0).apply(&near, &u);
            let single = layout.with_accuracy(&far, 1.0, Accuracy { single: true, ..Accuracy::default() });
            assert_eq!(single.apply(&near, &u) != double, is_single, "{offset}");
        }
    }

    #[test]
    fn what_is_kept_changes_no_bits_and_is_forgotten_when_points_move() {
        let n = 3000;
        let (first, second) = (clustered(n, 3), scores(n, 3));
        let u: Vec<f64> = (0..n).map(|i| (1.0 + (i % 7) as f64) / (4.0 * n as f64)).collect();
        let right = Matrix::from_fn(n, 3, |i, j| u[i] * (1.0 + (i * j) as f64 / n as f64));
        let one = right.leading_columns(1);
        let (rough, single) =
            (Accuracy { negligible: 1e-6, single: true }, Accuracy { single: true, ..Accuracy::default() });
        let double = Accuracy::default();
        // Rough passes know fewer tiles than the accurate ones that follow; precision goes up and down; points move, and epsilon does.
        let calls = [
            (&first, 1.0, rough),
            (&first, 1.0, single),
            (&first, 1.0, double),
            (&first, 1.0, rough),
            (&first, 1.0, double),
            (&second, 1.0, double),
            (&second, 0.5, single),
            (&second, 0.5, rough),
            (&first, 0.5, double),
        ];
        let passes = |kept_bytes: usize| {
            let mut layout = KernelLayout::new(&first, KernelOptions { kept_bytes, ..KernelOptions::default() });
            let sums = calls.map(|(scores, epsilon, accuracy)| {
                let kernel = layout.with_accuracy(scores, epsilon, accuracy);
                let sums = [kernel.apply(&one, &u), kernel.apply(&right, &u)];
                (sums, kernel.row_entropies(&u))
            });
            (sums, layout.work())
        };
        let anew = passes(0);
        // Room for all, for some pairs of blocks, and for none; on any number of threads.
        for (bytes, threads) in [(KernelLayout::most_kept(n), 2), (1 << 20, 1), (1 << 20, 3), (1, 2)] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            assert_eq!(pool.install(|| passes(bytes)), anew, "{bytes}");
        }
        let tile_bytes = |accuracy: Accuracy| if accuracy.single { 4096 } else { 8192 };
        for (kept_bytes, some) in [(KernelLayout::most_kept(n), true), (1 << 20, true), (1, false)] {
            let mut layout = KernelLayout::new(&first, KernelOptions { kept_bytes, ..KernelOptions::default() });
            for (scores, epsilon, accuracy) in calls {
                let _ = layout.with_accuracy(scores, epsilon, accuracy).apply(&one, &u);
                let tiles = layout.kernel.as_ref().unwrap().method.kept_tiles();
                assert_eq!(tiles > 0, some, "{kept_bytes} {epsilon} {accuracy:?}");
                assert!(tiles * tile_bytes(accuracy).min(4096) <= kept_bytes, "{tiles} {kept_bytes}");
            }
        }
    }

    #[test]
    fn threads_do_not_change_bits() {
        let scores = clustered(5000, 3);
        let u = vec![1.0; 5000];
        let sums = [1, 2, 3].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| Kernel::of(&scores, 0.5).apply(&scores, &u))
        });
        assert!(sums[0] == sums[1] && sums[1] == sums[2]);
    }

    #[test]
    fn entropies_agree_with_the_definition() {
        let scores = scores(40, 2);
        let u: Vec<f64> = (0..40).map(|i| 0.1 + i as f64).collect();
        for epsilon in [1e-9, 0.1, 1.0, 1e9] {
            for (i, entropy) in Kernel::of(&scores, epsilon).row_entropies(&u).into_iter().enumerate() {
                let mass: Vec<f64> = (0..40).map(|j| u[j] * definition(&scores, epsilon, i, j)).collect();
                let total: f64 = mass.iter().sum();
                let want: f64 = mass.iter().map(|m| m / total).filter(|&q| q > 0.0).map(|q: f64| -q * q.ln()).sum();
                assert!((entropy - want).abs() < 1e-12, "{entropy} {want}");
            }
        }
    }
}
