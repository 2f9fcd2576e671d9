//! Beyond the paper: when EWCA finds clusters that PCA does not, and when neither does.
//!
//! Clusters lie in a plane; a few other directions, in which nothing but noise is seen, have more or less variance than that plane. PCA takes the
//! directions of largest variance, whatever they show. EWCA has a reason to prefer those with clusters, but only as far as its loss goes.

use ewca::{Ewca, Matrix, Samples};
use ewca_eval::Neighbours;
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::drawing::{EWCA, MM, PCA, RAW};
use super::synthetic::{Synthetic, clusters};
use super::{Comparison, Effort, ExperimentReport, Watch, tell};
use crate::Result;
use crate::figures::{Axis, Cells, Colours, Figure, Font, Key, Marker, Page, Panel, Series, Tidy, legend_rows};

const CLUSTERS: usize = 3;
const FEATURES: usize = 20;
/// Directions of noise that compete with the plane of the clusters, which has as many directions as components are fitted.
const NUISANCES: usize = 3;
const COMPONENTS: usize = 2;
/// Centres lie so far from the middle; samples have this standard deviation about them, in every direction that is no nuisance.
const RADIUS: f64 = 2.6;
const WITHIN: f64 = 0.3;
/// Clusters are found where fewer samples than this (in percent) have a neighbour of another cluster; half of what chance gives is lost.
const FOUND: f64 = 10.0;
/// A difference counts from so many points on, if it is also twice its standard error.
const POINTS: f64 = 5.0;
const DEFAULT_PERPLEXITY: f64 = 5.0;

/// Where to look.
struct Grid {
    /// Samples in each cluster.
    sizes: Vec<usize>,
    /// Variance of a direction of noise over that of the clusters.
    ratios: Vec<f64>,
    perplexities: Vec<f64>,
    seeds: u64,
}

impl Grid {
    fn whole(seeds: u64) -> Self {
        Self {
            sizes: vec![25, 100],
            ratios: vec![0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.5, 2.0],
            perplexities: vec![2.0, 5.0, 10.0, 25.0, 50.0, 100.0, 200.0],
            seeds,
        }
    }
}

/// Errors in percent for one number of samples: of each ratio and seed with PCA, and of each ratio, perplexity and seed with EWCA.
struct Map {
    each: usize,
    ratios: Vec<f64>,
    perplexities: Vec<f64>,
    pca: Vec<Vec<f64>>,
    ewca: Vec<Vec<Vec<f64>>>,
}

/// A mean and its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Estimate {
    mean: f64,
    error: f64,
}

impl Estimate {
    fn of(values: impl Iterator<Item = f64> + Clone) -> Self {
        let count = values.clone().count() as f64;
        let mean = values.clone().sum::<f64>() / count;
        let squares: f64 = values.map(|value| (value - mean).powi(2)).sum();
        Self { mean, error: (squares / (count - 1.0).max(1.0) / count).sqrt() }
    }
}

impl Map {
    fn pca(&self, ratio: usize) -> Estimate {
        Estimate::of(self.pca[ratio].iter().copied())
    }

    fn ewca(&self, ratio: usize, perplexity: usize) -> Estimate {
        Estimate::of(self.ewca[ratio][perplexity].iter().copied())
    }

    /// All pairs of a ratio and a perplexity.
    fn places(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let perplexities = self.perplexities.len();
        (0..self.ratios.len()).flat_map(move |r| (0..perplexities).map(move |p| (r, p)))
    }

    fn gains(&self) -> impl Iterator<Item = Estimate> + '_ {
        self.places().map(|(r, p)| self.gain(r, p))
    }

    /// By how many points EWCA errs less than PCA, on the same data.
    fn gain(&self, ratio: usize, perplexity: usize) -> Estimate {
        Estimate::of(self.pca[ratio].iter().zip(&self.ewca[ratio][perplexity]).map(|(pca, ewca)| pca - ewca))
    }
}

pub fn run(effort: Effort, watch: Watch<'_>) -> Result<ExperimentReport> {
    let grid = Grid::whole(effort.repeats as u64);
    Ok(report(&maps(&grid, effort.seed, watch)?, &grid, effort.seed))
}

