//! `ewca demo`: the method at work on data that come with the program.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use ewca::{Ewca, Matrix, Model, Params, Pca, Samples, geometric};
use ewca_eval::{EncodedLabels, Neighbours, ParallelAnalysis, Scree, errors_of_new};
use ewca_io::{Missing, ModelFile, Preprocessing, ReadOptions, RoleColumns, read_table_from};

use crate::args::{DemoJob, ReportWish};
use crate::commands::report::ReportSource;
use crate::console::command_line::CommandLine;
use crate::console::failure::Failure;
use crate::console::fit_summary::{explained_variance, how_it_ended};
use crate::console::outcome::Outcome;
use crate::console::plot::{self, Plot};
use crate::console::terminal::Console;
use crate::console::text::{number, percent, time};
use crate::input::table::Dataset;
use crate::output::covariates::Covariates;
use crate::output::results::{ResultsFolder, component_name};
use crate::output::summary::{DataSource, Summary, Times};

/// 83 tumour samples x 2308 gene expressions: see data/khan2001.md of this crate.
const DATA: &[u8] = include_bytes!("../../data/khan2001.csv.gz");
/// The name of the data in the folder of results.
pub const FILE: &str = "khan2001.csv.gz";
const COMPONENTS: usize = 5;
/// Samples whose strongest partners are shown, and how many of them.
const SHOWN_SAMPLES: usize = 4;
const SHOWN_PARTNERS: usize = 3;
/// The path of the report: so many epsilons, from and to these multiples of the fit's. The last few have collapsed.
const PATH_STEPS: usize = 20;
const PATH_FROM: f64 = 0.05;
const PATH_TO: f64 = 14.0;
/// The name of the report in the folder of results.
pub const REPORT: &str = "report.html";
/// Spreads to compare the fit with.
const OTHER_PERPLEXITIES: [f64; 3] = [3.0, 10.0, 20.0];

/// Runs the demonstration.
pub fn run(job: &DemoJob, console: Console) -> Result<Outcome, Failure> {
    let clock = Instant::now();
    let (train, test) = (read("train")?, read("test")?);
    let read = clock.elapsed();

    let mut folder = ResultsFolder::make(&job.output)?;
    let samples = train.samples().map_err(refused)?;
    let params = Ewca::params(COMPONENTS);
    let wanted = params.check_ref().map_err(refused)?;
    let fit_clock = Instant::now();
    let model = wanted.fit(&samples).map_err(refused)?;
    let fit = fit_clock.elapsed();
    let pca = wanted.pca(&samples).map_err(refused)?;
    let spreads = spreads(&params, &samples, &pca, &model, &test)?;
    let epsilons = geometric(PATH_FROM * model.epsilon(), PATH_TO * model.epsilon(), PATH_STEPS);
    let path = wanted.path(&samples, &epsilons).map_err(refused)?;
    let scree = ParallelAnalysis::default().scree(&samples).map_err(refused)?;

    let times = Times { read, fit, total: clock.elapsed() };
    let columns = RoleColumns { label: Some("class".into()), id: Some("sample".into()) };
    let file = train.model_file(model, columns, train.checksum());
    let mut summary = Summary::new(source_of(&train), &wanted, &file.model, times);
    let results = Results { train: &train, samples: &samples, file: &file, pca: &pca, path: &path, scree: &scree };
    let report = results.write(&mut folder, job.report.clone(), &mut summary, console)?;

    let model = &file.model;
    let parts = [
        introduction(&train, &test),
        the_fit(model, times),
        scatter(model, &train, &test)?,
        partners(model, &train),
        against_pca(&spreads, &train, &test),
        what_next(&folder, &report),
    ];
    console.say(&parts.concat());
    console.report(&summary);
    Ok(Outcome::of(model))
}

/// What the summary says of the data.
fn source_of(train: &Dataset) -> DataSource<'_> {
    DataSource {
        input: FILE,
        data: train,
        id: Some("sample"),
        preprocessing: &train.preprocessing.steps,
        missing: Missing::Error,
    }
}

/// What was found, on its way to files.
struct Results<'a> {
    train: &'a Dataset,
    samples: &'a Samples<'a>,
    file: &'a ModelFile,
    pca: &'a Pca,
    path: &'a [Model],
    scree: &'a Scree,
}

