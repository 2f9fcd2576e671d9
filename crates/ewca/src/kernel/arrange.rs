//! Which points stand together: blocks of points that are near each other, and the order of their pairs.

use crate::matrix::Matrix;
use std::ops::Range;

use super::tile::{PADDING, TILE};

/// Up to this many points the blocks are of equal size, in the points' own order.
pub(crate) const FEWEST_SORTED_POINTS: usize = 1024;
/// Points of a block among many ...
pub(super) const LEAF: usize = 256;
/// ... until there are so many blocks: what is kept of their pairs must not grow with the square of the points.
const MOST_BLOCKS: usize = 4096;
/// A gap between neighbours is real when it is so many times the usual one.
const REAL_GAP: f64 = 30.0;

/// Blocks of points, each padded to a multiple of [`PADDING`].
#[derive(Debug, Default, Clone)]
pub(super) struct Arrangement {
    /// The place of each point.
    pub places: Vec<usize>,
    /// The places of each block, padding included.
    pub blocks: Vec<Range<usize>>,
    /// The points of each block.
    sizes: Vec<usize>,
    /// Places in all.
    pub stride: usize,
}

impl Arrangement {
    /// Blocks by the rows of `points`: as they come while there are few, neighbours together otherwise.
    pub fn new(points: &Matrix) -> Self {
        let n = points.rows();
        let (order, sizes) = if n <= FEWEST_SORTED_POINTS {
            ((0..n).collect(), block_sizes(n).collect())
        } else {
            in_blocks_of_neighbours(points)
        };
        let blocks = Vec::with_capacity(sizes.len());
        let mut arrangement = Self { places: vec![0; n], blocks, sizes, stride: 0 };
        let mut rest = order.as_slice();
        for &size in &arrangement.sizes {
            let (block, others) = rest.split_at(size);
            for (at, &point) in block.iter().enumerate() {
                arrangement.places[point] = arrangement.stride + at;
            }
            let end = arrangement.stride + size.next_multiple_of(PADDING);
            arrangement.blocks.push(arrangement.stride..end);
            arrangement.stride = end;
            rest = others;
        }
        arrangement
    }

    /// The `points` that this was made by, in an order in which neighbours stand together.
    pub fn neighbours(&self, points: &Matrix) -> Vec<usize> {
        if self.places.len() <= FEWEST_SORTED_POINTS {
            return in_blocks_of_neighbours(points).0;
        }
        let mut order: Vec<usize> = (0..self.places.len()).collect();
        order.sort_unstable_by_key(|&i| self.places[i]);
        order
    }

    /// The numbers `columns`, each of them at its point's place; zeros on the padding.
    pub fn scattered<'m, E: Copy + Default>(
        &self,
        columns: impl ExactSizeIterator<Item = &'m [f64]>,
        convert: impl Fn(f64) -> E,
    ) -> Vec<E> {
        let mut placed = vec![E::default(); self.stride * columns.len()];
        for (out, column) in placed.chunks_exact_mut(self.stride.max(1)).zip(columns) {
            for (&place, &x) in self.places.iter().zip(column) {
                out[place] = convert(x);
            }
        }
        placed
    }

    /// Puts the padding of each block where the last of its points is, so that no tile seems nearer to others than its points are.
    pub fn pad(&self, placed: &mut [f64]) {
        for column in placed.chunks_exact_mut(self.stride.max(1)) {
            for (block, size) in self.blocks.iter().zip(&self.sizes) {
                let last = column[block.start + size - 1];
                column[block.start + size..block.end].fill(last);
            }
        }
    }

    /// Pairs of tiles of points that a pass goes over: those of a block with itself both ways, those of two blocks once.
    pub fn pairs_of_tiles(&self) -> usize {
        let tiles = |block: &Range<usize>| block.len() / TILE;
        let (all, own) = self.blocks.iter().fold((0, 0), |(all, own), b| (all + tiles(b), own + tiles(b).pow(2)));
        (all * all + own) / 2
    }

    /// A row for every point, from the sums of each block: column after column of its length, or nothing where a block has none.
    pub fn rows_of(&self, sums: &[Vec<f64>], columns: usize) -> Matrix {
        let starts: Vec<usize> = self.blocks.iter().map(|block| block.start).collect();
        let block_of = |place: &usize| starts.partition_point(|start| start <= place) - 1;
        let blocks: Vec<usize> = self.places.iter().map(block_of).collect();
        let mut out = Matrix::zeros(self.places.len(), columns);
        for c in 0..columns {
            for ((out, &place), &block) in out.column_mut(c).iter_mut().zip(&self.places).zip(&blocks) {
                *out = sums[block].get(c * self.blocks[block].len() + place - starts[block]).copied().unwrap_or(0.0);
            }
        }
        out
    }
}

/// The points in an order in which neighbours stand together, and the sizes of blocks of them.
pub(super) fn in_blocks_of_neighbours(points: &Matrix) -> (Vec<usize>, Vec<usize>) {
    let mut order: Vec<usize> = (0..points.rows()).collect();
    let mut sizes = Vec::new();
    split(points, &mut order, leaf(points.rows()), &mut sizes);
    (order, sizes)
}

/// The sizes of the blocks of a few points: about 16 of them, so that threads have something to share.
fn block_sizes(points: usize) -> impl Iterator<Item = usize> {
    let size = leaf(points);
    (0..points).step_by(size).map(move |start| size.min(points - start))
}

/// Places that `points` take while there are few.
pub(super) fn padded(points: usize) -> usize {
    block_sizes(points).map(|size| size.next_multiple_of(PADDING)).sum()
}

