//! Other crates' matrices give the same bits as plain slices. Run by `cargo xtask test` with all features of the library.

use ewca::{Error, Ewca, Matrix, Model, Samples, Scalar};

const ROWS: usize = 12;
const COLUMNS: usize = 4;

fn entry(row: usize, column: usize) -> f64 {
    ((row * row + 3 * column) as f64 * 0.37).sin() + if row.is_multiple_of(2) { 2.0 } else { 0.0 }
}

fn data() -> Vec<f64> {
    (0..ROWS * COLUMNS).map(|at| entry(at / COLUMNS, at % COLUMNS)).collect()
}

fn fit<T: Scalar>(samples: &Samples<'_, T>) -> Model {
    Ewca::params(2).epsilon(0.5).fit(samples).unwrap()
}

fn plain() -> Model {
    fit(&Samples::new(&data(), ROWS, COLUMNS).unwrap())
}

fn same(samples: Result<Samples<'_>, Error>) {
    let (model, plain) = (fit(&samples.unwrap()), plain());
    assert_eq!(model.scores(), plain.scores());
    assert_eq!(model.components(), plain.components());
    assert_eq!(model.potential(), plain.potential());
    assert_eq!(model.loss().to_bits(), plain.loss().to_bits());
}

/// An entry that is no number, where it is.
fn refused(samples: Result<Samples<'_>, Error>) {
    let error = samples.unwrap_err();
    assert!(matches!(error, Error::NotFinite { row: 7, column: 2, .. }), "{error}");
}

mod ndarray_arrays {
    use ndarray::{Array2, ArrayView2, ShapeBuilder, s};

    use super::*;

    #[test]
    fn every_layout_gives_the_same_bits() {
        let standard = Array2::from_shape_fn((ROWS, COLUMNS), |(i, j)| entry(i, j));
        same(Samples::try_from(standard.view()));
        same(Samples::try_from(&standard));
        let mut fortran = Array2::zeros((ROWS, COLUMNS).f());
        fortran.assign(&standard);
        same(Samples::try_from(fortran.view()));
        same(Samples::try_from(Array2::from_shape_fn((COLUMNS, ROWS), |(j, i)| entry(i, j)).t()));
        // Slices of a larger array: every other row and a range of columns, every other column, backwards.
        let wide =
            Array2::from_shape_fn((2 * ROWS, COLUMNS + 2), |(i, j)| if j > 0 { entry(i / 2, j - 1) } else { f64::NAN });
        same(Samples::try_from(wide.slice(s![..;2, 1..=COLUMNS])));
        let gaps =
            Array2::from_shape_fn((ROWS, 2 * COLUMNS), |(i, j)| if j % 2 == 0 { entry(i, j / 2) } else { f64::NAN });
        same(Samples::try_from(gaps.slice(s![.., ..;2])));
        let backwards = Array2::from_shape_fn((ROWS, COLUMNS), |(i, j)| entry(ROWS - 1 - i, COLUMNS - 1 - j));
        same(Samples::try_from(backwards.slice(s![..;-1, ..;-1])));
    }

    #[test]
    fn wrong_entries_are_named_by_row_and_column() {
        let mut array = Array2::from_shape_fn((ROWS, COLUMNS + 1), |(i, j)| entry(i, j));
        array[(7, 2)] = f64::INFINITY;
        refused(Samples::try_from(array.view()));
        refused(Samples::try_from(array.slice(s![.., ..COLUMNS])));
        refused(Samples::try_from(array.slice(s![.., ..]).reversed_axes().reversed_axes()));
        assert_eq!(Samples::<f64>::try_from(&Array2::zeros((0, 3))).unwrap_err(), Error::Empty { rows: 0, columns: 3 });
        assert_eq!(Samples::<f64>::try_from(&Array2::zeros((3, 0))).unwrap_err(), Error::Empty { rows: 3, columns: 0 });
    }

    #[test]
    fn single_precision_is_borrowed_too() {
        let array = Array2::from_shape_fn((ROWS, COLUMNS), |(i, j)| entry(i, j) as f32);
        let plain: Vec<f32> = array.iter().copied().collect();
        let plain = Samples::new(&plain, ROWS, COLUMNS).unwrap();
        assert_eq!(fit(&Samples::try_from(&array).unwrap()).scores(), fit(&plain).scores());
    }

