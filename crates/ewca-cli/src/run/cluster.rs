//! Many processes, one fit: `ewca fit --distributed` under mpirun or srun.
//!
//! Every process runs the same program on its share of the rows. Numbers travel by MPI; sums are taken by the library, in the order
//! of the ranks. Process 0 alone talks and writes.

use std::sync::Arc;

use ewca::{Model, Samples, Team};

use crate::console::failure::Failure;
use crate::console::terminal::Console;
use crate::run::coordinator::Coordinator;

/// This process among those that run the job.
#[derive(Debug)]
pub struct Cluster {
    team: Arc<dyn Team>,
}

impl Cluster {
    /// Joins the other processes.
    #[cfg(feature = "mpi")]
    pub fn join() -> Result<Self, Failure> {
        Ok(Self { team: Arc::new(mpi_team::MpiTeam::start()?) })
    }

    /// There are no other processes to join.
    #[cfg(not(feature = "mpi"))]
    pub fn join() -> Result<Self, Failure> {
        Err(Failure::Cluster {
            problem:
                "this program was built without MPI; build it with `cargo build --release --features mpi` (needs an MPI library \
                 and libclang: on Debian, libopenmpi-dev and libclang-dev)"
                    .into(),
        })
    }

    /// Waits until all processes have come here.
    pub fn wait_for_all(&self) {
        self.team.gather(&[]);
    }

    /// Ends the whole job, after this process has said why.
    fn give_up(&self) -> ! {
        // MPI ends the others when one process leaves without a farewell.
        std::process::exit(1)
    }
}

impl Coordinator for Cluster {
    fn place(&self) -> (usize, usize) {
        (self.team.rank(), self.team.size())
    }

    fn shares_rows(&self) -> bool {
        true
    }

    fn agree<T>(&self, result: Result<T, Failure>) -> Result<T, Failure> {
        let states = self.team.gather(&[f64::from(u8::from(result.is_err()))]);
        let failed = states.iter().position(|state| state.first().is_none_or(|&failed| failed > 0.0));
        match (result, failed) {
            (result, None) => result,
            (Err(failure), Some(rank)) if rank == self.team.rank() => Err(failure),
            _ => Err(Failure::Elsewhere),
        }
    }

    fn join<'s>(&self, samples: Samples<'s>) -> ewca::Result<Samples<'s>> {
        samples.with_team(self.team.clone())
    }

    fn broadcast(&self, own: u64) -> u64 {
        let halves = [(own >> 32) as f64, (own & 0xffff_ffff) as f64];
        let first = self.team.gather(&halves).swap_remove(0);
        first.iter().fold(0, |number, &half| number << 32 | half as u64)
    }

    fn settle(&self, fitted: Result<Model, Failure>, console: Console) -> Result<Model, Failure> {
        match fitted {
            // The others are in the middle of the fit, and would wait for ever.
            Err(failure @ Failure::Fit { source: ewca::Error::Read { .. }, .. }) => {
                failure.said(console);
                self.give_up()
            }
            // All processes have come to the same end; one says so.
            Err(_) if !self.is_first() => Err(Failure::Elsewhere),
            other => other,
        }
    }
}

#[cfg(feature = "mpi")]
mod mpi_team {
    use std::ops::Range;
    use std::sync::Mutex;
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::thread::JoinHandle;

    use ewca::Team;
    use mpi::Threading;
    use mpi::datatype::{Partition, PartitionMut};
    use mpi::traits::{Communicator, CommunicatorCollectives};

    use crate::console::failure::Failure;

    /// MPI on a thread of its own: the one that started it makes all calls, as the standard asks for.
    #[derive(Debug)]
    pub struct MpiTeam {
        rank: usize,
        size: usize,
        line: Mutex<Option<Line>>,
        thread: Option<JoinHandle<()>>,
    }

    /// To the thread and back.
    #[derive(Debug)]
    struct Line {
        calls: Sender<Call>,
        answers: Receiver<Vec<Vec<f64>>>,
    }

    #[derive(Debug)]
    enum Call {
        Gather(Vec<f64>),
        Exchange(Vec<Vec<f64>>),
    }

    impl MpiTeam {
        pub fn start() -> Result<Self, Failure> {
            let (calls, received) = channel();
            let (answer, answers) = channel();
            let (started, start) = channel();
            let thread = std::thread::spawn(move || {
                let Some((universe, _)) = mpi::initialize_with_threading(Threading::Funneled) else { return };
                let world = universe.world();
                let _ = started.send((world.rank() as usize, world.size() as usize));
                for call in received {
                    let result = match call {
                        Call::Gather(own) => gather(&world, &own),
                        Call::Exchange(parts) => exchange(&world, &parts),
                    };
                    if answer.send(result).is_err() {
                        return;
                    }
                }
                // All processes come here, or MPI ends the job: leaving the universe waits for the others.
            });
            let (rank, size) =
                start.recv().map_err(|_| Failure::Cluster { problem: "MPI could not be started".into() })?;
            Ok(Self { rank, size, line: Mutex::new(Some(Line { calls, answers })), thread: Some(thread) })
        }

