//! The inner loops: a block of the kernel against another, tile by tile in the first-level cache.
#![allow(unsafe_code)]
#![allow(clippy::needless_range_loop)] // registers are numbered

use std::ops::Range;

use super::lanes::{Element, Job, Lanes, exp_of_minus};

/// Blocks are padded to a multiple of this: twice the widest vector.
pub(super) const PADDING: usize = 32;
/// Rows and columns of a tile.
pub(super) const TILE: usize = PADDING;
/// Columns of tiles side by side, which are multiplied together: as many as the second-level cache holds.
const SPAN: usize = 256;

/// Two blocks of points. Points are held coordinate by coordinate, `stride` apart.
#[derive(Debug, Clone)]
pub(super) struct Pair<'a, E> {
    pub points: &'a [E],
    pub stride: usize,
    pub rows: Range<usize>,
    pub columns: Range<usize>,
}

/// Adds K R to the sums of the rows, and K' R to those of the columns.
pub(super) struct Multiply<'a, E> {
    pub pair: Pair<'a, E>,
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
        let mut distances = Distances::default();
        for (rows, columns) in tiles(&self.pair) {
            distances.of_tile::<V>(&self.pair, rows, columns, &mut tile);
            self.out.push(least::<V>(&tile).sqrt() as f32);
        }
    }
}

impl<E: Element> Job<E> for Multiply<'_, E> {
    #[inline(always)]
    fn run<V: Lanes<Element = E>>(mut self) {
        let (height, width) = (self.pair.rows.len(), self.pair.columns.len());
        let mut kept = self.kept.take().filter(|kept| kept.has_room() && !self.with_cost);
        let mut room = Room::default();
        for row in (0..height).step_by(TILE) {
            for first in (0..width).step_by(SPAN) {
                room.near.clear();
                for column in (first..width.min(first + SPAN)).step_by(TILE) {
                    self.make_tile::<V>(row, column, kept.as_deref_mut(), &mut room);
                }
                let values = kept.as_ref().map_or(&room.values, |kept| &kept.values);
                self.add::<V>(&Tiles { values, row, near: &room.near }, 0..self.count);
                if self.with_cost {
                    let costs = Tiles { values: &room.costs, row, near: &room.near };
                    self.add::<V>(&costs, self.count..self.count + 1);
                }
                *self.computed += room.near.len();
            }
        }
    }
}

/// What passes work with: tiles that are not kept, and which of the tiles side by side matter.
#[derive(Debug, Default)]
struct Room<E> {
    values: Vec<E>,
    costs: Vec<E>,
    distances: Distances<E>,
    near: Vec<Place>,
}

/// Where a tile of K is: its first value, and its first column in the pair.
#[derive(Debug, Clone, Copy)]
struct Place {
    start: usize,
    column: usize,
}

