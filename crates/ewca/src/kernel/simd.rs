//! The inner loops, written as plain loops over lanes and compiled once for each instruction set.
//!
//! `FMA` says whether the target has a fused multiply-add: without it `mul_add` would be a library call.

/// Values per step of the loops: two AVX-512 or four AVX2 registers, enough to hide the latency of the polynomial.
pub(super) const LANES: usize = 16;

/// Defines `pub(super) fn name(args)` that runs `body::<FMA>(args)` compiled for the best instruction set of this machine.
macro_rules! dispatch {
    ($(#[$doc:meta])* $name:ident => $body:ident($($arg:ident: $type:ty),* $(,)?)) => {
        $(#[$doc])*
        #[allow(unsafe_code, clippy::too_many_arguments)]
        pub(super) fn $name($($arg: $type),*) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,fma")]
                fn avx512($($arg: $type),*) {
                    $body::<true>($($arg),*)
                }
                #[target_feature(enable = "avx2,fma")]
                fn avx2($($arg: $type),*) {
                    $body::<true>($($arg),*)
                }
                let fma = std::arch::is_x86_feature_detected!("fma");
                if fma
                    && std::arch::is_x86_feature_detected!("avx512f")
                    && std::arch::is_x86_feature_detected!("avx512dq")
                    && std::arch::is_x86_feature_detected!("avx512vl")
                    && std::arch::is_x86_feature_detected!("avx512bw")
                {
                    // SAFETY: the processor has every feature that the function was compiled for.
                    return unsafe { avx512($($arg),*) };
                }
                if fma && std::arch::is_x86_feature_detected!("avx2") {
                    // SAFETY: as above.
                    return unsafe { avx2($($arg),*) };
                }
            }
            $body::<{ cfg!(target_arch = "aarch64") }>($($arg),*)
        }
    };
}

dispatch! {
    /// `out[i][j] = |x_i - y_j|^2` for the `rows` of x, all `out.len() / rows` columns of y starting at `first`.
    ///
    /// Points are stored coordinate by coordinate, `stride` apart; both the columns and the stride are multiples of [`LANES`].
    squared_distances => squared_distances_body(
        points: &[f64], stride: usize, rows: std::ops::Range<usize>, first: usize, out: &mut [f64],
    )
}

dispatch! {
    /// `values = exp(-values)`, for values >= 0.
    exp_of_minus => exp_of_minus_body(values: &mut [f64])
}

dispatch! {
    /// `out[i][c] += sum_j tile[i][j] rhs[c][first + j]`, for j < `width`.
    ///
    /// Rows of `tile` are `tile_stride` apart, columns of `rhs` are `stride` apart, `out` holds row after row.
    add_product => add_product_body(
        tile: &[f64], tile_stride: usize, width: usize,
        rhs: &[f64], stride: usize, first: usize, out: &mut [f64], columns: usize,
    )
}

#[inline(always)]
fn fused<const FMA: bool>(a: f64, b: f64, c: f64) -> f64 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

#[inline(always)]
fn squared_distances_body<const FMA: bool>(
    points: &[f64],
    stride: usize,
    rows: std::ops::Range<usize>,
    first: usize,
    out: &mut [f64],
) {
    let width = out.len() / rows.len();
    for (i, line) in rows.zip(out.chunks_exact_mut(width)) {
        for (chunk, lanes) in line.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
            let mut sum = [0.0; LANES];
            for coordinate in points.chunks_exact(stride) {
                let (x, y) = (coordinate[i], &coordinate.as_chunks::<LANES>().0[first / LANES + chunk]);
                for lane in 0..LANES {
                    let difference = x - y[lane];
                    sum[lane] = fused::<FMA>(difference, difference, sum[lane]);
                }
            }
            *lanes = sum;
        }
    }
}

#[inline(always)]
fn exp_of_minus_body<const FMA: bool>(values: &mut [f64]) {
    let (chunks, tail) = values.as_chunks_mut::<LANES>();
    for chunk in chunks {
        *chunk = exp_lanes::<FMA>(*chunk);
    }
    for value in tail {
        *value = exp_lanes::<FMA>([*value; LANES])[0];
    }
}

