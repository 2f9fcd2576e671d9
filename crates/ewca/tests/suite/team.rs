//! Processes that share a fit get what one process gets. Here threads stand for the processes.

use std::sync::{Arc, Barrier, Mutex};

use crate::common::{FIXTURES, check_fit, fixture, subspace_distance};
use crate::many::clouds;
use crate::sparse::{compressed, counts};
use ewca::{Control, Error, Ewca, FitState, Model, Params, Progress, Samples, Team, Unobserved};

/// A team of threads, which leave their numbers on a common board.
#[derive(Debug)]
struct Threads {
    rank: usize,
    board: Arc<Board>,
}

#[derive(Debug)]
struct Board {
    barrier: Barrier,
    /// parts[from][to]
    parts: Mutex<Vec<Vec<Vec<f64>>>>,
}

impl Team for Threads {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.board.parts.lock().unwrap().len()
    }

    fn gather(&self, own: &[f64]) -> Vec<Vec<f64>> {
        self.exchange(&vec![own; self.size()])
    }

    fn exchange(&self, parts: &[&[f64]]) -> Vec<Vec<f64>> {
        self.board.parts.lock().unwrap()[self.rank] = parts.iter().map(|part| part.to_vec()).collect();
        self.board.barrier.wait();
        let own = self.board.parts.lock().unwrap().iter().map(|from| from[self.rank].clone()).collect();
        self.board.barrier.wait();
        own
    }
}

