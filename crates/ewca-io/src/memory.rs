//! How much memory there is to use.

use std::fs;
use std::path::Path;

use crate::Error;

/// The memory that this process may still take, in bytes, where the system tells: what the machine has to give, and no
/// more than the limits of the process and of its control group leave.
pub fn available_memory() -> Option<u64> {
    [machine(), address_space(), control_group()].into_iter().flatten().min()
}

/// Makes room for so many more elements, or says that there is none. A buffer whose size a file decides grows through
/// this, so that no file makes the system end the program.
pub(crate) fn make_room<T>(buffer: &mut Vec<T>, more: usize, file: &str) -> Result<(), Error> {
    if buffer.capacity() - buffer.len() >= more {
        return Ok(());
    }
    // What has grown before will grow again.
    let wanted = buffer.len().saturating_add(more).max(buffer.capacity().saturating_mul(2));
    let bytes = ((wanted - buffer.capacity()) as u64).saturating_mul(size_of::<T>().max(1) as u64);
    check_room(bytes, file)?;
    buffer.try_reserve_exact(wanted - buffer.len()).map_err(|_| Error::NoRoom { file: file.into(), bytes })
}

/// So many zeros, where there is room for them.
pub(crate) fn zeros(count: usize, file: &str) -> Result<Vec<f64>, Error> {
    let mut zeros = Vec::new();
    make_room(&mut zeros, count, file)?;
    zeros.resize(count, 0.0);
    Ok(zeros)
}

/// Refuses to take more bytes than there are.
pub(crate) fn check_room(bytes: u64, file: &str) -> Result<(), Error> {
    if has_room(bytes) { Ok(()) } else { Err(Error::NoRoom { file: file.into(), bytes }) }
}

/// Whether so many bytes can be had. Little is not worth asking for.
pub(crate) fn has_room(bytes: u64) -> bool {
    const LITTLE: u64 = 1 << 24;
    bytes <= LITTLE || available_memory().is_none_or(|free| bytes <= free)
}

fn machine() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes.saturating_mul(1024))
}

/// What `ulimit -v` leaves.
fn address_space() -> Option<u64> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    let limit: u64 = line.split_whitespace().next()?.parse().ok()?;
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmSize:"))?;
    let used: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(limit.saturating_sub(used.saturating_mul(1024)))
}

/// What the control group leaves (version 2), or that of a container at the root.
fn control_group() -> Option<u64> {
    let group = fs::read_to_string("/proc/self/cgroup").ok()?;
    let inside = group.lines().find_map(|line| line.strip_prefix("0::"))?.trim_start_matches('/');
    let root = Path::new("/sys/fs/cgroup");
    let left = |folder: &Path| {
        let number = |name: &str| fs::read_to_string(folder.join(name)).ok()?.trim().parse::<u64>().ok();
        Some(number("memory.max")?.saturating_sub(number("memory.current")?))
    };
    // The limits of the groups around it count too.
    root.join(inside).ancestors().take_while(|folder| folder.starts_with(root)).filter_map(left).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_there_is_not_is_refused_and_what_there_is_is_given() {
        let mut buffer: Vec<u64> = Vec::new();
        make_room(&mut buffer, 1000, "t").unwrap();
        assert!(buffer.capacity() >= 1000);
        let error = make_room(&mut buffer, usize::MAX, "t").unwrap_err().to_string();
        assert!(error.starts_with("t: needs more memory than is free: 16777216.0 TiB"), "{error}");
        buffer.resize(1000, 7);
        make_room(&mut buffer, 1, "t").unwrap();
        assert!(buffer.capacity() >= 2000);
        let error = zeros(1 << 50, "t").unwrap_err().to_string();
        assert!(error.starts_with("t: needs more memory than is free: 8192.0 TiB"), "{error}");
        if cfg!(target_os = "linux") {
            assert!(available_memory().is_some_and(|free| free > 0));
        }
    }
}