/// Three clusters at the corners of a triangle, in the first two features, and nuisances in the next ones.
fn made(each: usize, ratio: f64, seed: u64) -> Synthetic {
    let corner = |cluster: usize| {
        let angle = std::f64::consts::TAU * cluster as f64 / CLUSTERS as f64;
        let mut centre = vec![0.0; FEATURES];
        (centre[0], centre[1]) = (RADIUS * angle.cos(), RADIUS * angle.sin());
        centre
    };
    let variance = RADIUS * RADIUS / 2.0 + WITHIN * WITHIN;
    let mut deviations = vec![WITHIN; FEATURES];
    deviations[2..2 + NUISANCES].fill((ratio * variance).sqrt());
    clusters(&[0, 1, 2].map(corner), &deviations, each, seed, 5)
}

/// The share of samples, in percent, whose nearest other sample is of another cluster.
fn misclassified(scores: &Matrix, classes: &[usize]) -> f64 {
    100.0 * Neighbours::new(scores).leave_one_out_errors(classes) as f64 / classes.len() as f64
}

fn maps(grid: &Grid, seed: u64, watch: Watch<'_>) -> Result<Vec<Map>> {
    let (seeds, total) = (grid.seeds, grid.sizes.len() * grid.ratios.len() * grid.seeds as usize);
    let done = AtomicUsize::new(0);
    let map = |&each: &usize| {
        // Larger perplexities leave hardly a difference between near and far.
        let most = 0.7 * (CLUSTERS * each) as f64;
        let perplexities: Vec<f64> = grid.perplexities.iter().copied().filter(|p| *p < most).collect();
        let errors = |at: usize| -> Result<(f64, Vec<f64>)> {
            let (ratio, number) = (grid.ratios[at / seeds as usize], at as u64 % seeds);
            tell(watch, "the map", done.fetch_add(1, Ordering::Relaxed), total)?;
            let Synthetic { data, rows, columns, labels } = made(each, ratio, seed.wrapping_add(number));
            let samples = Samples::new(&data, rows, columns)?;
            let pca = misclassified(&Ewca::params(COMPONENTS).pca(&samples)?.scores, &labels.classes);
            let of = |perplexity: &f64| -> Result<f64> {
                let model = Ewca::params(COMPONENTS).perplexity(*perplexity).fit(&samples)?;
                Ok(misclassified(model.scores(), &labels.classes))
            };
            Ok((pca, perplexities.iter().map(of).collect::<Result<_>>()?))
        };
        let count = grid.ratios.len() * seeds as usize;
        let errors: Vec<(f64, Vec<f64>)> = (0..count).into_par_iter().map(errors).collect::<Result<_>>()?;
        let of_ratio: Vec<&[(f64, Vec<f64>)]> = errors.chunks(seeds as usize).collect();
        Ok(Map {
            each,
            ratios: grid.ratios.clone(),
            pca: of_ratio.iter().map(|seeds| seeds.iter().map(|s| s.0).collect()).collect(),
            ewca: of_ratio
                .iter()
                .map(|seeds| (0..perplexities.len()).map(|p| seeds.iter().map(|s| s.1[p]).collect()).collect())
                .collect(),
            perplexities,
        })
    };
    grid.sizes.iter().map(map).collect()
}

fn report(maps: &[Map], &Grid { seeds, .. }: &Grid, seed: u64) -> ExperimentReport {
    let caption = format!(
        "{CLUSTERS} clusters in a plane of {FEATURES} features, {NUISANCES} directions of noise beside it, k = {COMPONENTS}. Left: by how many \
         points fewer samples have a nearest neighbour of another cluster in EWCA's scores than in PCA's. Right: the errors themselves, with \
         twice their standard errors. Means over {seeds} data sets, seeds {seed} to {}.",
        seed.wrapping_add(seeds - 1)
    );
    ExperimentReport {
        title: "When EWCA finds clusters that PCA does not".into(),
        text: "Clusters lie in a plane, and other directions hold nothing but noise, with more or less variance than that plane. PCA \
               takes the directions of largest variance. EWCA finds the clusters a little longer than PCA as the noise grows, where its perplexity is about \
               the size of a cluster or more; beyond that both are lost."
            .into(),
        figures: vec![Figure::new("when", "EWCA beside PCA as noise grows", caption, &drawn(maps), tabulated(maps))],
        facts: maps.iter().flat_map(facts).collect(),
    }
}

fn tabulated(maps: &[Map]) -> Tidy {
    let mut table = Tidy::new("samples_per_cluster,ratio,perplexity,data_set,pca_error,ewca_error");
    for map in maps {
        for (r, ratio) in map.ratios.iter().enumerate() {
            for (p, perplexity) in map.perplexities.iter().enumerate() {
                for (number, (pca, ewca)) in map.pca[r].iter().zip(&map.ewca[r][p]).enumerate() {
                    table.row(&[&map.each, ratio, perplexity, &number, pca, ewca]);
                }
            }
        }
    }
    table
}

