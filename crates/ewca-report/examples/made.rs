//! Writes a page with as many samples and classes as asked for, without a fit: for tests of the page with large data and with
//! annotations of every kind.
//!
//! ```text
//! made 100000 made.html
//! made 400 made.html 40
//! ```

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ewca_report::{
    Column, Component, Convergence, Covariate, Data, Fact, Feature, HeatMap, HeatMapOrder, Loadings, Partners, Report,
    ShownAnnotation, ShownClasses, ShownNumbers, ShownValues, View, ViewKey,
};

const CLASSES: usize = 6;
const COMPONENTS: usize = 4;
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

fn view(key: ViewKey, name: &str, samples: usize, classes: usize, spread: f64) -> View {
    let mut noise = noise(7);
    let angle = |i: usize| (i % classes) as f64 * std::f64::consts::TAU / classes as f64;
    let mut cloud = |centre: &dyn Fn(usize) -> f64| -> Vec<f64> {
        (0..samples).map(|i| centre(i) + spread * (noise() + noise() + noise())).collect()
    };
    let columns =
        [cloud(&|i| 3.0 * angle(i).cos()), cloud(&|i| 3.0 * angle(i).sin()), cloud(&|_| 0.0), cloud(&|_| 0.0)];
    View {
        key,
        name: name.into(),
        axes: (1..=COMPONENTS).map(|c| format!("ewca{c}")).collect(),
        ratios: (1..=COMPONENTS).map(|c| 0.4 / c as f64).collect(),
        columns: columns.iter().map(|column| Column::new(column)).collect(),
    }
}

/// A column of classes, one with colours of its own and gaps, and one of numbers with gaps.
fn annotations(samples: usize, classes: usize) -> Vec<ShownAnnotation> {
    let column = |name: &str, values| ShownAnnotation { name: name.into(), values };
    let codes = |code: &dyn Fn(usize) -> u16| bytes((0..samples).flat_map(|i| code(i).to_le_bytes()));
    let cloud = ShownClasses {
        names: (0..classes).map(|class| format!("cloud {class}")).collect(),
        codes: codes(&|i| (i % classes) as u16),
        colours: None,
    };
    let batch = ShownClasses {
        names: ["first", "second", "third"].map(String::from).to_vec(),
        codes: codes(&|i| if i % 10 == 0 { u16::MAX } else { (i * 3 / samples) as u16 }),
        colours: Some(["#7f3c8d", "#11a579", "#3969ac"].map(String::from).to_vec()),
    };
    let missing = (0..samples as u32).filter(|i| i % 20 == 1);
    let age = ShownNumbers {
        column: Column::new(&(0..samples).map(|i| 20.0 + (i % 60) as f64).collect::<Vec<f64>>()),
        missing: bytes(missing.flat_map(u32::to_le_bytes)),
    };
    vec![
        column("cloud", ShownValues::Classes(cloud)),
        column("batch", ShownValues::Classes(batch)),
        column("age", ShownValues::Numbers(age)),
    ]
}

fn covariates() -> Vec<Covariate> {
    let row = |component: &str, column: &str, effect_name: &str, effect, p| Covariate {
        component: component.into(),
        column: column.into(),
        effect_name: effect_name.into(),
        effect,
        p,
    };
    vec![
        row("ewca1", "cloud", "eta squared", 0.93, 0.001),
        row("ewca1", "age", "rank correlation", -0.02, 0.8),
        row("ewca2", "batch", "eta squared", 0.41, 0.004),
    ]
}

fn bytes(bytes: impl Iterator<Item = u8>) -> String {
    STANDARD.encode(bytes.collect::<Vec<u8>>())
}

fn report(samples: usize, classes: usize) -> Report {
    let mut noise = noise(1);
    let others = (0..samples * PARTNERS).map(|at| ((at / PARTNERS + CLASSES * (1 + at % PARTNERS)) % samples) as u32);
    Report {
        version: env!("CARGO_PKG_VERSION").into(),
        data: Data { name: format!("{samples} made samples"), samples, features: FEATURES, preprocessing: Vec::new() },
        verdict: "Made up, not fitted.".into(),
        sound: true,
        warnings: Vec::new(),
        notes: Vec::new(),
        facts: vec![Fact { name: "Samples".into(), value: samples.to_string(), meaning: "all made up".into() }],
        components: (1..=COMPONENTS)
            .map(|c| Component {
                name: format!("ewca{c}"),
                variance: 1.0 / c as f64,
                ratio: 0.4 / c as f64,
                pca_ratio: Some(0.42 / c as f64),
                eigenvalue: Some(0.35 / c as f64),
            })
            .collect(),
        chance: None,
        epsilon: 1.0,
        shown: samples,
        ids: None,
        annotations: annotations(samples, classes),
        covariates: covariates(),
        views: vec![
            view(ViewKey::Ewca, "EWCA", samples, classes, 0.45),
            view(ViewKey::Pca, "PCA", samples, classes, 0.7),
            view(ViewKey::Barycentric, "Barycentric", samples, classes, 0.2),
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
            samples: bytes(others.flat_map(u32::to_le_bytes)),
            shares: bytes((0..samples * PARTNERS).flat_map(|_| 9000u16.to_le_bytes())),
            own: bytes((0..samples).flat_map(|_| 20_000u16.to_le_bytes())),
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
            columns: (0..COMPONENTS)
                .map(|_| bytes((0..FEATURES).flat_map(|_| (noise() as f32).to_le_bytes())))
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
    let (Some(samples), Some(file)) = (arguments.first(), arguments.get(1)) else {
        eprintln!("usage: made SAMPLES FILE.html [CLASSES]");
        std::process::exit(2);
    };
    let samples: usize = samples.parse().expect("a number of samples");
    let classes = arguments.get(2).map_or(CLASSES, |classes| classes.parse().expect("a number of classes"));
    std::fs::write(file, report(samples, classes).to_html()).expect("the file can be written");
}
