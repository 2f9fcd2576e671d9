//! What a page shows of the plan: partners and block means, by one pass over its rows.

use ewca::{Model, Plan};
use rayon::prelude::*;

use crate::arrays::{Column, shorts, words};
use crate::classes::ClassIndex;
use crate::report::{HeatMap, HeatMapOrder, Partners, Square};

/// Partners of each sample.
pub const PARTNERS: usize = 6;
/// The most blocks along a side of a heat map.
pub const MOST_BLOCKS: usize = 200;
/// Rows that are looked at together.
const ROWS: usize = 64;
/// Passes that sort the samples by similarity, and what they may take: the more samples, the fewer passes.
const SMOOTHINGS: usize = 30;
const FEWEST_SMOOTHINGS: usize = 4;
const SMOOTHED_PAIRS: usize = 2_000_000_000;

/// An order of all samples, cut into blocks.
#[derive(Debug)]
struct Blocks {
    key: HeatMapOrder,
    /// The samples, in order.
    order: Vec<usize>,
    /// Where each block begins, and where the last one ends.
    edges: Vec<usize>,
    /// The classes along the diagonal.
    squares: Vec<Square>,
    /// The block of each sample.
    block: Vec<usize>,
}

impl Blocks {
    fn new(key: HeatMapOrder, order: Vec<usize>, edges: Vec<usize>, squares: Vec<Square>) -> Self {
        let mut block = vec![0; order.len()];
        for (number, edge) in edges.windows(2).enumerate() {
            order[edge[0]..edge[1]].iter().for_each(|&i| block[i] = number);
        }
        Self { key, order, edges, squares, block }
    }

    /// Ordered so that samples which exchange mass are near each other.
    fn by_similarity(order: Vec<usize>) -> Self {
        let edges = edges(&[order.len()]);
        Self::new(HeatMapOrder::Similarity, order, edges, Vec::new())
    }

    /// Ordered by class, and by similarity within. No block holds two classes, unless there are too many of them.
    fn by_class(similar: &[usize], classes: &ClassIndex) -> Self {
        let mut order = similar.to_vec();
        order.sort_by_key(|&i| classes.classes[i]);
        let mut sizes = vec![0; classes.names.len()];
        classes.classes.iter().for_each(|&class| sizes[class] += 1);
        if sizes.len() > MOST_BLOCKS / 2 {
            let edges = edges(&[order.len()]);
            return Self::new(HeatMapOrder::Label, order, edges, Vec::new());
        }
        let edges = edges(&sizes);
        let mut start = 0;
        let squares = sizes.iter().enumerate().map(|(class, size)| {
            let from = edges.partition_point(|&edge| edge < start);
            start += size;
            Square { class, from, to: edges.partition_point(|&edge| edge < start) }
        });
        let squares = squares.collect();
        Self::new(HeatMapOrder::Label, order, edges, squares)
    }

    fn count(&self) -> usize {
        self.edges.len() - 1
    }

    fn single(&self) -> bool {
        self.count() == self.order.len()
    }

    /// The sums of the shares of one sample, by block.
    fn sums(&self, shares: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; self.count()];
        shares.iter().zip(&self.block).for_each(|(share, &block)| sums[block] += share);
        sums
    }

    /// What a block holds.
    fn name(&self, block: usize, ids: &[String], classes: Option<&ClassIndex>) -> String {
        let members = &self.order[self.edges[block]..self.edges[block + 1]];
        let class = |i: usize| classes.map(|index| index.names[index.classes[i]].as_str());
        match (members, self.key) {
            ([i], _) => match class(*i) {
                Some(class) => format!("{} ({class})", ids[*i]),
                None => ids[*i].clone(),
            },
            ([first, ..], HeatMapOrder::Label) => {
                format!("{} samples of {}", members.len(), class(*first).unwrap_or("one class"))
            }
            _ => format!("{} samples", members.len()),
        }
    }
}

