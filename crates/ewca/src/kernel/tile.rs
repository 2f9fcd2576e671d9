//! The inner loops: a block of the kernel against another, tile by tile in the first-level cache.
#![allow(unsafe_code)]
#![allow(clippy::needless_range_loop)] // registers are numbered

use std::ops::Range;

use super::lanes::{Element, Job, Lanes, exp_of_minus};

/// Blocks are padded to a multiple of this: twice the widest vector.
pub(super) const PADDING: usize = 32;
/// Rows and columns of a tile.
pub(super) const TILE: usize = PADDING;

/// Two blocks of points. Points are held coordinate by coordinate, `stride` apart.
#[derive(Debug, Clone)]
pub(super) struct Pair<'a, E> {
    pub points: &'a [E],
    pub stride: usize,
    pub rows: Range<usize>,
    pub columns: Range<usize>,
}

/// `out[i][j] = K_ij` of a pair, row after row.
pub(super) struct Fill<'a, E> {
    pub pair: Pair<'a, E>,
    pub out: &'a mut [E],
}

/// Adds K R to the sums of the rows, and K' R to those of the columns.
pub(super) struct Multiply<'a, E> {
    pub pair: Pair<'a, E>,
    /// K of the pair where it is stored.
    pub stored: Option<&'a [E]>,
    /// R: `count` columns, `stride` apart.
    pub right: &'a [E],
    pub count: usize,
    /// Also the sums of K_ij D_ij times the first column, with D = -log K: one more column of the sums.
    pub with_cost: bool,
    /// Sums, column after column of the rows' length.
    pub row_sums: &'a mut [f64],
    /// None for a block with itself.
    pub column_sums: Option<&'a mut [f64]>,
    /// Which tiles may be left out, where some may.
    pub reach: Option<Reach<'a>>,
    /// Where tiles are kept for further passes, where they are.
    pub kept: Option<&'a mut KeptTiles<E>>,
    /// Tiles that were not left out.
    pub computed: &'a mut usize,
}

/// Tiles of K of a pair of blocks, in the order of [`tiles`], as far as passes have computed them.
#[derive(Debug, Default)]
pub(super) struct KeptTiles<E> {
    /// Room for all tiles, or none.
    values: Vec<E>,
    /// The least squared distance of each tile that is there.
    nearest: Vec<Option<f64>>,
}

impl<E: Element> KeptTiles<E> {
    /// Bytes that all tiles of a pair take, with what is known of them.
    pub fn bytes(pair: &Pair<'_, E>) -> usize {
        let tiles = pair.rows.len() * pair.columns.len() / (TILE * TILE);
        size_of::<Self>() + tiles * (TILE * TILE * size_of::<E>() + size_of::<Option<f64>>())
    }

    /// Makes room for all tiles of a pair.
    pub fn make_room(&mut self, pair: &Pair<'_, E>) {
        let numbers = pair.rows.len() * pair.columns.len();
        self.values = vec![E::default(); numbers];
        self.nearest = vec![None; numbers / (TILE * TILE)];
    }

    pub fn has_room(&self) -> bool {
        !self.values.is_empty()
    }

    #[cfg(test)]
    pub fn count(&self) -> usize {
        self.nearest.iter().flatten().count()
    }

    /// Forgets the tiles, since the points have moved.
    pub fn forget(&mut self) {
        self.nearest.fill(None);
    }
}

/// How far tiles may be apart to matter. A tile is left out where its least squared distance is above the sum of the bounds of its rows and its
/// columns.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reach<'a> {
    /// Lower bounds of the distances of the tiles, in the order of [`tiles`], when points were looked at; nothing where none are known.
    pub distances: &'a [f32],
    /// By what they are to be multiplied, since epsilon may have been another one.
    pub scale: f32,
    /// How far the points have moved since, for each tile of rows and of columns.
    pub row_moves: &'a [f32],
    pub column_moves: &'a [f32],
    pub row_bounds: &'a [f64],
    pub column_bounds: &'a [f64],
}

impl Reach<'_> {
    /// The largest squared distance that matters to a tile of rows and one of columns.
    fn limit(&self, row: usize, column: usize) -> f64 {
        self.row_bounds[row] + self.column_bounds[column]
    }

    /// Whether any of the tiles may matter, as far as is known without their distances.
    pub fn any_may_matter(&self) -> bool {
        let columns = self.column_bounds.len();
        (0..self.row_bounds.len() * columns).any(|tile| self.may_matter(tile, tile / columns, tile % columns))
    }

    /// Whether a tile may matter, as far as is known without its distances.
    fn may_matter(&self, tile: usize, row: usize, column: usize) -> bool {
        let Some(before) = self.distances.get(tile) else { return true };
        let distance = f64::from(before * self.scale - self.row_moves[row] - self.column_moves[column]).max(0.0);
        distance * distance <= self.limit(row, column)
    }
}

