//! Passes over all pairs of points that matter.
//!
//! Points stand in blocks (`arrange`), and a pass goes over pairs of blocks: K is symmetric, so that each pair is computed once and
//! serves both its blocks. What a pass computes is kept for the next one as far as there is room, which gives the same bits. Pairs that are
//! too far apart to matter are left out, and a bound of what was left out is kept.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::arrange::{Arrangement, LEAF, tournament};
use super::bounds::{Moves, TileDistances};
use super::lanes::Element;
use super::tile::{KeptTiles, Multiply, Pair, Reach, TILE};
use super::{Accuracy, EXP_COST, Method, Points};
use crate::matrix::Matrix;
use crate::parallel;

/// What pairs of blocks add to sums is held for so many numbers' worth of them, but for at least and at most so many pairs for each thread.
const NUMBERS_AT_ONCE: usize = 1 << 18;
const PAIRS_OF_A_THREAD: std::ops::RangeInclusive<usize> = 4..=16;

/// How many pairs of blocks are worked on side by side before what they add is added, pair after pair: so sums are the same on any number of
/// threads.
fn pairs_at_once(columns: usize) -> usize {
    let threads = rayon::current_num_threads();
    let (least, most) = PAIRS_OF_A_THREAD.into_inner();
    parallel::lines_of(2 * LEAF * columns, NUMBERS_AT_ONCE, least * threads..=most * threads)
}

/// The largest coordinate, divided by sqrt(epsilon), that single precision is good enough for: it rounds it by 6e-5.
const LARGEST_SINGLE: f64 = 1024.0;

/// K itself.
#[derive(Debug)]
pub(super) struct Exact {
    accuracy: Accuracy,
    /// The points in single precision, when passes are to be made in it.
    single: Option<Vec<f32>>,
    /// How far tiles are apart, where some may be left out.
    near: Option<(Arc<TileDistances>, Moves)>,
    /// Tiles that passes have computed, where they are kept.
    kept: Option<Kept>,
}

impl Exact {
    /// At other points than those of `kept`, of which only the room is used again.
    pub fn new(near: Option<(Arc<TileDistances>, Moves)>, mut kept: Option<Kept>) -> Self {
        kept.iter_mut().for_each(Kept::forget);
        Self { accuracy: Accuracy::default(), single: None, near, kept }
    }

    /// Makes room for tiles in the precision of the passes to come. What was kept in double precision at these points stays, since it is dearer.
    fn keep(&mut self, points: &Points) {
        let (blocks, bytes) = (points.shared.arrangement.blocks.len(), points.shared.kept_bytes);
        if bytes == 0 {
            return;
        }
        self.kept = match (self.kept.take(), self.single.is_some()) {
            (Some(Kept::Double(kept)), true) if kept.in_use.load(Ordering::Relaxed) => Some(Kept::Double(kept)),
            (Some(kept @ Kept::Single(_)), true) | (Some(kept @ Kept::Double(_)), false) => Some(kept),
            // Before the new one has room, the old one is gone.
            (_, true) => Some(Kept::Single(KeptPairs::new(blocks, bytes))),
            (_, false) => Some(Kept::Double(KeptPairs::new(blocks, bytes))),
        };
    }

