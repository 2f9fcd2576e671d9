//! The tests, one process each: what they reach, how long they take, and which of them notice a mutant.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Address space of a test: a mutant may ask for any amount of memory.
const MEMORY_KIB: u64 = 6 << 20;

/// One test of one program.
pub struct Test {
    program: PathBuf,
    pub name: String,
    pub seconds: f64,
    /// The mutants it reaches.
    pub reaches: Vec<u32>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// A test failed, or did not end.
    Caught { by: String, in_time: bool },
    /// No test noticed; whether all that reach it were run.
    Missed { tests: usize, all: bool },
    /// It does not compile.
    Unviable,
}

pub struct Runner {
    /// Where the tests run.
    pub folder: PathBuf,
    /// Where the results of tests are remembered.
    pub scratch: PathBuf,
    pub jobs: usize,
    /// Seconds for one mutant, after which no further test is begun.
    pub budget: f64,
    /// Tests that take more seconds than this are left out.
    pub longest: f64,
}

impl Runner {
    /// Runs every test once, each in a process of its own. The recording is kept for programs that stay the same.
    pub fn record(&self, programs: &[PathBuf]) -> Result<(Vec<Test>, String), String> {
        let print = fingerprint(programs)?;
        let memory = self.scratch.join(format!("reached-{print}.json"));
        if let Some(tests) = std::fs::read(&memory).ok().and_then(|bytes| recorded(&bytes)) {
            return Ok((tests, print));
        }
        let mut names = Vec::new();
        for program in programs {
            let output = Command::new(program).args(["--list", "--format", "terse"]).current_dir(&self.folder).output();
            let output = output.map_err(|error| format!("{}: {error}", program.display()))?;
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            names.extend(
                text.lines().filter_map(|l| l.strip_suffix(": test")).map(|n| (program.clone(), n.to_string())),
            );
        }
        eprintln!("== {} tests, each on its own, to see what they reach", names.len());
        let clock = Instant::now();
        let limit = Duration::from_secs_f64(self.longest);
        let results = self.in_parallel(&names, |at, (program, name)| {
            let file = self.scratch.join(format!("reached-{at}.txt"));
            let _ = std::fs::remove_file(&file);
            let clock = Instant::now();
            let value = file.to_string_lossy().into_owned();
            let ended = self.run(program, name, ("EWCA_MUTANTS_REACHED", &value), limit);
            let seconds = clock.elapsed().as_secs_f64();
            let reached = std::fs::read_to_string(&file).unwrap_or_default();
            let _ = std::fs::remove_file(&file);
            let reaches = reached.lines().filter_map(|line| line.parse().ok()).collect();
            (ended, Test { program: program.clone(), name: name.clone(), seconds, reaches })
        });
        let left_out = [(Ended::Failed, "they fail without a mutant"), (Ended::TooLate, "they take too long")];
        for (end, why) in left_out {
            let names: Vec<_> = results.iter().filter(|(ended, _)| *ended == end).map(|(_, t)| &*t.name).collect();
            if !names.is_empty() {
                eprintln!("== left out, since {why}: {}", names.join(", "));
            }
        }
        let tests: Vec<Test> =
            results.into_iter().filter(|(ended, _)| *ended == Ended::Passed).map(|(_, test)| test).collect();
        eprintln!("== {:.0} s", clock.elapsed().as_secs_f64());
        let list: Vec<Value> = tests
            .iter()
            .map(|t| json!({"program": t.program, "name": t.name, "seconds": t.seconds, "reaches": t.reaches}))
            .collect();
        std::fs::write(&memory, Value::from(list).to_string()).map_err(|e| format!("{}: {e}", memory.display()))?;
        Ok((tests, print))
    }

