//! What is refused at the door, and samples that two processes share against samples of one.

use super::magnitude::largest_magnitude;
use super::operator::within;
use super::*;
use crate::parallel::StopFlag;
use crate::testing;

#[test]
fn nothing_is_no_data() {
    for (rows, columns) in [(0, 3), (3, 0), (0, 0)] {
        assert_eq!(Samples::<f64>::new(&[], rows, columns).unwrap_err(), Error::Empty { rows, columns });
        let none = Table { data: Vec::new(), rows, columns };
        assert_eq!(Samples::<f64>::streamed(&none).unwrap_err(), Error::Empty { rows, columns });
    }
    let error = Samples::<f64>::sparse(&[0, 0, 0], &[], &[], 0).unwrap_err();
    assert_eq!(error, Error::Empty { rows: 2, columns: 0 });
    assert_eq!(Samples::<f64>::sparse(&[0], &[], &[], 2).unwrap_err(), Error::Empty { rows: 0, columns: 2 });
    assert_eq!(Samples::new(&[1.0, 2.0], 1, 2).unwrap_err(), Error::TooFewSamples { found: 1 });
    assert_eq!(Samples::new(&[1.0, 2.0], 2, 1).unwrap().mean(), [1.5]);
    let shape = Error::Shape { rows: 2, columns: 2, expected: 4, found: 3 };
    assert_eq!(Samples::new(&[1.0, 2.0, 3.0], 2, 2).unwrap_err(), shape);
    let ragged = Samples::from_rows(&[vec![1.0, 2.0], vec![3.0]]).unwrap_err();
    assert_eq!(ragged, Error::Ragged { row: 1, expected: 2, found: 1 });
    let slices = |rows: &[&'static [f64]]| Samples::from_slices(rows.to_vec());
    assert_eq!(slices(&[&[1.0, 2.0], &[3.0]]).unwrap_err(), Error::Ragged { row: 1, expected: 2, found: 1 });
    assert_eq!(slices(&[]).unwrap_err(), Error::Empty { rows: 0, columns: 0 });
    assert_eq!(slices(&[&[], &[]]).unwrap_err(), Error::Empty { rows: 2, columns: 0 });
    assert_eq!(slices(&[&[1.0, 2.0]]).unwrap_err(), Error::TooFewSamples { found: 1 });
    assert_eq!(Samples::from_vec(vec![1.0, 2.0, 3.0], 2, 2).unwrap_err(), shape);
}

/// Samples behind a trait object, or of a type with a destructor, would keep this from compiling.
#[test]
fn data_may_go_before_samples_that_are_not_used_again() {
    let data = vec![1.0, 2.0, 4.0];
    let samples = Samples::new(&data, 3, 1).unwrap();
    assert_eq!(samples.rows(), 3);
    drop(data);
}

#[test]
fn weights_that_are_none() {
    let samples = Samples::new(&[1.0, 2.0, 4.0], 3, 1).unwrap();
    let with = |weights: &[f64]| samples.clone().with_weights(weights);
    assert_eq!(with(&[1.0, 1.0]).unwrap_err(), Error::WeightCount { expected: 3, found: 2 });
    for bad in [-1.0, f64::INFINITY] {
        assert_eq!(with(&[1.0, bad, 1.0]).unwrap_err(), Error::Weight { row: 1, value: bad });
    }
    assert!(matches!(with(&[1.0, f64::NAN, 1.0]).unwrap_err(), Error::Weight { row: 1, .. }));
    assert_eq!(with(&[0.0; 3]).unwrap_err(), Error::ZeroWeights);
    assert_eq!(with(&[0.0, 7.5, 0.0]).unwrap_err(), Error::TooFewSamples { found: 1 });
    let two = with(&[0.0, 4.5, 1.5]).unwrap();
    assert_eq!((two.weights(), two.mean(), two.count()), (&[0.0, 0.75, 0.25][..], &[2.5][..], 2.0));
    assert_eq!(two.data.active(), [1, 2]);
    // Sums beyond the range of f64 are none of ours.
    assert_eq!(with(&[1e308, 1e308, 1.5e308]).unwrap().weights().iter().sum::<f64>(), 1.0);
}

#[test]
fn counts_have_a_sum_that_can_be_counted() {
    let samples = Samples::new(&[1.0, 2.0, 4.0], 3, 1).unwrap();
    let with = |counts: &[f64]| samples.clone().with_counts(counts);
    let counted = with(&[3.0, 0.0, 1.5]).unwrap();
    assert_eq!((counted.count(), counted.mean()), (4.5, &[2.0][..]));
    assert!(with(&[1e15, 2e15, 1.0]).is_ok() && with(&[4e15, 5e15, 0.0]).is_ok());
    assert_eq!(with(&[5e15, 5e15, 0.0]).unwrap_err(), Error::Counts { sum: 1e16 });
}

#[test]
fn axes_point_to_the_longer_tail() {
    for (rows, columns) in [(30, 6), (6, 30)] {
        let data: Vec<f64> = testing::gaussian(rows, columns, 31).iter().map(|x| x.powi(3)).collect();
        for sign in [1.0, -1.0] {
            let turned: Vec<f64> = data.iter().map(|x| sign * x).collect();
            let samples = Samples::new(&turned, rows, columns).unwrap();
            let span = Span::new(&samples.data, Reduction { axes: 5, stop: StopFlag::default() }).unwrap();
            for j in 0..span.rank() {
                let lean: f64 = span.axes(j..j + 1).as_column_major().iter().map(|y| y * y.abs()).sum();
                assert!(lean > 0.0, "axis {j}: {lean}");
            }
            // Coordinates and loadings are turned alike.
            let frame = Matrix::identity(span.rank());
            let (loadings, scores) = span.loadings(&samples.data, &frame).unwrap();
            close(&scores, &samples.data.project(samples.mean(), &loadings).unwrap());
            close(&scores, &span.axes(0..span.rank()).scaled(span.unit));
        }
    }
}

#[test]
fn magnitudes_whose_squares_leave_the_range_are_refused() {
    for (size, good) in [(1e139, true), (1e141, false), (1e-139, true), (1e-141, false), (0.0, true)] {
        let data = [size, -0.5 * size, 0.0];
        assert_eq!(Samples::new(&data, 3, 1).is_ok(), good, "{size}");
    }
    // The largest is found wherever it stands.
    for at in 0..20 {
        let mut data = vec![1.0; 20];
        data[at] = -3.0;
        assert_eq!(largest_magnitude(&data), Some(3.0));
        data[at] = f64::NAN;
        assert_eq!(largest_magnitude(&data), None);
    }
}

#[test]
fn rows_within_a_part() {
    let rows = [1, 4, 5, 9];
    assert_eq!(within(&rows, &(0..5)), (0..2, vec![1, 4]));
    assert_eq!(within(&rows, &(4..9)), (1..3, vec![0, 1]));
    assert_eq!(within(&rows, &(6..9)), (3..3, vec![]));
    assert_eq!(within(&rows, &(9..10)), (3..4, vec![0]));
}

#[test]
fn samples_of_any_strides_are_those_of_rows() {
    let (n, d) = (9, 4);
    let data = testing::gaussian(n, d, 8);
    let plain = Samples::new(&data, n, d).unwrap();
    // Rows and columns with gaps, each way first; values between them are no numbers.
    for (row_stride, column_stride) in [(d, 1), (1, n), (d + 3, 1), (2, 3 * n), (3 * d, 2), (7, 64)] {
        let mut wide = vec![f64::NAN; (n - 1) * row_stride + (d - 1) * column_stride + 1];
        (0..n * d).for_each(|at| wide[at / d * row_stride + at % d * column_stride] = data[at]);
        let samples = Samples::strided(&wide, n, d, row_stride, column_stride).unwrap();
        assert_eq!(samples.mean(), plain.mean());
        (0..n).for_each(|i| assert_eq!(samples.row(i).unwrap(), plain.row(i).unwrap()));
        let model = |samples: &Samples<'_>| crate::Ewca::params(2).epsilon(0.5).fit(samples).unwrap();
        assert_eq!(model(&samples).scores(), model(&plain).scores());
        let new = model(&plain).transform_strided(&wide, n, row_stride, column_stride).unwrap();
        assert_eq!(new, model(&plain).transform(&data, n).unwrap());
        // One value too few.
        let found = wide.len() - 1;
        let error = Samples::strided(&wide[..found], n, d, row_stride, column_stride).unwrap_err();
        assert_eq!(error, Error::Strides { rows: n, columns: d, row_stride, column_stride, found });
    }
    let columns: Vec<Vec<f64>> = (0..d).map(|j| (0..n).map(|i| data[i * d + j]).collect()).collect();
    let samples = Samples::from_columns(columns.iter().map(|column| &column[..]).collect()).unwrap();
    assert_eq!(samples.row(5).unwrap(), plain.row(5).unwrap());
    // The same value everywhere is a matrix too, if one of no variance.
    assert_eq!(Samples::strided(&[7.0], 3, 2, 0, 0).unwrap().mean(), [7.0, 7.0]);
    for (row_stride, column_stride) in [(usize::MAX, 1), (1, usize::MAX), (usize::MAX, usize::MAX), (usize::MAX / 2, 2)]
    {
        let error = Samples::strided(&data, n, d, row_stride, column_stride).unwrap_err();
        assert!(matches!(error, Error::Strides { .. }), "{error}");
    }
    assert_eq!(Samples::strided(&data, 0, d, 1, 1).unwrap_err(), Error::Empty { rows: 0, columns: d });
    let ragged = Samples::from_columns(vec![&data[..3], &data[..2]]).unwrap_err();
    assert_eq!(ragged, Error::RaggedColumn { column: 1, expected: 3, found: 2 });
    assert_eq!(Samples::<f64>::from_columns(vec![&[], &[]]).unwrap_err(), Error::Empty { rows: 0, columns: 2 });
}

/// Rows that are streamed, three at a time.
#[derive(Debug)]
struct Table {
    data: Vec<f64>,
    rows: usize,
    columns: usize,
}

impl Source for Table {
    fn rows(&self) -> usize {
        self.rows
    }
    fn columns(&self) -> usize {
        self.columns
    }
    fn part_rows(&self) -> usize {
        3
    }
    fn read(&self, rows: Range<usize>) -> std::result::Result<Part, Box<dyn std::error::Error + Send + Sync>> {
        Ok(Part::Dense(self.data[rows.start * self.columns..rows.end * self.columns].to_vec()))
    }
}

fn close(found: &Matrix, wanted: &Matrix) {
    assert_eq!((found.rows(), found.columns()), (wanted.rows(), wanted.columns()));
    let mut difference = found.clone();
    difference.add_scaled(-1.0, wanted);
    assert!(difference.norm() <= 1e-11 * (1.0 + wanted.norm()), "{found:?} {wanted:?}");
}

/// Everything that is asked of shared samples, beside the same samples in one process.
fn check_shared(shared: &Samples<'_>, alone: &Samples<'_>) {
    let (columns, active) = (alone.columns(), alone.data.active());
    assert_eq!(
        (shared.all_rows(), shared.weights(), shared.data.active()),
        (alone.rows(), alone.weights(), active.clone())
    );
    shared.mean().iter().zip(alone.mean()).for_each(|(x, y)| assert!((x - y).abs() < 1e-12));
    let (x, y) = (shared.total_variance().unwrap(), alone.total_variance().unwrap());
    assert!((x - y).abs() < 1e-12 * y);
    close(&shared.data.gram(Side::Features).unwrap(), &alone.data.gram(Side::Features).unwrap());
    let basis = Matrix::from_fn(columns, 2, |i, j| ((i + 2 * j) as f64).sin());
    close(&shared.data.covariance_times(&basis).unwrap(), &alone.data.covariance_times(&basis).unwrap());
    close(&shared.data.project(alone.mean(), &basis).unwrap(), &alone.data.project(alone.mean(), &basis).unwrap());
    let many = Matrix::from_fn(active.len(), 2, |i, j| ((3 * i + j) as f64).cos());
    close(&shared.data.transpose_times(&many).unwrap(), &alone.data.transpose_times(&many).unwrap());
    let (both, one) = (shared.data.lift(&many).unwrap(), alone.data.lift(&many).unwrap());
    close(&both.0, &one.0);
    close(&both.1, &one.1);
}

/// The span of shared samples, by what does not depend on the signs of axes.
fn check_shared_span(shared: &Samples<'_>, alone: &Samples<'_>) {
    let all = || Reduction { axes: usize::MAX, stop: StopFlag::default() };
    let (both, one) = (Span::new(&shared.data, all()).unwrap(), Span::new(&alone.data, all()).unwrap());
    both.variances.iter().zip(&one.variances).for_each(|(x, y)| assert!((x - y).abs() < 1e-12));
    assert_eq!((both.rank(), both.weights.len()), (one.rank(), one.weights.len()));
    let n = one.weights.len();
    let squared = |span: &Span, matrix: &Matrix| matrix.times(&span.axes(0..span.rank()).transposed());
    close(&squared(&both, &both.axes(0..both.rank())), &squared(&one, &one.axes(0..one.rank())));
    let columns = Matrix::from_fn(n, 2, |i, j| ((i + 4 * j) as f64).sin());
    close(&both.scores(&both.transpose_times(&columns)), &one.scores(&one.transpose_times(&columns)));
    // Some rows, of either process, not in order of the processes.
    let some = [0, n - 1, 2, n - 2];
    let rows = |span: &Span| Matrix::from_row_major(some.len(), span.rank(), &span.rows(&some)).unwrap();
    close(&squared(&both, &rows(&both)), &squared(&one, &rows(&one)));
}

#[test]
fn two_processes_have_what_one_has() {
    let (rows, columns) = (13, 4);
    let data = testing::gaussian(rows, columns, 17);
    let weightless: Vec<f64> = (0..rows).map(|i| if i < 5 { 0.0 } else { 1.0 + i as f64 }).collect();
    let mixed: Vec<f64> = (0..rows).map(|i| (i % 3) as f64).collect();
    // The first process has five samples: some of them, or all, without weight.
    for (weights, streamed) in [(None, false), (Some(&mixed), false), (Some(&weightless), false), (Some(&mixed), true)]
    {
        let mut alone = Samples::new(&data, rows, columns).unwrap();
        if let Some(weights) = weights {
            alone = alone.with_weights(weights).unwrap();
        }
        std::thread::scope(|scope| {
            for (rank, team) in testing::Two::pair().into_iter().enumerate() {
                let (alone, data) = (&alone, &data);
                scope.spawn(move || {
                    let own = if rank == 0 { 0..5 } else { 5..rows };
                    let part = &data[own.start * columns..own.end * columns];
                    let table = Table { data: part.to_vec(), rows: own.len(), columns };
                    let samples =
                        if streamed { Samples::streamed(&table) } else { Samples::new(part, own.len(), columns) };
                    let mut samples = samples.unwrap().with_team(team).unwrap();
                    if let Some(weights) = weights {
                        samples = samples.with_weights(&weights[own.clone()]).unwrap();
                    }
                    assert_eq!((samples.rows(), samples.data.own()), (own.len(), own.clone()));
                    assert_eq!(samples.row(1).unwrap(), &data[(own.start + 1) * columns..(own.start + 2) * columns]);
                    check_shared(&samples, alone);
                    check_shared_span(&samples, alone);
                });
            }
        });
    }
}

#[test]
fn weights_and_counts_are_given_after_the_team() {
    let samples = Samples::new(&[1.0, 2.0, 4.0], 3, 1).unwrap();
    for early in [samples.clone().with_counts(&[2.0; 3]).unwrap(), samples.with_weights(&[1.0, 2.0, 1.0]).unwrap()] {
        let [team, _] = testing::Two::pair();
        assert!(matches!(early.with_team(team).unwrap_err(), Error::Parameter { name: "weights", .. }));
    }
}

#[test]
fn axes_are_partial_where_the_data_may_have_more() {
    let reduced = |samples: &Samples<'_>, axes: usize| {
        Span::new(&samples.data, Reduction { axes, stop: StopFlag::default() }).unwrap()
    };
    // 20 samples in three of five directions: three axes are all there are, and two are not.
    let three = testing::gaussian(20, 3, 5);
    let data: Vec<f64> = (0..100).map(|at| if at % 5 < 3 { three[at / 5 * 3 + at % 5] } else { 0.0 }).collect();
    let samples = Samples::new(&data, 20, 5).unwrap();
    let total = samples.total_variance().unwrap();
    for (axes, rank, partial) in [(5, 3, false), (3, 3, false), (2, 2, true)] {
        let span = reduced(&samples, axes);
        assert_eq!((span.rank(), span.is_partial()), (rank, partial), "{axes} axes");
        assert!((span.total_variance() * span.unit * span.unit / total - 1.0).abs() < 1e-12);
    }
    // Too many features for all axes. Six samples of two directions, or of five: found axes are all, unless no more were looked for.
    let (n, d) = (6, LARGEST_GRAM + 1);
    let wide = testing::gaussian(n, d, 6);
    let flat: Vec<f64> = (0..n * d).map(|at| if at % d < 2 { wide[at] } else { 0.0 }).collect();
    for (data, axes, rank, partial) in
        [(&wide, 3, 3, true), (&wide, 5, 5, false), (&wide, 99, 5, false), (&flat, 5, 2, false), (&flat, 2, 2, true)]
    {
        let table = Table { data: data.clone(), rows: n, columns: d };
        let samples = Samples::streamed(&table).unwrap();
        let span = reduced(&samples, axes);
        assert_eq!((span.rank(), span.is_partial()), (rank, partial), "{axes} axes");
        let total = samples.total_variance().unwrap();
        assert!((span.total_variance() * span.unit * span.unit / total - 1.0).abs() < 1e-9);
        let kept: f64 = span.variances.iter().sum::<f64>() / span.total_variance();
        assert!((span.omitted_variance() - (1.0 - kept).max(0.0)).abs() < 1e-9);
    }
}

/// 1 - sum a_i^2 loses all its digits where one weight is nearly all.
#[test]
fn variances_are_divided_by_what_makes_them_unbiased() {
    let close = |found: f64, wanted: f64| assert!((found / wanted - 1.0).abs() < 1e-12, "{found}, not {wanted}");
    close(variance_divisor(&[0.25; 4], None), 0.75);
    close(variance_divisor(&[0.5, 0.25, 0.25], None), 1.0 - 0.375);
    close(variance_divisor(&[0.5, 0.0, 0.5], None), 0.5);
    close(variance_divisor(&[1.0, 1e-20], None), 2e-20);
    close(variance_divisor(&[0.5, 0.25, 0.25], Some(8.0)), 7.0 / 8.0);
    close(variance_divisor(&[0.5, 0.5], Some(2.0)), 0.5);
    // Less than two samples: as weights.
    close(variance_divisor(&[0.5, 0.25, 0.25], Some(1.9)), 1.0 - 0.375);
}
