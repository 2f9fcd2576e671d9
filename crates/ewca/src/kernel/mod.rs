//! The Gaussian kernel of the scores, K_ij = exp(-|z_i - z_j|^2 / epsilon), as passes over tiles.
//!
//! A *pass* is one application of the n x n kernel to a few columns. Points stand in blocks (`arrange`), and a pass goes over pairs
//! of blocks: K is symmetric, so that each pair is computed once and serves both its blocks. The kernel is either stored (small
//! n) or computed anew in every pass; both give the same bits. Pairs that are too far apart to matter are left out, and a bound of
//! what was left out is kept.
//!
//! This is the only module with `unsafe` code: instructions of the processor (`lanes`), behind the test that it has them.

mod arrange;
mod landmarks;
mod lanes;
mod peak;
mod tile;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use arrange::{Arrangement, FEWEST_SORTED_POINTS, in_blocks_of_neighbours, padded, pair_bytes, rounds, tournament};
use landmarks::Landmarks;
pub use peak::Peak;

use lanes::{Element, Job, Lanes, exp_of_minus};
use tile::{Fill, Multiply, PADDING, Pair};

use serde::{Deserialize, Serialize};

use crate::matrix::Matrix;
use crate::parallel;
use crate::team::TeamHandle;

/// Multiply-adds that an exponential is worth.
const EXP_COST: usize = 14;
/// The share of a plan's mass that a pass may leave out.
const NEGLIGIBLE: f64 = 1e-13;
/// Squared distances (divided by epsilon) beyond which a pair of blocks is left out in any case, and below which it never is.
const FAR: f64 = 80.0;
const NEAR: f64 = 25.0;

/// The Gaussian kernel K_ij = exp(-|z_i - z_j|^2 / epsilon) between n points, in memory that grows with n alone.
///
/// ```
/// use ewca::{Kernel, Matrix};
/// let points = Matrix::from_row_major(3, 1, &[0.0, 1.0, 3.0])?;
/// let sums = Kernel::of(&points, 2.0).apply(&Matrix::from_row_major(3, 1, &[1.0, 1.0, 1.0])?, &[1.0; 3]);
/// assert!((sums.get(0, 0) - (1.0 + (-0.5f64).exp() + (-4.5f64).exp())).abs() < 1e-15);
/// # Ok::<(), ewca::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Kernel {
    arrangement: Arrangement,
    dimensions: usize,
    /// Coordinates divided by sqrt(epsilon), each point at its place, coordinate by coordinate.
    scaled: Vec<f64>,
    /// The same in single precision, when passes are to be made in it.
    single: Option<Vec<f32>>,
    /// Lower bounds of the squared distance between points of each block and of those before it.
    gaps: Vec<Vec<f32>>,
    /// K itself, pair of blocks by pair of blocks, when it is stored.
    stored: Option<Vec<Vec<f64>>>,
    /// What K is approximated by, when it is.
    landmarks: Option<Landmarks>,
    /// Whether pairs of blocks may be left out.
    skipping: bool,
    /// Who computes some of the pairs.
    member: TeamHandle,
    passes: AtomicUsize,
    /// Pairs of blocks in all passes, and those that were computed.
    pairs: AtomicUsize,
    computed: AtomicUsize,
    /// The bits of the largest share of mass that a pass may have left out.
    left_out: AtomicU64,
}

/// What passes are counted by: kept in a saved fit, so that a resumed one reports the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Tally {
    pub passes: usize,
    /// Pairs of blocks in all passes, and those that were computed.
    pairs: usize,
    computed: usize,
    left_out: f64,
}

/// What the passes of a kernel took.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Work {
    /// Applications of the whole kernel.
    pub passes: usize,
    /// The part of all pairs of blocks that was computed.
    pub computed: f64,
    /// A bound of the share of a plan's mass that any pass left out.
    pub left_out: f64,
}

impl Kernel {
    /// A kernel between as many points as `layout_points` has rows, which stand in blocks by `layout_points`; `store` says whether K is to be kept in
    /// memory (for a few thousand points at most).
    #[doc(hidden)]
    pub fn new(layout_points: &Matrix, store: bool) -> Self {
        let arrangement = Arrangement::new(layout_points);
        let skipping = layout_points.rows() > FEWEST_SORTED_POINTS;
        Self { arrangement, stored: store.then(Vec::new), skipping, ..Self::default() }
    }

