//! t-SNE (van der Maaten and Hinton 2008), deterministic: for pictures of some thousand points.
//!
//! The usual recipe: affinities of a given perplexity with the nearest neighbours, a start from the principal axes, early exaggeration
//! by 12 for 250 iterations, gradient descent with momentum and gains. Points repel each other by way of a tree (`repulsion`), so that an
//! iteration takes O(n log n); affinities, once, take O(n^2).

mod affinities;
mod repulsion;

use ewca::{Ewca, Matrix, Samples};
use rayon::prelude::*;

use affinities::Neighbourhoods;
pub use affinities::affinities;
use repulsion::{OPENING, kernel, pushes};

const EXAGGERATION: f64 = 12.0;
const EXAGGERATED_ITERATIONS: usize = 250;
const ITERATIONS: usize = 1000;
/// With 50, which others take, sets of some dozen points are torn apart while they are exaggerated, and end at higher divergences.
const LEAST_RATE: f64 = 20.0;
/// Points whose forces are summed as one piece of work.
const BLOCK: usize = 64;

/// Points in the plane, one row for each row of `points`.
pub fn embed(points: &Matrix, perplexity: f64) -> ewca::Result<Matrix> {
    let neighbourhoods = Neighbourhoods::new(points, perplexity);
    let gradient = |map: &[[f64; 2]], exaggeration| gradient(&neighbourhoods, map, exaggeration, OPENING);
    Ok(descended(start(points)?, gradient))
}

/// The map that gradient descent leads to, about its mean. The gradient is asked for with an exaggeration of the affinities.
fn descended(mut map: Vec<[f64; 2]>, gradient: impl Fn(&[[f64; 2]], f64) -> Vec<[f64; 2]>) -> Matrix {
    let n = map.len();
    let mut speeds = vec![[0.0; 2]; n];
    let mut gains = vec![[1.0; 2]; n];
    for iteration in 0..ITERATIONS {
        let early = iteration < EXAGGERATED_ITERATIONS;
        let (exaggeration, momentum) = if early { (EXAGGERATION, 0.5) } else { (1.0, 0.8) };
        // As large as is safe (Belkina et al. 2019), but not so small that few points stay where they begin.
        let rate = (n as f64 / exaggeration / 4.0).max(LEAST_RATE);
        let slopes = gradient(&map, exaggeration);
        for i in 0..n {
            for c in 0..2 {
                let against = slopes[i][c] * speeds[i][c] < 0.0;
                gains[i][c] = if against { gains[i][c] + 0.2 } else { f64::max(gains[i][c] * 0.8, 0.01) };
                speeds[i][c] = momentum * speeds[i][c] - rate * gains[i][c] * slopes[i][c];
                map[i][c] += speeds[i][c];
            }
        }
    }
    let mean = [0, 1].map(|c| map.iter().map(|y| y[c]).sum::<f64>() / n as f64);
    Matrix::from_fn(n, 2, |i, c| map[i][c] - mean[c])
}

/// The first two principal scores, scaled so that the first has a standard deviation of 1e-4.
fn start(points: &Matrix) -> ewca::Result<Vec<[f64; 2]>> {
    let data = points.to_row_major();
    let samples = Samples::new(&data, points.rows(), points.columns())?;
    let components = points.columns().min(2);
    let pca = Ewca::params(components).pca(&samples)?;
    let unit = 1e-4 / pca.eigenvalues[0].sqrt();
    let score = |i: usize, c: usize| if c < components { unit * pca.scores.get(i, c) } else { 0.0 };
    Ok((0..points.rows()).map(|i| [score(i, 0), score(i, 1)]).collect())
}

/// The slopes of the divergence (of exaggerated affinities) by the places of the points.
fn gradient(neighbourhoods: &Neighbourhoods, map: &[[f64; 2]], exaggeration: f64, opening: f64) -> Vec<[f64; 2]> {
    let pushes = pushes(map, opening);
    let mass: f64 = pushes.iter().map(|push| push.mass).sum();
    let slope = |i: usize| {
        let pull = pull(neighbourhoods.of(i), map, i);
        [0, 1].map(|c| 4.0 * (exaggeration * pull[c] - pushes[i].force[c] / mass))
    };
    (0..map.len()).into_par_iter().with_min_len(BLOCK).map(slope).collect()
}

/// What draws a point to its neighbours.
fn pull(neighbours: &[(u32, f64)], map: &[[f64; 2]], i: usize) -> [f64; 2] {
    let mut sum = [0.0; 2];
    for &(j, affinity) in neighbours {
        let other = map[j as usize];
        let weight = affinity * kernel(map[i], other);
        sum[0] += weight * (map[i][0] - other[0]);
        sum[1] += weight * (map[i][1] - other[1]);
    }
    sum
}