/// Halves the points at the widest gap near the middle of the line through the centres of two groups, until blocks are small. Inside of a block
/// they are halved on until tiles are.
fn split(points: &Matrix, order: &mut [usize], leaf: usize, sizes: &mut Vec<usize>) {
    if order.len() <= leaf {
        sizes.push(order.len());
        if leaf > TILE {
            split(points, order, TILE, &mut Vec::new());
        }
        return;
    }
    let along = two_groups(points, order);
    let mut placed: Vec<(f64, usize)> = along.into_iter().zip(order.iter().copied()).collect();
    placed.sort_unstable_by(|(x, i), (y, j)| x.total_cmp(y).then(i.cmp(j)));
    order.iter_mut().zip(&placed).for_each(|(to, (_, i))| *to = *i);
    let (middle, near) = (order.len() / 2, 3 * order.len() / 8);
    let gap = |at: usize| placed[at].0 - placed[at - 1].0;
    // The first of the widest, counted from the middle.
    let mut cut = middle;
    for step in 1..near {
        for at in [middle - step, middle + step] {
            if gap(at) > gap(cut) {
                cut = at;
            }
        }
    }
    // In a cloud without a real gap, blocks are full; and tiles always are.
    let usual = (placed[middle + near - 1].0 - placed[middle - near].0) / (2 * near) as f64;
    if leaf == TILE || gap(cut) <= REAL_GAP * usual {
        cut = middle.next_multiple_of(PADDING);
    }
    let (left, right) = order.split_at_mut(cut);
    split(points, left, leaf, sizes);
    split(points, right, leaf, sizes);
}

/// The most points of a block among `points`.
fn leaf(points: usize) -> usize {
    let few = (points / 16).next_multiple_of(PADDING).clamp(2 * PADDING, LEAF);
    (points / MOST_BLOCKS).next_multiple_of(PADDING).max(few)
}

/// About how many bytes pairs of blocks take, with the gaps between them.
pub(super) fn pair_bytes(points: usize) -> usize {
    // Blocks are half full at the least.
    let blocks = 2 * points.div_ceil(leaf(points));
    blocks.saturating_mul(blocks) / 2 * (size_of::<(usize, usize)>() + size_of::<f32>())
}

/// Where each point lies on the line through the centres of two groups (a few steps of 2-means from the widest coordinate).
fn two_groups(points: &Matrix, order: &[usize]) -> Vec<f64> {
    let extent = |column: &[f64]| {
        let ends = |(low, high): (f64, f64), &i: &usize| (column[i].min(low), column[i].max(high));
        let (low, high) = order.iter().fold((f64::INFINITY, f64::NEG_INFINITY), ends);
        high - low
    };
    let extents: Vec<f64> = (0..points.columns()).map(|j| extent(points.column(j))).collect();
    let widest = (0..extents.len()).max_by(|&i, &j| extents[i].total_cmp(&extents[j])).unwrap_or(0);
    let mut along: Vec<f64> = order.iter().map(|&i| points.get(i, widest)).collect();
    for _ in 0..4 {
        let middle = along.iter().sum::<f64>() / along.len() as f64;
        let count = along.iter().filter(|x| **x > middle).count();
        if count == 0 || count == along.len() {
            break;
        }
        // Along the difference of the centres; the mean of what lies there is a fair border between groups of like size.
        let mut next = vec![0.0; along.len()];
        for j in 0..points.columns() {
            let column = points.column(j);
            let (mut above, mut all) = (0.0, 0.0);
            for (&i, &x) in order.iter().zip(&along) {
                all += column[i];
                above += if x > middle { column[i] } else { 0.0 };
            }
            let step = above / count as f64 - (all - above) / (along.len() - count) as f64;
            next.iter_mut().zip(order).for_each(|(x, &i)| *x += step * column[i]);
        }
        along = next;
    }
    along
}

/// All pairs of blocks, each with itself first, then as in a tournament where everybody meets everybody.
pub(super) fn tournament(blocks: usize) -> impl Iterator<Item = (usize, usize)> {
    let players = blocks.next_multiple_of(2);
    let meetings = (0..players.saturating_sub(1)).flat_map(move |round| {
        let turn = players - 1;
        (0..players / 2).map(move |pair| match pair {
            0 => (round, turn),
            _ => ((round + pair) % turn, (round + turn - pair) % turn),
        })
    });
    let ordered = move |(i, j): (usize, usize)| (i.min(j), i.max(j));
    (0..blocks).map(|i| (i, i)).chain(meetings.map(ordered).filter(move |&(_, j)| j < blocks))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn everybody_meets_everybody_once() {
        for blocks in [1, 2, 3, 8, 17] {
            let mut pairs: Vec<_> = tournament(blocks).collect();
            pairs.sort_unstable();
            let all: Vec<_> = (0..blocks).flat_map(|i| (i..blocks).map(move |j| (i, j))).collect();
            assert_eq!(pairs, all);
        }
    }

    #[test]
    fn every_point_has_a_place_of_its_own_in_small_blocks() {
        for n in [1, 63, 600, 4096, 4097, 9000] {
            let points = Matrix::from_row_major(n, 3, &testing::gaussian(n, 3, 1)).unwrap();
            let arrangement = Arrangement::new(&points);
            let mut places = arrangement.places.clone();
            places.sort_unstable();
            places.dedup();
            assert_eq!(places.len(), n);
            assert!(places.iter().all(|&place| place < arrangement.stride));
            assert!(arrangement.blocks.iter().all(|b| b.len() % PADDING == 0 && b.len() <= LEAF));
            assert!(arrangement.stride <= n + n / 3 + 64, "{n}: {}", arrangement.stride);
            if n <= FEWEST_SORTED_POINTS {
                assert_eq!(arrangement.stride, padded(n));
            }
        }
    }
}