    /// A kernel of the rows of `scores` alone, computed in each pass.
    pub fn of(scores: &Matrix, epsilon: f64) -> Self {
        let mut kernel = Self::new(scores, false);
        kernel.set_points(scores, epsilon);
        kernel
    }

    /// Never, or (for many points) wherever it does not matter, leaves pairs of blocks out.
    #[doc(hidden)]
    pub fn skip(&mut self, skipping: bool) {
        self.skipping = skipping && self.arrangement.places.len() > FEWEST_SORTED_POINTS;
        if self.skipping && !self.scaled.is_empty() {
            self.measure_blocks();
        }
    }

    /// From now on an approximation by `count` landmarks, spread over the points `layout_points`: see [`landmarks`]. Pairs are not left out then,
    /// and all is done in double precision.
    pub(crate) fn approximate(&mut self, layout_points: &Matrix, count: usize) {
        (self.stored, self.skipping, self.single) = (None, false, None);
        self.scaled.clear();
        self.landmarks = Some(Landmarks::new(layout_points, count, &mut self.arrangement));
    }

    /// The number of landmarks, where K is approximated.
    pub(crate) fn landmarks(&self) -> Option<usize> {
        self.landmarks.as_ref().map(Landmarks::count)
    }

    /// Shares the pairs of blocks with other processes, which have the same points and make the same passes.
    pub(crate) fn share(&mut self, member: TeamHandle) {
        if !member.is_alone() {
            self.stored = None;
        }
        self.member = member;
    }

    /// Bytes that a kernel between n points in k dimensions takes, with what a pass of k + 1 columns holds.
    pub fn bytes(points: usize, dimensions: usize, store: bool) -> usize {
        let stride = if points <= FEWEST_SORTED_POINTS { padded(points) } else { points.saturating_add(points / 4) };
        let stored = if store { stride.saturating_mul(stride + 256) / 2 } else { 0 };
        let places = stored.saturating_add(stride.saturating_mul(3 * dimensions + 2)).saturating_mul(8);
        places.saturating_add(if points > FEWEST_SORTED_POINTS { pair_bytes(points) } else { 0 })
    }

    /// Bytes that an approximation by landmarks takes beside that, with what a pass of k + 1 columns holds.
    pub(crate) fn landmark_bytes(landmarks: usize, dimensions: usize) -> usize {
        Landmarks::numbers(landmarks, dimensions + 1).saturating_mul(8)
    }

    /// Takes the rows of `scores` as the points. Does nothing when they are the points already.
    #[doc(hidden)]
    pub fn set_points(&mut self, scores: &Matrix, epsilon: f64) {
        let scale = 1.0 / epsilon.sqrt();
        let columns = (0..scores.columns()).map(|j| scores.column(j));
        let mut scaled = self.arrangement.scattered(columns, |z| z * scale);
        if let Some(landmarks) = &self.landmarks {
            landmarks.place(&self.arrangement, &mut scaled);
        }
        if scaled == self.scaled {
            return;
        }
        (self.dimensions, self.scaled) = (scores.columns(), scaled);
        if let Some(landmarks) = &mut self.landmarks {
            landmarks.factor(self.arrangement.stride, &self.scaled);
        }
        if let Some(single) = &mut self.single {
            *single = self.scaled.iter().map(|&x| x as f32).collect();
        }
        if self.skipping {
            self.measure_blocks();
        }
        if let Some(mut stored) = self.stored.take() {
            let pairs: Vec<(usize, usize)> = tournament(self.arrangement.blocks.len()).collect();
            stored.resize_with(pairs.len(), Vec::new);
            let work = self.scaled.len() * self.arrangement.stride * (self.dimensions + EXP_COST) / 2;
            parallel::for_chunks(&mut stored, 1, work, |at, tile| {
                let pair = self.pair(pairs[at], &self.scaled);
                tile[0].resize(pair.rows.len() * pair.columns.len(), 0.0);
                f64::dispatch(Fill { pair, out: &mut tile[0] });
            });
            self.stored = Some(stored);
        }
    }

    /// Makes passes in single precision (sums over blocks stay in double), or back in double.
    #[doc(hidden)]
    pub fn set_single(&mut self, single: bool) {
        if self.landmarks.is_none() && single != self.single.is_some() {
            self.single = single.then(|| self.scaled.iter().map(|&x| x as f32).collect());
        }
    }