/// Where EWCA is ahead, where it is behind, and where both are lost.
fn facts(map: &Map) -> Vec<Comparison> {
    let fact = |what: &str, found: String| {
        Comparison::new(format!("{} samples in each cluster: {what}", map.each), None, found)
    };
    let listed = |holds: &dyn Fn(usize) -> bool| {
        let ratios = (0..map.ratios.len()).filter(|&r| holds(r));
        let names: Vec<String> = ratios.map(|r| map.ratios[r].to_string()).collect();
        if names.is_empty() { "nowhere".to_string() } else { names.join(", ") }
    };
    let at_each = |of: &dyn Fn(usize) -> String| {
        let parts =
            map.perplexities.iter().enumerate().map(|(p, perplexity)| format!("perplexity {perplexity}: {}", of(p)));
        parts.collect::<Vec<_>>().join("; ")
    };
    // The last ratio up to which all are found.
    let up_to = |error: &dyn Fn(usize) -> f64| {
        let found = (0..map.ratios.len()).take_while(|&r| error(r) < FOUND).last();
        found.map_or("none".to_string(), |r| map.ratios[r].to_string())
    };
    let counts = |gain: Estimate| gain.mean.abs() >= POINTS && gain.mean.abs() >= 2.0 * gain.error;
    let pairs = || (0..map.ratios.len()).flat_map(|r| (0..map.perplexities.len()).map(move |p| (r, p)));
    let (r, p) = pairs().max_by(|x, y| map.gain(x.0, x.1).mean.total_cmp(&map.gain(y.0, y.1).mean)).unwrap_or_default();
    let best = map.gain(r, p);
    let lost = 100.0 * (CLUSTERS - 1) as f64 / CLUSTERS as f64 / 2.0;
    vec![
        fact(
            &format!("the largest ratio up to which the clusters are found (error below {FOUND} %)"),
            format!("PCA: {}; {}", up_to(&|r| map.pca(r).mean), at_each(&|p| up_to(&|r| map.ewca(r, p).mean))),
        ),
        fact(
            &format!("the ratios at which EWCA is ahead of PCA by {POINTS} points or more"),
            at_each(&|p| listed(&|r| counts(map.gain(r, p)) && map.gain(r, p).mean > 0.0)),
        ),
        fact(
            &format!("the ratios at which it is behind by {POINTS} points or more"),
            at_each(&|p| listed(&|r| counts(map.gain(r, p)) && map.gain(r, p).mean < 0.0)),
        ),
        fact(
            "the largest gain over PCA",
            format!(
                "{:.0} points (standard error {:.1}), at ratio {} and perplexity {}: PCA errs by {:.0} %, EWCA by {:.0} %",
                best.mean,
                best.error,
                map.ratios[r],
                map.perplexities[p],
                map.pca(r).mean,
                map.ewca(r, p).mean
            ),
        ),
        fact(
            &format!(
                "the ratios at which PCA and EWCA at every perplexity are lost (error above {lost:.0} %, half of chance)"
            ),
            listed(&|r| map.pca(r).mean > lost && (0..map.perplexities.len()).all(|p| map.ewca(r, p).mean > lost)),
        ),
    ]
}

/// The lines of a panel of errors: the default, the size of a cluster, and twice that.
fn lines(map: &Map) -> Vec<(usize, Series)> {
    const WIDE: Series = Series { colour: "#222222", dashes: "2 3", marker: Some(Marker::Diamond) };
    let wanted = [(DEFAULT_PERPLEXITY, EWCA), (map.each as f64, MM), (2.0 * map.each as f64, WIDE)];
    let place = |p: f64| map.perplexities.iter().position(|own| *own == p);
    wanted.into_iter().filter_map(|(p, series)| Some((place(p)?, series))).collect()
}