/// Groups of these sizes, one after the other, cut into at most about [`MOST_BLOCKS`] blocks.
fn edges(sizes: &[usize]) -> Vec<usize> {
    let n: usize = sizes.iter().sum();
    let mut edges = vec![0];
    let mut start = 0;
    for &size in sizes {
        let blocks = if n <= MOST_BLOCKS { size } else { (size * MOST_BLOCKS / n).clamp(1, size.max(1)) };
        edges.extend((1..=blocks).map(|block| start + block * size / blocks.max(1)));
        start += size;
    }
    edges
}

/// The samples in an order in which those that exchange mass are near each other: by the slowest mode of smoothing with the
/// plan, for which the first score is a good start.
fn similar(model: &Model, plan: &Plan) -> Vec<usize> {
    let weights = plan.weights();
    let mut values = model.scores().column(0).to_vec();
    let affordable = SMOOTHED_PAIRS / values.len().saturating_mul(values.len()).max(1);
    for _ in 0..affordable.clamp(FEWEST_SMOOTHINGS, SMOOTHINGS) {
        let mean: f64 = values.iter().zip(weights).map(|(value, weight)| value * weight).sum();
        values.iter_mut().for_each(|value| *value -= mean);
        let carried = plan.apply_vector(&values);
        let largest = values.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
        if largest == 0.0 {
            break;
        }
        for ((value, carried), weight) in values.iter_mut().zip(carried).zip(weights) {
            if *weight > 0.0 {
                *value = carried / weight / largest;
            }
        }
    }
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&i, &j| values[i].total_cmp(&values[j]).then(i.cmp(&j)));
    order
}

/// The shares of one sample.
fn shares(plan: &Plan, model: &Model, sample: usize) -> Vec<f64> {
    let mut row = plan.row(sample);
    let mass: f64 = row.iter().sum();
    if mass > 0.0 {
        row.iter_mut().for_each(|share| *share /= mass);
        return row;
    }
    plan.shares(&model.scores().row(sample))
}

/// What a few rows have to say.
struct Strip {
    partners: Vec<(u32, f64)>,
    own: Vec<f64>,
    /// For each order, the sums of shares by block of the row and of the column.
    sums: Vec<Vec<(usize, Vec<f64>)>>,
}

/// The strongest partners of the samples in `shown`, and the heat maps.
pub fn plan_views(
    model: &Model,
    ids: &[String],
    classes: Option<&ClassIndex>,
    shown: &[usize],
) -> (Partners, Vec<HeatMap>) {
    let plan = model.plan();
    let order = similar(model, &plan);
    let mut orders: Vec<Blocks> = classes.map(|classes| Blocks::by_class(&order, classes)).into_iter().collect();
    orders.push(Blocks::by_similarity(order));

    let count = PARTNERS.min(shown.len().saturating_sub(1));
    let strip = |rows: &[usize]| {
        let mut strip = Strip { partners: Vec::new(), own: Vec::new(), sums: vec![Vec::new(); orders.len()] };
        for &i in rows {
            let shares = shares(&plan, model, i);
            strip.own.push(shares[i]);
            strip.partners.extend(strongest(&shares, i, shown, count));
            for (blocks, sums) in orders.iter().zip(&mut strip.sums) {
                sums.push((blocks.block[i], blocks.sums(&shares)));
            }
        }
        strip
    };
    // Some strips at a time, so that what they hold stays small; sums are taken in the order of the rows.
    let mut totals: Vec<Totals> = orders.iter().map(Totals::new).collect();
    let (mut partners, mut own) = (Vec::new(), Vec::new());
    for group in shown.chunks(ROWS * 16) {
        let strips: Vec<Strip> = group.par_chunks(ROWS).map(strip).collect();
        for strip in strips {
            partners.extend(strip.partners);
            own.extend(strip.own);
            for (totals, sums) in totals.iter_mut().zip(&strip.sums) {
                sums.iter().for_each(|(block, sums)| totals.add(*block, sums));
            }
        }
    }

    let part = |share: &f64| (share * 65535.0).round() as u16;
    let partners = Partners {
        count,
        samples: words(partners.iter().map(|(at, _)| *at)),
        shares: shorts(partners.iter().map(|(_, share)| part(share))),
        own: shorts(own.iter().map(part)),
    };
    let maps = orders.iter().zip(&totals).map(|(blocks, totals)| totals.heat_map(blocks, ids, classes));
    (partners, maps.collect())
}

