//! Passes over all pairs of points that matter.
//!
//! Points stand in blocks (`arrange`), and a pass goes over pairs of blocks: K is symmetric, so that each pair is computed once and
//! serves both its blocks. The kernel is either stored (small n) or computed anew in every pass; both give the same bits. Pairs that are
//! too far apart to matter are left out, and a bound of what was left out is kept.

use std::sync::Mutex;

use super::arrange::{Arrangement, rounds, tournament};
use super::bounds::distances_of_blocks;
use super::lanes::Element;
use super::tile::{Fill, Multiply, Pair};
use super::{EXP_COST, Method, Points};
use crate::matrix::Matrix;
use crate::parallel;

/// The share of a plan's mass that a pass may leave out.
const NEGLIGIBLE: f64 = 1e-13;

/// K itself.
#[derive(Debug, Default)]
pub(super) struct Exact {
    /// The points in single precision, when passes are to be made in it.
    single: Option<Vec<f32>>,
    /// Lower bounds of the squared distance between points of each block and of those before it, where some may be left out.
    gaps: Option<Vec<Vec<f32>>>,
    /// K, pair of blocks by pair of blocks, when it is stored.
    stored: Option<Vec<Vec<f64>>>,
}

impl Exact {
    /// Of these points; `room` is what K was stored in before.
    pub fn new(points: &Points, room: Option<Vec<Vec<f64>>>) -> Self {
        let shared = &points.shared;
        let stored = shared.store.then(|| {
            let pairs: Vec<(usize, usize)> = tournament(shared.arrangement.blocks.len()).collect();
            let mut stored = room.unwrap_or_default();
            stored.resize_with(pairs.len(), Vec::new);
            let work = points.scaled.len() * shared.arrangement.stride * (points.dimensions + EXP_COST) / 2;
            parallel::for_chunks(&mut stored, 1, work, |at, tile| {
                let pair = points.pair(pairs[at], &points.scaled);
                tile[0].resize(pair.rows.len() * pair.columns.len(), 0.0);
                f64::dispatch(Fill { pair, out: &mut tile[0] });
            });
            stored
        });
        let gaps = shared.skip_far_pairs.then(|| distances_of_blocks(points));
        Self { single: None, gaps, stored }
    }

    /// K `right`, and with `with_cost` one column more: the sums of K_ij D_ij right_j0.
    fn pass<E: Element>(&self, points: &Points, values: &[E], right: &Matrix, u: &[f64], with_cost: bool) -> Matrix {
        let shared = &points.shared;
        let Arrangement { blocks, stride, .. } = &shared.arrangement;
        let count = right.columns();
        let columns = count + usize::from(with_cost);
        let placed = shared.arrangement.scattered((0..count).map(|c| right.column(c)), E::nearest);
        let sums: Vec<Mutex<Vec<f64>>> = blocks.iter().map(|b| Mutex::new(vec![0.0; b.len() * columns])).collect();
        // Every so-many-th pair: each process gets its share of the near and of the far ones.
        let (rank, size) = (shared.member.rank(), shared.member.size());
        let pairs = self.pairs_that_matter(points, u).into_iter().skip(rank).step_by(size);
        // Where K is stored, its tiles are numbered as in a whole tournament: with few points no pair is left out.
        let numbers = (self.stored.is_some() && !with_cost).then(|| tile_numbers(blocks.len()));
        let work = stride * stride / 2 * (columns + points.dimensions + EXP_COST) / size;
        for round in rounds(pairs, blocks.len()) {
            let share = work / blocks.len().max(1);
            let singles: Vec<std::ops::Range<usize>> = parallel::blocks(round.len(), 1);
            parallel::map(&singles, share, |at| {
                let (i, j) = round[at.start];
                let stored = tile_of(&self.stored, &numbers, i * blocks.len() + j);
                // Nobody else has these blocks in this round: the locks are always free.
                let mut rows = sums[i].lock().unwrap_or_else(|broken| broken.into_inner());
                let mut others = (i != j).then(|| sums[j].lock().unwrap_or_else(|broken| broken.into_inner()));
                E::dispatch(Multiply {
                    pair: points.pair((i, j), values),
                    stored,
                    right: &placed,
                    count,
                    with_cost,
                    row_sums: &mut rows,
                    column_sums: others.as_mut().map(|others| others.as_mut_slice()),
                });
            });
        }
        shared.counts.add_pass();
        let sums: Vec<Vec<f64>> = sums.into_iter().map(|s| s.into_inner().unwrap_or_else(|b| b.into_inner())).collect();
        shared.member.summed(shared.arrangement.rows_of(&sums, columns))
    }