        fn call(&self, call: Call) -> Vec<Vec<f64>> {
            let line = self.line.lock().unwrap_or_else(|broken| broken.into_inner());
            let answer = line.as_ref().and_then(|line| {
                line.calls.send(call).ok()?;
                line.answers.recv().ok()
            });
            // MPI ends the whole job when something fails; a thread that is gone cannot be waited for.
            answer.unwrap_or_else(|| std::process::abort())
        }
    }

    impl Drop for MpiTeam {
        fn drop(&mut self) {
            self.line.lock().unwrap_or_else(|broken| broken.into_inner()).take();
            if let Some(thread) = self.thread.take() {
                let _ = thread.join();
            }
        }
    }

    impl Team for MpiTeam {
        fn rank(&self) -> usize {
            self.rank
        }

        fn size(&self) -> usize {
            self.size
        }

        fn gather(&self, own: &[f64]) -> Vec<Vec<f64>> {
            self.call(Call::Gather(own.to_vec()))
        }

        fn exchange(&self, parts: &[&[f64]]) -> Vec<Vec<f64>> {
            self.call(Call::Exchange(parts.iter().map(|part| part.to_vec()).collect()))
        }
    }

    /// MPI counts with 32 bits: this many numbers at most go over the network at once.
    const AT_ONCE: usize = 1 << 28;

    fn gather(world: &impl Communicator, own: &[f64]) -> Vec<Vec<f64>> {
        let mut counts = vec![0i64; world.size() as usize];
        world.all_gather_into(&(own.len() as i64), &mut counts[..]);
        let mut all: Vec<Vec<f64>> = vec![Vec::new(); counts.len()];
        for some in rounds(&counts, counts.len()) {
            let (now, starts, total) = layout(&counts, &some);
            let mut received = vec![0.0f64; total];
            let mut places = PartitionMut::new(&mut received[..], &now[..], &starts[..]);
            world.all_gather_varcount_into(within(own, &some), &mut places);
            share_out(&received, &now, &mut all);
        }
        all
    }

    fn exchange(world: &impl Communicator, parts: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let given: Vec<i64> = parts.iter().map(|part| part.len() as i64).collect();
        let mut taken = vec![0i64; given.len()];
        world.all_to_all_into(&given[..], &mut taken[..]);
        // Everyone must make as many rounds as the largest part takes.
        let mut most = vec![0i64; given.len()];
        world.all_gather_into(&given.iter().copied().max().unwrap_or(0), &mut most[..]);
        let mut all: Vec<Vec<f64>> = vec![Vec::new(); given.len()];
        for some in rounds(&most, given.len()) {
            let mine: Vec<f64> = parts.iter().flat_map(|part| within(part, &some)).copied().collect();
            let (give, give_at, _) = layout(&given, &some);
            let (take, take_at, total) = layout(&taken, &some);
            let mut theirs = vec![0.0f64; total];
            world.all_to_all_varcount_into(
                &Partition::new(&mine[..], &give[..], &give_at[..]),
                &mut PartitionMut::new(&mut theirs[..], &take[..], &take_at[..]),
            );
            share_out(&theirs, &take, &mut all);
        }
        all
    }

    /// Which numbers of each part travel at a time, when `parts` of them travel together.
    fn rounds(counts: &[i64], parts: usize) -> impl Iterator<Item = Range<usize>> {
        let most = counts.iter().copied().max().unwrap_or(0) as usize;
        let step = AT_ONCE / parts.max(1);
        (0..most).step_by(step).map(move |start| start..start + step)
    }

    /// What of a part is in a round.
    fn within<'p>(part: &'p [f64], some: &Range<usize>) -> &'p [f64] {
        &part[some.start.min(part.len())..some.end.min(part.len())]
    }

    /// How many numbers of each part are in a round, where they begin, and how many there are in all.
    fn layout(counts: &[i64], some: &Range<usize>) -> (Vec<i32>, Vec<i32>, usize) {
        let inside = |&count: &i64| (some.end.min(count as usize).saturating_sub(some.start)) as i32;
        let now: Vec<i32> = counts.iter().map(inside).collect();
        let mut end = 0;
        let start = |count: &i32| {
            end += count;
            end - count
        };
        let starts = now.iter().map(start).collect();
        (now, starts, end as usize)
    }

    /// Adds what came to the parts that it belongs to.
    fn share_out(received: &[f64], counts: &[i32], all: &mut [Vec<f64>]) {
        let mut rest = received;
        for (part, &count) in all.iter_mut().zip(counts) {
            let (some, others) = rest.split_at(count as usize);
            part.extend_from_slice(some);
            rest = others;
        }
    }
}
