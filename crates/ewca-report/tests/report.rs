//! Reports of real fits, as the page gets them.

use std::sync::OnceLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ewca::{Ewca, Matrix, Model, ModelParts, Pca, Samples};
use ewca_eval::ParallelAnalysis;
use ewca_report::{
    Annotation, AnnotationValues, Column, Covariate, Error, Report, ShownClasses, ShownValues, Subject, ViewKey,
    multiqc, page_bytes,
};

/// Numbers between -1 and 1 that are the same in every run.
fn noise(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

fn classes(name: &str, labels: &[String]) -> Annotation {
    Annotation::from_texts(name, labels.iter().map(|label| Some(label.as_str())))
}

/// Three clouds.
struct Clouds {
    data: Vec<f64>,
    features: Vec<String>,
    ids: Vec<String>,
    labels: Vec<String>,
    annotations: Vec<Annotation>,
}

impl Clouds {
    fn new(rows: usize, columns: usize) -> Self {
        let mut noise = noise(3);
        let cell = |at: usize| if at / columns % 3 == at % columns % 3 { 3.0 } else { 0.0 };
        let labels: Vec<String> = (0..rows).map(|i| ["oak", "elm", "ash"][i % 3].to_string()).collect();
        Self {
            data: (0..rows * columns).map(|at| cell(at) + noise()).collect(),
            features: (0..columns).map(|j| format!("feature {j}")).collect(),
            ids: (0..rows).map(|i| format!("sample {i}")).collect(),
            annotations: vec![classes("kind", &labels)],
            labels,
        }
    }

    fn samples(&self) -> Samples<'_> {
        Samples::new(&self.data, self.ids.len(), self.features.len()).unwrap()
    }
}

struct Fits {
    model: Model,
    pca: Pca,
    path: Vec<Model>,
}

impl Fits {
    fn new(samples: &Samples<'_>, components: usize, epsilons: &[f64]) -> Self {
        let params = Ewca::params(components);
        Self {
            model: params.clone().epsilon(1.5).fit(samples).unwrap(),
            pca: params.pca(samples).unwrap(),
            path: params.check().unwrap().path(samples, epsilons).unwrap(),
        }
    }
}

fn subject<'a>(clouds: &'a Clouds, samples: &'a Samples<'a>, fits: &'a Fits) -> Subject<'a> {
    Subject {
        name: "clouds.csv",
        preprocessing: &[],
        samples: Some(samples),
        features: &clouds.features,
        ids: &clouds.ids,
        annotations: &clouds.annotations,
        covariates: &[],
        scree: None,
        model: &fits.model,
        pca: Some(&fits.pca),
        path: &fits.path,
        tsne: false,
    }
}

fn small() -> &'static (Clouds, Fits) {
    static SMALL: OnceLock<(Clouds, Fits)> = OnceLock::new();
    SMALL.get_or_init(|| {
        let clouds = Clouds::new(60, 7);
        // Not in order: the page has them ascending.
        let fits = Fits::new(&clouds.samples(), 3, &[5.0, 0.01, 0.5, 200.0]);
        (clouds, fits)
    })
}

