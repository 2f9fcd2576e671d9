//! One page with all figures, and what the paper says beside what was found.

use std::fmt::Write;

use super::ExperimentReport;
use crate::figures::escaped;

const STYLE: &str = "
:root { color-scheme: light dark; --ink: #1b1b1b; --page: #ffffff; --line: #d0d0d0; --soft: #5a5a5a; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e6; --page: #16181b; --line: #3a3d42; --soft: #a5a8ad; } }
body { margin: 0 auto; padding: 1.5rem; max-width: 72rem; font: 1rem/1.5 Arimo, Arial, Helvetica, sans-serif;
  color: var(--ink); background: var(--page); }
figure { margin: 1.5rem 0; }
figure img { background: #ffffff; border: 1px solid var(--line); border-radius: 4px; padding: 0.5rem; max-width: 100%;
  box-sizing: border-box; }
figcaption, footer { color: var(--soft); font-size: 0.9rem; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { border-bottom: 1px solid var(--line); padding: 0.3rem 0.8rem; text-align: left; vertical-align: top; }
section { border-top: 1px solid var(--line); margin-top: 2rem; }
a { color: inherit; }
";

/// An HTML page for the folder that holds the figures of `reports`.
pub fn page(title: &str, command: &str, reports: &[ExperimentReport]) -> String {
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\">\n<title>{0}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{0}</h1>\n\
         <p>The experiments of Collas, Vayer, Flamary and Breloy, \"Entropic Wasserstein Component Analysis\" (2023), run again by \
         <code>{1}</code>.</p>\n",
        escaped(title),
        escaped(command)
    );
    for report in reports {
        let _ = write!(html, "<section>\n<h2>{}</h2>\n<p>{}</p>\n", escaped(&report.title), escaped(&report.text));
        html.push_str(&facts(report));
        for figure in &report.figures {
            let (name, title) = (&figure.name, escaped(&figure.title));
            let _ = writeln!(
                html,
                "<figure>\n<img src=\"{name}.svg\" alt=\"{title}\">\n<figcaption><b>{title}.</b> {} <a href=\"{name}.png\">PNG</a>, \
                 <a href=\"{name}.csv\">CSV</a></figcaption>\n</figure>",
                escaped(&figure.caption)
            );
        }
        html.push_str("</section>\n");
    }
    html.push_str("</body>\n</html>\n");
    html
}

fn facts(report: &ExperimentReport) -> String {
    if report.facts.is_empty() {
        return String::new();
    }
    let mut html = String::from("<table>\n<tr><th></th><th>to compare with</th><th>here</th></tr>\n");
    for fact in &report.facts {
        let beside = fact.beside.as_deref().unwrap_or("");
        let _ = writeln!(
            html,
            "<tr><td>{}</td><td>{}</td><td>{}</td></tr>",
            escaped(&fact.what),
            escaped(beside),
            escaped(&fact.ours)
        );
    }
    html + "</table>\n"
}