    /// Number of passes so far.
    pub fn passes(&self) -> usize {
        self.passes.load(Ordering::Relaxed)
    }

    /// The counts so far.
    pub(crate) fn tally(&self) -> Tally {
        Tally {
            passes: self.passes(),
            pairs: self.pairs.load(Ordering::Relaxed),
            computed: self.computed.load(Ordering::Relaxed),
            left_out: f64::from_bits(self.left_out.load(Ordering::Relaxed)),
        }
    }

    /// Goes on counting from here.
    pub(crate) fn count_from(&mut self, tally: Tally) {
        self.passes = tally.passes.into();
        (self.pairs, self.computed) = (tally.pairs.into(), tally.computed.into());
        self.left_out = tally.left_out.max(0.0).to_bits().into();
    }

    /// What the passes so far took.
    #[doc(hidden)]
    pub fn work(&self) -> Work {
        let Tally { passes, pairs, computed, left_out } = self.tally();
        Work { passes, computed: if pairs > 0 { computed as f64 / pairs as f64 } else { 1.0 }, left_out }
    }

    /// One pass: K `right`. The columns carry a plan with the scalings `u` (a exp f): where u_i K_ij u_j is nothing beside the
    /// plan's mass, K_ij may be taken for 0.
    ///
    /// # Panics
    /// If `right` does not have a row, and `u` not an entry, for each point.
    pub fn apply(&self, right: &Matrix, u: &[f64]) -> Matrix {
        if let Some(landmarks) = &self.landmarks {
            return self.apply_nystrom(landmarks, right, u);
        }
        match &self.single {
            Some(points) if self.stored.is_none() => self.pass(points, right, u, false),
            _ => self.pass(&self.scaled, right, u, false),
        }
    }

    /// The same for `right` = [u, diag(u) Z] with the points Z, up to a factor: columns from which the derivative of u'Ku by the points
    /// follows. They differ from K `right` only where K is approximated.
    pub(crate) fn apply_with_points(&self, right: &Matrix, u: &[f64]) -> Matrix {
        match &self.landmarks {
            Some(landmarks) => self.near_with_points(landmarks, right, u),
            None => self.apply(right, u),
        }
    }

    /// The points whose rows are known exactly where K is approximated; None where all are.
    pub(crate) fn probe_rows(&self) -> Option<&[usize]> {
        self.landmarks.as_ref().map(Landmarks::probe_rows)
    }

    /// The exact K `right`, in the rows of the probe_rows alone where there are some.
    pub(crate) fn exact(&self, right: &Matrix, u: &[f64]) -> Matrix {
        match &self.landmarks {
            Some(landmarks) => self.at_witnesses(landmarks, right, false),
            None => self.apply(right, u),
        }
    }