impl Results<'_> {
    /// Writes the folder, with the data, and the report, whose place it gives.
    fn write(
        &self,
        folder: &mut ResultsFolder,
        report: Option<PathBuf>,
        summary: &mut Summary<'_>,
        console: Console,
    ) -> Result<PathBuf, Failure> {
        folder.add_results(self.train, self.file)?;
        folder.add_bytes(FILE, DATA)?;
        let wish = ReportWish { file: report.unwrap_or_else(|| folder.path().join(REPORT)), tsne: true };
        let covariates = Covariates::new(self.train, &self.file.model);
        let source = ReportSource {
            name: FILE,
            data: self.train,
            samples: self.samples,
            covariates: covariates.as_ref(),
            scree: Some(self.scree),
        };
        let (_, staged) = source.stage(&wish, &self.file.model, self.pca, self.path, console)?;
        folder.add_or_commit(&wish.file, staged)?;
        folder.commit_fit(summary)?;
        Ok(wish.file)
    }
}

fn refused(source: ewca::Error) -> Failure {
    Failure::Fit { file: FILE.into(), source }
}

/// The rows of one part of the data: `train` or `test`.
pub fn read(split: &str) -> Result<Dataset, Failure> {
    let options = ReadOptions {
        label: Some("class".into()),
        id: Some("sample".into()),
        filter: Some(("split".into(), split.into())),
        ..ReadOptions::default()
    };
    let table = read_table_from(DATA, FILE, &options)?;
    let mut data = Dataset::to_fit(table, &Preprocessing::default(), FILE)?;
    data.label = options.label;
    Ok(data)
}

/// A row of the table that compares spreads.
struct Spread {
    name: String,
    perplexity: f64,
    variance: f64,
    scores: Matrix,
    new_scores: Matrix,
}

/// PCA, `model`, and a few more, from the narrowest spread to the widest.
fn spreads(
    params: &Params,
    samples: &Samples<'_>,
    pca: &Pca,
    model: &Model,
    test: &Dataset,
) -> Result<Vec<Spread>, Failure> {
    let spread = |name: String, model: &Model| {
        Ok::<_, Failure>(Spread {
            name,
            perplexity: model.perplexity().overall,
            variance: model.explained_variance_ratio().iter().sum(),
            scores: model.scores().clone(),
            new_scores: new_scores(model, test)?,
        })
    };
    let mut rows = vec![
        Spread {
            name: "1 (PCA)".into(),
            perplexity: 1.0,
            variance: pca.explained_variance_ratio.iter().sum(),
            scores: pca.scores.clone(),
            new_scores: test.samples().and_then(|test| pca.transform(&test)).map_err(refused)?,
        },
        spread(format!("{:.0} (this fit)", model.perplexity().overall), model)?,
    ];
    for perplexity in OTHER_PERPLEXITIES {
        let other = params.clone().perplexity(perplexity).fit(samples).map_err(refused)?;
        rows.push(spread(perplexity.to_string(), &other)?);
    }
    rows.sort_by(|a, b| a.perplexity.total_cmp(&b.perplexity));
    Ok(rows)
}

fn introduction(train: &Dataset, test: &Dataset) -> String {
    format!(
        "khan2001: {} tumour samples of four types x {} genes\n\
         (Burkitt lymphoma BL, Ewing sarcoma EWS, neuroblastoma NB,\n\
         rhabdomyosarcoma RMS), and {} new samples to test the result on.\n",
        train.rows(),
        train.columns(),
        test.rows()
    )
}

fn the_fit(model: &Model, times: Times) -> String {
    format!(
        "\nEWCA with {COMPONENTS} components, {} after {} iterations in {}.\nEpsilon is {}: each sample is matched with about \
         {:.0} neighbours\n(perplexity {}, the default).\n\n{}",
        how_it_ended(model),
        model.iterations(),
        time(times.fit),
        number(model.epsilon()),
        model.perplexity().overall,
        number(model.perplexity().overall),
        explained_variance(model)
    )
}

