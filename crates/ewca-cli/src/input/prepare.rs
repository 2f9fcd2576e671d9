//! From the name of a table to samples: what reading will take, the reading itself, preprocessing, and whether the fit has room.

use ewca::{Samples, Source as _};
use ewca_io::{Forecast, ModelFile, Preprocessing, Table, TableFile};

use crate::args::TableJob;
use crate::console::failure::Failure;
use crate::console::terminal::Console;
use crate::input::parts::StreamedTable;
use crate::input::remember::read_remembering;
use crate::input::table::{Dataset, Input, Weighting};
use crate::run::coordinator::Coordinator;
use crate::run::interrupt;
use crate::run::memory::{MemoryPlan, Prediction};
use crate::run::progress;

/// A table that is to become samples.
#[derive(Debug, Clone, Copy)]
pub struct Preparation<'a> {
    /// The table.
    pub table: &'a TableJob,
    /// What becomes of it.
    pub purpose: Purpose<'a>,
    /// The fit that follows.
    pub plan: MemoryPlan<'a>,
}

/// What becomes of a table.
#[derive(Debug, Clone, Copy)]
pub enum Purpose<'a> {
    /// A model is learned from it.
    Fit {
        /// What to do to it before.
        steps: &'a Preprocessing,
        /// The column of weights or counts.
        weighting: Option<&'a Weighting>,
    },
    /// It is the table that this model was fitted on.
    Known(&'a ModelFile),
}

impl Purpose<'_> {
    fn steps(&self) -> &Preprocessing {
        match self {
            Self::Fit { steps, .. } => steps,
            Self::Known(file) => &file.preprocessing.steps,
        }
    }

    fn dataset(&self, table: Table, file: &str) -> Result<Dataset, Failure> {
        match self {
            Self::Fit { steps, weighting } => Dataset::to_fit_weighted(table, *weighting, steps, file),
            Self::Known(known) => Ok(Dataset::to_apply(table, &known.preprocessing, file)?),
        }
    }
}