    #[test]
    fn matrices_are_seen_without_a_copy() {
        let scores = plain().into_parts().scores;
        let view = ArrayView2::from(&scores);
        assert_eq!(view.as_ptr(), scores.as_column_major().as_ptr());
        assert_eq!((view.dim(), view[(3, 1)]), ((ROWS, 2), scores.get(3, 1)));
        assert_eq!(Matrix::from(view), scores);
        let (place, copy) = (scores.as_column_major().as_ptr(), scores.clone());
        let array = Array2::from(scores);
        assert_eq!((array.as_ptr(), Matrix::from(array.view())), (place, copy));
    }
}

mod faer_matrices {
    use faer::{Mat, MatRef};

    use super::*;

    #[test]
    fn every_layout_gives_the_same_bits() {
        let columns = Mat::from_fn(ROWS, COLUMNS, entry);
        same(Samples::try_from(columns.as_ref()));
        let samples_in_columns = Mat::from_fn(COLUMNS, ROWS, |j, i| entry(i, j));
        same(Samples::try_from(samples_in_columns.transpose()));
        let data = data();
        same(Samples::try_from(MatRef::from_row_major_slice(&data, ROWS, COLUMNS)));
        let wide = Mat::from_fn(ROWS + 1, COLUMNS + 3, |i, j| if i * j > 0 { entry(i - 1, j - 1) } else { f64::NAN });
        same(Samples::try_from(wide.as_ref().submatrix(1, 1, ROWS, COLUMNS)));
        let backwards = Mat::from_fn(ROWS, COLUMNS, |i, j| entry(ROWS - 1 - i, j));
        same(Samples::try_from(backwards.as_ref().reverse_rows()));
    }

    #[test]
    fn wrong_entries_are_named_by_row_and_column() {
        let wrong = |i, j| if (i, j) == (7, 2) { f64::NAN } else { entry(i, j) };
        refused(Samples::try_from(Mat::from_fn(ROWS, COLUMNS, wrong).as_ref()));
        refused(Samples::try_from(Mat::from_fn(COLUMNS, ROWS, |j, i| wrong(i, j)).transpose()));
        let empty = Mat::<f64>::zeros(3, 0);
        assert_eq!(Samples::try_from(empty.as_ref()).unwrap_err(), Error::Empty { rows: 3, columns: 0 });
    }

    #[test]
    fn matrices_are_seen_without_a_copy() {
        let scores = plain().into_parts().scores;
        let view = MatRef::from(&scores);
        assert_eq!(view.as_ptr(), scores.as_column_major().as_ptr());
        assert_eq!((view.shape(), view[(3, 1)]), ((ROWS, 2), scores.get(3, 1)));
        assert_eq!(Matrix::from(view), scores);
    }
}

mod nalgebra_matrices {
    use nalgebra::{DMatrix, DMatrixView, SMatrix};

    use super::*;

    #[test]
    fn every_layout_gives_the_same_bits() {
        let columns = DMatrix::from_fn(ROWS, COLUMNS, entry);
        same(Samples::try_from(&columns));
        same(Samples::try_from(&SMatrix::<f64, ROWS, COLUMNS>::from_fn(entry)));
        let wide =
            DMatrix::from_fn(ROWS + 1, COLUMNS + 3, |i, j| if i * j > 0 { entry(i - 1, j - 1) } else { f64::NAN });
        same(Samples::try_from(&wide.view((1, 1), (ROWS, COLUMNS))));
        let gaps = DMatrix::from_fn(2 * ROWS, COLUMNS, |i, j| if i % 2 == 0 { entry(i / 2, j) } else { f64::NAN });
        same(Samples::try_from(&gaps.rows_with_step(0, ROWS, 1).clone_owned()));
        let empty = DMatrix::<f64>::zeros(3, 0);
        assert_eq!(Samples::try_from(&empty).unwrap_err(), Error::Empty { rows: 0, columns: 0 });
    }

