//! Writes a page with as many samples as asked for, without a fit: for tests of the page with large data.
//!
//! ```text
//! made 100000 made.html
//! ```

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ewca_report::{
    Column, Component, Convergence, Data, Fact, Feature, HeatMap, HeatMapOrder, Labels, Loadings, Partners, Report,
    View, ViewKey,
};

const CLASSES: usize = 6;
const PARTNERS: usize = 3;
const FEATURES: usize = 4;

/// Numbers between -1 and 1 that are the same in every run.
fn noise(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

fn view(key: ViewKey, name: &str, samples: usize, spread: f64) -> View {
    let mut noise = noise(7);
    let angle = |i: usize| (i % CLASSES) as f64 * std::f64::consts::TAU / CLASSES as f64;
    let mut cloud = |centre: &dyn Fn(usize) -> f64| -> Vec<f64> {
        (0..samples).map(|i| centre(i) + spread * (noise() + noise() + noise())).collect()
    };
    let columns = [cloud(&|i| 3.0 * angle(i).cos()), cloud(&|i| 3.0 * angle(i).sin())];
    View {
        key,
        name: name.into(),
        axes: vec!["first".into(), "second".into()],
        columns: columns.iter().map(|column| Column::new(column)).collect(),
    }
}

fn report(samples: usize) -> Report {
    let mut noise = noise(1);
    let bytes = |bytes: Vec<u8>| STANDARD.encode(bytes);
    let others = (0..samples * PARTNERS).map(|at| ((at / PARTNERS + CLASSES * (1 + at % PARTNERS)) % samples) as u32);
    Report {
        version: env!("CARGO_PKG_VERSION").into(),
        data: Data {
            name: format!("{samples} made samples"),
            samples,
            features: FEATURES,
            label: Some("cloud".into()),
            preprocessing: Vec::new(),
        },
        verdict: "Made up, not fitted.".into(),
        sound: true,
        warnings: Vec::new(),
        notes: Vec::new(),
        facts: vec![Fact { name: "Samples".into(), value: samples.to_string(), meaning: "all made up".into() }],
        components: (1..=2)
            .map(|c| Component { name: format!("ewca{c}"), variance: 1.0, ratio: 0.4, pca_ratio: 0.45 })
            .collect(),
        epsilon: 1.0,
        shown: samples,
        ids: None,
        labels: Some(Labels {
            names: (0..CLASSES).map(|class| format!("cloud {class}")).collect(),
            classes: bytes((0..samples).flat_map(|i| ((i % CLASSES) as u16).to_le_bytes()).collect()),
        }),
        views: vec![
            view(ViewKey::Ewca, "EWCA", samples, 0.45),
            view(ViewKey::Pca, "PCA", samples, 0.7),
            view(ViewKey::Barycentric, "Barycentric", samples, 0.2),
        ],
        perplexities: Column::new(&(0..samples).map(|_| 5.0 + noise()).collect::<Vec<f64>>()),
        features: (0..FEATURES)
            .map(|j| Feature {
                name: format!("feature {j}"),
                column: Column::new(&(0..samples).map(|_| noise()).collect::<Vec<f64>>()),
            })
            .collect(),
        partners: Partners {
            count: PARTNERS,
            samples: bytes(others.flat_map(u32::to_le_bytes).collect()),
            shares: bytes((0..samples * PARTNERS).flat_map(|_| 9000u16.to_le_bytes()).collect()),
            own: bytes((0..samples).flat_map(|_| 20_000u16.to_le_bytes()).collect()),
        },
        heat_maps: vec![HeatMap {
            key: HeatMapOrder::Similarity,
            blocks: 2,
            names: vec!["one half".into(), "the other half".into()],
            single: false,
            values: Column::new(&[0.4, 0.1, 0.1, 0.4]),
            squares: Vec::new(),
        }],
        loadings: Loadings {
            features: (0..FEATURES).map(|j| format!("feature {j}")).collect(),
            columns: (0..2)
                .map(|_| bytes((0..FEATURES).flat_map(|_| (noise() as f32).to_le_bytes()).collect()))
                .collect(),
        },
        convergence: Convergence {
            passes: vec![1, 2, 3],
            loss: [3.0, 2.0, 1.5].map(Some).to_vec(),
            gradient: [0.1, 0.01, 1e-6].map(Some).to_vec(),
            marginal: [1e-2, 1e-5, 1e-9].map(Some).to_vec(),
            sought: false,
        },
        path: None,
        classes: None,
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [samples, file] = &arguments[..] else {
        eprintln!("usage: made SAMPLES FILE.html");
        std::process::exit(2);
    };
    let samples: usize = samples.parse().expect("a number of samples");
    std::fs::write(file, report(samples).to_html()).expect("the file can be written");
}