    /// K `right`, and with `with_cost` one column more: the sums of K_ij D_ij right_j0.
    fn pass<E: Element>(
        &self,
        points: &Points,
        values: &[E],
        kept: Option<&KeptPairs<E>>,
        right: &Matrix,
        u: &[f64],
        with_cost: bool,
    ) -> Matrix {
        let shared = &points.shared;
        let Arrangement { blocks, .. } = &shared.arrangement;
        let count = right.columns();
        let columns = count + usize::from(with_cost);
        let placed = shared.arrangement.scattered((0..count).map(|c| right.column(c)), E::nearest);
        let mut sums: Vec<Vec<f64>> = blocks.iter().map(|b| vec![0.0; b.len() * columns]).collect();
        let near = self.near.as_ref().map(|near| Near::new(points, near, u, self.accuracy.negligible));
        let pairs = match &near {
            Some(near) => near.pairs(),
            None => tournament(blocks.len()).map(|(i, j)| (i, j, &[][..])).collect(),
        };
        // Every so-many-th pair: each process gets its share of the near and of the far ones, and the same ones in every pass.
        let (rank, size) = (shared.member.rank(), shared.member.size());
        let own: Vec<_> = pairs.into_iter().filter(|&(i, j, _)| pair_number(i, j) % size == rank).collect();
        let of_pair =
            (shared.arrangement.stride / blocks.len().max(1)).pow(2) * (columns + points.dimensions + EXP_COST);
        let mut computed = 0;
        let mut parts: Vec<PairSums> = Vec::new();
        for batch in own.chunks(pairs_at_once(columns)) {
            parts.resize_with(batch.len(), PairSums::default);
            parallel::for_chunks(&mut parts, 1, of_pair.saturating_mul(batch.len()), |at, part| {
                let (i, j, distances) = batch[at];
                let part = &mut part[0];
                part.clear(blocks[i].len() * columns, if i == j { 0 } else { blocks[j].len() * columns });
                let pair = points.pair((i, j), values);
                let mut tiles = kept.filter(|_| !with_cost).map(|kept| kept.tiles(i, j, &pair));
                E::dispatch(Multiply {
                    pair,
                    right: &placed,
                    count,
                    with_cost,
                    row_sums: &mut part.rows,
                    column_sums: (i != j).then_some(&mut part.columns),
                    reach: near.as_ref().map(|near| near.reach(i, j, distances)),
                    kept: tiles.as_deref_mut(),
                    computed: &mut part.computed,
                });
            });
            computed += parts.iter().map(|part| part.computed).sum::<usize>();
            let mut of_blocks: Vec<Vec<&[f64]>> = vec![Vec::new(); blocks.len()];
            for ((i, j, _), part) in batch.iter().zip(&parts) {
                of_blocks[*i].push(&part.rows);
                of_blocks[*j].push(&part.columns);
            }
            let additions = parallel::work(&[2 * batch.len(), LEAF, columns]);
            parallel::for_chunks(&mut sums, 1, additions, |block, sums| {
                for part in &of_blocks[block] {
                    sums[0].iter_mut().zip(*part).for_each(|(sum, x)| *sum += x);
                }
            });
        }
        let negligible = near.map_or(0.0, |near| near.negligible);
        let mut computed = [computed as f64];
        shared.member.sum(&mut computed);
        points.counts.add_pass(shared.arrangement.pairs_of_tiles(), computed[0] as usize, negligible);
        shared.member.summed(shared.arrangement.rows_of(&sums, columns))
    }
}

/// Tiles of K, kept for further passes over the same points.
#[derive(Debug)]
pub(super) enum Kept {
    Single(KeptPairs<f32>),
    Double(KeptPairs<f64>),
}

impl Kept {
    /// Forgets the tiles, since the points have moved.
    fn forget(&mut self) {
        match self {
            Self::Single(kept) => kept.forget(),
            Self::Double(kept) => kept.forget(),
        }
    }
}

/// The tiles of pairs of blocks. Which of them find room may depend on who comes first; K is the same.
#[derive(Debug)]
pub(super) struct KeptPairs<E> {
    /// By their numbers.
    pairs: Vec<Mutex<KeptTiles<E>>>,
    /// Bytes that are left for further pairs.
    left: AtomicUsize,
    /// Whether a tile was asked for at these points.
    in_use: AtomicBool,
}

impl<E: Element> KeptPairs<E> {
    fn new(blocks: usize, bytes: usize) -> Self {
        let pairs = (0..blocks * (blocks + 1) / 2).map(|_| Mutex::default()).collect();
        Self { pairs, left: AtomicUsize::new(bytes), in_use: AtomicBool::new(false) }
    }

    /// What is kept of a pair; nothing where there is no room for it.
    fn tiles(&self, i: usize, j: usize, pair: &Pair<'_, E>) -> MutexGuard<'_, KeptTiles<E>> {
        self.in_use.store(true, Ordering::Relaxed);
        let mut tiles = self.pairs[pair_number(i, j)].lock().unwrap_or_else(PoisonError::into_inner);
        if !tiles.has_room() {
            let bytes = KeptTiles::bytes(pair);
            let took = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes));
            if took.is_ok() {
                tiles.make_room(pair);
            }
        }
        tiles
    }

    #[cfg(test)]
    fn count(&self) -> usize {
        self.pairs.iter().map(|tiles| tiles.lock().unwrap().count()).sum()
    }

    fn forget(&mut self) {
        *self.in_use.get_mut() = false;
        for tiles in &mut self.pairs {
            tiles.get_mut().unwrap_or_else(PoisonError::into_inner).forget();
        }
    }
}

/// What a pair of blocks adds to the sums of each of them.
#[derive(Debug, Default)]
struct PairSums {
    rows: Vec<f64>,
    /// Nothing for a block with itself.
    columns: Vec<f64>,
    /// Tiles that were not left out.
    computed: usize,
}

impl PairSums {
    /// Zeros, so many of them.
    fn clear(&mut self, rows: usize, columns: usize) {
        for (sums, length) in [(&mut self.rows, rows), (&mut self.columns, columns)] {
            sums.clear();
            sums.resize(length, 0.0);
        }
        self.computed = 0;
    }
}

