use std::path::PathBuf;
use std::time::Duration;

use ewca::{EigenvalueBound, Ewca, MmParams, Orthonormalisation, Solver};
use ewca_io::{Format, Missing, Preprocessing};

use super::*;
use crate::input::table::Input;

fn request(arguments: &[&str]) -> Result<Request, String> {
    let cli = Cli::try_parse_from([&["ewca"], arguments].concat()).map_err(|error| error.to_string())?;
    let overwrite = cli.files.overwrite;
    Ok(Request { console: cli.messages.console(), overwrite, job: cli.command.into_job(overwrite)? })
}

fn fit(arguments: &[&str]) -> Result<(Console, FitJob), String> {
    match request(&[&["fit"], arguments].concat())? {
        Request { console, job: Job::Fit(job), .. } => Ok((console, *job)),
        other => panic!("not a fit: {other:?}"),
    }
}

#[test]
fn the_arguments_are_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn a_bare_select_compares_what_the_library_does() {
    let Job::Select(job) = request(&["select", "data.csv"]).unwrap().job else { panic!("not a selection") };
    assert_eq!(job.components, Some(ewca::DEFAULT_COMPONENTS.collect()));
}

#[test]
fn a_bare_fit_has_the_librarys_defaults() {
    let (console, job) = fit(&["data.csv"]).unwrap();
    assert_eq!(job.asked.components(), Components::Given(2));
    assert_eq!(job.asked.params(2), Ewca::params(2));
    assert_eq!(job.table.input, Input::File("data.csv".into()));
    assert_eq!(job.output, PathBuf::from("ewca-out"));
    assert!(job.preprocessing.is_nothing() && job.checkpoint.is_none() && job.resume.is_none());
    assert_eq!((console.verbosity, console.json), (Verbosity::Normal, false));
}

#[test]
fn every_option_reaches_the_job() {
    let line = "- -k 3 --perplexity 7.5 --solver mm --mm-inner-steps 4 --mm-bound exact --mm-orthonormalisation polar \
                --restarts 2 --seed 9 --tolerance 1e-8 --max-iterations 50 --max-memory 2GiB --threads 3 -o out -v \
                --label l --id i --ignore a --ignore b --where s=x=y --missing mean --delimiter tab --no-header --json \
                --transpose --variable X --format mat --normalize-total 1e4 --log1p --top-variable 9 \
                --scale unit-variance --scores s.npy --loadings l.csv --plan p.parquet --partners 7 --dense-plan d.npy \
                --checkpoint c --checkpoint-every 1.5 --resume r";
    let (console, job) = fit(&line.split_whitespace().collect::<Vec<_>>()).unwrap();
    let mm = MmParams { inner_steps: 4, bound: EigenvalueBound::Exact, orthonormalisation: Orthonormalisation::Polar };
    let params =
        Ewca::params(3).perplexity(7.5).solver(Solver::Mm(mm)).restarts(2).seed(9).tolerance(1e-8).max_iterations(50);
    assert_eq!((job.asked.components(), job.asked.seed()), (Components::Given(3), 9));
    assert_eq!(job.asked.params(3), params);
    assert_eq!((console.verbosity, console.json), (Verbosity::Verbose, true));
    assert_eq!((job.limits.max_memory, job.limits.threads), (Some(2 << 30), Some(3)));
    let TableJob { input, read, .. } = &job.table;
    assert_eq!(*input, Input::Standard);
    assert_eq!(read.ignore, ["a", "b"]);
    assert_eq!(read.filter, Some(("s".into(), "x=y".into())));
    assert_eq!((read.missing, read.delimiter, read.header), (Missing::Mean, Some(b'\t'), false));
    assert_eq!((read.transpose, read.array.as_deref(), read.format), (true, Some("X"), Some(Format::Mat)));
    let steps = Preprocessing { normalize_total: Some(1e4), log1p: true, top_variable: Some(9), unit_variance: true };
    assert_eq!(job.preprocessing, steps);
    assert_eq!((job.exports.partners, job.exports.plan), (7, Some("p.parquet".into())));
    assert_eq!(job.checkpoint.unwrap().every, Duration::from_millis(1500));
    assert_eq!(job.resume, Some("r".into()));
}

#[test]
fn the_number_of_components_may_be_left_to_the_data() {
    let (_, job) = fit(&["data.csv", "-k", "auto", "--seed", "4", "--epsilon", "2"]).unwrap();
    assert_eq!(job.asked.components(), Components::Auto);
    assert_eq!(job.asked.params(6), Ewca::params(6).seed(4).epsilon(2.0));
    for option in ["--in-parts", "--distributed"] {
        let problem = fit(&["data.npy", "-k", "auto", option]).unwrap_err();
        assert!(problem.contains(option) && problem.contains("pass it with -k"), "{problem}");
    }
}

#[test]
fn a_path_has_steps() {
    let steps = |arguments: &[&str]| match request(&[&["path", "a.csv", "-k", "3"], arguments].concat()) {
        Ok(Request { job: Job::Path(job), .. }) => Ok(job.steps),
        Ok(other) => panic!("not a path: {other:?}"),
        Err(problem) => Err(problem),
    };
    assert_eq!(steps(&[]), Ok(Steps::Automatic));
    assert_eq!(steps(&["--epsilons", "1,2"]), Ok(Steps::Epsilons(vec![1.0, 2.0])));
    assert_eq!(steps(&["--perplexities", "2,5"]), Ok(Steps::Perplexities(vec![2.0, 5.0])));
    assert!(steps(&["--epsilons", "1", "--perplexities", "2"]).is_err());
    assert!(steps(&["--epsilon", "1"]).is_err());
}

#[test]
fn wrong_values_are_refused() {
    for wrong in [
        &["a.csv", "-k", "0"][..],
        &["a.csv", "--epsilon", "-1"],
        &["a.csv", "--epsilon", "1", "--perplexity", "5"],
        &["a.csv", "--perplexity", "1"],
        &["a.csv", "--tolerance", "0"],
        &["a.csv", "--max-iterations", "0"],
        &["a.csv", "--threads", "0"],
        &["a.csv", "--max-memory", "much"],
        &["a.csv", "--mm-bound", "exact"],
        &["a.csv", "--where", "train"],
        &["a.csv", "--format", "xls"],
        &["a.csv", "--scores", "s.xlsx"],
        &["a.csv", "--dense-plan", "p.csv"],
        &["a.csv", "--write-anndata", "b.h5ad"],
        &["a.h5ad", "--transpose", "--write-anndata", "b.h5ad"],
        &["a.csv", "--normalize-total", "0"],
        &["a.csv", "--top-variable", "0"],
        &["a.csv", "--checkpoint-every", "-1"],
        &["a.csv", "-v", "-q"],
        &[],
    ] {
        assert!(fit(wrong).is_err(), "{wrong:?}");
    }
}
