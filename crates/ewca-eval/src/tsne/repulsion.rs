//! What drives the points of a map apart: each from all others, those far away taken together (Barnes and Hut 1986).
//!
//! A tree halves the points along the longer side of their box again and again, down to leaves of a few points. Each leaf makes one
//! list of what its points see, nearby points one by one and distant parts of the tree as their centres, and goes through it in
//! vectors. Leaves know nothing of each other, so that threads do not change any bit.

use rayon::prelude::*;

/// A part of the tree is taken as one point when its box is smaller than this part of its distance.
pub const OPENING: f64 = 0.5;
/// The most points of a leaf.
const LEAF: usize = 8;
/// Numbers that are computed side by side.
const LANES: usize = 8;

/// Student's kernel between two points of the map.
pub fn kernel(a: [f64; 2], b: [f64; 2]) -> f64 {
    1.0 / (1.0 + (a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2))
}

/// Sums over all other points.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct Push {
    /// Of the kernel.
    pub mass: f64,
    /// Of the squared kernel times the difference to the other point.
    pub force: [f64; 2],
}

/// How all points of a map are driven apart. An opening of 0 takes all pairs one by one.
pub fn pushes(map: &[[f64; 2]], opening: f64) -> Vec<Push> {
    let tree = Tree::new(map);
    let leaves: Vec<&Node> = tree.nodes.iter().filter(|node| node.halves.is_none()).collect();
    let found: Vec<Vec<Push>> = leaves.par_iter().map(|leaf| tree.pushes_of(leaf, opening)).collect();
    let mut pushes = vec![Push::default(); map.len()];
    for (leaf, found) in leaves.into_iter().zip(found) {
        for (&(at, _), push) in tree.points[leaf.from..leaf.to].iter().zip(found) {
            pushes[at as usize] = push;
        }
    }
    pushes
}

struct Tree {
    /// The points and their numbers, in the order of the leaves.
    points: Vec<(u32, [f64; 2])>,
    nodes: Vec<Node>,
}

/// Some of the points.
struct Node {
    from: usize,
    to: usize,
    low: [f64; 2],
    high: [f64; 2],
    centre: [f64; 2],
    /// The nodes that have half of them each; a leaf has none.
    halves: Option<[usize; 2]>,
}

impl Tree {
    fn new(map: &[[f64; 2]]) -> Self {
        let points = map.iter().enumerate().map(|(i, &point)| (i as u32, point)).collect();
        let mut tree = Self { points, nodes: Vec::new() };
        tree.grow(0, map.len());
        tree
    }

    /// Adds a node of these points and all below it; its number.
    fn grow(&mut self, from: usize, to: usize) -> usize {
        let (mut low, mut high, mut sum) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2], [0.0; 2]);
        for (_, point) in &self.points[from..to] {
            for c in 0..2 {
                low[c] = low[c].min(point[c]);
                high[c] = high[c].max(point[c]);
                sum[c] += point[c];
            }
        }
        let at = self.nodes.len();
        let centre = sum.map(|sum| sum / (to - from) as f64);
        self.nodes.push(Node { from, to, low, high, centre, halves: None });
        if to - from > LEAF {
            let side = usize::from(high[1] - low[1] > high[0] - low[0]);
            let half = (to - from) / 2;
            let order = |a: &(u32, [f64; 2]), b: &(u32, [f64; 2])| a.1[side].total_cmp(&b.1[side]).then(a.0.cmp(&b.0));
            self.points[from..to].select_nth_unstable_by(half, order);
            let halves = [self.grow(from, from + half), self.grow(from + half, to)];
            self.nodes[at].halves = Some(halves);
        }
        at
    }

    fn pushes_of(&self, leaf: &Node, opening: f64) -> Vec<Push> {
        let seen = self.seen_from(leaf, opening);
        self.points[leaf.from..leaf.to].iter().map(|(_, point)| seen.push(*point)).collect()
    }

    fn seen_from(&self, leaf: &Node, opening: f64) -> Seen {
        let mut seen = Seen::default();
        let mut waiting = vec![0];
        while let Some(at) = waiting.pop() {
            let node = &self.nodes[at];
            if node.size() < opening * leaf.distance(node.centre) {
                seen.add(node.centre, (node.to - node.from) as f64);
            } else if let Some(halves) = node.halves {
                waiting.extend(halves);
            } else {
                self.points[node.from..node.to].iter().for_each(|(_, point)| seen.add(*point, 1.0));
            }
        }
        seen.fill_up();
        seen
    }
}

impl Node {
    /// The longer side of the box.
    fn size(&self) -> f64 {
        f64::max(self.high[0] - self.low[0], self.high[1] - self.low[1])
    }

    /// From the box to a point.
    fn distance(&self, point: [f64; 2]) -> f64 {
        let outside = |c: usize| (self.low[c] - point[c]).max(point[c] - self.high[c]).max(0.0);
        (outside(0).powi(2) + outside(1).powi(2)).sqrt()
    }
}