/// The Kullback-Leibler divergence that t-SNE minimises, of a map in the plane from affinities.
pub fn divergence(affinities: &Matrix, map: &Matrix) -> f64 {
    let map: Vec<[f64; 2]> = (0..map.rows()).map(|i| [map.get(i, 0), map.get(i, 1)]).collect();
    let mass: f64 = pushes(&map, 0.0).iter().map(|push| push.mass).sum();
    let row = |i: usize| -> f64 {
        let pairs = affinities.column(i).iter().enumerate().filter(|(j, p)| *j != i && **p > 0.0);
        pairs.map(|(j, p)| p * (p * mass / kernel(map[i], map[j])).ln()).sum()
    };
    (0..map.len()).map(row).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clouds(n: usize) -> Matrix {
        let noise = |s: usize| ((s as f64 * 12.9898).sin() * 43758.5453).fract();
        Matrix::from_fn(n, 4, |i, j| if j == i % 3 { 6.0 } else { 0.0 } + noise(i * 17 + j * 5 + 1))
    }

    #[test]
    fn the_gradient_is_that_of_the_divergence() {
        // With this perplexity everybody is a neighbour, so that the lists are the affinities.
        let points = clouds(45);
        let (p, neighbourhoods) = (affinities(&points, 9.0), Neighbourhoods::new(&points, 9.0));
        let map: Vec<[f64; 2]> = (0..45).map(|i| [(i as f64).sin(), (i as f64 * 1.7).cos()]).collect();
        // Exaggeration multiplies what draws points together: it adds that much of the mean logarithm of the kernel.
        let value = |map: &[[f64; 2]], exaggeration: f64| {
            let pairs = (0..45).flat_map(|i| (0..45).map(move |j| (i, j)));
            let closeness: f64 = pairs.map(|(i, j)| p.get(i, j) * kernel(map[i], map[j]).ln()).sum();
            divergence(&p, &Matrix::from_fn(45, 2, |i, c| map[i][c])) - (exaggeration - 1.0) * closeness
        };
        for (exaggeration, (i, c)) in
            [1.0, EXAGGERATION].into_iter().flat_map(|e| [(e, (0, 0)), (e, (7, 1)), (e, (44, 0))])
        {
            let slope = gradient(&neighbourhoods, &map, exaggeration, 0.0)[i][c];
            let moved = |step: f64| {
                let mut moved = map.clone();
                moved[i][c] += step;
                value(&moved, exaggeration)
            };
            let difference = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            assert!((difference - slope).abs() < 1e-8, "{difference} {slope}");
        }
    }

    /// The same recipe with all pairs one by one, and affinities with everybody.
    fn embed_exactly(points: &Matrix, perplexity: f64) -> Matrix {
        let (n, dense) = (points.rows(), affinities(points, perplexity));
        let gradient = |map: &[[f64; 2]], exaggeration: f64| -> Vec<[f64; 2]> {
            let mass: f64 = pushes(map, 0.0).iter().map(|push| push.mass).sum();
            let slope = |i: usize| {
                let mut slope = [0.0; 2];
                for j in 0..n {
                    let k = kernel(map[i], map[j]);
                    let force = 4.0 * (exaggeration * dense.get(i, j) - k / mass) * k;
                    (0..2).for_each(|c| slope[c] += force * (map[i][c] - map[j][c]));
                }
                slope
            };
            (0..n).map(slope).collect()
        };
        descended(start(points).unwrap(), gradient)
    }

    #[test]
    fn a_map_by_tree_and_lists_is_as_good_as_one_by_all_pairs() {
        let points = clouds(240);
        let dense = affinities(&points, 10.0);
        let maps = [embed(&points, 10.0).unwrap(), embed_exactly(&points, 10.0)];
        let [found, exact] = maps.each_ref().map(|map| divergence(&dense, map));
        assert!(found < 1.01 * exact, "{found} against {exact}");
    }

    #[test]
    fn clouds_stay_apart() {
        let map = embed(&clouds(45), 10.0).unwrap();
        let distance = |i: usize, j: usize| (map.get(i, 0) - map.get(j, 0)).hypot(map.get(i, 1) - map.get(j, 1));
        for i in 0..45 {
            let nearest =
                (0..45).filter(|&j| j != i).min_by(|&a, &b| distance(i, a).total_cmp(&distance(i, b))).unwrap();
            assert_eq!(nearest % 3, i % 3);
        }
    }

    #[test]
    fn threads_do_not_change_a_bit() {
        let points = clouds(400);
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| embed(&points, 10.0).unwrap())
        };
        let one = on(1);
        assert!(one.as_column_major().iter().all(|value| value.is_finite()));
        for threads in [1, 2, 3] {
            assert_eq!(on(threads), one);
        }
    }
}