/// What every member of a team of `size` gets, each with its share of the rows.
fn together<R: Send>(
    data: &[f64],
    columns: usize,
    weights: Option<&[f64]>,
    size: usize,
    job: impl Fn(&Samples<'_>) -> R + Sync,
) -> Vec<R> {
    let rows = data.len() / columns;
    members(size, |rank, team| {
        let own = rows * rank / size..rows * (rank + 1) / size;
        let samples = Samples::new(&data[own.start * columns..own.end * columns], own.len(), columns);
        let mut samples = samples.unwrap().with_team(team).unwrap();
        if let Some(weights) = weights {
            samples = samples.with_weights(&weights[own]).unwrap();
        }
        job(&samples)
    })
}

/// What every member of a team of `size` returns, by rank.
fn members<R: Send>(size: usize, job: impl Fn(usize, Arc<dyn Team>) -> R + Sync) -> Vec<R> {
    let board = Arc::new(Board { barrier: Barrier::new(size), parts: Mutex::new(vec![Vec::new(); size]) });
    std::thread::scope(|scope| {
        let start = |rank| {
            let (board, job) = (board.clone(), &job);
            scope.spawn(move || job(rank, Arc::new(Threads { rank, board })))
        };
        let members: Vec<_> = (0..size).map(start).collect();
        members.into_iter().map(|member| member.join().unwrap()).collect()
    })
}

fn text(model: &Model) -> String {
    serde_json::to_string(model).unwrap()
}

#[test]
fn teams_meet_the_references() {
    // Wide data take an eigen-decomposition for each member: one such fit tells enough.
    for name in FIXTURES.into_iter().filter(|name| *name != "wide3000") {
        let fixture = fixture(name);
        let samples = fixture.samples();
        let wide = fixture.columns > 100;
        for case in fixture.cases.iter().take(if wide { 1 } else { 4 }) {
            for size in if wide { vec![2] } else { vec![2, 3] } {
                let params = Ewca::params(case.k).epsilon(case.epsilon).tolerance(1e-9).check().unwrap();
                let models = together(&fixture.data, fixture.columns, fixture.weights.as_deref(), size, |samples| {
                    params.fit(samples).unwrap()
                });
                let what = format!("{name} k={} epsilon={} in {size}", case.k, case.epsilon);
                check_fit(&samples, &models[0]);
                assert!(models.iter().all(|model| text(model) == text(&models[0])), "{what}: they differ");
                assert!(models[0].converged(), "{what}: {}", models[0].termination());
                let above = (models[0].loss() - case.loss) / case.loss.abs();
                assert!(above <= 1e-8, "{what}: loss {} is above {}", models[0].loss(), case.loss);
                if above >= -1e-8 {
                    assert!(subspace_distance(&case.components, models[0].components()) < 1e-5, "{what}");
                }
            }
        }
    }
}

#[test]
fn many_samples_shared_are_those_of_one_process_to_rounding() {
    let (n, d) = (8300, 6);
    let data = clouds(n);
    let params = Ewca::params(2).perplexity(40.0).check().unwrap();
    let alone = params.fit(&Samples::new(&data, n, d).unwrap()).unwrap();
    for size in [1, 2, 4] {
        let fit = || together(&data, d, None, size, |samples| params.fit(samples).unwrap());
        let models = fit();
        assert!(models.iter().all(|model| text(model) == text(&models[0])), "{size}: they differ");
        assert!(models[0].converged());
        if size == 1 {
            assert_eq!(text(&models[0]), text(&alone));
        } else {
            check_fit(&Samples::new(&data, n, d).unwrap(), &models[0]);
            assert_eq!(text(&models[0]), text(&fit()[0]), "{size}: not the same bits twice");
        }
        assert!((models[0].epsilon() / alone.epsilon() - 1.0).abs() < 1e-6);
        assert!((models[0].loss() / alone.loss() - 1.0).abs() < 1e-6);
        assert!(subspace_distance(models[0].components(), alone.components()) < 1e-5);
    }
}

#[test]
fn a_fit_goes_on_with_another_number_of_processes() {
    let (n, d) = (700, 6);
    let data = clouds(n);
    let params: Params = Ewca::params(2).perplexity(20.0).tolerance(1e-9);
    let params = params.check().unwrap();
    let whole = params.fit(&Samples::new(&data, n, d).unwrap()).unwrap();
    // Stopped after some iterations, in a team of 3.
    let states: Vec<Option<FitState>> = together(&data, d, None, 3, |samples| {
        let mut kept = None;
        let mut stop_later = |progress: &Progress<'_>| {
            kept = Some(progress.state.clone());
            if progress.iteration.iteration == 4 { Control::Stop } else { Control::Continue }
        };
        let model = params.fit_observed(samples, &mut stop_later).unwrap();
        assert!(!model.converged());
        kept
    });
    let state = states[0].clone().unwrap();
    let mut nobody = Unobserved;
    for size in [1, 2, 3, 4] {
        let models =
            together(&data, d, None, size, |samples| params.resume(samples, state.clone(), &mut Unobserved).unwrap());
        check_fit(&Samples::new(&data, n, d).unwrap(), &models[0]);
        assert!(models[0].converged(), "{size}: {}", models[0].termination());
        assert!((models[0].loss() / whole.loss() - 1.0).abs() < 1e-6, "{size}: {} {}", models[0].loss(), whole.loss());
        assert!(subspace_distance(models[0].components(), whole.components()) < 1e-4, "{size}");
        if size == 3 {
            let straight = together(&data, d, None, 3, |samples| params.fit(samples).unwrap());
            assert_eq!(text(&models[0]), text(&straight[0]));
        }
    }
    // Other data are refused.
    let other: Vec<f64> = data.iter().map(|x| 1.001 * x).collect();
    let refused = params.resume(&Samples::new(&other, n, d).unwrap(), state, &mut nobody);
    assert!(matches!(refused, Err(Error::State { .. })));
}

#[test]
fn one_who_stops_stops_all() {
    let data = clouds(599);
    let params = Ewca::params(2).perplexity(20.0).check().unwrap();
    let models = together(&data, 6, None, 3, |samples| {
        // Shares of 199, 200 and 200 samples: one of them asks to stop.
        let asks = samples.rows() == 199;
        let mut stop = |progress: &Progress<'_>| {
            if asks && progress.iteration.iteration == 3 { Control::Stop } else { Control::Continue }
        };
        params.fit_observed(samples, &mut stop).unwrap()
    });
    assert!(models.iter().all(|model| model.termination() == ewca::Termination::Interrupted));
}

