//! What a run will take at most, known before it begins.

use std::sync::atomic::{AtomicUsize, Ordering};

use ewca::{CheckedParams, Ewca, Params, Samples};
use ewca_eval::ParallelAnalysis;
use ewca_io::{Forecast, Preprocessing, available_memory};
use ewca_report::page_bytes;

use crate::args::Limits;
use crate::console::failure::Failure;
use crate::input::table::Dataset;
use crate::output::exports::Exports;

/// What the program takes on the smallest of tables, as measured on x86-64 Linux.
const PROGRAM: usize = 13 << 19;
/// What the process held of its own (pages of files, such as the program's code, are not counted) before the program began, where the system tells: more
/// than that, where it is Python's.
static HELD_BEFORE: AtomicUsize = AtomicUsize::new(0);

/// Notes what the process holds before anything is done.
pub fn note_what_is_held() {
    HELD_BEFORE.store(process_bytes("RssAnon").unwrap_or(0), Ordering::Relaxed);
}

/// What the program takes on the smallest of tables, in this process.
fn program() -> usize {
    PROGRAM.max(HELD_BEFORE.load(Ordering::Relaxed))
}

/// What reading took beside the table stays with the allocator, up to about this.
const LEFT_BEHIND: usize = 7 << 20;

/// Parameters that keep to the limit, and what the run will take at most.
#[derive(Debug)]
pub struct Prediction {
    /// The parameters.
    pub params: Params,
    /// Bytes.
    pub peak: usize,
    /// Bytes that may be taken beside that, where there are so many, to keep what is computed of the kernel.
    pub kept: usize,
}

/// A report that will be made of a run's fits.
#[derive(Debug, Clone, Copy)]
pub struct Reporting {
    /// The number of components.
    pub components: usize,
    /// The fits along epsilon that it holds.
    pub steps: usize,
}

impl Reporting {
    /// The bytes of the fits that are held beside the one that is made: PCA, the fit itself, and the path.
    fn fits(self, rows: usize, columns: usize) -> usize {
        let one = rows.saturating_add(columns).saturating_mul(self.components).saturating_mul(size_of::<f64>());
        one.saturating_mul(self.steps.saturating_add(2))
    }

    /// The bytes of the page while it is made: its parts, its data as text, and the whole.
    fn page(self, rows: usize, columns: usize) -> usize {
        page_bytes(rows, columns, self.components, self.steps).saturating_mul(3)
    }
}

/// A fit that is about to be made of a table.
#[derive(Debug, Clone, Copy)]
pub struct MemoryPlan<'a> {
    /// What to fit.
    pub params: &'a Params,
    /// What the run may use.
    pub limits: Limits,
    /// The table's name in messages.
    pub file: &'a str,
    /// The report that follows, if one does.
    pub report: Option<Reporting>,
    /// The files that follow, if any do, and the number of components in them.
    pub exports: Option<(&'a Exports, usize)>,
    /// Whether a permuted copy of the table is looked at first, for the number of components.
    pub permuting: bool,
}