    /// One pass: the entropy of each row of the distribution q_ij proportional to u_j K_ij. Where K is approximated, of the rows of
    /// the probe_rows.
    ///
    /// # Panics
    /// If `u` does not have an entry for each point.
    pub fn row_entropies(&self, u: &[f64]) -> Vec<f64> {
        // With D = -log K and t_i = sum_j u_j K_ij:  H_i = log t_i - sum_j u_j K_ij (log u_j - D_ij) / t_i.
        let logs = |u: f64| if u > 0.0 { u * u.ln() } else { 0.0 };
        let right = Matrix::from_fn(u.len(), 2, |j, c| if c == 0 { u[j] } else { logs(u[j]) });
        let sums = match &self.landmarks {
            Some(landmarks) => self.at_witnesses(landmarks, &right, true),
            None => self.pass(&self.scaled, &right, u, true),
        };
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
    /// If there is no point of that number.
    pub fn row(&self, row: usize) -> Vec<f64> {
        let (places, stride) = (&self.arrangement.places, self.arrangement.stride);
        let mut line = vec![0.0; places.len().next_multiple_of(4 * PADDING)];
        for coordinate in self.scaled.chunks_exact(stride) {
            let x = coordinate[places[row]];
            line.iter_mut().zip(places).for_each(|(sum, &place)| *sum += (x - coordinate[place]).powi(2));
        }
        f64::dispatch(Exp(&mut line));
        line.truncate(places.len());
        line
    }

    fn pair<'a, E>(&self, (i, j): (usize, usize), points: &'a [E]) -> Pair<'a, E> {
        let Arrangement { blocks, stride, .. } = &self.arrangement;
        Pair { points, stride: *stride, rows: blocks[i].clone(), columns: blocks[j].clone() }
    }

    /// K `right`, and with `with_cost` one column more: the sums of K_ij D_ij right_j0.
    fn pass<E: Element>(&self, points: &[E], right: &Matrix, u: &[f64], with_cost: bool) -> Matrix {
        let Arrangement { blocks, stride, .. } = &self.arrangement;
        let count = right.columns();
        let columns = count + usize::from(with_cost);
        let placed = self.arrangement.scattered((0..count).map(|c| right.column(c)), E::nearest);
        let sums: Vec<Mutex<Vec<f64>>> = blocks.iter().map(|b| Mutex::new(vec![0.0; b.len() * columns])).collect();
        // Every so-many-th pair: each process gets its share of the near and of the far ones.
        let (rank, size) = (self.member.rank(), self.member.size());
        let pairs = self.pairs_that_matter(u).into_iter().skip(rank).step_by(size);
        // Where K is stored, its tiles are numbered as in a whole tournament: with few points no pair is left out.
        let numbers = (self.stored.is_some() && !with_cost).then(|| tile_numbers(blocks.len()));
        let work = stride * stride / 2 * (columns + self.dimensions + EXP_COST) / size;
        for round in rounds(pairs, blocks.len()) {
            let share = work / blocks.len().max(1);
            let singles: Vec<std::ops::Range<usize>> = parallel::blocks(round.len(), 1);
            parallel::map(&singles, share, |at| {
                let (i, j) = round[at.start];
                let stored = numbers.as_ref().and_then(|numbers| self.tile::<E>(numbers[i * blocks.len() + j]));
                // Nobody else has these blocks in this round: the locks are always free.
                let mut rows = sums[i].lock().unwrap_or_else(|broken| broken.into_inner());
                let mut others = (i != j).then(|| sums[j].lock().unwrap_or_else(|broken| broken.into_inner()));
                E::dispatch(Multiply {
                    pair: self.pair((i, j), points),
                    stored,
                    right: &placed,
                    count,
                    with_cost,
                    row_sums: &mut rows,
                    column_sums: others.as_mut().map(|others| others.as_mut_slice()),
                });
            });
        }
        self.passes.fetch_add(1, Ordering::Relaxed);
        let sums: Vec<Vec<f64>> = sums.into_iter().map(|s| s.into_inner().unwrap_or_else(|b| b.into_inner())).collect();
        self.member.summed(self.arrangement.rows_of(&sums, columns))
    }

    /// A stored tile, which is in double precision.
    fn tile<E: Element>(&self, number: usize) -> Option<&[E]> {
        let tile: &dyn std::any::Any = self.stored.as_ref()?.get(number)?;
        tile.downcast_ref::<Vec<E>>().map(Vec::as_slice)
    }

    /// Pairs of blocks, without those that cannot matter: the mass of a plan between two blocks is at most
    /// U_i U_j exp(-d^2), with the sums U of the blocks' scalings and the distance d of their boxes.
    fn pairs_that_matter(&self, u: &[f64]) -> Vec<(usize, usize)> {
        let count = self.arrangement.blocks.len();
        let all = tournament(count);
        let total = count * (count + 1) / 2;
        self.pairs.fetch_add(total, Ordering::Relaxed);
        if !self.skipping {
            self.computed.fetch_add(total, Ordering::Relaxed);
            return all.collect();
        }
        let masses = self.block_sums(u);
        let share = NEGLIGIBLE / (count * count) as f64;
        let mut left_out = 0.0;
        let matters = |&(i, j): &(usize, usize)| {
            if i == j {
                return true;
            }
            let mass = masses[i] * masses[j] * f64::exp(-f64::from(self.gaps[j][i]));
            left_out += if mass > share { 0.0 } else { 2.0 * mass };
            mass > share
        };
        let pairs: Vec<(usize, usize)> = all.filter(matters).collect();
        self.computed.fetch_add(pairs.len(), Ordering::Relaxed);
        self.left_out.fetch_max(f64::to_bits(left_out), Ordering::Relaxed);
        pairs
    }

    fn block_sums(&self, u: &[f64]) -> Vec<f64> {
        let placed = self.arrangement.scattered([u].into_iter(), |u| u);
        self.arrangement.blocks.iter().map(|block| placed[block.clone()].iter().sum()).collect()
    }

    /// A lower bound of the squared distance between points of two blocks, divided by epsilon: by their boxes, by the balls around
    /// the boxes' middles, or by how far they are apart on the line through the middles.
    fn distance_bound(&self, i: usize, j: usize, blocks: &[BlockBounds]) -> f64 {
        let (one, other) = (&blocks[i], &blocks[j]);
        let apart = |((low, high), (other_low, other_high)): (&(f64, f64), &(f64, f64))| {
            (other_low - high).max(low - other_high).max(0.0).powi(2)
        };
        let by_boxes: f64 = one.ends.iter().zip(&other.ends).map(apart).sum();
        let line: Vec<f64> = one.middle.iter().zip(&other.middle).map(|(x, y)| y - x).collect();
        let length = line.iter().map(|x| x * x).sum::<f64>();
        let by_balls = (length.sqrt() - one.radius - other.radius).max(0.0).powi(2);
        let bound = by_boxes.max(by_balls);
        if bound > FAR || length < NEAR {
            return bound;
        }
        let stride = self.arrangement.stride;
        let ends = |block: usize| {
            let start = self.arrangement.blocks[block].start;
            let mut along = vec![0.0; blocks[block].count];
            for (l, step) in line.iter().enumerate() {
                let coordinate = &self.scaled[l * stride + start..][..along.len()];
                along.iter_mut().zip(coordinate).for_each(|(sum, x)| *sum += step * x);
            }
            along.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &x| (x.min(low), x.max(high)))
        };
        let apart = (ends(j).0 - ends(i).1).max(0.0);
        (apart * apart / length).max(bound)
    }

    /// Finds out how far apart the blocks are.
    fn measure_blocks(&mut self) {
        let Arrangement { blocks, places, stride } = &self.arrangement;
        let empty =
            BlockBounds { ends: vec![(f64::INFINITY, f64::NEG_INFINITY); self.dimensions], ..BlockBounds::default() };
        let mut measured = vec![empty; blocks.len()];
        let starts: Vec<usize> = blocks.iter().map(|block| block.start).collect();
        let block_of = |place: usize| starts.partition_point(|&start| start <= place) - 1;
        let coordinate = |l: usize, place: usize| self.scaled[l * stride + place];
        for &place in places {
            let block = &mut measured[block_of(place)];
            block.count += 1;
            for (l, ends) in block.ends.iter_mut().enumerate() {
                let x = coordinate(l, place);
                *ends = (ends.0.min(x), ends.1.max(x));
            }
        }
        for block in &mut measured {
            block.middle = block.ends.iter().map(|(low, high)| 0.5 * (low + high)).collect();
        }
        for &place in places {
            let block = &mut measured[block_of(place)];
            let from_middle = |(l, middle): (usize, &f64)| (coordinate(l, place) - middle).powi(2);
            let distance: f64 = block.middle.iter().enumerate().map(from_middle).sum();
            block.radius = block.radius.max(distance.sqrt());
        }
        let lines = parallel::blocks(blocks.len(), 1);
        let work = parallel::work(&[blocks.len(), blocks.len(), 64, self.dimensions]);
        let gaps = parallel::map(&lines, work, |line| {
            // A little less than what was computed, for its rounding.
            let gap = |j: usize| (self.distance_bound(line.start, j, &measured) * (1.0 - 1e-6)) as f32;
            (0..line.start).map(gap).collect::<Vec<f32>>()
        });
        self.gaps = gaps;
    }
}

