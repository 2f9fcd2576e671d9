//! Exact reduction of the data to their span (docs/method.md, section 6).

use std::ops::Range;

use super::axes::leading_axes;
use super::{Data, Product, Side};
use crate::error::{Error, Result};
use crate::matrix::{Matrix, hstack, orthonormal_beside, symmetric_eigen};
use crate::parallel::StopFlag;
use crate::team::TeamHandle;

/// Eigenvalues of the covariance below this fraction of the largest are rounding noise: both ways of getting them square the
/// data, so a direction whose standard deviation is below 3e-7 of the largest cannot be told from none.
const RANK_TOLERANCE: f64 = 1e-13;

/// Up to this many features (or samples, where they are fewer) all principal axes are found, by one eigen-decomposition.
pub(crate) const LARGEST_GRAM: usize = 4096;

/// Up to so many, samples in memory are always reduced to all of their axes.
pub(crate) const ALL_AXES: usize = 512;

/// Whether all axes are found, by a Gram matrix of this order, or only so many of the leading ones. Samples that are read, or shared, are gone
/// through once for such a matrix, and several times for leading axes.
pub(crate) fn is_whole(order: usize, axes: usize, not_in_memory: bool) -> bool {
    order <= if not_in_memory || axes >= order { LARGEST_GRAM } else { ALL_AXES }
}

/// How data are reduced.
#[derive(Debug, Clone)]
pub(crate) struct Reduction {
    /// The most principal axes to work with.
    pub axes: usize,
    /// Looked at between steps.
    pub stop: StopFlag,
}

/// The active samples in their principal axes: y_i = B'(x_i - mean), with B an orthonormal basis of the span (d x r), or of the
/// leading axes where there are too many.
///
/// Sum over i of a_i y_i y_i' is diagonal, with `variances` on the diagonal, descending. Coordinates are in units of `unit`, a
/// power of two near the largest standard deviation: squares of squares then stay in range whatever the data's scale, and the
/// change of units rounds nothing.
///
/// In a team, every process has the coordinates of its own samples; whatever is asked for here is of all samples.
///
/// A span of the leading axes alone can be [completed](Span::completed): then frames are in the features' own coordinates, so that nothing is outside, and products go
/// over the samples themselves.
#[derive(Debug, Clone)]
pub(crate) struct Span<'s> {
    /// Of this process's active samples: rows x r.
    coordinates: Matrix,
    /// Where these stand among all active samples.
    own: Range<usize>,
    member: TeamHandle,
    /// The r positive eigenvalues of the covariance.
    pub variances: Vec<f64>,
    /// The weights of the active samples.
    pub weights: Vec<f64>,
    /// The sum of the counts, where samples have counts.
    pub total_count: Option<f64>,
    /// The numbers of the active samples.
    pub active: Vec<usize>,
    /// The unit of length.
    pub unit: f64,
    /// The mean squared distance from the mean, in all directions.
    total_variance: f64,
    /// Whether the data have directions outside these axes.
    partial: bool,
    basis: Basis,
    /// The samples, where frames are in the coordinates of all features.
    samples: Option<&'s dyn Product>,
    /// Whether the samples are in the memory of this process, and axes are known by their features.
    can_be_completed: bool,
}

#[derive(Debug, Clone)]
enum Basis {
    /// B itself (d x r).
    Features(Matrix),
    /// B = X'C (C is n x r), never formed.
    Samples(Matrix),
}

