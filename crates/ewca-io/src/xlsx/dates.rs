//! Dates, which Excel keeps as numbers of days.

/// The day after the last that Excel knows, 9999-12-31.
const END: f64 = 2_958_466.0;
const SECONDS: i64 = 86_400;

/// Whether numbers in this format are shown as dates or times.
pub(super) fn is_date_format(code: &str) -> bool {
    let mut signs = code.chars();
    while let Some(sign) = signs.next() {
        match sign {
            // What is shown as it is: a text, a colour or a language, the next sign.
            '"' => drop(signs.by_ref().find(|&sign| sign == '"')),
            '[' => {
                let inside: String = signs.by_ref().take_while(|&sign| sign != ']').collect();
                if matches!(inside.to_ascii_lowercase().trim_matches(['h', 'm', 's']), "") && !inside.is_empty() {
                    return true;
                }
            }
            '\\' | '_' | '*' => drop(signs.next()),
            // Other formats, for negative numbers and so on, follow.
            ';' => return false,
            'd' | 'D' | 'm' | 'M' | 'y' | 'Y' | 'h' | 'H' | 's' | 'S' => return true,
            _ => {}
        }
    }
    false
}

/// A number of days as `2024-03-01`, with the time where there is one; a time alone where there is no day.
pub(super) fn written(days: f64, from_1904: bool) -> Option<String> {
    if !(0.0..END).contains(&days) {
        return None;
    }
    let seconds = (days * SECONDS as f64).round() as i64;
    let (day, second) = (seconds.div_euclid(SECONDS), seconds.rem_euclid(SECONDS));
    let time = format!("{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60);
    if day == 0 && !from_1904 {
        return Some(time);
    }
    // Excel has a 29th of February in 1900, as the 60th day: days before it are counted from another one.
    let from_1970 = match (from_1904, day) {
        (true, _) => day - 24_107,
        (false, ..60) => day - 25_568,
        (false, _) => day - 25_569,
    };
    let date = civil(from_1970);
    Some(if second == 0 { date } else { format!("{date} {time}") })
}

/// The date of a day from 1970-01-01 on, in eras of 400 years that begin in March.
fn civil(day: i64) -> String {
    const ERA: i64 = 146_097;
    let day = day + 719_468;
    let (era, of_era) = (day.div_euclid(ERA), day.rem_euclid(ERA));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{of_month:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Excel shows them.
    #[test]
    fn days_become_dates() {
        for (days, date) in [
            (1.0, "1900-01-01"),
            (59.0, "1900-02-28"),
            (61.0, "1900-03-01"),
            (25_569.0, "1970-01-01"),
            (36_585.0, "2000-02-29"),
            (45_352.5, "2024-03-01 12:00:00"),
            (0.75, "18:00:00"),
            (2_958_465.0, "9999-12-31"),
        ] {
            assert_eq!(written(days, false).as_deref(), Some(date));
        }
        assert_eq!(written(0.0, true).as_deref(), Some("1904-01-01"));
        assert_eq!(written(43_890.0, true).as_deref(), Some("2024-03-01"));
        for days in [-1.0, 3e6, f64::NAN, f64::INFINITY] {
            assert_eq!(written(days, false), None);
        }
    }

    #[test]
    fn formats_of_dates_are_told_from_others() {
        for code in ["yyyy-mm-dd", "d-mmm", "h:mm AM/PM", "[h]:mm", "[$-409]d/m/yy", "[s]", "\\ dd"] {
            assert!(is_date_format(code), "{code}");
        }
        for code in ["General", "0.00E+00", "#,##0", "0%", "[Red]0", "0 \"days\"", "0.0\\s", "_d0", "0;d", "[]", "@"] {
            assert!(!is_date_format(code), "{code}");
        }
    }
}