#[test]
fn sparse_samples_are_shared_too() {
    let (n, d) = (150, 30);
    let data = counts(n, d, 2);
    let params = Ewca::params(3).epsilon(1.0).tolerance(1e-10).check().unwrap();
    let models = members(3, |rank, team| {
        let own = &data[n * rank / 3 * d..n * (rank + 1) / 3 * d];
        let (offsets, positions, values) = compressed(own, d);
        let samples = Samples::sparse(&offsets, &positions, &values, d).unwrap().with_team(team).unwrap();
        params.fit(&samples).unwrap()
    });
    let whole = Samples::new(&data, n, d).unwrap();
    let alone = params.fit(&whole).unwrap();
    check_fit(&whole, &models[0]);
    assert!((models[0].loss() / alone.loss() - 1.0).abs() < 1e-12);
    assert!(subspace_distance(models[0].components(), alone.components()) < 1e-8);
}

#[test]
fn landmarks_are_shared() {
    let data = clouds(3000);
    let params = || Ewca::params(2).perplexity(300.0).landmarks(300);
    let alone = params().fit(&Samples::new(&data, 3000, 6).unwrap()).unwrap();
    let models = together(&data, 6, None, 3, |samples| params().fit(samples).unwrap());
    for model in &models {
        assert!(model.converged());
        assert!((model.loss() / alone.loss() - 1.0).abs() < 1e-6);
        assert!(subspace_distance(model.components(), alone.components()) < 1e-4);
        let (said, same) = (model.certificate().approximation.unwrap(), alone.certificate().approximation.unwrap());
        assert!((said.marginal_error / same.marginal_error - 1.0).abs() < 0.1, "{said:?} {same:?}");
        assert_eq!(model.certificate().approximation, models[0].certificate().approximation);
    }
}

/// A team whose other member says something else.
#[derive(Debug)]
struct Odd;

impl Team for Odd {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        2
    }

    fn gather(&self, own: &[f64]) -> Vec<Vec<f64>> {
        let mut other = own.to_vec();
        other.iter_mut().skip(2).for_each(|x| *x += 1.0);
        vec![own.to_vec(), other]
    }

    fn exchange(&self, parts: &[&[f64]]) -> Vec<Vec<f64>> {
        vec![parts[0].to_vec(); 2]
    }
}

#[test]
fn members_that_would_round_otherwise_are_refused() {
    let data = clouds(50);
    let refused = Samples::new(&data, 50, 6).unwrap().with_team(Arc::new(Odd)).unwrap_err();
    assert!(matches!(refused, Error::Team { .. }));
    assert!(refused.to_string().contains("processors of the same kind"), "{refused}");
}

#[test]
fn members_and_parts_without_weight_take_no_part() {
    let (n, d) = (90, 6);
    let data = clouds(n);
    let weights: Vec<f64> = (0..n).map(|i| if i < 30 { 1.0 + (i % 3) as f64 } else { 0.0 }).collect();
    let params = Ewca::params(2).epsilon(3.0).tolerance(1e-10).check().unwrap();
    let whole = Samples::new(&data, n, d).unwrap().with_weights(&weights).unwrap();
    let alone = params.fit(&whole).unwrap();
    let models = together(&data, d, Some(&weights), 3, |samples| params.fit(samples).unwrap());
    check_fit(&whole, &models[2]);
    assert!((models[2].loss() / alone.loss() - 1.0).abs() < 1e-12);
    let source = crate::streamed::Table::new(&data, d, 10);
    let streamed: Samples<'_> = Samples::streamed(&source).unwrap().with_weights(&weights).unwrap();
    let model = params.fit(&streamed).unwrap();
    check_fit(&whole, &model);
    assert!((model.loss() / alone.loss() - 1.0).abs() < 1e-12);
    // Weights that one process has given for itself alone mean nothing to the others.
    let early = whole.with_team(Arc::new(Odd)).unwrap_err();
    assert!(early.to_string().contains("after the team"), "{early}");
}