impl<'s> Span<'s> {
    /// Reduces by the cheaper side: samples x samples when d > n, features x features otherwise, and by the leading axes alone
    /// where both are large.
    pub fn new(samples: &Data<'_>, reduction: Reduction) -> Result<Self> {
        let active = samples.active();
        let shared = !samples.member.is_alone() || samples.is_streamed();
        let side = if samples.columns > active.len() && !shared { Side::Samples } else { Side::Features };
        let order = if side == Side::Samples { active.len() } else { samples.columns };
        let (basis, gram) = if is_whole(order, reduction.axes, shared) {
            (None, samples.gram(side)?)
        } else {
            let (basis, gram) = leading_axes(samples, &reduction)?;
            (Some(basis), gram)
        };
        reduction.stop.check()?;
        let (eigenvalues, vectors) = symmetric_eigen(&gram)?;
        reduction.stop.check()?;
        let largest = eigenvalues[0];
        if largest.is_nan() || largest <= f64::MIN_POSITIVE {
            return Err(Error::Constant);
        }
        let weights: Vec<f64> = active.iter().map(|&i| samples.weights[i]).collect();
        let limit = (active.len() - 1).min(samples.columns);
        let all = eigenvalues.iter().take(limit).take_while(|&&x| x > RANK_TOLERANCE * largest).count();
        let rank = all.min(reduction.axes);
        let unit = largest.sqrt().log2().round().exp2();
        let variances: Vec<f64> = eigenvalues[..rank].iter().map(|v| v / unit / unit).collect();
        let partial = rank < all || (basis.is_some() && rank == reduction.axes.min(limit) && rank < limit);
        let total_variance = match (&basis, partial) {
            (_, false) => variances.iter().sum(),
            (None, true) => eigenvalues[..all].iter().sum::<f64>() / unit / unit,
            (Some(_), true) => samples.total_variance()? / unit / unit,
        };
        let vectors = vectors.leading_columns(rank);
        let (coordinates, basis) = match (side, basis) {
            (Side::Samples, None) => by_samples(vectors, &variances, &weights, unit),
            (_, basis) => {
                let axes = basis.map_or_else(|| vectors.clone(), |basis| basis.times(&vectors));
                let own = samples.project_own(&samples.own_active(), &samples.mean, &axes)?;
                (own.scaled(1.0 / unit), Basis::Features(axes))
            }
        };
        let start = active.partition_point(|&i| i < samples.start);
        let own = start..start + coordinates.rows();
        let (member, total_count) = (samples.member.clone(), samples.total_count);
        let mut span = Self {
            coordinates,
            own,
            member,
            variances,
            weights,
            total_count,
            active,
            unit,
            total_variance,
            partial,
            can_be_completed: !shared && matches!(basis, Basis::Features(_)),
            basis,
            samples: None,
        };
        span.sign_axes();
        Ok(span)
    }

    /// Eigenvectors come with either sign. The longer tail of the samples is made the positive side: then what is begun at random in these
    /// axes depends neither on the samples' order, nor on whether samples repeat or have weights.
    fn sign_axes(&mut self) {
        let weights = &self.weights[self.own.clone()];
        let lean = |j: usize| self.coordinates.column(j).iter().zip(weights).map(|(y, a)| a * y * y.abs()).sum::<f64>();
        let mut leans: Vec<f64> = (0..self.variances.len()).map(lean).collect();
        self.member.sum(&mut leans);
        let signs: Vec<f64> = leans.iter().map(|lean| if *lean < 0.0 { -1.0 } else { 1.0 }).collect();
        self.coordinates.scale_columns(&signs);
        match &mut self.basis {
            Basis::Features(basis) | Basis::Samples(basis) => basis.scale_columns(&signs),
        }
    }

    /// How many samples these stand for.
    pub fn count(&self) -> f64 {
        self.total_count.unwrap_or(self.weights.len() as f64)
    }

    /// How many coordinates frames have: the working rank r, or the number of features.
    pub fn rank(&self) -> usize {
        match (&self.samples, &self.basis) {
            (Some(_), Basis::Features(basis)) => basis.rows(),
            _ => self.variances.len(),
        }
    }

    /// All directions of the features instead of some axes, for samples in the memory of one process.
    pub fn completed(&self, samples: &'s Data<'_>) -> Option<Self> {
        self.can_be_completed().then(|| Self { samples: Some(samples), partial: false, ..self.clone() })
    }

    /// Whether frames are in some axes alone, and could be in the coordinates of all features.
    pub fn can_be_completed(&self) -> bool {
        self.partial && self.can_be_completed
    }

    /// Whether frames are in the coordinates of all features.
    pub fn is_completed(&self) -> bool {
        self.samples.is_some()
    }

    /// The first k principal axes, as a frame.
    pub fn pca_frame(&self, components: usize) -> Matrix {
        self.spread_over_all(&Matrix::identity(components))
    }

    /// A frame of so many leading axes as a frame of all coordinates.
    pub fn spread_over_all(&self, leading: &Matrix) -> Matrix {
        match (&self.samples, &self.basis) {
            (Some(_), Basis::Features(basis)) => basis.leading_columns(leading.rows()).times(leading),
            _ => Matrix::zeros(self.rank(), leading.columns()).with_leading_rows(leading),
        }
    }

