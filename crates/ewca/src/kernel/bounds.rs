//! How far tiles of points are apart, kept while the points move little: with it, most tiles that cannot matter are left out without their
//! distances being computed.

use super::Points;
use super::arrange::{Arrangement, tournament};
use super::lanes::Element;
use super::tile::{Nearest, TILE};
use crate::parallel;

/// Squared distances (divided by epsilon) beyond which nothing is kept of a pair of blocks: u_i K_ij u_j is below 1e-34.
const FAR: f64 = 80.0;
/// Points are looked at again when one has moved so far, in units of sqrt(epsilon) ...
const LONGEST_MOVE: f64 = 0.4;
/// ... or when epsilon has changed by one of these factors.
const EPSILON_FACTORS: std::ops::RangeInclusive<f64> = 0.6..=1.1;
/// Single precision is good enough while it rounds coordinates by less than this.
const ROUNDING: f64 = 0.01;

/// Distances between tiles of points.
#[derive(Debug)]
pub(super) struct TileDistances {
    /// Where the points stood when they were looked at, coordinate by coordinate, in units of the scores.
    points: Vec<f64>,
    epsilon: f64,
    /// Pairs of blocks that are not too far apart, in the tournament's order, each with lower bounds of the distances of its tiles (divided
    /// by sqrt(epsilon)).
    pub pairs: Vec<(usize, usize, Vec<f32>)>,
}

/// How far the points of each tile have moved since distances were measured, divided by sqrt(epsilon); and by what those distances are to be
/// multiplied at today's epsilon.
#[derive(Debug)]
pub(super) struct Moves {
    pub of_tiles: Vec<f32>,
    pub scale: f32,
}

impl TileDistances {
    /// Measures all.
    pub fn new(points: &Points) -> Self {
        let Arrangement { blocks, .. } = &points.shared.arrangement;
        let bounds: Vec<BlockBounds> = (0..blocks.len()).map(|block| BlockBounds::new(points, block)).collect();
        let largest = points.scaled.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        let rounding = largest * f64::from(f32::EPSILON) * 2.0 * (points.dimensions as f64).sqrt();
        let singles: Option<Vec<f32>> =
            (rounding < ROUNDING).then(|| points.scaled.iter().map(|&x| x as f32).collect());
        let near: Vec<(usize, usize)> = tournament(blocks.len())
            .filter(|&(i, j)| i == j || bounds[i].squared_distance(&bounds[j]) <= FAR)
            .collect();
        let some = parallel::blocks(near.len(), 16);
        let work = parallel::work(&[near.len(), 1 << 16, points.dimensions]);
        let pairs = parallel::map(&some, work, |some| {
            let of_pair = |&(i, j): &(usize, usize)| {
                let mut distances = Vec::with_capacity(blocks[i].len() / TILE * (blocks[j].len() / TILE));
                match &singles {
                    Some(singles) => f32::dispatch(Nearest { pair: points.pair((i, j), singles), out: &mut distances }),
                    None => f64::dispatch(Nearest { pair: points.pair((i, j), &points.scaled), out: &mut distances }),
                }
                // A little less than what was computed, for its rounding.
                distances.iter_mut().for_each(|d| *d = (*d * (1.0 - 1e-5) - rounding as f32).max(0.0));
                (i, j, distances)
            };
            near[some].iter().map(of_pair).collect::<Vec<_>>()
        });
        let unit = points.epsilon.sqrt();
        Self {
            points: points.scaled.iter().map(|x| x * unit).collect(),
            epsilon: points.epsilon,
            pairs: pairs.into_iter().flatten().collect(),
        }
    }

    /// How far `points` have moved since, or none where they must be looked at again.
    pub fn moves_to(&self, points: &Points) -> Option<Moves> {
        if self.points.len() != points.scaled.len() || !EPSILON_FACTORS.contains(&(points.epsilon / self.epsilon)) {
            return None;
        }
        let unit = 1.0 / points.epsilon.sqrt();
        let stride = points.shared.arrangement.stride;
        let mut squares = vec![0.0; stride];
        for (now, before) in points.scaled.chunks_exact(stride).zip(self.points.chunks_exact(stride)) {
            for ((sum, x), y) in squares.iter_mut().zip(now).zip(before) {
                *sum += (x - y * unit).powi(2);
            }
        }
        // A little more, for the rounding.
        let of_tile = |tile: &[f64]| tile.iter().fold(0.0, |m: f64, x| m.max(*x)).sqrt() * (1.0 + 1e-6);
        let of_tiles: Vec<f32> = squares.chunks(TILE).map(|tile| of_tile(tile) as f32).collect();
        let is_short = of_tiles.iter().all(|x| f64::from(*x) <= LONGEST_MOVE);
        is_short.then(|| Moves { of_tiles, scale: ((self.epsilon / points.epsilon).sqrt() * (1.0 - 1e-6)) as f32 })
    }

    /// The squared distance, divided by the epsilon of `moves`, beyond which all pairs are that are not kept.
    pub fn kept_within(moves: &Moves) -> f64 {
        let furthest = moves.of_tiles.iter().fold(0.0, |m: f32, x| m.max(*x));
        f64::from(FAR.sqrt() as f32 * moves.scale - 2.0 * furthest).powi(2)
    }
}

/// What is known of a block of points.
#[derive(Debug)]
struct BlockBounds {
    /// The lower and upper end in each coordinate.
    ends: Vec<(f64, f64)>,
    /// Half-way between them.
    middle: Vec<f64>,
    /// The largest distance from the middle.
    radius: f64,
}

impl BlockBounds {
    fn new(points: &Points, block: usize) -> Self {
        let Arrangement { blocks, stride, .. } = &points.shared.arrangement;
        let coordinates = || points.scaled.chunks_exact(*stride).map(|coordinate| &coordinate[blocks[block].clone()]);
        let ends_of = |values: &[f64]| {
            values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &x| (x.min(low), x.max(high)))
        };
        let ends: Vec<(f64, f64)> = coordinates().map(ends_of).collect();
        let middle: Vec<f64> = ends.iter().map(|(low, high)| 0.5 * (low + high)).collect();
        let mut squares = vec![0.0; blocks[block].len()];
        for (values, middle) in coordinates().zip(&middle) {
            squares.iter_mut().zip(values).for_each(|(sum, x)| *sum += (x - middle).powi(2));
        }
        let radius = squares.iter().fold(0.0, |m: f64, x| m.max(*x)).sqrt();
        Self { ends, middle, radius }
    }

    /// A lower bound of the squared distance between points of two blocks, divided by epsilon: by their boxes, or by the balls around the
    /// boxes' middles.
    fn squared_distance(&self, other: &Self) -> f64 {
        let apart = |((low, high), (other_low, other_high)): (&(f64, f64), &(f64, f64))| {
            (other_low - high).max(low - other_high).max(0.0).powi(2)
        };
        let by_boxes: f64 = self.ends.iter().zip(&other.ends).map(apart).sum();
        let middles: f64 = self.middle.iter().zip(&other.middle).map(|(x, y)| (y - x).powi(2)).sum();
        let by_balls = (middles.sqrt() - self.radius - other.radius).max(0.0).powi(2);
        // A little less than what was computed, for its rounding.
        by_boxes.max(by_balls) * (1.0 - 1e-6)
    }
}