impl MemoryPlan<'_> {
    /// Before the table is read: refuses what cannot be kept. Gives what reading will take at most, where that is known.
    pub fn before_reading(&self, promised: Option<&Forecast>, steps: &Preprocessing) -> Result<usize, Failure> {
        let Some(promised) = promised else { return Ok(0) };
        if self.limits.max_memory.is_some() {
            let columns = steps.top_variable.unwrap_or(usize::MAX).min(promised.columns);
            self.predict(promised.rows, columns, held(promised), promised.reading)?;
        }
        Ok(promised.reading)
    }

    /// Once the table is there: `reading` is what reading it took.
    pub fn for_table(&self, data: &Dataset, reading: usize) -> Result<Prediction, Failure> {
        let prediction = self.predict(data.rows(), data.columns(), data.bytes(), reading)?;
        // Without a wish the machine is the limit. The table is there already.
        let more = prediction.peak.saturating_sub(data.bytes()).saturating_sub(program());
        match available() {
            Some(free) if self.limits.max_memory.is_none() && more > free => {
                Err(Failure::NoMemory { file: self.file.into(), more, free })
            }
            _ => Ok(prediction),
        }
    }

    /// Once it is known where the samples are: `held` bytes are taken by what is in memory, and by reading.
    pub fn for_samples(&self, samples: &Samples<'_>, rows: usize, held: usize) -> Result<Prediction, Failure> {
        let written = self.written(rows, samples.columns());
        self.with_fit(rows, held, written, |params| params.memory_needed_for(samples))
    }

    /// Before a table of this shape is read part by part: refuses what cannot be kept.
    pub fn for_parts(&self, rows: usize, columns: usize, held: usize) -> Result<Prediction, Failure> {
        let written = self.written(rows, columns);
        self.with_fit(rows, held, written, |params| params.memory_needed_streamed(rows, columns))
    }

    /// What writing files takes once the fit is done, beside its result.
    fn written(&self, rows: usize, columns: usize) -> usize {
        let Some((exports, components)) = self.exports else { return 0 };
        let model = rows.saturating_add(columns).saturating_mul(components).saturating_mul(size_of::<f64>());
        let more = exports.bytes(rows, columns, components);
        if more > 0 { model.saturating_add(more) } else { 0 }
    }

    /// What looking at a permuted copy takes: the copy, and PCA of it.
    fn permuted(&self, rows: usize, columns: usize, table: usize) -> usize {
        if !self.permuting {
            return 0;
        }
        let most = ParallelAnalysis::default().most.min(rows.saturating_sub(1)).min(columns).max(1);
        let pca = Ewca::params(most).check().and_then(|params| params.memory_needed(rows, columns)).unwrap_or(0);
        table.saturating_add(pca)
    }

    /// Parameters with room to keep what is computed of the kernel: what the limit leaves, or half of what the machine has to give.
    fn keeping(&self, params: Params, rows: usize, needed: usize) -> (Params, usize) {
        let params = match self.limits.max_memory {
            Some(_) => params,
            None => params.memory_budget(needed.saturating_add(available().unwrap_or(usize::MAX) / 2)),
        };
        let kept = params.clone().check().map_or(0, |checked| checked.memory_kept(rows, needed));
        (params, kept)
    }

    fn with_fit(
        &self,
        rows: usize,
        held: usize,
        written: usize,
        need: impl FnOnce(&CheckedParams) -> ewca::Result<usize>,
    ) -> Result<Prediction, Failure> {
        let limit = self.limits.max_memory.unwrap_or(usize::MAX);
        let budget = limit - limit / 5;
        let held = held.saturating_add(program());
        let params = self.params.clone().memory_budget(budget.saturating_sub(held));
        match params.clone().check().and_then(|params| need(&params)) {
            Ok(fit) if held.saturating_add(written) <= budget => {
                let (params, kept) = self.keeping(params, rows, fit);
                Ok(Prediction { params, peak: held.saturating_add(fit.max(written)), kept })
            }
            Ok(needed) | Err(ewca::Error::Memory { needed, .. }) => {
                let needed = needed.max(written).saturating_add(held);
                let needed = needed.saturating_add(needed / 4);
                Err(Failure::Memory { file: self.file.into(), needed, budget: limit })
            }
            Err(source) => Err(Failure::Fit { file: self.file.into(), source }),
        }
    }

    /// Whether the table is too large to be held.
    pub fn is_too_large(&self, promised: Option<&Forecast>, steps: &Preprocessing) -> bool {
        let Some(most) = self.limits.max_memory.or_else(available) else { return false };
        let within = Self { limits: Limits { max_memory: Some(most), ..self.limits }, ..*self };
        matches!(within.before_reading(promised, steps), Err(Failure::Memory { .. }))
    }

    fn predict(&self, rows: usize, columns: usize, table: usize, reading: usize) -> Result<Prediction, Failure> {
        let refused = |source| Failure::Fit { file: self.file.into(), source };
        // The peak may be a quarter above the prediction, and the limit is kept all the same.
        let limit = self.limits.max_memory.unwrap_or(usize::MAX);
        let budget = limit - limit / 5;
        let fits = self.report.map_or(0, |report| report.fits(rows, columns));
        let left_behind = reading.saturating_sub(table).min(LEFT_BEHIND);
        let held = table.saturating_add(program()).saturating_add(fits).saturating_add(left_behind);
        let params = self.params.clone().memory_budget(budget.saturating_sub(held));
        let needed = match params.clone().check().and_then(|params| params.memory_needed(rows, columns)) {
            Err(ewca::Error::Memory { needed, .. }) => needed,
            other => other.map_err(refused)?,
        };
        let fit = needed.max(self.permuted(rows, columns, table));
        // The page is made when the fits are done, and so are other files.
        let fit = fit.max(self.report.map_or(0, |report| report.page(rows, columns))).max(self.written(rows, columns));
        let peak = held.saturating_add(fit).max(reading.saturating_add(program()));
        match peak > budget {
            true => {
                let needed = peak.saturating_add(peak / 4);
                Err(Failure::Memory { file: self.file.into(), needed, budget: limit })
            }
            false => {
                let (params, kept) = self.keeping(params, rows, needed);
                Ok(Prediction { params, peak, kept })
            }
        }
    }
}

/// The memory that the machine has to give, in bytes, where the system tells.
pub fn available() -> Option<usize> {
    available_memory().map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX))
}

/// What the system tells of this process under a name such as `VmRSS`, in bytes. (Linux alone tells.)
pub fn process_bytes(name: &str) -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let kibibytes: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// The bytes of a table as it is held during a fit: sparse numbers by row and by column.
fn held(promised: &Forecast) -> usize {
    match promised.stored {
        Some(stored) => promised.table().saturating_add(stored.saturating_mul(12)),
        None => promised.table(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The copy of a table whose features are permuted, and PCA of it.
    #[test]
    fn a_permuted_copy_counts() {
        let params = Ewca::params(2);
        let limits = Limits { max_memory: None, threads: None };
        let peak = |permuting| {
            let plan = MemoryPlan { params: &params, limits, file: "t", report: None, exports: None, permuting };
            plan.predict(2000, 5000, 2000 * 5000 * 8, 0).unwrap().peak
        };
        assert!(peak(true) >= 2 * 2000 * 5000 * 8 && peak(true) > peak(false), "{} {}", peak(true), peak(false));
    }

    #[test]
    fn exports_count() {
        let exports = |plan: Option<&str>, anndata: Option<&str>| Exports {
            scores: None,
            loadings: None,
            plan: plan.map(Into::into),
            partners: 20_000,
            dense_plan: None,
            anndata: anndata.map(Into::into),
        };
        let params = Ewca::params(2);
        let limits = Limits { max_memory: Some(1 << 30), threads: None };
        let predict = |exports: &Exports| {
            let exports = Some((exports, 2));
            let plan = MemoryPlan { params: &params, limits, file: "t.h5ad", report: None, exports, permuting: false };
            plan.predict(20_000, 10, 1 << 20, 1 << 20).map(|prediction| prediction.peak)
        };
        let bare = predict(&exports(None, None)).unwrap();
        assert!(predict(&exports(Some("plan.csv"), None)).unwrap() <= bare + (100 << 20));
        // All pairs of an AnnData plan are held: 4e8 of them.
        assert!(
            matches!(predict(&exports(None, Some("out.h5ad"))), Err(Failure::Memory { needed, .. }) if needed > 20 << 30)
        );
    }
}