fn shorts(text: &str) -> Vec<u16> {
    STANDARD.decode(text).unwrap().chunks(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect()
}

fn numbers(column: &Column) -> Vec<f64> {
    let value = |q: u16| column.low + (column.high - column.low) * f64::from(q) / 65535.0;
    shorts(&column.values).into_iter().map(value).collect()
}

#[test]
fn the_page_gets_what_the_fit_found() {
    let (clouds, fits) = small();
    let samples = clouds.samples();
    let report = Report::new(&subject(clouds, &samples, fits)).unwrap();
    assert!(report.sound && report.warnings.is_empty() && report.notes.is_empty(), "{:?}", report.notes);
    assert_eq!((report.shown, report.data.samples, report.data.features), (60, 60, 7));
    let ShownValues::Classes(ShownClasses { names, codes, .. }) = &report.annotations[0].values else {
        panic!("no classes")
    };
    assert_eq!(
        (report.annotations[0].name.as_str(), names.as_slice()),
        ("kind", &["ash", "elm", "oak"].map(String::from)[..])
    );
    assert_eq!(shorts(codes)[..4], [2, 1, 0, 2]);

    // Scores to the precision of 16 bits.
    let keys: Vec<ViewKey> = report.views.iter().map(|view| view.key).collect();
    assert_eq!(keys, [ViewKey::Ewca, ViewKey::Pca, ViewKey::Barycentric]);
    for (view, scores) in
        report.views.iter().zip([fits.model.scores(), &fits.pca.scores, &fits.model.barycentric_scores()])
    {
        for (c, column) in view.columns.iter().enumerate() {
            let shown = numbers(column);
            let width = column.high - column.low;
            // PCA may be shown with the other sign, so that the picture does not flip.
            let off = |sign: f64| {
                shown.iter().zip(scores.column(c)).map(|(x, y)| (x - sign * y).abs()).fold(0.0, f64::max) / width
            };
            let difference = if view.key == ViewKey::Pca { off(1.0).min(off(-1.0)) } else { off(1.0) };
            assert!(difference < 1e-4, "{} {c}: {difference}", view.name);
        }
    }

    assert_eq!(report.views[0].ratios, fits.model.explained_variance_ratio());
    assert_eq!(report.views[1].ratios, fits.pca.explained_variance_ratio);
    assert!(report.views[2].ratios.is_empty(), "barycentric scores have no such part");

    // Partners and shares are those of the plan.
    let plan = fits.model.plan();
    let count = report.partners.count;
    let partners: Vec<u32> = STANDARD
        .decode(&report.partners.samples)
        .unwrap()
        .chunks(4)
        .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
        .collect();
    let shares = shorts(&report.partners.shares);
    for i in 0..60 {
        let expected: Vec<(usize, f64)> =
            plan.partners(i, count + 1).into_iter().filter(|&(j, _)| j != i).take(count).collect();
        for (at, (j, share)) in expected.into_iter().enumerate() {
            assert_eq!(partners[i * count + at] as usize, j);
            assert!((f64::from(shares[i * count + at]) / 65535.0 - share).abs() < 1e-4);
        }
    }

    // Every row of the heat map is a sample's mass.
    for map in &report.heat_maps {
        assert!(map.single && map.blocks == 60);
        let values = numbers(&map.values);
        for row in values.chunks(60) {
            assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-3);
        }
    }
    let spans: Vec<_> = report.heat_maps[0].squares.iter().map(|square| (square.from, square.to)).collect();
    assert_eq!(spans, [(0, 20), (20, 40), (40, 60)]);

    let path = report.path.as_ref().unwrap();
    let epsilons: Vec<f64> = path.steps.iter().map(|step| step.epsilon).collect();
    assert_eq!(epsilons, [0.01, 0.5, 5.0, 200.0]);
    assert_eq!(path.current, 1, "0.5 is nearest to 1.5 by their ratio, by a little");
    assert!(path.steps[3].collapsed && !path.steps[0].collapsed);
    assert!(path.steps.iter().all(|step| step.error.is_some()));
    let classes = report.classes.as_ref().unwrap();
    assert_eq!(classes.ewca.counts.iter().flatten().sum::<usize>(), 60);
    assert_eq!(classes.silhouettes.len(), 3);
}

/// The model with something changed.
fn changed(model: &Model, change: impl FnOnce(&mut ModelParts)) -> Model {
    let mut parts = model.clone().into_parts();
    change(&mut parts);
    Model::from_parts(parts).unwrap()
}

#[test]
fn signs_do_not_flip_along_the_path() {
    let (clouds, fits) = small();
    let samples = clouds.samples();
    let mut turned = Fits { model: fits.model.clone(), pca: fits.pca.clone(), path: fits.path.clone() };
    let turn = |scores: &mut Matrix| {
        (0..3).for_each(|c| scores.column_mut(c).iter_mut().for_each(|z| *z = -*z));
    };
    turn(&mut turned.pca.scores);
    for fit in turned.path.iter_mut().step_by(2) {
        *fit = changed(fit, |parts| turn(&mut parts.scores));
    }
    let plain = Report::new(&subject(clouds, &samples, fits)).unwrap();
    let other = Report::new(&subject(clouds, &samples, &turned)).unwrap();
    assert_eq!(plain.path, other.path);
    assert_eq!(plain.views, other.views);
}

