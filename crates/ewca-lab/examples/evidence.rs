//! Temporary driver.
use ewca_lab::*;
fn main() {
    let mut args = std::env::args().skip(1);
    let folder = std::path::PathBuf::from(args.next().unwrap());
    let out = std::path::PathBuf::from(args.next().unwrap());
    let splits: usize = args.next().unwrap().parse().unwrap();
    let only = args.next().unwrap_or_default();
    let list = std::fs::read_to_string(folder.join("sets.csv")).unwrap();
    let sets: Vec<EvidenceSet> = list.lines().skip(1).filter(|l| l.contains(&only)).map(|line| {
        let cells: Vec<&str> = line.split(',').collect();
        let text = std::fs::read_to_string(folder.join(format!("{}.csv", cells[0]))).unwrap();
        let rows: Vec<Vec<&str>> = text.lines().skip(1).map(|l| l.split(',').collect()).collect();
        let labels: Vec<String> = rows.iter().map(|r| r[0].to_string()).collect();
        let data: Vec<f64> = rows.iter().flat_map(|r| &r[1..]).map(|c| c.parse().unwrap()).collect();
        EvidenceSet::new(cells[0], cells[1], &data, rows[0].len() - 1, &labels)
    }).collect();
    let clock = std::time::Instant::now();
    let protocol = Protocol { splits, ..Protocol::default() };
    let rows = evidence(&sets, &[3, 5, 10], protocol, &|done, of| { eprintln!("{done}/{of} {:.0}s", clock.elapsed().as_secs_f64()); true }).unwrap().unwrap();
    std::fs::create_dir_all(&out).unwrap();
    std::fs::write(out.join("evidence.csv"), rows_csv(&rows)).unwrap();
    let s = summaries(&rows);
    std::fs::write(out.join("summary.csv"), summaries_csv(&s)).unwrap();
    std::fs::write(out.join("summary.md"), evidence_markdown(&sets, &rows, &s)).unwrap();
}