/// The least distance of each tile of a pair.
pub(super) struct Nearest<'a, E> {
    pub pair: Pair<'a, E>,
    pub out: &'a mut Vec<f32>,
}

impl<E: Element> Job<E> for Nearest<'_, E> {
    #[inline(always)]
    fn run<V: Lanes<Element = E>>(self) {
        let mut tile = [E::default(); TILE * TILE];
        for (rows, columns) in tiles(&self.pair) {
            distances::<V>(&self.pair, rows, columns, &mut tile);
            self.out.push(least::<V>(&tile).sqrt() as f32);
        }
    }
}

impl<E: Element> Job<E> for Fill<'_, E> {
    #[inline(always)]
    fn run<V: Lanes<Element = E>>(self) {
        let Self { pair, out } = self;
        let width = pair.columns.len();
        let mut tile = [E::default(); TILE * TILE];
        for (rows, columns) in tiles(&pair) {
            distances::<V>(&pair, rows.clone(), columns.clone(), &mut tile);
            exp_of_minus::<V>(&mut tile);
            for (i, line) in rows.zip(tile.chunks_exact(TILE)) {
                let start = (i - pair.rows.start) * width + columns.start - pair.columns.start;
                out[start..start + line.len()].copy_from_slice(line);
            }
        }
    }
}

impl<E: Element> Job<E> for Multiply<'_, E> {
    #[inline(always)]
    fn run<V: Lanes<Element = E>>(mut self) {
        let pair = self.pair.clone();
        let (height, width) = (pair.rows.len(), pair.columns.len());
        let mut computed = [E::default(); TILE * TILE];
        let mut costs = [E::default(); TILE * TILE];
        // Sums of a row of tiles, vector by vector: they are summed up when its last tile is done.
        let mut parts = vec![E::default(); (self.count + usize::from(self.with_cost)) * TILE * V::COUNT];
        let mut done = 0;
        for (number, (rows, columns)) in tiles(&pair).enumerate() {
            let (row, column) = (rows.start - pair.rows.start, columns.start - pair.columns.start);
            if self.reach.is_none_or(|reach| reach.may_matter(number, row / TILE, column / TILE)) {
                // By the points as they are: what is left out must not depend on where they were looked at.
                let limit = self.reach.map(|reach| reach.limit(row / TILE, column / TILE));
                let is_beyond = |nearest: f64| limit.is_some_and(|limit| nearest > limit);
                let kept = self.kept.as_deref_mut().filter(|kept| kept.has_room() && !self.with_cost);
                let tile = match (self.stored, kept) {
                    (Some(stored), _) => {
                        Some(Tile { values: &stored[row * width + column..], stride: width, rows, columns })
                    }
                    (None, Some(kept)) => {
                        let values = &mut kept.values[number * TILE * TILE..][..TILE * TILE];
                        if kept.nearest[number].is_none() {
                            distances::<V>(&pair, rows.clone(), columns.clone(), values);
                            let nearest = least::<V>(values);
                            if !is_beyond(nearest) {
                                exp_of_minus::<V>(values);
                                kept.nearest[number] = Some(nearest);
                            }
                        }
                        let is_near = kept.nearest[number].is_some_and(|nearest| !is_beyond(nearest));
                        is_near.then_some(Tile { values, stride: TILE, rows, columns })
                    }
                    (None, None) => {
                        let values = &mut computed;
                        distances::<V>(&pair, rows.clone(), columns.clone(), values);
                        if limit.is_some() && is_beyond(least::<V>(values)) {
                            None
                        } else {
                            if self.with_cost {
                                costs.copy_from_slice(values);
                            }
                            exp_of_minus::<V>(values);
                            if self.with_cost {
                                costs_of::<V>(&mut costs, values);
                            }
                            Some(Tile { values, stride: TILE, rows, columns })
                        }
                    }
                };
                if let Some(tile) = tile {
                    done += 1;
                    tile.add_rows::<V>(self.right, pair.stride, self.count, &mut parts);
                    if let Some(sums) = &mut self.column_sums {
                        tile.add_columns::<V>(self.right, pair.stride, self.count, sums, width, column);
                    }
                    if self.with_cost {
                        let tile = Tile { values: &costs, ..tile };
                        tile.add_rows::<V>(self.right, pair.stride, 1, &mut parts[self.count * TILE * V::COUNT..]);
                        if let Some(sums) = &mut self.column_sums {
                            let sums = &mut sums[self.count * width..];
                            tile.add_columns::<V>(self.right, pair.stride, 1, sums, width, column);
                        }
                    }
                }
            }
            if column + TILE == width && done > 0 {
                add_parts::<V>(&mut parts, self.row_sums, height, row);
                *self.computed += std::mem::take(&mut done);
            }
        }
    }
}