    /// What of a frame lies along so many leading axes.
    pub fn along_leading(&self, frame: &Matrix, axes: usize) -> Matrix {
        match (&self.samples, &self.basis) {
            (Some(_), Basis::Features(basis)) => basis.leading_columns(axes).transposed_times(frame),
            _ => frame.leading_rows(axes),
        }
    }

    /// Sum of all variances: the mean squared distance from the mean.
    pub fn total_variance(&self) -> f64 {
        self.total_variance
    }

    /// The part of the variance that lies outside these axes.
    pub fn omitted_variance(&self) -> f64 {
        if !self.partial {
            return 0.0;
        }
        (1.0 - self.variances.iter().sum::<f64>() / self.total_variance).max(0.0)
    }

    /// Whether the data have directions outside these axes.
    pub fn is_partial(&self) -> bool {
        self.partial
    }

    /// Y `frame`: the scores of the active samples.
    pub fn scores(&self, frame: &Matrix) -> Matrix {
        if let Some(samples) = self.samples {
            return samples.times(frame).scaled(1.0 / self.unit);
        }
        self.member.gathered_rows(self.coordinates.times(frame))
    }

    /// Some of the columns of Y.
    pub fn axes(&self, axes: Range<usize>) -> Matrix {
        let own = Matrix::from_fn(self.coordinates.rows(), axes.len(), |i, j| self.coordinates.get(i, axes.start + j));
        self.member.gathered_rows(own)
    }

    /// The first columns of Y.
    pub fn leading_axes(&self, count: usize) -> Matrix {
        self.axes(0..count.min(self.variances.len()))
    }

    /// Y' `columns`.
    pub fn transpose_times(&self, columns: &Matrix) -> Matrix {
        if let Some(samples) = self.samples {
            return samples.transpose_times(columns).scaled(1.0 / self.unit);
        }
        if self.member.is_alone() {
            return self.coordinates.transposed_times(columns);
        }
        let own = Matrix::from_fn(self.own.len(), columns.columns(), |i, j| columns.get(self.own.start + i, j));
        self.member.summed(self.coordinates.transposed_times(&own))
    }

    /// Some rows of Y, one after the other.
    pub fn rows(&self, rows: &[usize]) -> Vec<f64> {
        let own: Vec<f64> = rows
            .iter()
            .filter(|i| self.own.contains(i))
            .flat_map(|i| self.coordinates.row(i - self.own.start))
            .collect();
        let parts = self.member.gathered(&own);
        if parts.len() == 1 {
            return own;
        }
        let sizes = self.member.gathered(&[self.own.end as f64]);
        let ends: Vec<usize> = sizes.iter().map(|end| end[0] as usize).collect();
        let mut next = vec![0; parts.len()];
        let axes = self.variances.len();
        let mut all = Vec::with_capacity(rows.len() * axes);
        for &i in rows {
            let rank = ends.partition_point(|&end| end <= i);
            all.extend_from_slice(&parts[rank][next[rank]..next[rank] + axes]);
            next[rank] += axes;
        }
        all
    }

    /// B `frame`: a frame in the span as loadings of the features (d x k), and the scores of all samples with them (n x k).
    pub fn loadings(&self, samples: &Data<'_>, frame: &Matrix) -> Result<(Matrix, Matrix)> {
        match &self.basis {
            Basis::Samples(combination) => samples.lift(&combination.times(frame)),
            Basis::Features(basis) => {
                let loadings = if self.is_completed() { frame.clone() } else { basis.times(frame) };
                let scores = if samples.is_streamed() && self.active.len() == samples.all_rows() {
                    // Rather than reading the samples once more.
                    self.scores(frame).scaled(self.unit)
                } else {
                    samples.project(&samples.mean, &loadings)?
                };
                Ok((loadings, scores))
            }
        }
    }

    /// B' `loadings`: what of given loadings lies in the span (r x k).
    pub fn frame(&self, samples: &Data<'_>, loadings: &Matrix) -> Result<Matrix> {
        match &self.basis {
            Basis::Features(_) if self.is_completed() => Ok(loadings.clone()),
            Basis::Features(basis) => Ok(basis.transposed_times(loadings)),
            Basis::Samples(combination) => {
                let scores = samples.project_own(&self.active, &samples.mean, loadings)?;
                Ok(combination.transposed_times(&scores))
            }
        }
    }