#[test]
fn the_same_subject_gives_the_same_bytes() {
    let (clouds, fits) = small();
    let samples = clouds.samples();
    let subject = Subject { tsne: true, ..subject(clouds, &samples, fits) };
    let once = Report::new(&subject).unwrap();
    assert_eq!(once.views.last().unwrap().key, ViewKey::Tsne);
    assert_eq!(once.to_html(), Report::new(&subject).unwrap().to_html());
}

/// The scree has what was found, as far as it goes beyond the fit; the eigenvalues of M are parts of the total variance.
#[test]
fn components_stand_beside_chance() {
    let (clouds, fits) = small();
    let samples = clouds.samples();
    let plain = Report::new(&subject(clouds, &samples, fits)).unwrap();
    assert_eq!(plain.chance, None);
    let total = samples.total_variance().unwrap();
    for (component, eigenvalue) in plain.components.iter().zip(&fits.model.certificate().eigenvalues) {
        assert!((component.eigenvalue.unwrap() - eigenvalue / total).abs() < 1e-9);
        assert!(component.eigenvalue.unwrap() <= component.pca_ratio.unwrap() + 1e-9);
    }
    let scree = ParallelAnalysis::default().scree(&samples).unwrap();
    let report = Report::new(&Subject { scree: Some(&scree), ..subject(clouds, &samples, fits) }).unwrap();
    let chance = report.chance.unwrap();
    let shown = (scree.above.max(fits.model.n_components()) + 5).min(scree.variances.len());
    assert_eq!((chance.above, chance.permutations, chance.quantile), (scree.above, 20, 0.95));
    assert_eq!((&chance.variances[..], &chance.permuted[..]), (&scree.variances[..shown], &scree.permuted[..shown]));
    for (variance, component) in chance.variances.iter().zip(&report.components) {
        assert!((variance - component.pca_ratio.unwrap()).abs() < 1e-6);
    }
}

#[test]
fn a_report_without_the_data_has_all_that_the_model_knows() {
    let (clouds, fits) = small();
    let samples = clouds.samples();
    let whole = Report::new(&subject(clouds, &samples, fits)).unwrap();
    let alone = Report::new(&Subject { samples: None, pca: None, ..subject(clouds, &samples, fits) }).unwrap();
    let keys: Vec<ViewKey> = alone.views.iter().map(|view| view.key).collect();
    assert_eq!(keys, [ViewKey::Ewca, ViewKey::Barycentric]);
    assert!(alone.features.is_empty());
    assert!(alone.notes.join(" ").contains("made without the data"), "{:?}", alone.notes);
    for (component, other) in alone.components.iter().zip(&whole.components) {
        assert_eq!((component.ratio, component.pca_ratio), (other.ratio, None));
        assert!((component.eigenvalue.unwrap() - other.eigenvalue.unwrap()).abs() < 1e-12);
    }
    let (classes, others) = (alone.classes.unwrap(), whole.classes.unwrap());
    assert_eq!((classes.ewca, classes.pca), (others.ewca, None));
    assert!(classes.silhouettes.iter().all(|silhouette| silhouette.ewca.is_some() && silhouette.pca.is_none()));
    assert_eq!(alone.data, whole.data);
    assert_eq!((alone.partners, alone.heat_maps, alone.loadings), (whole.partners, whole.heat_maps, whole.loadings));
    // The path turns about the same fit.
    assert_eq!(alone.path, whole.path);
}

#[test]
fn single_precision_is_shown_as_it_is() {
    let (clouds, fits) = small();
    let data: Vec<f32> = clouds.data.iter().map(|x| *x as f32).collect();
    let samples = Samples::new(&data, 60, 7).unwrap();
    let doubles = clouds.samples();
    let report = Report::new(&Subject { samples: Some(&samples), ..subject(clouds, &doubles, fits) }).unwrap();
    let (low, high) = (report.features[0].column.low, report.features[0].column.high);
    let at = clouds.features.iter().position(|name| *name == report.features[0].name).unwrap();
    let column: Vec<f64> = data.iter().skip(at).step_by(7).map(|x| f64::from(*x)).collect();
    assert_eq!(low, column.iter().copied().fold(f64::INFINITY, f64::min));
    assert_eq!(high, column.iter().copied().fold(f64::NEG_INFINITY, f64::max));
}