/// Which tiles matter to a plan with given scalings.
struct Near<'a> {
    points: &'a Points,
    distances: &'a TileDistances,
    moves: &'a Moves,
    /// The share of the plan's mass that may be left out.
    negligible: f64,
    /// Of each tile of points: the logarithm of the sum of its scalings, less half that of the mass that a pair of tiles must have to matter.
    bounds: Vec<f64>,
}

impl<'a> Near<'a> {
    /// The mass of a plan between two tiles is at most U_i U_j exp(-d^2), with the sums U of the tiles' scalings and their distance d.
    fn new(points: &'a Points, near: &'a (Arc<TileDistances>, Moves), u: &[f64], negligible: f64) -> Self {
        let arrangement = &points.shared.arrangement;
        let placed = arrangement.scattered([u].into_iter(), |u| u);
        // A pair is left out with both of its sides.
        let share = 0.5 * negligible / arrangement.pairs_of_tiles() as f64;
        let bound = |tile: &[f64]| tile.iter().sum::<f64>().ln() - 0.5 * share.ln();
        let bounds = placed.chunks(TILE).map(bound).collect();
        Self { points, distances: &near.0, moves: &near.1, negligible, bounds }
    }

    /// The pairs of blocks that have tiles that may matter.
    fn pairs(&self) -> Vec<(usize, usize, &'a [f32])> {
        let largest = self.bounds.iter().fold(f64::NEG_INFINITY, |m: f64, x| m.max(*x));
        if 2.0 * largest > TileDistances::kept_within(self.moves) {
            // What is not kept may matter, too. (With weights that differ by many orders of magnitude.)
            let blocks = self.points.shared.arrangement.blocks.len();
            return tournament(blocks).map(|(i, j)| (i, j, &[][..])).collect();
        }
        let pairs = self.distances.pairs.iter().map(|(i, j, distances)| (*i, *j, distances.as_slice()));
        pairs.filter(|&(i, j, distances)| self.reach(i, j, distances).any_may_matter()).collect()
    }

    fn reach(&self, i: usize, j: usize, distances: &'a [f32]) -> Reach<'_> {
        let tiles = |block: usize| {
            let places = &self.points.shared.arrangement.blocks[block];
            places.start / TILE..places.end / TILE
        };
        Reach {
            distances,
            scale: self.moves.scale,
            row_moves: &self.moves.of_tiles[tiles(i)],
            column_moves: &self.moves.of_tiles[tiles(j)],
            row_bounds: &self.bounds[tiles(i)],
            column_bounds: &self.bounds[tiles(j)],
        }
    }
}

impl Method for Exact {
    fn apply(&self, points: &Points, right: &Matrix, u: &[f64]) -> Matrix {
        self.exact(points, right, u, false)
    }

    fn exact(&self, points: &Points, right: &Matrix, u: &[f64], with_cost: bool) -> Matrix {
        match &self.single {
            Some(single) => {
                let kept = if let Some(Kept::Single(kept)) = &self.kept { Some(kept) } else { None };
                self.pass(points, single, kept, right, u, with_cost)
            }
            None => {
                let kept = if let Some(Kept::Double(kept)) = &self.kept { Some(kept) } else { None };
                self.pass(points, &points.scaled, kept, right, u, with_cost)
            }
        }
    }

    fn set_accuracy(&mut self, accuracy: Accuracy, points: &Points) {
        self.accuracy = accuracy;
        if accuracy.single != self.single.is_some() {
            let largest = points.scaled.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
            let is_enough = accuracy.single && largest < LARGEST_SINGLE;
            self.single = is_enough.then(|| points.scaled.iter().map(|&x| x as f32).collect());
        }
        self.keep(points);
    }

    #[cfg(test)]
    fn kept_tiles(&self) -> usize {
        match &self.kept {
            None => 0,
            Some(Kept::Single(kept)) => kept.count(),
            Some(Kept::Double(kept)) => kept.count(),
        }
    }

    fn into_kept(self: Box<Self>) -> Option<Kept> {
        self.kept
    }
}

impl Points {
    pub(super) fn pair<'a, E>(&self, (i, j): (usize, usize), values: &'a [E]) -> Pair<'a, E> {
        let Arrangement { blocks, stride, .. } = &self.shared.arrangement;
        Pair { points: values, stride: *stride, rows: blocks[i].clone(), columns: blocks[j].clone() }
    }
}

/// The number of the pair i <= j.
fn pair_number(i: usize, j: usize) -> usize {
    j * (j + 1) / 2 + i
}