/// What is known of a block of points.
#[derive(Debug, Clone, Default)]
struct BlockBounds {
    /// Points that are no padding.
    count: usize,
    /// The lower and upper end in each coordinate, and half-way between them.
    ends: Vec<(f64, f64)>,
    middle: Vec<f64>,
    /// The largest distance from the middle.
    radius: f64,
}

/// The rows of `points` in an order in which neighbours stand together.
pub(crate) fn neighbours_together(points: &Matrix) -> Vec<usize> {
    in_blocks_of_neighbours(points).0
}

/// The number of each pair (i <= j) in the tournament, at i * blocks + j.
fn tile_numbers(blocks: usize) -> Vec<usize> {
    let mut numbers = vec![0; blocks * blocks];
    for (number, (i, j)) in tournament(blocks).enumerate() {
        numbers[i * blocks + j] = number;
    }
    numbers
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

    fn kernel(scores: &Matrix, epsilon: f64, store: bool) -> Kernel {
        let mut kernel = Kernel::new(scores, store);
        kernel.set_points(scores, epsilon);
        kernel
    }

    #[test]
    fn stored_and_streamed_give_the_same_bits_and_the_definition() {
        for (points, dimensions) in [(1, 1), (2, 3), (17, 2), (63, 5), (600, 3)] {
            let scores = scores(points, dimensions);
            for columns in [1, 2, 3, 6] {
                let right = Matrix::from_fn(points, columns, |i, j| ((i + 2 * j) as f64).sin());
                let u = vec![1.0; points];
                let stored = kernel(&scores, 0.7, true).apply(&right, &u);
                assert_eq!(stored, kernel(&scores, 0.7, false).apply(&right, &u));
                for (i, c) in [(0, 0), (points - 1, columns - 1), (points / 2, columns / 2)] {
                    let want: f64 = (0..points).map(|j| definition(&scores, 0.7, i, j) * right.get(j, c)).sum();
                    assert!((stored.get(i, c) - want).abs() < 1e-13 * points as f64);
                }
            }
        }
    }

    #[test]
    fn rows_agree_with_the_definition() {
        let scores = scores(70, 4);
        let row = kernel(&scores, 1.3, false).row(33);
        assert_eq!(row.len(), 70);
        assert!((0..70).all(|j| (row[j] - definition(&scores, 1.3, 33, j)).abs() < 1e-14));
    }

    #[test]
    fn leaving_out_what_does_not_matter_changes_nothing_that_does() {
        let n = 6000;
        let scores = clustered(n, 4);
        let u = vec![1.0 / n as f64; n];
        let right = Matrix::from_fn(n, 5, |i, j| if j == 0 { u[i] } else { u[i] * scores.get(i, j - 1) });
        let whole = {
            let mut kernel = kernel(&scores, 1.0, false);
            kernel.skip(false);
            kernel.apply(&right, &u)
        };
        let kernel = kernel(&scores, 1.0, false);
        let part = kernel.apply(&right, &u);
        let work = kernel.work();
        assert!(work.computed < 0.35, "{work:?}");
        assert!(work.left_out <= NEGLIGIBLE);
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
        let mut kernel = kernel(&scores, 40.0, false);
        let double = kernel.apply(&right, &u);
        kernel.set_single(true);
        let single = kernel.apply(&right, &u);
        for i in 0..n {
            for c in 0..3 {
                // Coordinates are rounded to 6e-8 of their size (at most 40), so distances are off by about 1e-5 in the exponent.
                let error = (single.get(i, c) / double.get(i, c) - 1.0).abs();
                assert!(error < 2e-5, "{error}");
            }
        }
        kernel.set_single(false);
        assert_eq!(kernel.apply(&right, &u), double);
    }

    #[test]
    fn threads_do_not_change_bits() {
        let scores = clustered(5000, 3);
        let u = vec![1.0; 5000];
        let sums = [1, 2, 3].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| kernel(&scores, 0.5, false).apply(&scores, &u))
        });
        assert!(sums[0] == sums[1] && sums[1] == sums[2]);
    }

    #[test]
    fn entropies_agree_with_the_definition() {
        let scores = scores(40, 2);
        let u: Vec<f64> = (0..40).map(|i| 0.1 + i as f64).collect();
        for epsilon in [1e-9, 0.1, 1.0, 1e9] {
            for (i, entropy) in kernel(&scores, epsilon, true).row_entropies(&u).into_iter().enumerate() {
                let mass: Vec<f64> = (0..40).map(|j| u[j] * definition(&scores, epsilon, i, j)).collect();
                let total: f64 = mass.iter().sum();
                let want: f64 = mass.iter().map(|m| m / total).filter(|&q| q > 0.0).map(|q: f64| -q * q.ln()).sum();
                assert!((entropy - want).abs() < 1e-12, "{entropy} {want}");
            }
        }
    }
}
