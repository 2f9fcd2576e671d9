//! The paper's protocol on khan2001 gives the accuracies of an independent computation (other splits, the same protocol).

use std::io::Read;
use std::path::Path;

use ewca::Samples;
use ewca_lab::{Labels, Protocol, select};

fn khan2001() -> (Vec<f64>, Vec<String>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/khan2001.csv.gz");
    let mut text = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    let train: Vec<&str> = text.lines().skip(1).filter(|line| line.split(',').nth(1) == Some("train")).collect();
    let labels = train.iter().map(|line| line.split(',').nth(2).unwrap().to_string()).collect();
    let data = train.iter().flat_map(|line| line.split(',').skip(3)).map(|cell| cell.parse().unwrap()).collect();
    (data, labels)
}

#[test]
fn accuracies_agree_for_three_seeds() {
    let (data, labels) = khan2001();
    let samples = Samples::new(&data, 63, 2308).unwrap();
    let epsilons: Vec<f64> = (0..20).map(|i| 5.0 * 40f64.powf(i as f64 / 19.0)).collect();
    // k, PCA, EWCA, in percent.
    let reference = [(5, 4.7, 4.3), (7, 10.0, 7.3), (8, 10.1, 7.1), (10, 11.4, 8.7), (12, 10.2, 10.3)];
    let ks: Vec<usize> = reference.iter().map(|r| r.0).collect();
    // One run of 100 splits is uncertain by about half a point, so three are averaged.
    let seeds = [1, 2, 3];
    let (mut raw, mut sums) = (0.0, vec![(0.0, 0.0); reference.len()]);
    for seed in seeds {
        let protocol = Protocol { seed, ..Protocol::default() };
        let labels = Labels::new(&labels);
        let found = select(&samples, &labels, &ks, &epsilons, protocol, &mut |_| true).unwrap().unwrap();
        raw += found.raw.mean / seeds.len() as f64;
        for (cell, (pca, ewca)) in found.cells.iter().zip(&mut sums) {
            *pca += cell.pca.mean / seeds.len() as f64;
            *ewca += cell.ewca.mean / seeds.len() as f64;
            assert!(cell.chosen.iter().all(|e| epsilons.contains(e)));
        }
        assert_eq!(found.cells[found.best].k, 5);
    }
    assert!((raw - 12.7).abs() < 1.0, "raw {raw}");
    for ((k, pca, ewca), (our_pca, our_ewca)) in reference.into_iter().zip(sums) {
        assert!((our_pca - pca).abs() < 1.0, "k {k}: PCA {our_pca}");
        assert!((our_ewca - ewca).abs() < 1.0, "k {k}: EWCA {our_ewca}");
    }
}