    /// The frame of the axes whose scores are nearest to the given ones, before it is made orthonormal: Lambda^-1 Y' diag(a) Z.
    pub fn frame_of_scores(&self, scores: &Matrix) -> Matrix {
        let mut weighted = scores.clone();
        weighted.scale_rows(&self.weights);
        let mut frame = self.transpose_times(&weighted);
        frame.scale_rows(&self.variances.iter().map(|v| 1.0 / v).collect::<Vec<_>>());
        frame
    }

    /// What of X' `columns` lies outside these axes (d x k), in units of the span.
    pub fn outside(&self, samples: &Data<'_>, columns: &Matrix) -> Result<Option<Matrix>> {
        let (true, Basis::Features(basis)) = (self.partial, &self.basis) else { return Ok(None) };
        let mut all = samples.transpose_times(columns)?.scaled(1.0 / self.unit);
        all.add_scaled(-1.0, &basis.times(&basis.transposed_times(&all)));
        Ok(Some(all))
    }

    /// The span with more `directions` (d x m, outside of it), and the `frame` in it.
    pub fn extended(&self, samples: &Data<'_>, directions: &Matrix, frame: &Matrix) -> Result<(Self, Matrix)> {
        let Basis::Features(basis) = &self.basis else { return Ok((self.clone(), frame.clone())) };
        let Some(fresh) = orthonormal_beside(basis, directions.clone()) else {
            return Ok((self.clone(), frame.clone()));
        };
        let own = samples.project_own(&samples.own_active(), &samples.mean, &fresh)?.scaled(1.0 / self.unit);
        let basis = hstack(basis, &fresh);
        let coordinates = hstack(&self.coordinates, &own);
        // The covariance in the new axes, and its own axes.
        let mut weighted = coordinates.clone();
        weighted.scale_rows(&self.weights[self.own.clone()]);
        let mut gram = self.member.summed(coordinates.transposed_times(&weighted));
        gram.symmetrise();
        let (variances, turn) = symmetric_eigen(&gram)?;
        let mut padded = Matrix::zeros(turn.rows(), frame.columns());
        (0..frame.columns()).for_each(|j| padded.column_mut(j)[..frame.rows()].copy_from_slice(frame.column(j)));
        let frame = turn.transposed_times(&padded);
        let rank = variances.iter().take_while(|&&v| v > RANK_TOLERANCE * variances[0]).count();
        let turn = turn.leading_columns(rank);
        let frame = Matrix::from_fn(rank, frame.columns(), |i, j| frame.get(i, j));
        let span = Self {
            coordinates: coordinates.times(&turn),
            basis: Basis::Features(basis.times(&turn)),
            variances: variances[..rank].to_vec(),
            ..self.clone()
        };
        Ok((span, frame))
    }
}