#[test]
fn hostile_names_end_no_element() {
    let (clouds, fits) = small();
    let samples = clouds.samples();
    let evil = "</script><script>alert(1)</script><!-- ]]> {{script}} \u{2028} & = \" '";
    let (ids, features) = (vec![evil.to_string(); 60], vec![evil.to_string(); 7]);
    let labels: Vec<String> = (0..60).map(|i| format!("{evil}{}", i % 3)).collect();
    let hostile = Subject {
        name: evil,
        ids: &ids,
        features: &features,
        annotations: &[classes(evil, &labels)],
        covariates: &[Covariate {
            component: "ewca1".into(),
            column: evil.into(),
            effect_name: evil.into(),
            effect: 0.5,
            p: 0.01,
        }],
        ..subject(clouds, &samples, fits)
    };
    let html = Report::new(&hostile).unwrap().to_html();
    assert!(!html.contains("alert(1)</script>") && !html.contains("<script>alert"));
    assert_eq!((html.matches("<script").count(), html.matches("</script>").count()), (2, 2));
    let data = html
        .split_once(r#"<script type="application/json" id="report">"#)
        .unwrap()
        .1
        .split_once("</script>")
        .unwrap()
        .0;
    assert!(!data.contains(['<', '>', '&', '\u{2028}']));
    let read: serde_json::Value = serde_json::from_str(data).unwrap();
    assert_eq!(read["ids"][59], evil);
    assert_eq!(read["features"][0]["name"], evil);
    assert_eq!(read["annotations"][0]["name"], evil);
    assert_eq!(read["covariates"][0]["column"], evil);
}

#[test]
fn the_policy_names_the_script_and_the_style() {
    use sha2::Digest;
    let (clouds, fits) = small();
    let samples = clouds.samples();
    let html = Report::new(&subject(clouds, &samples, fits)).unwrap().to_html();
    let between = |from: &str, to: &str| html.rsplit_once(from).unwrap().1.split_once(to).unwrap().0;
    let policy = between("Content-Security-Policy\" content=\"", "\"");
    for part in [between("<script>", "</script>"), between("<style>", "</style>")] {
        let hash = STANDARD.encode(sha2::Sha256::digest(part.as_bytes()));
        assert!(policy.contains(&format!("'sha256-{hash}'")), "{policy}");
    }
    assert!(policy.starts_with("default-src 'none';") && policy.contains("connect-src 'none'"), "{policy}");
    assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
    assert!(html.contains("MIT License"), "licences are in the page");
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let (clouds, fits) = small();
    let samples = clouds.samples();
    let other = Clouds::new(61, 7);
    let wrong = Subject { ids: &other.ids, ..subject(clouds, &samples, fits) };
    let error = Report::new(&wrong).unwrap_err();
    assert!(matches!(error, Error::Mismatch { found: 61, expected: 60, .. }), "{error}");
    assert!(error.to_string().contains("use the table that the model was fitted on"), "{error}");
    let wrong = Subject { annotations: &other.annotations, ..subject(clouds, &samples, fits) };
    assert!(matches!(Report::new(&wrong).unwrap_err(), Error::Mismatch { found: 61, expected: 60, .. }));
}

/// The mean of the plan's shares over each pair of blocks, from the whole plan.
#[test]
fn blocks_of_the_heat_map_are_means_of_the_plan() {
    let clouds = Clouds::new(450, 7);
    let samples = clouds.samples();
    let fits = Fits::new(&samples, 3, &[]);
    let report = Report::new(&subject(&clouds, &samples, &fits)).unwrap();
    let map = &report.heat_maps[0];
    assert!(!map.single && map.blocks <= 202, "{}", map.blocks);
    assert!(map.names[0].ends_with("samples of ash"), "{}", map.names[0]);
    let shown = numbers(&map.values);
    let sizes: Vec<f64> = map.names.iter().map(|name| name.split(' ').next().unwrap().parse().unwrap()).collect();
    assert_eq!(sizes.iter().sum::<f64>(), 450.0);
    let dense = fits.model.plan().dense(usize::MAX).unwrap();
    let class = |i: usize| ["ash", "elm", "oak"].iter().position(|name| *name == clouds.labels[i]).unwrap();
    // The order within a class is the page's own business; the mass between classes is not.
    for (square, from) in map.squares.iter().zip(0..3) {
        for (other, to) in map.squares.iter().zip(0..3) {
            let mut mass = 0.0;
            for i in square.from..square.to {
                mass += (other.from..other.to).map(|j| sizes[i] * sizes[j] * shown[i * map.blocks + j]).sum::<f64>();
            }
            let pairs = (0..450).flat_map(|i| (0..450).map(move |j| (i, j)));
            let expected: f64 =
                pairs.filter(|&(i, j)| class(i) == from && class(j) == to).map(|(i, j)| 450.0 * dense.get(i, j)).sum();
            assert!((mass - expected).abs() < 0.05 + 0.01 * expected, "{from} -> {to}: {mass}, not {expected}");
        }
    }
}

/// A path of 250 epsilons leaves room for 2000 samples.
#[test]
fn more_samples_than_there_is_room_for_are_thinned_with_a_note() {
    let clouds = Clouds::new(2400, 7);
    let samples = clouds.samples();
    let model = Ewca::params(2).epsilon(1.5).fit(&samples).unwrap();
    let fits = Fits { pca: Ewca::params(2).pca(&samples).unwrap(), path: vec![model.clone(); 250], model };
    let unlabelled = Subject { annotations: &[], ..subject(&clouds, &samples, &fits) };
    let report = Report::new(&unlabelled).unwrap();
    assert_eq!((report.shown, report.data.samples), (2000, 2400));
    assert_eq!(report.notes[0], "This page shows 2000 of 2400 samples, evenly spaced. The fit used all samples.");
    assert_eq!(report.ids.as_ref().unwrap().len(), 2000);
    assert_eq!(shorts(&report.views[0].columns[0].values).len(), 2000);
    let partners = STANDARD.decode(&report.partners.samples).unwrap();
    let places = partners.chunks(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
    assert!(places.max() < Some(2000), "partners are among those that are shown");
}

#[test]
fn as_many_classes_as_samples_are_not_compared() {
    let clouds = Clouds::new(90, 7);
    let samples = clouds.samples();
    let fits = Fits::new(&samples, 2, &[]);
    let alone = Subject { annotations: &[classes("id", &clouds.ids)], ..subject(&clouds, &samples, &fits) };
    let report = Report::new(&alone).unwrap();
    assert!(report.classes.is_none() && report.path.is_none());
    assert!(report.notes.join(" ").contains("too many classes (90) to compare"), "{:?}", report.notes);
    assert_eq!(report.heat_maps[0].squares.len(), 90);
}

/// 4000 samples leave room for 50 features to colour by: those that vary most, whatever they load.
#[test]
fn of_many_features_those_that_vary_most_can_be_coloured_by() {
    let mut clouds = Clouds::new(4000, 60);
    let wide = [7, 33, 59];
    clouds.data.iter_mut().enumerate().for_each(|(at, x)| *x *= if wide.contains(&(at % 60)) { 5.0 } else { 1.0 });
    let samples = clouds.samples();
    let few = Clouds::new(200, 60);
    let model = Ewca::params(2).epsilon(1.5).fit(&few.samples()).unwrap();
    let model = changed(&model, |parts| {
        parts.scores = Matrix::from_fn(4000, 2, |i, c| model.scores().get(i % 200, c));
        parts.potential = (0..4000).map(|i| model.potential()[i % 200]).collect();
        parts.weights = vec![1.0 / 4000.0; 4000];
    });
    let fits = Fits { path: Vec::new(), pca: Ewca::params(2).pca(&samples).unwrap(), model };
    let report = Report::new(&subject(&clouds, &samples, &fits)).unwrap();
    let mut first: Vec<&str> = report.features[..3].iter().map(|feature| feature.name.as_str()).collect();
    first.sort_unstable();
    assert_eq!((report.features.len(), first), (50, vec!["feature 33", "feature 59", "feature 7"]));
    assert!(report.notes.join(" ").contains("Points can be coloured by 50 of 60 features: those that vary most"));
}

#[test]
fn multiqc_gets_the_first_two_components() {
    let (clouds, fits) = small();
    let samples = clouds.samples();
    let mut ids = clouds.ids.clone();
    ids[1] = ids[0].clone();
    let own = AnnotationValues::Classes {
        names: ["ash", "<b>"].map(String::from).to_vec(),
        codes: (0..60).map(|i| [Some(1), Some(0), None][i % 3]).collect(),
        colours: Some(["#123456", "#abcdef"].map(String::from).to_vec()),
    };
    let annotations = [Annotation::numbers("age", vec![1.0; 60]), Annotation { name: "<b>".into(), values: own }];
    let named = Subject { ids: &ids, annotations: &annotations, ..subject(clouds, &samples, fits) };
    let text = multiqc(&named);
    assert!(text.starts_with(r#"{"id":"ewca_embedding","#), "{text}");
    let read: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&read["plot_type"], &read["pconfig"]["title"]), (&"scatter".into(), &"EWCA: clouds.csv".into()));
    let ratio = 100.0 * fits.model.explained_variance_ratio()[1];
    assert_eq!(read["pconfig"]["ylab"], format!("ewca2 ({ratio:.1}% of variance)"));
    assert!(read["description"].as_str().unwrap().ends_with("coloured by &lt;b&gt;."), "{read}");
    let data = &read["data"];
    assert_eq!(data.as_object().unwrap().len(), 59, "two samples share a name");
    assert_eq!(data["sample 0"][0]["x"], fits.model.scores().get(0, 0));
    assert_eq!(data["sample 0"][1]["y"], fits.model.scores().get(1, 1));
    let colours = ["sample 0", "sample 4", "sample 5"].map(|id| data[id][0]["color"].clone());
    assert_eq!(colours, ["#abcdef", "#123456", "#b9bfc7"]);
    // Colours of our own where the data have none, and none without classes.
    let plain: serde_json::Value = serde_json::from_str(&multiqc(&subject(clouds, &samples, fits))).unwrap();
    assert_eq!(plain["data"]["sample 2"][0]["color"], "#0072b2");
    let bare = multiqc(&Subject { annotations: &[], ..subject(clouds, &samples, fits) });
    assert!(!bare.contains("color"), "{bare}");
}

/// 10 000 samples and 20 epsilons. The fits are a small one, repeated: only their size matters.
#[test]
fn ten_thousand_samples_and_twenty_epsilons_stay_below_five_megabytes() {
    let clouds = Clouds::new(10_000, 64);
    let samples = clouds.samples();
    let few = Clouds::new(200, 64);
    let model = Ewca::params(12).epsilon(1.5).fit(&few.samples()).unwrap();
    let mut noise = noise(5);
    let model = changed(&model, |parts| {
        parts.scores = Matrix::from_fn(10_000, 12, |i, c| model.scores().get(i % 200, c) + 0.3 * noise());
        parts.potential = (0..10_000).map(|i| model.potential()[i % 200]).collect();
        parts.weights = vec![1e-4; 10_000];
    });
    let path = (0..20).map(|step| changed(&model, |parts| parts.epsilon *= 1.3f64.powi(step)));
    let fits = Fits { path: path.collect(), pca: Ewca::params(12).pca(&samples).unwrap(), model };
    let report = Report::new(&subject(&clouds, &samples, &fits)).unwrap();
    let html = report.to_html();
    assert!(html.len() < 5_000_000, "{} bytes", html.len());
    assert_eq!(report.shown, 10_000);
    assert_eq!(report.path.as_ref().unwrap().steps.len(), 20);
    let notes = report.notes.join("\n");
    for part in [
        "first 10 of 12 components",
        "slider moves the first 3",
        "means of blocks of samples",
        "2000 samples, each compared with all 10000",
    ] {
        assert!(notes.contains(part), "no '{part}' in:\n{notes}");
    }
    // What the program expects before it begins.
    let expected = page_bytes(10_000, 64, 12, 20) as f64;
    assert!((expected / html.len() as f64 - 1.0).abs() < 0.15, "{expected} expected, {} found", html.len());
}