impl Preparation<'_> {
    /// Reads the table whole, unless that would take more than it may.
    pub fn whole(&self, console: Console) -> Result<Prepared, Failure> {
        progress::while_reading(self.plan.file, console, || {
            let (file, promised) = self.open()?;
            self.read_whole(file, promised)
        })
    }

    /// Reads the table whole, or part by part where it would not fit, or each process its own rows.
    pub fn shared(
        &self,
        in_parts: bool,
        coordinator: &impl Coordinator,
        console: Console,
    ) -> Result<Prepared, Failure> {
        progress::while_reading(self.plan.file, console, || {
            if in_parts {
                return self.read_parts(true, coordinator);
            }
            let (file, promised) = self.open()?;
            let is_too_large = self.plan.is_too_large(promised.as_ref(), self.purpose.steps());
            match is_too_large || coordinator.shares_rows() {
                true if self.table.is_readable_in_parts() => self.read_parts(is_too_large, coordinator),
                _ => self.read_share(file, promised, coordinator),
            }
        })
    }

    /// The table, and what reading it will take, where that is known. What is loaded for it is kept for the reading.
    fn open(&self) -> Result<(TableFile, Option<Forecast>), Failure> {
        let mut file = self.table.input.open(&self.table.read)?;
        let promised = file.forecast(&self.table.read);
        Ok((file, promised))
    }

    fn read_whole(&self, mut file: TableFile, promised: Option<Forecast>) -> Result<Prepared, Failure> {
        let reading = self.plan.before_reading(promised.as_ref(), self.purpose.steps())?;
        let table = match self.purpose {
            Purpose::Fit { .. } => file.read(&self.table.read),
            Purpose::Known(model) => read_remembering(&mut file, &model.columns, None, &self.table.read),
        };
        interrupt::check()?;
        let data = self.purpose.dataset(table?, self.plan.file)?;
        Ok(Prepared { data, parts: None, reading })
    }

    /// Reads the table whole, and keeps the rows of this process.
    fn read_share(
        &self,
        file: TableFile,
        promised: Option<Forecast>,
        coordinator: &impl Coordinator,
    ) -> Result<Prepared, Failure> {
        if !coordinator.shares_rows() {
            return self.read_whole(file, promised);
        }
        self.refuse_weights()?;
        let whole = self.read_whole(file, promised)?;
        check_rows(whole.data.rows(), coordinator.place())?;
        Ok(Prepared { data: whole.data.share(coordinator.place()), ..whole })
    }

    /// Opens the table to be read some rows at a time: again and again during the fit, or now, the rows of this process.
    fn read_parts(&self, again: bool, coordinator: &impl Coordinator) -> Result<Prepared, Failure> {
        self.refuse_weights()?;
        let Input::File(path) = &self.table.input else {
            let problem = "standard input cannot be read in parts; use a .npy, Parquet or .h5ad file".into();
            return Err(Failure::Unfit { file: self.plan.file.into(), problem });
        };
        let most = self.plan.limits.max_memory;
        let parts = StreamedTable::open(path, &self.table.read, self.purpose.steps(), coordinator.place(), most)?;
        check_rows(parts.all_rows(), coordinator.place())?;
        if !coordinator.shares_rows() {
            self.plan.for_parts(parts.all_rows(), parts.columns(), parts.bytes())?;
        } else if coordinator.is_first() {
            parts.look_over()?;
        }
        let values = if again { None } else { Some(parts.own_rows()?.values) };
        let (data, reading) = (parts.dataset(values), parts.bytes());
        Ok(Prepared { data, parts: again.then_some(parts), reading })
    }

    fn refuse_weights(&self) -> Result<(), Failure> {
        let Purpose::Fit { weighting: Some(weighting), .. } = self.purpose else { return Ok(()) };
        let problem = format!(
            "weights (column '{}') cannot be used with a table that is read in parts or shared by several processes; leave them \
             out, or allow more memory",
            weighting.column
        );
        Err(Failure::Unfit { file: self.plan.file.into(), problem })
    }
}

/// A table as a fit has it: whole, some rows, or the way to them.
#[derive(Debug)]
pub struct Prepared {
    /// What is here.
    pub data: Dataset,
    parts: Option<StreamedTable>,
    /// What reading took at most.
    reading: usize,
}

impl Prepared {
    /// The samples; `file` stands for the table in messages.
    pub fn samples(&self, file: &str) -> Result<Samples<'_>, Failure> {
        let samples = match &self.parts {
            Some(parts) => Samples::streamed(parts),
            None => self.data.samples(),
        };
        samples.map_err(|source| Failure::Fit { file: file.into(), source })
    }

    /// Names and classes that only reading has brought.
    pub fn named(&self, job: &TableJob) -> Result<Option<Dataset>, Failure> {
        let mut named = self.parts.as_ref().filter(|parts| parts.is_whole()).map(|parts| parts.dataset(None));
        named.iter_mut().try_for_each(|data| data.annotate(job))?;
        Ok(named)
    }

    /// Whether there is room for a fit of these samples, and what it will take.
    pub fn predict(&self, plan: &MemoryPlan<'_>, samples: &Samples<'_>) -> Result<Prediction, Failure> {
        match self.data.is_whole() {
            true => plan.for_table(&self.data, self.reading),
            false => plan.for_samples(samples, self.data.rows(), self.data.bytes().saturating_add(self.reading)),
        }
    }
}

/// Every process needs two samples at least.
fn check_rows(rows: usize, (_, processes): (usize, usize)) -> Result<(), Failure> {
    if processes > 1 && rows < 2 * processes {
        let problem = format!("{rows} samples are too few for {processes} processes; use fewer processes");
        return Err(Failure::Cluster { problem });
    }
    Ok(())
}
