//! How far apart blocks of points are, at the least.

use super::Points;
use super::arrange::Arrangement;
use crate::parallel;

/// Squared distances (divided by epsilon) beyond which a pair of blocks is left out in any case, and below which it never is.
const FAR: f64 = 80.0;
const NEAR: f64 = 25.0;

/// Lower bounds of the squared distance between points of each block and of those before it, divided by epsilon.
pub(super) fn distances_of_blocks(points: &Points) -> Vec<Vec<f32>> {
    let Arrangement { blocks, places, stride } = &points.shared.arrangement;
    let empty =
        BlockBounds { ends: vec![(f64::INFINITY, f64::NEG_INFINITY); points.dimensions], ..BlockBounds::default() };
    let mut measured = vec![empty; blocks.len()];
    let starts: Vec<usize> = blocks.iter().map(|block| block.start).collect();
    let block_of = |place: usize| starts.partition_point(|&start| start <= place) - 1;
    let coordinate = |l: usize, place: usize| points.scaled[l * stride + place];
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
    let work = parallel::work(&[blocks.len(), blocks.len(), 64, points.dimensions]);
    parallel::map(&lines, work, |line| {
        // A little less than what was computed, for its rounding.
        let gap = |j: usize| (distance_bound(points, line.start, j, &measured) * (1.0 - 1e-6)) as f32;
        (0..line.start).map(gap).collect::<Vec<f32>>()
    })
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

/// A lower bound of the squared distance between points of two blocks, divided by epsilon: by their boxes, by the balls around
/// the boxes' middles, or by how far they are apart on the line through the middles.
fn distance_bound(points: &Points, i: usize, j: usize, blocks: &[BlockBounds]) -> f64 {
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
    let stride = points.shared.arrangement.stride;
    let ends = |block: usize| {
        let start = points.shared.arrangement.blocks[block].start;
        let mut along = vec![0.0; blocks[block].count];
        for (l, step) in line.iter().enumerate() {
            let coordinate = &points.scaled[l * stride + start..][..along.len()];
            along.iter_mut().zip(coordinate).for_each(|(sum, x)| *sum += step * x);
        }
        along.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &x| (x.min(low), x.max(high)))
    };
    let apart = (ends(j).0 - ends(i).1).max(0.0);
    (apart * apart / length).max(bound)
}