/// sums[c][at + i] += the sum of the vector of row i and column c; and leaves zeros.
#[inline(always)]
fn add_parts<V: Lanes>(parts: &mut [V::Element], sums: &mut [f64], height: usize, at: usize) {
    for (column, parts) in parts.chunks_exact_mut(TILE * V::COUNT).enumerate() {
        for (sum, part) in sums[column * height + at..][..TILE].iter_mut().zip(parts.chunks_exact_mut(V::COUNT)) {
            // SAFETY: a part is a vector long.
            *sum += unsafe { V::load(part, 0) }.sum().into();
            part.fill(V::Element::default());
        }
    }
}

/// The tiles of a pair, row of tiles after row of tiles.
fn tiles<E>(pair: &Pair<'_, E>) -> impl Iterator<Item = (Range<usize>, Range<usize>)> + use<E> {
    let (rows, columns) = (pair.rows.clone(), pair.columns.clone());
    let tile = |start: usize| start..start + TILE;
    rows.step_by(TILE).flat_map(move |i| columns.clone().step_by(TILE).map(move |j| (tile(i), tile(j))))
}

/// The least of some squared distances.
#[inline(always)]
fn least<V: Lanes>(distances: &[V::Element]) -> f64 {
    assert!(distances.len().is_multiple_of(2 * V::COUNT));
    let mut least = [V::splat(V::Element::LARGEST); 2];
    for at in (0..distances.len()).step_by(2 * V::COUNT) {
        // SAFETY: the length is a multiple of two vectors'.
        let next = unsafe { [V::load(distances, at), V::load(distances, at + V::COUNT)] };
        least = [least[0].least(next[0]), least[1].least(next[1])];
    }
    let mut lanes = [V::Element::default(); PADDING];
    // SAFETY: the lanes have room for any vector.
    unsafe { least[0].least(least[1]).store(&mut lanes, 0) };
    lanes[..V::COUNT].iter().fold(f64::INFINITY, |least, &x| least.min(x.into()))
}

/// `distances *= kernel`: D exp(-D), which is 0 where exp(-D) is, also for an infinite D.
#[inline(always)]
fn costs_of<V: Lanes>(distances: &mut [V::Element], kernel: &[V::Element]) {
    assert!(distances.len() == kernel.len() && distances.len().is_multiple_of(V::COUNT));
    let largest = V::splat(V::Element::LARGEST);
    for at in (0..distances.len()).step_by(V::COUNT) {
        // SAFETY: the length is a multiple of the vector's.
        unsafe {
            let distance = V::load(distances, at);
            distance.where_below(distance, largest).times(V::load(kernel, at)).store(distances, at);
        }
    }
}

/// Squared distances by differences: nothing cancels, whatever the offset of the points.
#[inline(always)]
fn distances<V: Lanes>(pair: &Pair<'_, V::Element>, rows: Range<usize>, columns: Range<usize>, out: &mut [V::Element]) {
    const HEIGHT: usize = 4;
    assert!(columns.end <= pair.stride && rows.end <= pair.stride && rows.len() == TILE && columns.len() == TILE);
    assert!(out.len() == TILE * TILE);
    for j in columns.clone().step_by(2 * V::COUNT) {
        for i in rows.clone().step_by(HEIGHT) {
            let mut sums = [[V::splat(V::Element::default()); 2]; HEIGHT];
            for coordinate in pair.points.chunks_exact(pair.stride) {
                // SAFETY: a coordinate is `stride` long, and PADDING is a multiple of two vectors.
                let y = unsafe { [V::load(coordinate, j), V::load(coordinate, j + V::COUNT)] };
                let x = &coordinate[i..i + HEIGHT];
                for row in 0..HEIGHT {
                    let x = V::splat(x[row]);
                    for half in 0..2 {
                        let difference = x.minus(y[half]);
                        sums[row][half] = difference.times_plus(difference, sums[row][half]);
                    }
                }
            }
            for (row, sums) in sums.into_iter().enumerate() {
                let at = (i - rows.start + row) * TILE + j - columns.start;
                // SAFETY: the tile has room for all rows and columns.
                unsafe {
                    sums[0].store(out, at);
                    sums[1].store(out, at + V::COUNT);
                }
            }
        }
    }
}

/// A tile of K: rows `stride` apart.
struct Tile<'a, E> {
    values: &'a [E],
    stride: usize,
    rows: Range<usize>,
    columns: Range<usize>,
}