fn drawn(maps: &[Map]) -> Page {
    let (cell_width, cell_height, gap) = (40.0, 30.0, 105.0);
    let columns = maps.first().map_or(0, |map| map.ratios.len());
    let width = cell_width * columns as f64;
    let heights: Vec<f64> = maps.iter().map(|map| cell_height * map.perplexities.len() as f64).collect();
    let line_width = 340.0;
    let all: f64 = heights.iter().map(|h| h + gap).sum();
    let mut page = Page::new(60.0 + width + 150.0 + line_width + 20.0, all + 15.0);
    // The same colours in all maps.
    let furthest = maps.iter().flat_map(Map::gains).fold(10.0, |most: f64, gain| most.max(gain.mean.abs()));
    let most = 10.0 * (furthest / 10.0).ceil();
    let mut top = 50.0;
    for (map, height) in maps.iter().zip(heights) {
        heat_map(&mut page, map, most, (60.0, top), (width, height));
        errors(&mut page, map, (60.0 + width + 150.0, top), (line_width, height));
        top += height + gap;
    }
    page
}

const RATIO: &str = "variance of a noise direction / variance of the clusters";

fn heat_map(page: &mut Page, map: &Map, most: f64, place: (f64, f64), size: (f64, f64)) {
    let names = |values: &[f64]| -> Vec<String> { values.iter().map(f64::to_string).collect() };
    let (x, y) = (Axis::names(RATIO, &names(&map.ratios)), Axis::names("perplexity", &names(&map.perplexities)));
    let panel = Panel::new(page, place, size, x, y);
    panel.title(page, &format!("{CLUSTERS} clusters of {} samples: what EWCA gains over PCA", map.each));
    let value = |p: usize, r: usize| map.gain(r, p).mean;
    let (rows, columns) = (map.perplexities.len(), map.ratios.len());
    let cells =
        Cells { rows, columns, value: &value, range: (-most, most), digits: Some(0), colours: Colours::Diverging };
    panel.cells(page, &cells, false);
    panel.colour_bar(page, Colours::Diverging, (-most, most), "points");
}

