//! Axes: which values they cover, and where their ticks are.

/// An axis: which values it covers, where its ticks are, and what it is called.
#[derive(Debug, Clone)]
pub struct Axis {
    from: f64,
    to: f64,
    log: bool,
    pub label: String,
    pub ticks: Vec<(f64, String)>,
    pub grid: bool,
}

impl Axis {
    /// Equal steps between two round numbers that hold all values.
    pub fn linear(label: &str, values: impl IntoIterator<Item = f64>) -> Self {
        let (low, high) = range(values);
        let step = round_step((high - low).max(1e-12) / 5.0);
        let (from, to) = ((low / step).floor() * step, (high / step).ceil() * step);
        let count = ((to - from) / step).round() as usize;
        let digits = (-step.log10().floor()).max(0.0) as usize;
        let tick = |i: usize| {
            let value = from + i as f64 * step;
            (value, format!("{:.digits$}", if value.abs() < 1e-9 * step { 0.0 } else { value }))
        };
        Self { from, to, log: false, label: label.into(), ticks: (0..=count).map(tick).collect(), grid: true }
    }

    /// Powers of ten.
    pub fn logarithmic(label: &str, values: impl IntoIterator<Item = f64>) -> Self {
        let (low, high) = range(values.into_iter().filter(|v| *v > 0.0));
        let (low, high) = (low.log10() - 0.05, high.log10() + 0.05);
        let mut ticks: Vec<(f64, String)> =
            (low.ceil() as i32..=high.floor() as i32).map(|e| (10f64.powi(e), power(e))).collect();
        if ticks.len() < 3 {
            ticks = (low.floor() as i32..=high.floor() as i32)
                .flat_map(|e| [1.0, 2.0, 5.0].map(|m| m * 10f64.powi(e)))
                .filter(|v| (low..=high).contains(&v.log10()))
                .map(|v| (v, plain(v)))
                .collect();
        }
        Self { from: 10f64.powf(low), to: 10f64.powf(high), log: true, label: label.into(), ticks, grid: true }
    }

    /// One place for each name, at 0, 1, ...
    pub fn names(label: &str, names: &[String]) -> Self {
        let ticks = names.iter().enumerate().map(|(i, name)| (i as f64, name.clone())).collect();
        Self { from: -0.5, to: names.len() as f64 - 0.5, log: false, label: label.into(), ticks, grid: false }
    }

    /// Places for whole numbers.
    pub fn counts(label: &str, counts: &[usize]) -> Self {
        let (low, high) = range(counts.iter().map(|&k| k as f64));
        let pad = ((high - low) * 0.03).max(0.25);
        let crowded = |k: usize| counts.len() > 16 && k > 10 && !k.is_multiple_of(5);
        let ticks = counts.iter().filter(|k| !crowded(**k)).map(|k| (*k as f64, k.to_string())).collect();
        Self { from: low - pad, to: high + pad, log: false, label: label.into(), ticks, grid: false }
    }

    /// An axis without ticks, for coordinates that mean nothing by themselves.
    pub fn bare(label: &str, values: impl IntoIterator<Item = f64>) -> Self {
        let (low, high) = range(values);
        let pad = 0.06 * (high - low);
        Self { from: low - pad, to: high + pad, log: false, label: label.into(), ticks: Vec::new(), grid: false }
    }

    /// The same axis from 0 on.
    pub fn from_zero(label: &str, values: impl IntoIterator<Item = f64>) -> Self {
        Self::linear(label, values.into_iter().chain([0.0]))
    }

    /// Both axes with the same length of a unit in a panel of this shape.
    pub fn square(x: Self, y: Self, width: f64, height: f64) -> (Self, Self) {
        let unit = ((x.to - x.from) / width).max((y.to - y.from) / height);
        let widened = |axis: Self, length: f64| {
            let middle = (axis.from + axis.to) / 2.0;
            Self { from: middle - unit * length / 2.0, to: middle + unit * length / 2.0, ..axis }
        };
        (widened(x, width), widened(y, height))
    }

    /// How far along the axis a value is, from 0 to 1.
    pub fn part(&self, value: f64) -> f64 {
        match self.log {
            true => (value / self.from).ln() / (self.to / self.from).ln(),
            false => (value - self.from) / (self.to - self.from),
        }
    }
}

fn range(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values
        .into_iter()
        .filter(|v| v.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    match (low.is_finite(), high > low) {
        (false, _) => (0.0, 1.0),
        (_, false) => (low - 0.5 * low.abs().max(1.0), low + 0.5 * low.abs().max(1.0)),
        _ => (low, high),
    }
}

/// 1, 2 or 5 times a power of ten, not below `step`.
fn round_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    [1.0, 2.0, 5.0].map(|m| m * power).into_iter().find(|round| *round >= step * 0.999).unwrap_or(10.0 * power)
}

fn power(exponent: i32) -> String {
    match exponent {
        -3..=5 => plain(10f64.powi(exponent)),
        _ => {
            let digits = exponent.abs().to_string();
            let raised: String = digits
                .chars()
                .map(|c| ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'][c as usize - '0' as usize])
                .collect();
            format!("10{}{raised}", if exponent < 0 { "⁻" } else { "" })
        }
    }
}

fn plain(value: f64) -> String {
    let digits = (-value.log10().floor()).max(0.0) as usize;
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_hold_the_values() {
        let axis = Axis::linear("", [0.3, 12.7]);
        assert_eq!((axis.from, axis.to), (0.0, 15.0));
        assert_eq!(axis.ticks.iter().map(|t| t.1.as_str()).collect::<Vec<_>>(), ["0", "5", "10", "15"]);
        let axis = Axis::logarithmic("", [50.0, 54675.0]);
        assert_eq!(axis.ticks.iter().map(|t| t.1.as_str()).collect::<Vec<_>>(), ["100", "1000", "10000"]);
        assert_eq!(power(-7), "10⁻⁷");
        // Nothing to show, or one value only, is still an axis.
        assert!(Axis::linear("", []).to > 0.0 && Axis::linear("", [3.0]).to > 3.0);
    }
}