    /// Pairs of blocks, without those that cannot matter: the mass of a plan between two blocks is at most
    /// U_i U_j exp(-d^2), with the sums U of the blocks' scalings and the distance d of their boxes.
    fn pairs_that_matter(&self, points: &Points, u: &[f64]) -> Vec<(usize, usize)> {
        let counts = &points.shared.counts;
        let count = points.shared.arrangement.blocks.len();
        let all = tournament(count);
        let total = count * (count + 1) / 2;
        let Some(gaps) = &self.gaps else {
            counts.add_pairs(total, total, 0.0);
            return all.collect();
        };
        let masses = points.block_sums(u);
        let share = NEGLIGIBLE / (count * count) as f64;
        let mut left_out = 0.0;
        let matters = |&(i, j): &(usize, usize)| {
            if i == j {
                return true;
            }
            let mass = masses[i] * masses[j] * f64::exp(-f64::from(gaps[j][i]));
            left_out += if mass > share { 0.0 } else { 2.0 * mass };
            mass > share
        };
        let pairs: Vec<(usize, usize)> = all.filter(matters).collect();
        counts.add_pairs(total, pairs.len(), left_out);
        pairs
    }
}

impl Method for Exact {
    fn apply(&self, points: &Points, right: &Matrix, u: &[f64]) -> Matrix {
        match &self.single {
            Some(single) if self.stored.is_none() => self.pass(points, single, right, u, false),
            _ => self.pass(points, &points.scaled, right, u, false),
        }
    }

    fn exact(&self, points: &Points, right: &Matrix, u: &[f64], with_cost: bool) -> Matrix {
        if with_cost { self.pass(points, &points.scaled, right, u, true) } else { self.apply(points, right, u) }
    }

    fn set_single(&mut self, single: bool, points: &Points) {
        if single != self.single.is_some() {
            self.single = single.then(|| points.scaled.iter().map(|&x| x as f32).collect());
        }
    }

    fn into_stored(self: Box<Self>) -> Option<Vec<Vec<f64>>> {
        self.stored
    }
}

impl Points {
    fn pair<'a, E>(&self, (i, j): (usize, usize), values: &'a [E]) -> Pair<'a, E> {
        let Arrangement { blocks, stride, .. } = &self.shared.arrangement;
        Pair { points: values, stride: *stride, rows: blocks[i].clone(), columns: blocks[j].clone() }
    }

    fn block_sums(&self, u: &[f64]) -> Vec<f64> {
        let arrangement = &self.shared.arrangement;
        let placed = arrangement.scattered([u].into_iter(), |u| u);
        arrangement.blocks.iter().map(|block| placed[block.clone()].iter().sum()).collect()
    }
}

/// The stored tile of a pair of blocks, where there is one: tiles are in double precision.
fn tile_of<'s, E: Element>(
    stored: &'s Option<Vec<Vec<f64>>>,
    numbers: &Option<Vec<usize>>,
    pair: usize,
) -> Option<&'s [E]> {
    let (stored, numbers) = (stored.as_ref()?, numbers.as_ref()?);
    E::of_doubles(stored.get(numbers[pair])?)
}

/// The number of each pair (i <= j) in the tournament, at i * blocks + j.
fn tile_numbers(blocks: usize) -> Vec<usize> {
    let mut numbers = vec![0; blocks * blocks];
    for (number, (i, j)) in tournament(blocks).enumerate() {
        numbers[i * blocks + j] = number;
    }
    numbers
}