/// The coordinates and the basis by the leading eigenvectors Q of the Gram matrix between samples.
fn by_samples(vectors: Matrix, variances: &[f64], weights: &[f64], unit: f64) -> (Matrix, Basis) {
    // diag(a)^1/2 X = Q S B': Y = diag(a)^-1/2 Q S, and B = X' diag(a)^1/2 Q S^-1.
    let deviations: Vec<f64> = variances.iter().map(|v| v.sqrt()).collect();
    let mut coordinates = vectors.clone();
    coordinates.scale_columns(&deviations);
    coordinates.scale_rows(&weights.iter().map(|a| 1.0 / a.sqrt()).collect::<Vec<_>>());
    let mut combination = vectors;
    combination.scale_columns(&deviations.iter().map(|s| 1.0 / (s * unit)).collect::<Vec<_>>());
    combination.scale_rows(&weights.iter().map(|a| a.sqrt()).collect::<Vec<_>>());
    (coordinates, Basis::Samples(combination))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::qr_factor;
    use crate::samples::Samples;
    use crate::testing;

    fn all() -> Reduction {
        only(usize::MAX)
    }

    fn only(axes: usize) -> Reduction {
        Reduction { axes, stop: StopFlag::default() }
    }

    fn check(rows: usize, columns: usize, weights: Option<Vec<f64>>) {
        let data = testing::gaussian(rows, columns, 7);
        let mut samples = Samples::new(&data, rows, columns).unwrap();
        if let Some(weights) = weights {
            samples = samples.with_weights(&weights).unwrap();
        }
        let span = Span::new(&samples.data, all()).unwrap();
        assert_eq!(span.rank(), (span.active.len() - 1).min(columns));
        // Distances between samples survive the reduction.
        for (i, j) in [(0, 1), (1, 2), (0, span.active.len() - 1)] {
            let (x, y) = (samples.row(span.active[i]).unwrap(), samples.row(span.active[j]).unwrap());
            let full: f64 = x.iter().zip(y).map(|(a, b)| (a - b).powi(2)).sum();
            let (p, q) = (span.coordinates.row(i), span.coordinates.row(j));
            let reduced: f64 = p.iter().zip(&q).map(|(a, b)| ((a - b) * span.unit).powi(2)).sum();
            assert!((full - reduced).abs() < 1e-10 * full, "{full} {reduced}");
        }
        // The basis is orthonormal, and going to features and back is the identity.
        let frame = Matrix::from_fn(span.rank(), 2, |i, j| if i == j { 1.0 } else { 0.0 });
        let (loadings, scores) = span.loadings(&samples.data, &frame).unwrap();
        let mut gram = loadings.transposed_times(&loadings);
        gram.add_scaled(-1.0, &Matrix::identity(2));
        assert!(gram.norm() < 1e-10);
        for (place, &i) in span.active.iter().enumerate() {
            assert!((scores.get(i, 1) - span.coordinates.get(place, 1) * span.unit).abs() < 1e-10);
        }
        let mut back = span.frame(&samples.data, &loadings).unwrap();
        assert_eq!(back.rows(), frame.rows());
        back.add_scaled(-1.0, &frame);
        assert!(back.norm() < 1e-10);
    }

    #[test]
    fn both_sides_keep_geometry() {
        check(10, 40, None);
        check(40, 10, None);
        check(200, 150, None);
        check(150, 300, None);
        check(12, 12, Some((0..12).map(|i| (i % 4) as f64).collect()));
        check(9, 30, Some((0..9).map(|i| 0.5 + i as f64).collect()));
    }

    #[test]
    fn duplicated_rows_and_constant_columns_lower_the_rank() {
        let rows = [[1.0, 5.0, 2.0], [1.0, 5.0, 2.0], [3.0, 5.0, 1.0], [3.0, 5.0, 1.0]];
        let samples = Samples::from_rows(&rows).unwrap();
        assert_eq!(Span::new(&samples.data, all()).unwrap().rank(), 1);
        let samples = Samples::from_rows(&[[2.0, 2.0], [2.0, 2.0], [2.0, 2.0]]).unwrap();
        assert_eq!(Span::new(&samples.data, all()).unwrap_err(), Error::Constant);
    }

    #[test]
    fn a_far_origin_does_not_cost_precision() {
        let near = testing::gaussian(20, 30, 3);
        let far: Vec<f64> = near.iter().map(|x| x + 1e6).collect();
        let a = Span::new(&Samples::new(&near, 20, 30).unwrap().data, all()).unwrap();
        let b = Span::new(&Samples::new(&far, 20, 30).unwrap().data, all()).unwrap();
        for (x, y) in a.variances.iter().zip(&b.variances) {
            assert!((x * a.unit.powi(2) - y * b.unit.powi(2)).abs() < 1e-8 * a.unit.powi(2));
        }
    }

    /// Centred, weighted moments sum_i a_i y_i y_i' of the coordinates.
    fn moments(span: &Span) -> Matrix {
        let mut weighted = span.coordinates.clone();
        weighted.scale_rows(&span.weights);
        weighted.transposed_times(&span.coordinates)
    }

    #[test]
    fn coordinates_are_principal_in_units_of_a_power_of_two() {
        // Both sides, weighted, with a scale far from 1.
        for (rows, columns, scale) in [(12, 40, 1e5), (40, 12, 3e-7)] {
            let data: Vec<f64> = testing::gaussian(rows, columns, 2).iter().map(|x| scale * x).collect();
            let weights: Vec<f64> = (0..rows).map(|i| (i % 3) as f64 + 0.5).collect();
            let samples = Samples::new(&data, rows, columns).unwrap().with_weights(&weights).unwrap();
            let span = Span::new(&samples.data, all()).unwrap();
            assert_eq!(span.unit, span.unit.log2().round().exp2());
            assert!((0.4..2.1).contains(&span.variances[0]), "{}", span.variances[0]);
            assert!(span.variances.windows(2).all(|w| w[0] >= w[1]));
            let mut off = moments(&span);
            (0..span.rank()).for_each(|j| off.set(j, j, off.get(j, j) - span.variances[j]));
            assert!(off.norm() < 1e-12);
            let total = samples.total_variance().unwrap();
            assert!((span.total_variance() * span.unit.powi(2) / total - 1.0).abs() < 1e-12);
            assert!(!span.is_partial() && span.omitted_variance() == 0.0);
            assert_eq!(span.count(), rows as f64);
        }
    }

    #[test]
    fn fewer_axes_are_the_leading_ones_and_say_what_they_omit() {
        for (rows, columns) in [(15, 30), (30, 15)] {
            let data: Vec<f64> = testing::gaussian(rows, columns, 4).iter().map(|x| 100.0 * x).collect();
            let samples = Samples::new(&data, rows, columns).unwrap();
            let every = Span::new(&samples.data, all()).unwrap();
            let some = Span::new(&samples.data, only(5)).unwrap();
            assert_eq!((some.rank(), some.unit, some.is_partial()), (5, every.unit, true));
            assert_eq!(some.variances, every.variances[..5]);
            assert!((some.total_variance() - every.total_variance()).abs() < 1e-13 * every.total_variance());
            let omitted = every.variances[5..].iter().sum::<f64>() / every.total_variance();
            assert!((some.omitted_variance() - omitted).abs() < 1e-12 && omitted > 0.1);
            // As many axes as there are is all of them.
            let whole = Span::new(&samples.data, only(every.rank())).unwrap();
            assert!(!whole.is_partial() && whole.omitted_variance() == 0.0);
        }
    }

    #[test]
    fn parts_of_the_coordinates() {
        let data = testing::gaussian(20, 8, 6);
        let samples = Samples::new(&data, 20, 8).unwrap();
        let span = Span::new(&samples.data, all()).unwrap();
        let y = &span.coordinates;
        let axes = span.axes(2..5);
        assert_eq!((axes.rows(), axes.columns()), (20, 3));
        assert_eq!((axes.column(0), axes.column(2)), (y.column(2), y.column(4)));
        assert_eq!(span.leading_axes(2), y.leading_columns(2));
        assert_eq!(span.leading_axes(100), *y);
        assert_eq!(span.rows(&[3, 17]), [y.row(3), y.row(17)].concat());
        // Scores of a frame, and the frame back from its scores.
        let frame = Matrix::from_fn(8, 2, |i, j| ((i + 3 * j) as f64).cos());
        let scores = span.scores(&frame);
        assert_eq!(scores, y.times(&frame));
        let mut back = span.frame_of_scores(&scores);
        assert_eq!(back.rows(), 8);
        back.add_scaled(-1.0, &frame);
        assert!(back.norm() < 1e-12);
    }

    #[test]
    fn what_is_outside_can_be_taken_in() {
        let (rows, columns) = (40, 12);
        let data: Vec<f64> = testing::gaussian(rows, columns, 8).iter().map(|x| 64.0 * x).collect();
        let samples = Samples::new(&data, rows, columns).unwrap();
        let span = Span::new(&samples.data, only(4)).unwrap();
        let Basis::Features(basis) = &span.basis else { panic!("more samples than features") };
        let many = Matrix::from_fn(rows, 2, |i, j| ((2 * i + j) as f64).sin());
        // X' columns less its part in the axes, in units of the span, by hand.
        let outside = span.outside(&samples.data, &many).unwrap().unwrap();
        let mut wanted = samples.data.transpose_times(&many).unwrap().scaled(1.0 / span.unit);
        let inside = basis.times(&basis.transposed_times(&wanted));
        wanted.add_scaled(-1.0, &inside);
        let norm = wanted.norm();
        wanted.add_scaled(-1.0, &outside);
        assert!(norm > 0.1 && wanted.norm() < 1e-13);
        assert!(basis.transposed_times(&outside).norm() < 1e-13);

        let frame = qr_factor(&Matrix::from_fn(4, 2, |i, j| ((i * i + j) as f64).cos()));
        let (loadings, scores) = span.loadings(&samples.data, &frame).unwrap();
        let (larger, same) = span.extended(&samples.data, &outside, &frame).unwrap();
        assert_eq!((larger.rank(), same.rows(), same.columns()), (6, 6, 2));
        // The frame is where it was, and the new coordinates are principal.
        let (loadings_now, scores_now) = larger.loadings(&samples.data, &same).unwrap();
        for (before, now) in [(&loadings, &loadings_now), (&scores, &scores_now)] {
            let mut change = now.clone();
            change.add_scaled(-1.0, before);
            assert!(change.norm() < 1e-12 * before.norm());
        }
        let Basis::Features(basis) = &larger.basis else { panic!("features") };
        let mut gram = basis.transposed_times(basis);
        gram.add_scaled(-1.0, &Matrix::identity(6));
        assert!(gram.norm() < 1e-13);
        let mut off = moments(&larger);
        (0..6).for_each(|j| off.set(j, j, off.get(j, j) - larger.variances[j]));
        assert!(off.norm() < 1e-12);
        // What was outside is inside now.
        assert!(basis.transposed_times(&outside).norm() > 0.99 * outside.norm());
        let whole = Span::new(&samples.data, all()).unwrap();
        assert!(whole.outside(&samples.data, &many).unwrap().is_none());
    }

    /// Rows in memory that are streamed.
    #[derive(Debug)]
    struct Table(Vec<f64>, usize);

    impl crate::samples::Source for Table {
        fn rows(&self) -> usize {
            self.0.len() / self.1
        }
        fn columns(&self) -> usize {
            self.1
        }
        fn part_rows(&self) -> usize {
            7
        }
        fn read(
            &self,
            rows: Range<usize>,
        ) -> std::result::Result<crate::samples::Part, Box<dyn std::error::Error + Send + Sync>> {
            Ok(crate::samples::Part::Dense(self.0[rows.start * self.1..rows.end * self.1].to_vec()))
        }
    }

    #[test]
    fn streamed_samples_with_too_many_features_are_reduced_by_leading_axes() {
        let (rows, columns) = (24, LARGEST_GRAM + 10);
        let table = Table(testing::gaussian(rows, columns, 3).iter().map(|x| 16.0 * x).collect(), columns);
        let weights: Vec<f64> = (0..rows).map(|i| (i % 5) as f64).collect();
        let held = Samples::new(&table.0, rows, columns).unwrap().with_weights(&weights).unwrap();
        let streamed: Samples<'_> = Samples::streamed(&table).unwrap().with_weights(&weights).unwrap();
        let exact = Span::new(&held.data, all()).unwrap();
        // All axes there are, whose number the samples limit.
        let every = Span::new(&streamed.data, only(100)).unwrap();
        assert_eq!((every.rank(), every.is_partial(), every.unit), (exact.rank(), false, exact.unit));
        for (x, y) in every.variances.iter().zip(&exact.variances) {
            assert!((x - y).abs() < 1e-9, "{x} {y}");
        }
        // Some of them, which know how much is outside: the leading ones but for what the iteration has not found yet.
        let some = Span::new(&streamed.data, only(6)).unwrap();
        assert_eq!((some.rank(), some.is_partial()), (6, true));
        assert!((some.total_variance() - exact.total_variance()).abs() < 1e-10);
        let omitted = exact.variances[6..].iter().sum::<f64>() / exact.total_variance();
        assert!((some.omitted_variance() - omitted).abs() < 0.02, "{} {omitted}", some.omitted_variance());
        let mut off = moments(&some);
        (0..6).for_each(|j| off.set(j, j, off.get(j, j) - some.variances[j]));
        assert!(off.norm() < 1e-10);
        // Scores of all samples, those without weight too, by the loadings.
        let frame = Matrix::from_fn(6, 1, |i, _| if i == 0 { 1.0 } else { 0.0 });
        let (loadings, scores) = some.loadings(&streamed.data, &frame).unwrap();
        assert_eq!(scores.rows(), rows);
        let x = held.row(5).unwrap();
        let by_hand: f64 = (0..columns).map(|j| (x[j] - held.mean()[j]) * loadings.get(j, 0)).sum();
        assert!((scores.get(5, 0) - by_hand).abs() < 1e-9);
    }
}
