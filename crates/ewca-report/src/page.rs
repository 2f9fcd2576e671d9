//! The page: one file that holds its script, its style and its data.

use crate::arrays::sha256;
use crate::report::Report;

const TEMPLATE: &str = include_str!("../page/src/page.html");
const SCRIPT: &str = include_str!("../page/dist/page.js");
const STYLE: &str = include_str!("../page/dist/page.css");

impl Report {
    /// The page, as the text of an HTML file.
    pub fn to_html(&self) -> String {
        // Nothing but this script and this style, and pictures that the page makes itself; no network at all.
        let policy = format!(
            "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; img-src data: blob:; connect-src 'none'; \
             form-action 'none'; base-uri 'none'",
            sha256(SCRIPT),
            sha256(STYLE)
        );
        let json = serde_json::to_string(self).expect("a report is plain data");
        let parts = [
            ("{{policy}}", policy),
            ("{{title}}", escaped(&self.data.name)),
            ("{{style}}", STYLE.to_string()),
            ("{{data}}", harmless(&json)),
            ("{{script}}", SCRIPT.to_string()),
        ];
        let mut html = String::with_capacity(TEMPLATE.len() + parts.iter().map(|part| part.1.len()).sum::<usize>());
        // The places come in this order, and what has been put in is not looked at again.
        let mut rest = TEMPLATE;
        for (place, part) in parts {
            let (before, after) = rest.split_once(place).expect("the template has every place, in order");
            html.push_str(before);
            html.push_str(&part);
            rest = after;
        }
        html.push_str(rest);
        html
    }
}

/// Whether a file that begins with this text is a page of ours, of this version or another.
pub fn is_report(head: &str) -> bool {
    head.starts_with("<!doctype html>") && head.contains(" - EWCA report</title>")
}

/// Text in HTML.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

/// JSON that ends no script element and begins no other, whatever its strings hold. These characters occur in strings only.
fn harmless(json: &str) -> String {
    let mut out = String::with_capacity(json.len() + json.len() / 64);
    for character in json.chars() {
        match character {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => out.push_str(&format!("\\u{:04x}", u32::from(character))),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_stays_text() {
        assert_eq!(escaped("<b a='1'>&\""), "&lt;b a=&#39;1&#39;&gt;&amp;&quot;");
        let json = serde_json::to_string("</script><!-- & \u{2028}").unwrap();
        let safe = harmless(&json);
        assert!(!safe.contains(['<', '>', '&', '\u{2028}']), "{safe}");
        assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), "</script><!-- & \u{2028}");
    }

    #[test]
    fn pages_are_known_by_their_beginning() {
        assert!(is_report(&TEMPLATE.replace("{{title}}", "x")));
        for other in ["", "<!doctype html><title>My page</title>", "x - EWCA report</title>"] {
            assert!(!is_report(other), "{other}");
        }
    }

    #[test]
    fn script_and_style_end_where_they_should() {
        assert!(!SCRIPT.contains("</script") && !SCRIPT.contains("<!--"));
        assert!(!STYLE.contains("</style"));
        assert_eq!(TEMPLATE.matches("{{").count(), 5);
    }
}