fn errors(page: &mut Page, map: &Map, place: (f64, f64), size: (f64, f64)) {
    let chance = 100.0 * (CLUSTERS - 1) as f64 / CLUSTERS as f64;
    let x = Axis::linear(RATIO, map.ratios.iter().copied());
    let panel = Panel::new(page, place, size, x, Axis::from_zero("misclassified (%)", [80.0]));
    let ends = [(map.ratios[0], chance), (map.ratios[map.ratios.len() - 1], chance)];
    panel.line(page, &ends, RAW);
    // Above the line, at the left, where no other line comes.
    let above = place.1 + size.1 * (1.0 - (chance + 3.0) / 80.0);
    page.text((place.0 + 6.0, above), "chance", Font::sized(11.5));
    let shown = lines(map);
    let mut draw = |of: &dyn Fn(usize) -> Estimate, series: Series| {
        let of: Vec<(f64, Estimate)> = map.ratios.iter().enumerate().map(|(r, ratio)| (*ratio, of(r))).collect();
        let band: Vec<_> = of.iter().map(|(x, e)| (*x, e.mean - 2.0 * e.error, e.mean + 2.0 * e.error)).collect();
        panel.band(page, &band, series);
        let line: Vec<_> = of.iter().map(|(x, e)| (*x, e.mean)).collect();
        panel.line(page, &line, series);
    };
    draw(&|r| map.pca(r), PCA);
    shown.iter().for_each(|(p, series)| draw(&|r| map.ewca(r, *p), *series));
    let names: Vec<String> = shown.iter().map(|(p, _)| format!("EWCA, perplexity {}", map.perplexities[*p])).collect();
    let mut keys: Vec<Key<'_>> = vec![("PCA", PCA)];
    keys.extend(names.iter().map(String::as_str).zip(shown.iter().map(|s| s.1)));
    legend_rows(page, (place.0 - 20.0, place.1 - 34.0), size.0 + 40.0, &keys, true);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> (Grid, Vec<Map>) {
        let grid = Grid { sizes: vec![25], ratios: vec![0.5, 0.9, 2.0], perplexities: vec![2.0, 50.0, 60.0], seeds: 6 };
        let maps = maps(&grid, 0, &|_, _, _| true).unwrap();
        (grid, maps)
    }

    #[test]
    fn ewca_is_ahead_where_the_variances_are_alike_and_both_are_lost_beyond() {
        let (_, maps) = small();
        let map = &maps[0];
        // 60 of 75 samples is too wide to be looked at.
        assert_eq!(map.perplexities, [2.0, 50.0]);
        assert!(map.pca(0).mean < 1.0 && map.ewca(0, 0).mean < 1.0 && map.ewca(0, 1).mean < 1.0);
        let (narrow, wide) = (map.gain(1, 0), map.gain(1, 1));
        assert!(wide.mean > 5.0 && wide.mean > 2.0 * wide.error, "{wide:?}");
        assert!(narrow.mean < 0.5 * wide.mean, "{narrow:?} {wide:?}");
        assert!(map.pca(2).mean > 34.0 && map.ewca(2, 0).mean > 34.0 && map.ewca(2, 1).mean > 34.0);
    }

    #[test]
    fn the_variances_have_the_ratio_that_they_are_said_to_have() {
        let Synthetic { data, rows, columns, labels } = made(4000, 1.3, 3);
        let of = |column: usize| {
            let values = (0..rows).map(|i| data[i * columns + column]);
            let mean = values.clone().sum::<f64>() / rows as f64;
            values.map(|x| (x - mean).powi(2)).sum::<f64>() / rows as f64
        };
        let plane = (of(0) + of(1)) / 2.0;
        assert!((2..2 + NUISANCES).all(|c| (of(c) / plane / 1.3 - 1.0).abs() < 0.06));
        assert!((2 + NUISANCES..columns).all(|c| of(c) < 0.05 * plane));
        assert_eq!((columns, labels.names.len()), (FEATURES, CLUSTERS));
    }

    #[test]
    fn the_numbers_that_are_told_are_those_of_the_table() {
        let (grid, maps) = small();
        let told = report(&maps, &grid, 0);
        // From the table alone: a mean for each ratio, perplexity and method.
        let csv = told.figures[0].csv();
        let rows: Vec<Vec<f64>> =
            csv.lines().skip(1).map(|line| line.split(',').map(|cell| cell.parse().unwrap()).collect()).collect();
        assert_eq!(rows.len(), 3 * 2 * 6);
        let errors = |ratio: f64, perplexity: f64, column: usize| -> Vec<f64> {
            rows.iter().filter(|row| row[1] == ratio && row[2] == perplexity).map(|row| row[column]).collect()
        };
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let gain = |ratio: f64, perplexity: f64| {
            let both = errors(ratio, perplexity, 4).into_iter().zip(errors(ratio, perplexity, 5));
            let gains: Vec<f64> = both.map(|(pca, ewca)| pca - ewca).collect();
            let spread = gains.iter().map(|g| (g - mean(&gains)).powi(2)).sum::<f64>() / 5.0;
            (mean(&gains), (spread / 6.0).sqrt())
        };
        let (ratios, perplexities) = ([0.5, 0.9, 2.0], [2.0, 50.0]);
        let listed = |sign: f64| -> String {
            let of = |p: f64| {
                let counts = |r: &&f64| {
                    let (gain, error) = gain(**r, p);
                    sign * gain >= 5.0 && sign * gain >= 2.0 * error
                };
                let names: Vec<String> = ratios.iter().filter(counts).map(f64::to_string).collect();
                format!("perplexity {p}: {}", if names.is_empty() { "nowhere".into() } else { names.join(", ") })
            };
            perplexities.map(of).join("; ")
        };
        assert!(told.facts.iter().all(|fact| fact.what.starts_with("25 samples in each cluster: ")));
        assert_eq!((&told.facts[1].ours, &told.facts[2].ours), (&listed(1.0), &listed(-1.0)));
        assert!(told.facts[1].ours.contains("perplexity 50: 0.9"), "{}", told.facts[1].ours);
        let up_to = |perplexity: f64, column: usize| {
            let found = ratios.iter().take_while(|r| mean(&errors(**r, perplexity, column)) < 10.0).last();
            found.map_or("none".to_string(), f64::to_string)
        };
        let found =
            format!("PCA: {}; perplexity 2: {}; perplexity 50: {}", up_to(2.0, 4), up_to(2.0, 5), up_to(50.0, 5));
        assert_eq!(told.facts[0].ours, found);
        let (best, error) = gain(0.9, 50.0);
        assert!(
            told.facts[3]
                .ours
                .starts_with(&format!("{best:.0} points (standard error {error:.1}), at ratio 0.9 and perplexity 50:"))
        );
        assert_eq!(told.facts[4].ours, "2");
        // Every mean is in the figure, as a number with its sign.
        let shown = format!(">{best:+.0}</text>");
        assert!(told.figures[0].svg().contains(&shown), "{shown}");
    }

    #[test]
    fn whoever_watches_may_stop_it() {
        let grid = Grid { sizes: vec![5], ratios: vec![1.0], perplexities: vec![2.0], seeds: 2 };
        assert!(matches!(maps(&grid, 0, &|_, _, _| false), Err(crate::Error::Interrupted)));
    }
}