    /// Switches on one mutant after the other and runs the tests that reach it, until one fails.
    pub fn try_all(&self, tests: &[Test], mutants: &[(u32, String)], each: impl Fn(u32, &Outcome) + Sync) {
        let mut reached: HashMap<u32, Vec<usize>> = HashMap::new();
        for (at, test) in tests.iter().enumerate() {
            test.reaches.iter().for_each(|&id| reached.entry(id).or_default().push(at));
        }
        // How often a test was run on a function's mutants, and how often it noticed: who noticed before is asked first.
        let known: Mutex<HashMap<(usize, String), (f64, f64)>> = Mutex::default();
        let done = Mutex::new(0);
        self.in_parallel(mutants, |_, (id, place)| {
            let mut candidates = reached.get(id).cloned().unwrap_or_default();
            let cost = |at: usize| {
                let known = known.lock().unwrap_or_else(|error| error.into_inner());
                let (runs, kills) = known.get(&(at, place.clone())).copied().unwrap_or((0.0, 0.0));
                (tests[at].seconds + 0.02) * (runs + 1.0) / (kills + 0.5)
            };
            let mut costs: HashMap<usize, f64> = candidates.iter().map(|&at| (at, cost(at))).collect();
            candidates.sort_by(|a, b| costs[a].total_cmp(&costs[b]));
            costs.clear();
            let clock = Instant::now();
            let mut outcome = Outcome::Missed { tests: candidates.len(), all: true };
            for &at in &candidates {
                if clock.elapsed().as_secs_f64() > self.budget {
                    outcome = Outcome::Missed { tests: candidates.len(), all: false };
                    break;
                }
                let test = &tests[at];
                let limit = Duration::from_secs_f64(5.0 * test.seconds + 5.0);
                let ended = self.run(&test.program, &test.name, ("EWCA_MUTANT", &id.to_string()), limit);
                let mut known = known.lock().unwrap_or_else(|error| error.into_inner());
                let entry = known.entry((at, place.clone())).or_default();
                entry.0 += 1.0;
                if ended != Ended::Passed {
                    entry.1 += 1.0;
                    outcome = Outcome::Caught { by: test.name.clone(), in_time: ended == Ended::Failed };
                    break;
                }
            }
            each(*id, &outcome);
            let mut done = done.lock().unwrap_or_else(|error| error.into_inner());
            *done += 1;
            if *done % 50 == 0 {
                eprintln!("   {} of {} mutants", *done, mutants.len());
            }
        });
    }

    fn run(&self, program: &Path, name: &str, (key, value): (&str, &str), limit: Duration) -> Ended {
        let child = Command::new("sh")
            .args(["-c", &format!("ulimit -v {MEMORY_KIB}; ulimit -c 0; exec \"$0\" \"$@\"")])
            .arg(program)
            .args([name, "--exact", "--test-threads", "1"])
            .current_dir(&self.folder)
            .env(key, value)
            .env("RAYON_NUM_THREADS", "1")
            .env("RUST_BACKTRACE", "0")
            .env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1")
            .env("PROPTEST_MAX_SHRINK_ITERS", "0")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(mut child) = child else { return Ended::Failed };
        let clock = Instant::now();
        loop {
            match child.try_wait() {
                Ok(Some(status)) if status.success() => return Ended::Passed,
                Ok(Some(_)) | Err(_) => return Ended::Failed,
                Ok(None) if clock.elapsed() > limit => {
                    let _ = child.kill();
                    let _ = child.wait();
                    return Ended::TooLate;
                }
                Ok(None) => std::thread::sleep(Duration::from_millis(2)),
            }
        }
    }

    fn in_parallel<T: Sync, R: Send>(&self, items: &[T], each: impl Fn(usize, &T) -> R + Sync) -> Vec<R> {
        let next = Mutex::new(0);
        let out: Mutex<Vec<(usize, R)>> = Mutex::default();
        std::thread::scope(|scope| {
            for _ in 0..self.jobs {
                scope.spawn(|| {
                    loop {
                        let at = {
                            let mut next = next.lock().unwrap_or_else(|error| error.into_inner());
                            *next += 1;
                            *next - 1
                        };
                        let Some(item) = items.get(at) else { return };
                        let result = each(at, item);
                        out.lock().unwrap_or_else(|error| error.into_inner()).push((at, result));
                    }
                });
            }
        });
        let mut out = out.into_inner().unwrap_or_else(|error| error.into_inner());
        out.sort_by_key(|(at, _)| *at);
        out.into_iter().map(|(_, result)| result).collect()
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Ended {
    Passed,
    Failed,
    TooLate,
}

fn recorded(bytes: &[u8]) -> Option<Vec<Test>> {
    let list: Value = serde_json::from_slice(bytes).ok()?;
    list.as_array()?
        .iter()
        .map(|test| {
            Some(Test {
                program: PathBuf::from(test["program"].as_str()?),
                name: test["name"].as_str()?.to_string(),
                seconds: test["seconds"].as_f64()?,
                reaches: test["reaches"].as_array()?.iter().filter_map(|id| Some(id.as_u64()? as u32)).collect(),
            })
        })
        .collect()
}

fn fingerprint(programs: &[PathBuf]) -> Result<String, String> {
    let mut hasher = DefaultHasher::new();
    for program in programs {
        hasher.write(&std::fs::read(program).map_err(|error| format!("{}: {error}", program.display()))?);
    }
    Ok(format!("{:016x}", hasher.finish()))
}