/// A sample's strongest partners among those that are shown, by their places there: only they can be drawn.
fn strongest(shares: &[f64], sample: usize, shown: &[usize], count: usize) -> Vec<(u32, f64)> {
    let others = shown.iter().enumerate().filter(|(_, other)| **other != sample);
    let mut others: Vec<(u32, f64)> = others.map(|(at, &other)| (at as u32, shares[other])).collect();
    let stronger = |x: &(u32, f64), y: &(u32, f64)| y.1.total_cmp(&x.1).then(x.0.cmp(&y.0));
    if count > 0 && count < others.len() {
        others.select_nth_unstable_by(count - 1, stronger);
    }
    others.truncate(count);
    others.sort_by(stronger);
    others
}

/// The sums of shares between blocks, and how many rows of each block are in them.
struct Totals {
    sums: Vec<f64>,
    rows: Vec<usize>,
}

impl Totals {
    fn new(blocks: &Blocks) -> Self {
        Self { sums: vec![0.0; blocks.count() * blocks.count()], rows: vec![0; blocks.count()] }
    }

    /// Adds a row of this block.
    fn add(&mut self, block: usize, sums: &[f64]) {
        self.rows[block] += 1;
        let totals = &mut self.sums[block * sums.len()..][..sums.len()];
        totals.iter_mut().zip(sums).for_each(|(total, sum)| *total += sum);
    }

    fn heat_map(&self, blocks: &Blocks, ids: &[String], classes: Option<&ClassIndex>) -> HeatMap {
        let count = blocks.count();
        let mean = |at: usize| {
            let columns = blocks.edges[at % count + 1] - blocks.edges[at % count];
            self.sums[at] / (self.rows[at / count] * columns).max(1) as f64
        };
        HeatMap {
            key: blocks.key,
            blocks: count,
            names: (0..count).map(|block| blocks.name(block, ids, classes)).collect(),
            single: blocks.single(),
            values: Column::new(&(0..count * count).map(mean).collect::<Vec<f64>>()),
            squares: blocks.squares.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_keep_to_their_groups() {
        assert_eq!(edges(&[2, 1]), [0, 1, 2, 3]);
        let cut = edges(&[300, 1, 100]);
        assert!(cut.contains(&300) && cut.contains(&301) && cut.last() == Some(&401));
        assert!(cut.is_sorted_by(|a, b| a < b) && cut.len() <= MOST_BLOCKS + 2);
        assert_eq!(edges(&[1000]).len(), MOST_BLOCKS + 1);
    }

    #[test]
    fn squares_surround_their_class() {
        let labels: Vec<String> = (0..9).map(|i| ["x", "y", "z"][i % 3].to_string()).collect();
        let classes = crate::classes::tests::index(&["x", "y", "z", "x", "y", "z", "x", "y", "z"]);
        let blocks = Blocks::by_class(&(0..9).rev().collect::<Vec<_>>(), &classes);
        assert_eq!(blocks.order, [6, 3, 0, 7, 4, 1, 8, 5, 2]);
        let spans: Vec<_> = blocks.squares.iter().map(|square| (square.from, square.to)).collect();
        assert_eq!(spans, [(0, 3), (3, 6), (6, 9)]);
        assert_eq!(blocks.name(3, &labels, Some(&classes)), "y (y)");
    }
}
