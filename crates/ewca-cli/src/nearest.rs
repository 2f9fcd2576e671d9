//! The class of the nearest neighbour: the plainest test of whether scores keep classes apart.

use ewca::Matrix;

/// How many of the samples have a nearest other sample of another class: leave-one-out errors.
pub fn leave_one_out_errors(scores: &Matrix, labels: &[String]) -> usize {
    let points = rows(scores);
    (0..points.len()).filter(|&i| nearest(&points[i], &points, Some(i)).is_none_or(|j| labels[j] != labels[i])).count()
}

/// The class of each new point: that of the nearest known one.
pub fn classes<'a>(new: &Matrix, known: &Matrix, labels: &'a [String]) -> Vec<&'a str> {
    let points = rows(known);
    rows(new).iter().filter_map(|point| nearest(point, &points, None)).map(|j| labels[j].as_str()).collect()
}

fn rows(matrix: &Matrix) -> Vec<Vec<f64>> {
    (0..matrix.rows()).map(|i| matrix.row(i)).collect()
}

/// The nearest of `points`, apart from the one at `except`; the first of equals.
fn nearest(point: &[f64], points: &[Vec<f64>], except: Option<usize>) -> Option<usize> {
    let distance = |other: &[f64]| -> f64 { point.iter().zip(other).map(|(a, b)| (a - b).powi(2)).sum() };
    (0..points.len())
        .filter(|&j| Some(j) != except)
        .min_by(|&i, &j| distance(&points[i]).total_cmp(&distance(&points[j])))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(points: &[f64]) -> Matrix {
        Matrix::from_fn(points.len(), 1, |i, _| points[i])
    }

    #[test]
    fn a_sample_is_not_its_own_neighbour() {
        let labels = ["a", "a", "b", "b", "a"].map(String::from);
        let scores = line(&[0.0, 1.0, 10.0, 11.0, 10.4]);
        // 10.4's neighbour is 10 (b), 10's is 10.4 (a), 11's is 10.4 (a).
        assert_eq!(leave_one_out_errors(&scores, &labels), 3);
        assert_eq!(classes(&line(&[0.4, 11.0]), &scores, &labels), ["a", "b"]);
    }
}