/// PCA explains the most variance by definition; a wider spread trades some of it for neighbourhoods. Whether that helps to
/// tell the classes apart is for the data to say, so the table shows several spreads.
fn against_pca(spreads: &[Spread], train: &Dataset, test: &Dataset) -> String {
    let mut text = format!(
        "\nHow many neighbours are best? PCA matches each sample with itself only:\n\n  {:<16}{:>10}{:>20}{:>20}\n  \
         {:<16}{:>10}{:>20}{:>20}\n",
        "perplexity",
        "variance",
        "wrong neighbours",
        "right classes",
        "",
        "explained",
        format!("among the {}", train.rows()),
        format!("of the {} new", test.rows())
    );
    let classes = EncodedLabels::new(&[train.labels(), test.labels()].concat()).classes;
    let (known, new) = classes.split_at(train.rows());
    for Spread { name, variance, scores, new_scores, .. } in spreads {
        let variance = percent(*variance);
        let wrong = Neighbours::new(scores).leave_one_out_errors(known);
        let right = new.len() - errors_of_new(scores, known, new_scores, new);
        let _ = writeln!(text, "  {name:<16}{variance:>10}{wrong:>20}{right:>20}");
    }
    text.push_str(
        "\n  Wrong neighbours: samples whose nearest sample (by the scores) has another\n  class. Right classes: new samples whose \
         nearest sample has the same class.\n",
    );
    text
}

fn new_scores(model: &Model, test: &Dataset) -> Result<Matrix, Failure> {
    test.scores(model).map_err(refused)
}

/// The first two scores: capitals are the samples of the fit, small letters the new ones.
fn scatter(model: &Model, train: &Dataset, test: &Dataset) -> Result<String, Failure> {
    let (scores, new_scores) = (model.scores(), new_scores(model, test)?);
    let classes: BTreeSet<&str> = train.labels().iter().map(String::as_str).collect();
    let letters = plot::letters(&classes);
    let letter = |label: &str| letters.iter().find(|(class, _)| *class == label).map_or('?', |(_, letter)| *letter);
    let mut plot = Plot::default();
    for (i, label) in train.labels().iter().enumerate() {
        plot.add(scores.get(i, 0), scores.get(i, 1), letter(label));
    }
    for (i, label) in test.labels().iter().enumerate() {
        plot.add(new_scores.get(i, 0), new_scores.get(i, 1), letter(label).to_ascii_lowercase());
    }
    let legend: Vec<String> = letters.iter().map(|(class, letter)| format!("{letter} {class}")).collect();
    Ok(format!(
        "\n{}  {}; lower case: new samples; *: several classes\n",
        plot.drawn(&component_name(0), &component_name(1)),
        legend.join(", ")
    ))
}

/// To whom the plan sends the mass of the first sample of each class.
fn partners(model: &Model, train: &Dataset) -> String {
    let (plan, labels) = (model.plan(), train.labels());
    let mut text = String::from(
        "\nThe transport plan says how strongly each sample is matched with every other.\nStrongest \
                                 partners of four samples, with their shares:\n\n",
    );
    let mut shown: Vec<&str> = Vec::new();
    for (sample, label) in labels.iter().enumerate() {
        if shown.len() == SHOWN_SAMPLES || shown.contains(&label.as_str()) {
            continue;
        }
        shown.push(label);
        let partners: Vec<String> = plan
            .partners(sample, SHOWN_PARTNERS + 1)
            .into_iter()
            .filter(|&(partner, _)| partner != sample)
            .take(SHOWN_PARTNERS)
            .map(|(partner, share)| format!("{} {:<3} {:>3.0}%", train.ids[partner], labels[partner], 100.0 * share))
            .collect();
        let _ = writeln!(text, "  {} {label:<3} {}", train.ids[sample], partners.join("  "));
    }
    let own: f64 = (0..labels.len())
        .map(|i| {
            let shares = plan.shares(&model.scores().row(i));
            shares.iter().zip(labels).filter(|(_, label)| **label == labels[i]).map(|(share, _)| share).sum::<f64>()
        })
        .sum();
    let _ = writeln!(text, "\n  {} of all matching is within a class.", percent(own / labels.len() as f64));
    text
}

fn what_next(folder: &ResultsFolder, report: &Path) -> String {
    let command = CommandLine::of("fit")
        .path(&folder.path().join(FILE))
        .option("--where", Some("split=train"))
        .option("--label", Some("class"))
        .option("--id", Some("sample"))
        .option("-k", Some(COMPONENTS))
        .in_lines(2);
    let (folder, report) = (folder.path().display(), report.display());
    format!(
        "\nWritten to {folder}: scores.csv, loadings.csv,\nmodel.safetensors, summary.json, and the data.\nOpen in a browser: \
         {report}\nTo run the same fit yourself:\n\n{command}\n"
    )
}