/// What a leaf sees: places, and how many points are there.
#[derive(Default)]
struct Seen {
    x: Vec<f64>,
    y: Vec<f64>,
    count: Vec<f64>,
}

impl Seen {
    fn add(&mut self, place: [f64; 2], count: f64) {
        self.x.push(place[0]);
        self.y.push(place[1]);
        self.count.push(count);
    }

    /// Adds places without points, until vectors are full.
    fn fill_up(&mut self) {
        let length = self.x.len().next_multiple_of(LANES);
        [&mut self.x, &mut self.y, &mut self.count].into_iter().for_each(|numbers| numbers.resize(length, 0.0));
    }

    /// The sums for one of the leaf's points, which is itself among what is seen, with a kernel of 1 and without a force.
    fn push(&self, point: [f64; 2]) -> Push {
        let (mut mass, mut across, mut up) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
        let chunks = self.x.as_chunks::<LANES>().0.iter().zip(self.y.as_chunks::<LANES>().0);
        for ((x, y), count) in chunks.zip(self.count.as_chunks::<LANES>().0) {
            for lane in 0..LANES {
                let (dx, dy) = (point[0] - x[lane], point[1] - y[lane]);
                let kernel = 1.0 / (1.0 + dx * dx + dy * dy);
                let weight = count[lane] * kernel;
                mass[lane] += weight;
                across[lane] += weight * kernel * dx;
                up[lane] += weight * kernel * dy;
            }
        }
        let sum = |lanes: [f64; LANES]| lanes.iter().sum::<f64>();
        Push { mass: sum(mass) - 1.0, force: [sum(across), sum(up)] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A spiral with a far outlier, copies of a point, and points on a line.
    fn map(n: usize) -> Vec<[f64; 2]> {
        let point = |i: usize| match i {
            0 => [400.0, -300.0],
            i if i % 50 == 1 => [2.0, 3.0],
            i if i % 7 == 2 => [0.3 * i as f64, 1.0],
            i => [0.1 * i as f64 * (0.7 * i as f64).cos(), 0.1 * i as f64 * (0.7 * i as f64).sin()],
        };
        (0..n).map(point).collect()
    }

    fn one_by_one(map: &[[f64; 2]]) -> Vec<Push> {
        let push = |i: usize| {
            let mut sum = Push::default();
            for j in (0..map.len()).filter(|&j| j != i) {
                let k = kernel(map[i], map[j]);
                sum.mass += k;
                (0..2).for_each(|c| sum.force[c] += k * k * (map[i][c] - map[j][c]));
            }
            sum
        };
        (0..map.len()).map(push).collect()
    }

    /// The root mean square of differences, as a part of the root mean square.
    fn error(found: &[Push], wanted: &[Push], part: impl Fn(&Push) -> [f64; 2]) -> f64 {
        let square = |v: [f64; 2]| v[0] * v[0] + v[1] * v[1];
        let difference = |(a, b): (&Push, &Push)| square([part(a)[0] - part(b)[0], part(a)[1] - part(b)[1]]);
        let differences: f64 = found.iter().zip(wanted).map(difference).sum();
        (differences / wanted.iter().map(|push| square(part(push))).sum::<f64>()).sqrt()
    }

    #[test]
    fn without_an_opening_all_pairs_count() {
        for n in [1, 2, 8, 9, 17, 300] {
            let map = map(n);
            for (found, wanted) in pushes(&map, 0.0).iter().zip(one_by_one(&map)) {
                assert!((found.mass - wanted.mass).abs() <= 1e-11 * (1.0 + wanted.mass), "{n}: {found:?} {wanted:?}");
                (0..2).for_each(|c| assert!((found.force[c] - wanted.force[c]).abs() < 1e-11));
            }
        }
    }

    #[test]
    fn what_is_far_away_may_be_taken_together() {
        let map = map(2000);
        let exact = one_by_one(&map);
        let errors = |opening: f64| {
            let found = pushes(&map, opening);
            (error(&found, &exact, |push| push.force), error(&found, &exact, |push| [push.mass, 0.0]))
        };
        let (force, mass) = errors(OPENING);
        assert!(force < 2e-3 && mass < 1e-3, "{force} {mass}");
        // The error falls with the square of the opening, at least.
        let (finer, finer_mass) = errors(OPENING / 4.0);
        assert!(finer < force / 8.0 && finer_mass < mass / 8.0, "{finer} {force}, {finer_mass} {mass}");
    }

    #[test]
    fn a_leaf_sees_every_point_once() {
        let map = map(1000);
        let tree = Tree::new(&map);
        for leaf in tree.nodes.iter().filter(|node| node.halves.is_none()) {
            let seen = tree.seen_from(leaf, OPENING);
            assert_eq!(seen.count.iter().sum::<f64>(), 1000.0);
            assert!(seen.x.len() < 600, "{} for {LEAF} points", seen.x.len());
        }
    }
}
