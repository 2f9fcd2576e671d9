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
    /// Tiles that were computed.
    pub computed: &'a mut usize,
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
        let rows = self.row_bounds.len();
        (0..rows * self.column_bounds.len()).any(|tile| self.may_matter(tile, tile % rows, tile / rows))
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
            let tile = &mut tile[..rows.len() * columns.len()];
            distances::<V>(&self.pair, rows, columns, tile);
            self.out.push(least::<V>(tile).sqrt() as f32);
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
            let tile = &mut tile[..rows.len() * columns.len()];
            distances::<V>(&pair, rows.clone(), columns.clone(), tile);
            exp_of_minus::<V>(tile);
            for (i, line) in rows.zip(tile.chunks_exact(columns.len())) {
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
        for (number, (rows, columns)) in tiles(&pair).enumerate() {
            let (row, column) = (rows.start - pair.rows.start, columns.start - pair.columns.start);
            if self.reach.is_some_and(|reach| !reach.may_matter(number, row / TILE, column / TILE)) {
                continue;
            }
            let size = rows.len() * columns.len();
            let tile = match self.stored {
                Some(stored) => Tile { values: &stored[row * width + column..], stride: width, rows, columns },
                None => {
                    let values = &mut computed[..size];
                    distances::<V>(&pair, rows.clone(), columns.clone(), values);
                    // By the points as they are: what is left out must not depend on where they were looked at.
                    if self.reach.is_some_and(|reach| least::<V>(values) > reach.limit(row / TILE, column / TILE)) {
                        continue;
                    }
                    if self.with_cost {
                        costs[..size].copy_from_slice(values);
                    }
                    exp_of_minus::<V>(values);
                    if self.with_cost {
                        costs_of::<V>(&mut costs[..size], values);
                    }
                    Tile { values, stride: columns.len(), rows, columns }
                }
            };
            *self.computed += 1;
            tile.add_rows::<V>(self.right, pair.stride, self.count, self.row_sums, height, row);
            if let Some(sums) = &mut self.column_sums {
                tile.add_columns::<V>(self.right, pair.stride, self.count, sums, width, column);
            }
            if self.with_cost {
                let tile = Tile { values: &costs, ..tile };
                tile.add_rows::<V>(self.right, pair.stride, 1, &mut self.row_sums[self.count * height..], height, row);
                if let Some(sums) = &mut self.column_sums {
                    tile.add_columns::<V>(self.right, pair.stride, 1, &mut sums[self.count * width..], width, column);
                }
            }
        }
    }
}

/// The tiles of a pair, column of tiles after column of tiles.
fn tiles<E>(pair: &Pair<'_, E>) -> impl Iterator<Item = (Range<usize>, Range<usize>)> + use<E> {
    let (rows, columns) = (pair.rows.clone(), pair.columns.clone());
    let tile = |start: usize, end: usize| start..(start + TILE).min(end);
    columns
        .clone()
        .step_by(TILE)
        .flat_map(move |j| rows.clone().step_by(TILE).map(move |i| (tile(i, rows.end), tile(j, columns.end))))
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
    let width = columns.len();
    assert!(columns.end <= pair.stride && rows.end <= pair.stride && out.len() == rows.len() * width);
    assert!(width.is_multiple_of(PADDING) && rows.len().is_multiple_of(PADDING));
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
                let at = (i - rows.start + row) * width + j - columns.start;
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
        let (rows, columns) = (self.rows.len(), self.columns.len());
        assert!(rows.is_multiple_of(PADDING) && columns.is_multiple_of(PADDING) && rows > 0 && columns <= self.stride);
        assert!((rows - 1) * self.stride + columns <= self.values.len());
    }

    /// sums[c][at + i] += sum_j K_ij R[c][j].
    #[inline(always)]
    fn add_rows<V: Lanes<Element = E>>(
        &self,
        right: &[E],
        stride: usize,
        count: usize,
        sums: &mut [f64],
        height: usize,
        at: usize,
    ) {
        self.check();
        by_four!(count, column, WIDTH => {
            let right = &right[column * stride + self.columns.start..];
            assert!(right.len() >= (WIDTH - 1) * stride + self.columns.len());
            for i in (0..self.rows.len()).step_by(2) {
                let mut parts = [[V::splat(E::default()); WIDTH]; 2];
                for j in (0..self.columns.len()).step_by(V::COUNT) {
                    // SAFETY: `check` made sure of both lines, and the assertion of the columns.
                    let lines = unsafe {
                        [V::load(self.values, i * self.stride + j), V::load(self.values, (i + 1) * self.stride + j)]
                    };
                    for c in 0..WIDTH {
                        // SAFETY: as above.
                        let r = unsafe { V::load(right, c * stride + j) };
                        parts[0][c] = lines[0].times_plus(r, parts[0][c]);
                        parts[1][c] = lines[1].times_plus(r, parts[1][c]);
                    }
                }
                for (line, parts) in parts.into_iter().enumerate() {
                    for (c, part) in parts.into_iter().enumerate() {
                        sums[(column + c) * height + at + i + line] += part.sum().into();
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
            assert!(right.len() >= (WIDTH - 1) * stride + self.rows.len());
            for j in (0..self.columns.len()).step_by(2 * V::COUNT) {
                let mut parts = [[V::splat(E::default()); 2]; WIDTH];
                for i in 0..self.rows.len() {
                    let start = i * self.stride + j;
                    // SAFETY: `check` made sure of all lines.
                    let lines = unsafe { [V::load(self.values, start), V::load(self.values, start + V::COUNT)] };
                    for c in 0..WIDTH {
                        let r = V::splat(right[c * stride + i]);
                        parts[c][0] = lines[0].times_plus(r, parts[c][0]);
                        parts[c][1] = lines[1].times_plus(r, parts[c][1]);
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