impl<E: Element> Multiply<'_, E> {
    /// Makes the tile of K at a row and a column of the pair, unless it is there, and puts it down as near if it matters.
    #[inline(always)]
    fn make_tile<V: Lanes<Element = E>>(
        &self,
        row: usize,
        column: usize,
        kept: Option<&mut KeptTiles<E>>,
        room: &mut Room<E>,
    ) {
        let Pair { rows, columns, .. } = &self.pair;
        let number = (row * columns.len() / TILE + column) / TILE;
        if self.reach.is_some_and(|reach| !reach.may_matter(number, row / TILE, column / TILE)) {
            return;
        }
        // By the points as they are: what is left out must not depend on where they were looked at.
        let limit = self.reach.map(|reach| reach.limit(row / TILE, column / TILE));
        let is_beyond = |nearest: f64| limit.is_some_and(|limit| nearest > limit);
        let mut not_kept = None;
        let (values, known, start) = match kept {
            Some(KeptTiles { values, nearest }) => (values, &mut nearest[number], number * TILE * TILE),
            None => (&mut room.values, &mut not_kept, column % SPAN * TILE),
        };
        if values.len() < start + TILE * TILE {
            values.resize(start + TILE * TILE, E::default());
        }
        let values = &mut values[start..][..TILE * TILE];
        if known.is_none() {
            let tile = |from: usize| from..from + TILE;
            room.distances.of_tile::<V>(&self.pair, tile(rows.start + row), tile(columns.start + column), values);
            let nearest = least::<V>(values);
            if is_beyond(nearest) {
                return;
            }
            *known = Some(nearest);
            if self.with_cost {
                room.costs.resize(SPAN * TILE, E::default());
                room.costs[start..][..TILE * TILE].copy_from_slice(values);
            }
            exp_of_minus::<V>(values);
            if self.with_cost {
                costs_of::<V>(&mut room.costs[start..][..TILE * TILE], values);
            }
        }
        if !known.is_some_and(is_beyond) {
            room.near.push(Place { start, column });
        }
    }

    /// Adds K R, and K' R, of tiles side by side to these columns of the sums.
    #[inline(always)]
    fn add<V: Lanes<Element = E>>(&mut self, tiles: &Tiles<'_, E>, columns: Range<usize>) {
        let Pair { rows, columns: of_pair, stride, .. } = &self.pair;
        let (height, width, count) = (rows.len(), of_pair.len(), columns.len());
        if tiles.near.is_empty() {
            return;
        }
        let right = Right { values: self.right, stride: *stride, count };
        let sums = &mut self.row_sums[columns.start * height..];
        // As many lines at once as there are registers for.
        if size_of::<V>() == 64 {
            tiles.add_rows::<V, 4>(right, of_pair.start, sums, height);
        } else {
            tiles.add_rows::<V, 2>(right, of_pair.start, sums, height);
        }
        if let Some(sums) = &mut self.column_sums {
            let sums = &mut sums[columns.start * width..];
            for place in tiles.near {
                tiles.add_columns::<V>(*place, right, rows.start, sums, width);
            }
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

/// Makes the squared distances of tiles.
#[derive(Debug, Default)]
struct Distances<E> {
    /// The tile of rows whose points are here, about their centre.
    rows_from: Option<usize>,
    centre: Vec<E>,
    rows: Centred<E>,
    columns: Centred<E>,
    are_close: bool,
}

/// The points of a tile about some centre: coordinate by coordinate, and half of their squared lengths.
#[derive(Debug, Default)]
struct Centred<E> {
    points: Vec<E>,
    halves: [E; TILE],
}

impl<E: Element> Distances<E> {
    #[inline(always)]
    fn of_tile<V: Lanes<Element = E>>(
        &mut self,
        pair: &Pair<'_, E>,
        rows: Range<usize>,
        columns: Range<usize>,
        out: &mut [E],
    ) {
        if E::CLOSE_TOGETHER > 0.0 && self.rows_from != Some(rows.start) {
            self.rows_from = Some(rows.start);
            self.centre.clear();
            for coordinate in pair.points.chunks_exact(pair.stride) {
                self.centre.push(mean::<V>(&coordinate[rows.clone()]));
            }
            self.rows.fill::<V>(pair, rows.clone(), &self.centre);
            let furthest = self.rows.halves.iter().fold(0.0, |m: f64, &x| m.max(x.into()));
            self.are_close = 2.0 * furthest <= E::CLOSE_TOGETHER;
        }
        if self.are_close {
            self.columns.fill::<V>(pair, columns, &self.centre);
            by_products::<V>(&self.rows, &self.columns, out);
        } else {
            by_differences::<V>(pair, rows, columns, out);
        }
    }
}

impl<E: Element> Centred<E> {
    #[inline(always)]
    fn fill<V: Lanes<Element = E>>(&mut self, pair: &Pair<'_, E>, places: Range<usize>, centre: &[E]) {
        assert!(places.len() == TILE && places.end <= pair.stride);
        self.points.resize(centre.len() * TILE, E::default());
        let half = V::splat(E::nearest(0.5));
        for at in (0..TILE).step_by(V::COUNT) {
            let mut sum = V::splat(E::default());
            let coordinates = pair.points.chunks_exact(pair.stride).zip(self.points.chunks_exact_mut(TILE));
            for ((from, to), &centre) in coordinates.zip(centre) {
                // SAFETY: a coordinate is `stride` long, and a tile is a multiple of the vector's length.
                unsafe {
                    let x = V::load(from, places.start + at).minus(V::splat(centre));
                    sum = x.times_plus(x, sum);
                    x.store(to, at);
                }
            }
            // SAFETY: as above.
            unsafe { sum.times(half).store(&mut self.halves, at) };
        }
    }
}

/// The mean of a tile's numbers.
#[inline(always)]
fn mean<V: Lanes>(values: &[V::Element]) -> V::Element {
    assert!(values.len() == TILE);
    let mut sum = V::splat(V::Element::default());
    for at in (0..TILE).step_by(V::COUNT) {
        // SAFETY: a tile is a multiple of the vector's length.
        sum = sum.plus(unsafe { V::load(values, at) });
    }
    V::Element::nearest(sum.sum().into() / TILE as f64)
}

/// Squared distances by |x|^2 + |y|^2 - 2 xy: half the work of differences.
#[inline(always)]
fn by_products<V: Lanes>(rows: &Centred<V::Element>, columns: &Centred<V::Element>, out: &mut [V::Element]) {
    const HEIGHT: usize = 4;
    let zero = V::splat(V::Element::default());
    assert!(out.len() == TILE * TILE && rows.points.len() == columns.points.len());
    for j in (0..TILE).step_by(2 * V::COUNT) {
        // SAFETY: a tile is a multiple of two vectors' length.
        let halves = unsafe { [V::load(&columns.halves, j), V::load(&columns.halves, j + V::COUNT)] };
        for i in (0..TILE).step_by(HEIGHT) {
            let mut sums = [halves; HEIGHT];
            for row in 0..HEIGHT {
                let half = V::splat(rows.halves[i + row]);
                sums[row] = [half.plus(halves[0]), half.plus(halves[1])];
            }
            for (x, y) in rows.points.chunks_exact(TILE).zip(columns.points.chunks_exact(TILE)) {
                // SAFETY: as above.
                let y = unsafe { [V::load(y, j), V::load(y, j + V::COUNT)] };
                let x = &x[i..i + HEIGHT];
                for row in 0..HEIGHT {
                    let x = V::splat(x[row]);
                    sums[row] = [x.times_from(y[0], sums[row][0]), x.times_from(y[1], sums[row][1])];
                }
            }
            for (row, sums) in sums.into_iter().enumerate() {
                for (half, sum) in sums.into_iter().enumerate() {
                    // Where points are the same, rounding may leave less than nothing.
                    let sum = sum.minus(sum.least(zero));
                    // SAFETY: the tile has room for all rows and columns.
                    unsafe { sum.plus(sum).store(out, (i + row) * TILE + j + half * V::COUNT) };
                }
            }
        }
    }
}

/// Squared distances by differences: nothing cancels, whatever the offset of the points.
#[inline(always)]
fn by_differences<V: Lanes>(
    pair: &Pair<'_, V::Element>,
    rows: Range<usize>,
    columns: Range<usize>,
    out: &mut [V::Element],
) {
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

/// Tiles of K side by side.
struct Tiles<'a, E> {
    values: &'a [E],
    /// Their first row in the pair.
    row: usize,
    near: &'a [Place],
}

/// R: columns `stride` apart.
#[derive(Debug, Clone, Copy)]
struct Right<'a, E> {
    values: &'a [E],
    stride: usize,
    count: usize,
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

impl<E: Element> Tiles<'_, E> {
    /// The values of a tile, all of them: what the loops below rely on.
    #[inline(always)]
    fn tile(&self, place: Place) -> &[E] {
        &self.values[place.start..][..TILE * TILE]
    }

    /// sums[c][i] += sum_j K_ij R[c][j], so many lines at once; the first of the j is `from` among the points.
    #[inline(always)]
    fn add_rows<V: Lanes<Element = E>, const LINES: usize>(
        &self,
        right: Right<'_, E>,
        from: usize,
        sums: &mut [f64],
        height: usize,
    ) {
        by_four!(right.count, column, WIDTH => {
            for i in (0..TILE).step_by(LINES) {
                let mut vectors = [[V::splat(E::default()); WIDTH]; LINES];
                for place in self.near {
                    let values = self.tile(*place);
                    let right_values = &right.values[column * right.stride + from + place.column..];
                    assert!(right_values.len() >= (WIDTH - 1) * right.stride + TILE);
                    for j in (0..TILE).step_by(V::COUNT) {
                        let mut lines = [V::splat(E::default()); LINES];
                        for line in 0..LINES {
                            // SAFETY: `tile` made sure of all lines.
                            lines[line] = unsafe { V::load(values, (i + line) * TILE + j) };
                        }
                        for c in 0..WIDTH {
                            // SAFETY: the assertion made sure of the columns.
                            let r = unsafe { V::load(right_values, c * right.stride + j) };
                            for line in 0..LINES {
                                vectors[line][c] = lines[line].times_plus(r, vectors[line][c]);
                            }
                        }
                    }
                }
                for c in 0..WIDTH {
                    for line in 0..LINES {
                        sums[(column + c) * height + self.row + i + line] += vectors[line][c].sum().into();
                    }
                }
            }
        });
    }

    /// sums[c][j] += sum_i K_ij R[c][i] of a tile; the first of the i in the pair is `from` among the points.
    #[inline(always)]
    fn add_columns<V: Lanes<Element = E>>(
        &self,
        place: Place,
        right: Right<'_, E>,
        from: usize,
        sums: &mut [f64],
        width: usize,
    ) {
        let values = self.tile(place);
        let mut buffer = [E::default(); PADDING];
        by_four!(right.count, column, WIDTH => {
            let right_values = &right.values[column * right.stride + from + self.row..];
            assert!(right_values.len() >= (WIDTH - 1) * right.stride + TILE);
            for j in (0..TILE).step_by(2 * V::COUNT) {
                // Lines in turn have sums of their own, so that one need not wait for the other.
                const TURNS: usize = if WIDTH == 1 { 4 } else if WIDTH == 2 { 2 } else { 1 };
                let mut turns = [[[V::splat(E::default()); 2]; WIDTH]; TURNS];
                for i in (0..TILE).step_by(TURNS) {
                    for (turn, parts) in turns.iter_mut().enumerate() {
                        let start = (i + turn) * TILE + j;
                        // SAFETY: `tile` made sure of all lines.
                        let lines = unsafe { [V::load(values, start), V::load(values, start + V::COUNT)] };
                        for c in 0..WIDTH {
                            let r = V::splat(right_values[c * right.stride + i + turn]);
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
                    let start = (column + c) * width + place.column + j;
                    for (sum, &part) in sums[start..start + 2 * V::COUNT].iter_mut().zip(&buffer) {
                        *sum += part.into();
                    }
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    const DIMENSIONS: usize = 7;

    struct DistancesOf<'a> {
        pair: Pair<'a, f32>,
        out: &'a mut [f32],
    }

    impl Job<f32> for DistancesOf<'_> {
        #[inline(always)]
        fn run<V: Lanes<Element = f32>>(self) {
            Distances::default().of_tile::<V>(&self.pair, self.pair.rows.clone(), self.pair.columns.clone(), self.out);
        }
    }

    /// Squared distances of two tiles of points in single precision, and the same from those points in double precision.
    fn distances(spread: f32) -> (Vec<f32>, Vec<f64>) {
        // Far from the origin, and the first point of the columns is that of the rows, but for the last coordinate.
        let mut points: Vec<f32> =
            testing::gaussian(2 * TILE, DIMENSIONS, 3).iter().map(|&x| 500.0 + spread * x as f32).collect();
        for coordinate in points.chunks_exact_mut(2 * TILE) {
            coordinate[TILE] = coordinate[0];
        }
        let last = points.len() - TILE;
        points[last] += 0.01;
        let mut out = vec![0.0; TILE * TILE];
        let pair = Pair { points: &points, stride: 2 * TILE, rows: 0..TILE, columns: TILE..2 * TILE };
        f32::dispatch(DistancesOf { pair, out: &mut out });
        let at = |i: usize, c: usize| f64::from(points[c * 2 * TILE + i]);
        let square = |i: usize, j: usize| (0..DIMENSIONS).map(|c| (at(i, c) - at(TILE + j, c)).powi(2)).sum();
        let exact = (0..TILE * TILE).map(|ij| square(ij / TILE, ij % TILE)).collect();
        (out, exact)
    }

    #[test]
    fn distances_by_products_are_as_accurate_as_single_precision() {
        let (found, exact) = distances(1.0);
        for (found, exact) in found.iter().zip(&exact).filter(|(_, exact)| **exact < 60.0) {
            assert!((f64::from(*found) - exact).abs() < 4e-6 * (1.0 + exact), "{found} {exact}");
        }
        assert!(exact.iter().any(|x| *x > 20.0));
    }

    #[test]
    fn points_that_are_far_apart_are_compared_by_differences() {
        // Products of numbers of about 30 would be off by more than the square of 0.01.
        let (found, exact) = distances(30.0);
        assert!((0.9e-4..1.1e-4).contains(&exact[0]), "{}", exact[0]);
        assert!((f64::from(found[0]) - exact[0]).abs() < 1.5e-7, "{} {}", found[0], exact[0]);
        for (found, exact) in found.iter().zip(&exact).skip(1) {
            assert!(*exact > 90.0 && (f64::from(*found) / exact - 1.0).abs() < 1e-6, "{found} {exact}");
        }
    }
}
