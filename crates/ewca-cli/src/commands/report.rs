//! `ewca report`, and the reports of other commands: one HTML file that shows what was found.

use std::io::Write;

use ewca::{DEFAULT_EPSILONS, Model, Pca, Samples};
use ewca_eval::Scree;
use ewca_io::{Known, Staged, stage};
use ewca_report::{Annotation, MOST_TSNE_SAMPLES, Report, Subject, multiqc};

use crate::args::{ReportJob, ReportWish};
use crate::commands::fit::start_threads;
use crate::commands::path::automatic;
use crate::commands::transform::model_at;
use crate::console::failure::Failure;
use crate::console::outcome::Outcome;
use crate::console::terminal::Console;
use crate::console::text::bytes;
use crate::input::prepare::{Preparation, Purpose};
use crate::input::table::Dataset;
use crate::output::covariates::Covariates;
use crate::output::emit::check_writable;
use crate::output::exports::Written;
use crate::output::results::ResultsFolder;
use crate::run::memory::{MemoryPlan, Reporting};
use crate::run::progress::{self, WatchedFits, Watcher};

/// Runs the job.
pub fn run(job: &ReportJob, console: Console) -> Result<Outcome, Failure> {
    start_threads(job.limits.threads)?;
    let file = model_at(&job.model, console)?;
    let name = job.table.input.name();
    let report =
        Reporting { components: file.model.n_components(), steps: if job.path { DEFAULT_EPSILONS } else { 0 } };
    let params = file.model.params().params();
    let plan =
        MemoryPlan { params, limits: job.limits, file: &name, report: Some(report), exports: None, permuting: false };
    let mut prepared = Preparation { table: &job.table, purpose: Purpose::Known(&file), plan }.whole(console)?;
    let data = &mut prepared.data;
    if data.table.checksum() != file.training_checksum {
        let problem = format!(
            "is not the table that {} was fitted on; use that table with the same options as in the fit (--where, --missing and \
             so on), or fit this table with --report",
            job.model.display()
        );
        return Err(Failure::Unfit { file: name, problem });
    }
    // The model knows its samples; the table may know classes that the fit was not told.
    data.ids.clone_from(&file.ids);
    data.annotate(&job.table)?;
    data.remember(&file);
    let data = &prepared.data;
    data.joined.iter().for_each(|joined| console.say(joined.in_words()));
    let samples = prepared.samples(&name)?;
    let params = prepared.predict(&plan, &samples)?.params;
    let _folder = ResultsFolder::make_for(job.report.file.parent().unwrap_or(&job.report.file))?;
    job.report.check_writable(data.rows())?;
    let _multiqc_folder =
        job.multiqc.as_deref().map(|file| ResultsFolder::make_for(file.parent().unwrap_or(file))).transpose()?;
    job.multiqc.as_deref().map(check_writable).transpose()?;

    let refused = |source| Failure::Fit { file: name.clone(), source };
    let pca = params.pca(&samples).map_err(refused)?;
    let mut watcher = Watcher::new(WatchedFits::Steps(DEFAULT_EPSILONS), console);
    let path = match job.path {
        true => {
            watcher.start();
            automatic(&samples, &params, &mut watcher).map_err(refused)?
        }
        false => Vec::new(),
    };
    watcher.finish();
    let short_name = job.table.input.short_name();
    let covariates = Covariates::new(data, &file.model);
    let source =
        ReportSource { name: &short_name, data, samples: &samples, covariates: covariates.as_ref(), scree: None };
    let annotations = source.annotations();
    let multiqc = job
        .multiqc
        .as_ref()
        .map(|place| {
            let subject = source.subject(&annotations, &file.model, &pca, &path);
            stage(place, |out| out.write_all(multiqc(&subject).as_bytes()))
        })
        .transpose()?;
    let (written, staged) = source.stage(&job.report, &file.model, &pca, &path, console)?;
    staged.commit()?;
    written.say(console);
    if let (Some(staged), Some(place)) = (multiqc, &job.multiqc) {
        staged.commit()?;
        Written { file: place.clone(), what: "embedding for MultiQC".into() }.say(console);
    }
    Ok(Outcome::Success)
}

impl ReportWish {
    /// Makes sure that it can be fulfilled: a long fit should not find out at its end.
    pub fn check_writable(&self, samples: usize) -> Result<(), Failure> {
        if self.tsne && samples > MOST_TSNE_SAMPLES {
            let problem =
                format!("--tsne works for up to {MOST_TSNE_SAMPLES} samples, and there are {samples}; remove --tsne");
            return Err(Failure::Unfit { file: self.file.display().to_string(), problem });
        }
        check_writable(&self.file)
    }
}

/// What was fitted.
#[derive(Debug, Clone, Copy)]
pub struct ReportSource<'a> {
    /// The name of the data, without folders.
    pub name: &'a str,
    /// The data.
    pub data: &'a Dataset,
    /// The same, as they were fitted.
    pub samples: &'a Samples<'a>,
    /// Which component goes with what is known of the samples.
    pub covariates: Option<&'a Covariates>,
    /// What the number of components was found by.
    pub scree: Option<&'a Scree>,
}

impl ReportSource<'_> {
    /// What is known of the samples besides their features.
    fn annotations(&self) -> Vec<Annotation> {
        let shown = |annotation: ewca_io::Annotation| match annotation.known {
            Known::Classes { classes, codes } => {
                Annotation::classes(&annotation.name, classes, &codes, annotation.colours)
            }
            Known::Numbers { numbers } => {
                let numbers = numbers.into_iter().map(|number| number.unwrap_or(f64::NAN)).collect();
                Annotation::numbers(&annotation.name, numbers)
            }
        };
        self.data.all_annotations().into_iter().map(shown).collect()
    }

    fn subject<'s>(
        &'s self,
        annotations: &'s [Annotation],
        model: &'s Model,
        pca: &'s Pca,
        path: &'s [Model],
    ) -> Subject<'s> {
        Subject {
            name: self.name,
            preprocessing: &[],
            samples: Some(self.samples),
            features: &self.data.table.features,
            ids: &self.data.ids,
            annotations,
            covariates: &[],
            scree: self.scree,
            model,
            pca: Some(pca),
            path,
            tsne: false,
        }
    }

    /// Writes the report of a fit, with PCA beside it and perhaps a path, next to its place. Something moves on the terminal if it
    /// takes long.
    pub fn stage(
        &self,
        wish: &ReportWish,
        model: &Model,
        pca: &Pca,
        path: &[Model],
        console: Console,
    ) -> Result<(Written, Staged), Failure> {
        let spinner = progress::phase("making the report", console);
        let annotations = self.annotations();
        let subject = Subject {
            tsne: wish.tsne,
            preprocessing: &self.data.preprocessing.steps.in_words(),
            covariates: &self.covariates.map_or(Vec::new(), Covariates::for_report),
            ..self.subject(&annotations, model, pca, path)
        };
        let unfit = |error: ewca_report::Error| Failure::Unfit { file: self.name.into(), problem: error.to_string() };
        let page = Report::new(&subject).map(|report| report.to_html());
        spinner.finish_and_clear();
        let page = page.map_err(unfit)?;
        let staged = stage(&wish.file, |out| out.write_all(page.as_bytes()))?;
        let what = format!("report, {}; open it in a browser", bytes(page.len()));
        Ok((Written { file: wish.file.clone(), what }, staged))
    }
}