/// `$body` with C = the number of columns from `$column` on, at most 4, until all are done.
macro_rules! by_four {
    ($count:expr, $column:ident, $width:ident => $body:expr) => {
        let mut $column = 0;
        while $column < $count {
            match $count - $column {
                1 => {
                    const $width: usize = 1;
                    $body
                }
                2 => {
                    const $width: usize = 2;
                    $body
                }
                3 => {
                    const $width: usize = 3;
                    $body
                }
                _ => {
                    const $width: usize = 4;
                    $body
                }
            }
            $column += 4;
        }
    };
}

impl<E: Element> Tile<'_, E> {
    /// What the loops below rely on.
    #[inline(always)]
    fn check(&self) {
        assert!(self.rows.len() == TILE && self.columns.len() == TILE && TILE <= self.stride);
        assert!((TILE - 1) * self.stride + TILE <= self.values.len());
    }

    /// parts[c][i] += K_ij R[c][j], a vector of j's after the other.
    #[inline(always)]
    fn add_rows<V: Lanes<Element = E>>(&self, right: &[E], stride: usize, count: usize, parts: &mut [E]) {
        self.check();
        assert!(parts.len() >= count * TILE * V::COUNT);
        by_four!(count, column, WIDTH => {
            let right = &right[column * stride + self.columns.start..];
            assert!(right.len() >= (WIDTH - 1) * stride + TILE);
            for i in (0..TILE).step_by(2) {
                let at = |c: usize, line: usize| ((column + c) * TILE + i + line) * V::COUNT;
                let mut sums = [[V::splat(E::default()); WIDTH]; 2];
                for c in 0..WIDTH {
                    for line in 0..2 {
                        // SAFETY: the assertion made sure of all parts.
                        sums[line][c] = unsafe { V::load(parts, at(c, line)) };
                    }
                }
                for j in (0..TILE).step_by(V::COUNT) {
                    // SAFETY: `check` made sure of both lines, and the assertion of the columns.
                    let lines = unsafe {
                        [V::load(self.values, i * self.stride + j), V::load(self.values, (i + 1) * self.stride + j)]
                    };
                    for c in 0..WIDTH {
                        // SAFETY: as above.
                        let r = unsafe { V::load(right, c * stride + j) };
                        sums[0][c] = lines[0].times_plus(r, sums[0][c]);
                        sums[1][c] = lines[1].times_plus(r, sums[1][c]);
                    }
                }
                for c in 0..WIDTH {
                    for line in 0..2 {
                        // SAFETY: as where they were loaded.
                        unsafe { sums[line][c].store(parts, at(c, line)) };
                    }
                }
            }
        });
    }

    /// sums[c][at + j] += sum_i K_ij R[c][i].
    #[inline(always)]
    fn add_columns<V: Lanes<Element = E>>(
        &self,
        right: &[E],
        stride: usize,
        count: usize,
        sums: &mut [f64],
        width: usize,
        at: usize,
    ) {
        self.check();
        let mut buffer = [E::default(); PADDING];
        by_four!(count, column, WIDTH => {
            let right = &right[column * stride + self.rows.start..];
            assert!(right.len() >= (WIDTH - 1) * stride + TILE);
            for j in (0..TILE).step_by(2 * V::COUNT) {
                // Lines in turn have sums of their own, so that one need not wait for the other.
                const TURNS: usize = if WIDTH == 1 { 4 } else if WIDTH == 2 { 2 } else { 1 };
                let mut turns = [[[V::splat(E::default()); 2]; WIDTH]; TURNS];
                for i in (0..TILE).step_by(TURNS) {
                    for (turn, parts) in turns.iter_mut().enumerate() {
                        let start = (i + turn) * self.stride + j;
                        // SAFETY: `check` made sure of all lines.
                        let lines = unsafe { [V::load(self.values, start), V::load(self.values, start + V::COUNT)] };
                        for c in 0..WIDTH {
                            let r = V::splat(right[c * stride + i + turn]);
                            parts[c][0] = lines[0].times_plus(r, parts[c][0]);
                            parts[c][1] = lines[1].times_plus(r, parts[c][1]);
                        }
                    }
                }
                let [mut parts, others @ ..] = turns;
                for other in others {
                    for c in 0..WIDTH {
                        parts[c] = [parts[c][0].plus(other[c][0]), parts[c][1].plus(other[c][1])];
                    }
                }
                for (c, parts) in parts.into_iter().enumerate() {
                    // SAFETY: the buffer is twice as long as any vector.
                    unsafe {
                        parts[0].store(&mut buffer, 0);
                        parts[1].store(&mut buffer, V::COUNT);
                    }
                    let start = (column + c) * width + at + j;
                    for (sum, &part) in sums[start..start + 2 * V::COUNT].iter_mut().zip(&buffer) {
                        *sum += part.into();
                    }
                }
            }
        });
    }
}