/// exp(-x) lane by lane: -x = n ln 2 + r, |r| <= ln 2 / 2, exp(r) = 1 + r + r^2 P(r) with a polynomial of degree 9 fitted at
/// Chebyshev nodes (error 1.3e-17), and 2^n put into the exponent bits. Below the normal numbers the result is 0.
#[inline(always)]
fn exp_lanes<const FMA: bool>(x: [f64; LANES]) -> [f64; LANES] {
    // Adding 1.5 * 2^52 rounds to an integer and leaves it in the low bits of the sum.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    const LARGEST: f64 = 708.0;
    // ln 2 in two parts; the first has 21 trailing zero bits, so that n * LN2_HIGH is exact even without a fused multiply-add.
    const LN2_HIGH: f64 = f64::from_bits(0x3FE6_2E42_FEE0_0000);
    const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    #[allow(clippy::excessive_precision)]
    const P: [f64; 10] = [
        0.500_000_000_000_000_1,
        0.166_666_666_666_666_69,
        0.041_666_666_666_624_13,
        0.008_333_333_333_330_062,
        0.001_388_888_891_721_371_7,
        0.000_198_412_698_630_536_18,
        2.480_152_129_595_437_6e-5,
        2.755_726_845_999_706_4e-6,
        2.762_008_844_540_974_6e-7,
        2.510_038_549_551_032e-8,
    ];
    let mut out = [0.0; LANES];
    for lane in 0..LANES {
        let clamped = if x[lane] < LARGEST { x[lane] } else { LARGEST };
        let shifted = fused::<FMA>(-clamped, std::f64::consts::LOG2_E, ROUND);
        let n = shifted - ROUND;
        let r = fused::<FMA>(-n, LN2_LOW, fused::<FMA>(-n, LN2_HIGH, -clamped));
        let mut p = P[9];
        for degree in (0..9).rev() {
            p = fused::<FMA>(p, r, P[degree]);
        }
        let value = 1.0 + fused::<FMA>(r * r, p, r);
        let scaled = f64::from_bits(value.to_bits().wrapping_add(shifted.to_bits() << 52));
        out[lane] = if x[lane] < LARGEST { scaled } else { 0.0 };
    }
    out
}

#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn add_product_body<const FMA: bool>(
    tile: &[f64],
    tile_stride: usize,
    width: usize,
    rhs: &[f64],
    stride: usize,
    first: usize,
    out: &mut [f64],
    columns: usize,
) {
    for (row, sums) in out.chunks_exact_mut(columns).enumerate() {
        let line = &tile[row * tile_stride..row * tile_stride + width];
        let mut column = 0;
        while column < columns {
            let rest = &rhs[column * stride..];
            column += match columns - column {
                1 => dots::<FMA, 1>(line, rest, stride, first, &mut sums[column..]),
                2 => dots::<FMA, 2>(line, rest, stride, first, &mut sums[column..]),
                3 => dots::<FMA, 3>(line, rest, stride, first, &mut sums[column..]),
                _ => dots::<FMA, 4>(line, rest, stride, first, &mut sums[column..]),
            };
        }
    }
}

/// `C` dot products with one line of the tile, which is loaded once for all of them.
#[inline(always)]
fn dots<const FMA: bool, const C: usize>(
    line: &[f64],
    rhs: &[f64],
    stride: usize,
    first: usize,
    out: &mut [f64],
) -> usize {
    const WIDTH: usize = 8;
    let columns: [&[f64]; C] = std::array::from_fn(|c| &rhs[c * stride + first..c * stride + first + line.len()]);
    let mut sums = [[0.0; WIDTH]; C];
    for (chunk, values) in line.chunks_exact(WIDTH).enumerate() {
        for c in 0..C {
            let other = &columns[c][chunk * WIDTH..(chunk + 1) * WIDTH];
            for lane in 0..WIDTH {
                sums[c][lane] = fused::<FMA>(values[lane], other[lane], sums[c][lane]);
            }
        }
    }
    for c in 0..C {
        out[c] += sums[c].iter().sum::<f64>();
    }
    C
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_within_two_units_in_the_last_place() {
        let worst = |body: fn(&mut [f64])| {
            let mut worst = 0.0f64;
            for i in 0..200_000 {
                let x = 707.9 * (i as f64 / 200_000.0).powi(3);
                let mut y = [x];
                body(&mut y);
                // std's exp is correctly rounded to well below one unit; the unit is that of the result.
                let want = (-x).exp();
                let unit = f64::from_bits(want.to_bits() + 1) - want;
                worst = worst.max((y[0] - want).abs() / unit);
            }
            worst
        };
        assert!(worst(exp_of_minus_body::<true>) <= 2.0);
        assert!(worst(exp_of_minus_body::<false>) <= 2.0);
        assert!(worst(exp_of_minus) <= 2.0);
    }

    #[test]
    fn exp_at_the_ends() {
        let mut values = [0.0, 1e-300, 708.0, 1e6, 1e300, f64::INFINITY];
        exp_of_minus(&mut values);
        assert_eq!(values, [1.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn every_instruction_set_gives_the_same_sums_to_rounding() {
        let (stride, width, columns) = (64, 48, 7);
        let rows = 7;
        let tile: Vec<f64> = (0..rows * width).map(|i| (i as f64 * 0.37).sin()).collect();
        let rhs: Vec<f64> = (0..columns * stride).map(|i| (i as f64 * 0.11).cos()).collect();
        let mut fast = vec![0.0; rows * columns];
        let mut plain = fast.clone();
        add_product(&tile, width, width, &rhs, stride, 16, &mut fast, columns);
        add_product_body::<false>(&tile, width, width, &rhs, stride, 16, &mut plain, columns);
        for (i, (a, b)) in fast.iter().zip(&plain).enumerate() {
            let (row, column) = (i / columns, i % columns);
            let want: f64 = (0..width).map(|j| tile[row * width + j] * rhs[column * stride + 16 + j]).sum();
            assert!((a - want).abs() < 1e-13 && (b - want).abs() < 1e-13);
        }
    }
}