    #[test]
    fn samples_in_columns_are_borrowed() {
        let columns = DMatrix::from_fn(COLUMNS, ROWS, |j, i| entry(i, j));
        same(Samples::from_nalgebra_columns(&columns));
        let tall = DMatrix::from_fn(COLUMNS + 2, ROWS, |j, i| if j > 0 { entry(i, j - 1) } else { f64::NAN });
        same(Samples::from_nalgebra_columns(&tall.rows(1, COLUMNS)));
        let mut wrong = columns.clone();
        wrong[(2, 7)] = f64::NAN;
        refused(Samples::from_nalgebra_columns(&wrong));
        let empty = DMatrix::<f64>::zeros(3, 0);
        assert_eq!(Samples::from_nalgebra_columns(&empty).unwrap_err(), Error::Empty { rows: 0, columns: 0 });
    }

    #[test]
    fn matrices_are_seen_without_a_copy() {
        let scores = plain().into_parts().scores;
        let view = DMatrixView::from(&scores);
        assert_eq!(view.as_ptr(), scores.as_column_major().as_ptr());
        assert_eq!((view.shape(), view[(3, 1)]), ((ROWS, 2), scores.get(3, 1)));
        assert_eq!(Matrix::from(&view), scores);
        let (place, copy) = (scores.as_column_major().as_ptr(), scores.clone());
        let matrix = DMatrix::from(scores);
        assert_eq!((matrix.as_ptr(), Matrix::from(&matrix)), (place, copy));
    }
}

mod linfa_algorithm {
    use ewca::linfa::{Error as AdapterError, EwcaParams};
    use linfa::DatasetBase;
    use linfa::traits::{Fit, Transformer};
    use linfa_ndarray::{Array1, Array2, ShapeBuilder};

    use super::*;

    fn records() -> Array2<f64> {
        Array2::from_shape_fn((ROWS, COLUMNS), |(i, j)| entry(i, j))
    }

    fn params() -> EwcaParams {
        EwcaParams::from(Ewca::params(2).epsilon(0.5))
    }

    #[test]
    fn fits_and_transforms_as_the_library_does() {
        let targets: Array1<usize> = (0..ROWS).map(|i| i % 2).collect();
        let dataset = DatasetBase::new(records(), targets.clone());
        let (model, plain) = (params().fit(&dataset).unwrap(), plain());
        assert_eq!((model.scores(), model.potential()), (plain.scores(), plain.potential()));
        let mut fortran = Array2::zeros((ROWS, COLUMNS).f());
        fortran.assign(&dataset.records);
        assert_eq!(params().fit(&DatasetBase::from(fortran)).unwrap().scores(), plain.scores());
        let scores = model.transform(&dataset.records).unwrap();
        let expected = plain.transform(&data(), ROWS).unwrap();
        assert!(scores.indexed_iter().all(|((i, j), x)| *x == expected.get(i, j)));
        let reduced = model.transform(dataset).unwrap();
        assert_eq!((reduced.records, reduced.targets), (scores, targets));
        assert_eq!(model.into_inner().scores(), plain.scores());
    }

    #[test]
    fn weights_of_a_dataset_are_those_of_its_samples() {
        let weights: Array1<f32> = (0..ROWS).map(|i| (1 + i % 3) as f32).collect();
        let dataset = DatasetBase::from(records()).with_weights(weights.clone());
        let model = params().fit(&dataset).unwrap();
        let (data, as_f64) = (data(), weights.mapv(f64::from).to_vec());
        let samples = Samples::new(&data, ROWS, COLUMNS).unwrap().with_weights(&as_f64).unwrap();
        assert_eq!(model.scores(), fit(&samples).scores());
        assert_eq!(model.transform(dataset).unwrap().weights, weights);
    }

    #[test]
    fn what_is_wrong_is_an_error() {
        let error = EwcaParams::from(Ewca::params(0)).fit(&DatasetBase::from(records())).unwrap_err();
        assert!(matches!(error, AdapterError::Ewca(Error::Parameter { name: "k", .. })), "{error}");
        let model = params().fit(&DatasetBase::from(records())).unwrap();
        let error = model.transform(&Array2::<f64>::zeros((3, COLUMNS - 1))).unwrap_err();
        assert!(matches!(error, AdapterError::Ewca(Error::Columns { expected: 4, found: 3 })), "{error}");
        let error = model.transform(&Array2::<f64>::zeros((0, COLUMNS))).unwrap_err();
        assert!(matches!(error, AdapterError::Ewca(Error::Shape { .. })), "{error}");
    }
}
