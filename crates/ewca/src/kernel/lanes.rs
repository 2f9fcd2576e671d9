//! Vectors of numbers, and the exponential of them: one source for AVX-512, AVX2, NEON and plain Rust, in f64 and f32.
//!
//! Everything here is inlined into functions that were compiled for the instruction set ([`Element::dispatch`]).
#![allow(unsafe_code)]
#![allow(clippy::needless_range_loop)] // registers are numbered

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::simd::Simd;

/// A number that the kernel is computed in.
pub(super) trait Element: Copy + Default + PartialEq + Send + Sync + Into<f64> + 'static {
    const LOG2_E: Self;
    /// 1.5 times 2 to the number of bits of the fraction: adding it rounds to an integer and leaves that in the low bits.
    const ROUND: Self;
    /// ln 2 in two parts; the first ends in so many zero bits that its product with an exponent is exact without fusing.
    const LN2_HIGH: Self;
    const LN2_LOW: Self;
    /// exp(-x) is 0 from here on: the results would not be normal numbers.
    const LARGEST: Self;
    /// Squared distances are made of products, which is faster than differences but cancels, between points whose squared distance to the centre of
    /// their tile is at most this.
    const CLOSE_TOGETHER: f64;
    /// P of exp(r) = 1 + r + r^2 P(r) for |r| <= ln(2) / 2, fitted at Chebyshev nodes; constant term first.
    const COEFFICIENTS: &'static [Self];

    fn nearest(x: f64) -> Self;

    /// Runs `job` compiled for the best instruction set of this machine.
    fn dispatch(job: impl Job<Self>);
}

/// Work on vectors of any width. `run` must be `#[inline(always)]`.
pub(super) trait Job<E> {
    fn run<V: Lanes<Element = E>>(self);
}

/// A vector register.
pub(super) trait Lanes: Copy {
    type Element: Element;
    const COUNT: usize;

    fn splat(x: Self::Element) -> Self;
    /// The values from `at` on.
    ///
    /// # Safety
    /// There must be `COUNT` of them. (A test of it in the innermost loops costs a third of their speed.)
    unsafe fn load(from: &[Self::Element], at: usize) -> Self;
    /// Puts the values from `at` on.
    ///
    /// # Safety
    /// There must be room for `COUNT` of them.
    unsafe fn store(self, to: &mut [Self::Element], at: usize);
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    /// self * a + b, fused where the machine can.
    fn times_plus(self, a: Self, b: Self) -> Self;
    /// b - self * a.
    fn times_from(self, a: Self, b: Self) -> Self;
    /// -(self * a) - b.
    fn minus_times_minus(self, a: Self, b: Self) -> Self;
    /// self * 2^n, for n in the low bits of `rounded`.
    fn times_power(self, rounded: Self) -> Self;
    /// self where x < limit, and 0 elsewhere.
    fn where_below(self, x: Self, limit: Self) -> Self;
    /// The smaller of both, lane by lane.
    fn least(self, other: Self) -> Self;
    fn sum(self) -> Self::Element;
}

/// How many vectors the exponential takes at once, to hide the latency of its polynomial.
const AT_ONCE: usize = 4;

/// `values = exp(-values)`, for values >= 0: -x = n ln 2 + r, exp(r) by the polynomial, and 2^n put into the exponent bits.
/// As many values as a multiple of four vectors.
#[inline(always)]
pub(super) fn exp_of_minus<V: Lanes>(values: &mut [V::Element]) {
    assert!(values.len().is_multiple_of(AT_ONCE * V::COUNT));
    let round = V::splat(V::Element::ROUND);
    for at in (0..values.len()).step_by(AT_ONCE * V::COUNT) {
        let (mut x, mut rounded, mut r) = ([round; AT_ONCE], [round; AT_ONCE], [round; AT_ONCE]);
        for q in 0..AT_ONCE {
            // SAFETY: the length is a multiple of what a step takes.
            x[q] = unsafe { V::load(values, at + q * V::COUNT) };
            rounded[q] = x[q].times_from(V::splat(V::Element::LOG2_E), round);
            let n = rounded[q].minus(round);
            let high = n.minus_times_minus(V::splat(V::Element::LN2_HIGH), x[q]);
            r[q] = n.times_from(V::splat(V::Element::LN2_LOW), high);
        }
        let coefficients = V::Element::COEFFICIENTS;
        let mut p = [V::splat(coefficients[coefficients.len() - 1]); AT_ONCE];
        for &coefficient in coefficients.iter().rev().skip(1) {
            for q in 0..AT_ONCE {
                p[q] = p[q].times_plus(r[q], V::splat(coefficient));
            }
        }
        for q in 0..AT_ONCE {
            let value = r[q].times(r[q]).times_plus(p[q], r[q]).plus(V::splat(V::Element::nearest(1.0)));
            let value = value.times_power(rounded[q]).where_below(x[q], V::splat(V::Element::LARGEST));
            // SAFETY: as above.
            unsafe { value.store(values, at + q * V::COUNT) };
        }
    }
}

impl Element for f64 {
    const LOG2_E: Self = std::f64::consts::LOG2_E;
    const ROUND: Self = 6_755_399_441_055_744.0;
    const LN2_HIGH: Self = f64::from_bits(0x3FE6_2E42_FEE0_0000);
    const LN2_LOW: Self = 1.908_214_929_270_587_7e-10;
    const LARGEST: Self = 708.0;
    /// None: double precision is for accuracy.
    const CLOSE_TOGETHER: f64 = -1.0;
    #[allow(clippy::excessive_precision)]
    const COEFFICIENTS: &'static [Self] = &[
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

    fn nearest(x: f64) -> Self {
        x
    }

    fn dispatch(job: impl Job<Self>) {
        #[cfg(target_arch = "x86_64")]
        match Simd::in_use() {
            // SAFETY: the processor has the features.
            Simd::Avx512 => return unsafe { registers::avx512::<f64, std::arch::x86_64::__m512d>(job) },
            // SAFETY: as above.
            Simd::Avx2 => return unsafe { registers::avx2::<f64, std::arch::x86_64::__m256d>(job) },
            Simd::Neon | Simd::Portable => {}
        }
        #[cfg(target_arch = "aarch64")]
        if Simd::in_use() == Simd::Neon {
            return job.run::<std::arch::aarch64::float64x2_t>();
        }
        job.run::<Portable<f64>>();
    }
}

impl Element for f32 {
    const LOG2_E: Self = std::f32::consts::LOG2_E;
    const ROUND: Self = 12_582_912.0;
    const LN2_HIGH: Self = f32::from_bits(0x3F31_7200);
    const LN2_LOW: Self = 1.428_606_8e-6;
    const LARGEST: Self = 87.0;
    const CLOSE_TOGETHER: f64 = 64.0;
    const COEFFICIENTS: &'static [Self] =
        &[0.5, 0.166_666_67, 0.041_666_467, 0.008_333_31, 0.001_393_365, 0.000_198_909_91];

    fn nearest(x: f64) -> Self {
        x as f32
    }

    fn dispatch(job: impl Job<Self>) {
        #[cfg(target_arch = "x86_64")]
        match Simd::in_use() {
            // SAFETY: the processor has the features.
            Simd::Avx512 => return unsafe { registers::avx512::<f32, std::arch::x86_64::__m512>(job) },
            // SAFETY: as above.
            Simd::Avx2 => return unsafe { registers::avx2::<f32, std::arch::x86_64::__m256>(job) },
            Simd::Neon | Simd::Portable => {}
        }
        #[cfg(target_arch = "aarch64")]
        if Simd::in_use() == Simd::Neon {
            return job.run::<std::arch::aarch64::float32x4_t>();
        }
        job.run::<Portable<f32>>();
    }
}

/// Four numbers, for machines without vectors that are known here.
#[derive(Debug, Clone, Copy)]
pub(super) struct Portable<E>([E; 4]);

macro_rules! portable {
    ($element:ty, $bits:expr) => {
        impl Lanes for Portable<$element> {
            type Element = $element;
            const COUNT: usize = 4;

            #[inline(always)]
            fn splat(x: $element) -> Self {
                Self([x; 4])
            }
            #[inline(always)]
            unsafe fn load(from: &[$element], at: usize) -> Self {
                Self([from[at], from[at + 1], from[at + 2], from[at + 3]])
            }
            #[inline(always)]
            unsafe fn store(self, to: &mut [$element], at: usize) {
                to[at..at + 4].copy_from_slice(&self.0);
            }
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                Self(std::array::from_fn(|i| self.0[i] + other.0[i]))
            }
            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                Self(std::array::from_fn(|i| self.0[i] - other.0[i]))
            }
            #[inline(always)]
            fn times(self, other: Self) -> Self {
                Self(std::array::from_fn(|i| self.0[i] * other.0[i]))
            }
            #[inline(always)]
            fn times_plus(self, a: Self, b: Self) -> Self {
                // Without the instruction, a fused multiply-add is a slow library call.
                const FUSED: bool = cfg!(target_arch = "aarch64");
                let fused = |i: usize| self.0[i].mul_add(a.0[i], b.0[i]);
                Self(std::array::from_fn(|i| if FUSED { fused(i) } else { self.0[i] * a.0[i] + b.0[i] }))
            }
            #[inline(always)]
            fn times_from(self, a: Self, b: Self) -> Self {
                Self(self.0.map(|x| -x)).times_plus(a, b)
            }
            #[inline(always)]
            fn minus_times_minus(self, a: Self, b: Self) -> Self {
                Self(self.0.map(|x| -x)).times_plus(a, Self(b.0.map(|x| -x)))
            }
            #[inline(always)]
            fn times_power(self, rounded: Self) -> Self {
                let shifted = |i: usize| self.0[i].to_bits().wrapping_add(rounded.0[i].to_bits() << $bits);
                Self(std::array::from_fn(|i| <$element>::from_bits(shifted(i))))
            }
            #[inline(always)]
            fn where_below(self, x: Self, limit: Self) -> Self {
                Self(std::array::from_fn(|i| if x.0[i] < limit.0[i] { self.0[i] } else { 0.0 }))
            }
            #[inline(always)]
            fn least(self, other: Self) -> Self {
                Self(std::array::from_fn(|i| if other.0[i] < self.0[i] { other.0[i] } else { self.0[i] }))
            }
            #[inline(always)]
            fn sum(self) -> $element {
                (self.0[0] + self.0[2]) + (self.0[1] + self.0[3])
            }
        }
    };
}
portable!(f64, 52);
portable!(f32, 23);

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod registers {
    // On aarch64 the processor always has NEON, so that most of its instructions are not `unsafe`.
    #![cfg_attr(target_arch = "aarch64", allow(unused_unsafe))]

    #[cfg(target_arch = "aarch64")]
    use std::arch::aarch64::*;
    #[cfg(target_arch = "x86_64")]
    use std::arch::x86_64::*;

    use super::Lanes;
    #[cfg(target_arch = "x86_64")]
    use super::{Element, Job};

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512dq")]
    pub fn avx512<E: Element, V: Lanes<Element = E>>(job: impl Job<E>) {
        job.run::<V>();
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    pub fn avx2<E: Element, V: Lanes<Element = E>>(job: impl Job<E>) {
        job.run::<V>();
    }

    /// The methods of a register type. They are reached only by [`Element::dispatch`], that is, on processors that have the
    /// instructions; that is the safety of every call below.
    macro_rules! register {
        (
            $register:ty, $element:ty, $count:expr, $set1:ident, $loadu:ident, $storeu:ident, $add:ident, $sub:ident, $mul:ident,
            $fmadd:ident, $fnmadd:ident, $fnmsub:ident, $min:ident,
            power($value:ident, $rounded:ident) $power:expr, below($kept:ident, $x:ident, $limit:ident) $below:expr,
            sum($summed:ident) $sum:expr
        ) => {
            impl Lanes for $register {
                type Element = $element;
                const COUNT: usize = $count;

                #[inline(always)]
                fn splat(x: $element) -> Self {
                    // SAFETY: see `register`.
                    unsafe { $set1(x) }
                }
                #[inline(always)]
                unsafe fn load(from: &[$element], at: usize) -> Self {
                    debug_assert!(at + $count <= from.len());
                    // SAFETY: see `register`; the caller knows the bounds.
                    unsafe { $loadu(from.as_ptr().add(at)) }
                }
                #[inline(always)]
                unsafe fn store(self, to: &mut [$element], at: usize) {
                    debug_assert!(at + $count <= to.len());
                    // SAFETY: see `register`; the caller knows the bounds.
                    unsafe { $storeu(to.as_mut_ptr().add(at), self) }
                }
                #[inline(always)]
                fn plus(self, other: Self) -> Self {
                    // SAFETY: see `register`.
                    unsafe { $add(self, other) }
                }
                #[inline(always)]
                fn minus(self, other: Self) -> Self {
                    // SAFETY: see `register`.
                    unsafe { $sub(self, other) }
                }
                #[inline(always)]
                fn times(self, other: Self) -> Self {
                    // SAFETY: see `register`.
                    unsafe { $mul(self, other) }
                }
                #[inline(always)]
                fn times_plus(self, a: Self, b: Self) -> Self {
                    // SAFETY: see `register`.
                    unsafe { $fmadd(self, a, b) }
                }
                #[inline(always)]
                fn times_from(self, a: Self, b: Self) -> Self {
                    // SAFETY: see `register`.
                    unsafe { $fnmadd(self, a, b) }
                }
                #[inline(always)]
                fn minus_times_minus(self, a: Self, b: Self) -> Self {
                    // SAFETY: see `register`.
                    unsafe { $fnmsub(self, a, b) }
                }
                #[inline(always)]
                fn times_power(self, $rounded: Self) -> Self {
                    let $value = self;
                    // SAFETY: see `register`.
                    unsafe { $power }
                }
                #[inline(always)]
                fn where_below(self, $x: Self, $limit: Self) -> Self {
                    let $kept = self;
                    // SAFETY: see `register`.
                    unsafe { $below }
                }
                #[inline(always)]
                fn least(self, other: Self) -> Self {
                    // SAFETY: see `register`.
                    unsafe { $min(other, self) }
                }
                #[inline(always)]
                fn sum(self) -> $element {
                    let $summed = self;
                    // SAFETY: see `register`.
                    unsafe { $sum }
                }
            }
        };
    }

    #[cfg(target_arch = "x86_64")]
    register! {
        __m256d, f64, 4, _mm256_set1_pd, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_add_pd, _mm256_sub_pd, _mm256_mul_pd,
        _mm256_fmadd_pd, _mm256_fnmadd_pd, _mm256_fnmsub_pd, _mm256_min_pd,
        power(value, rounded) _mm256_castsi256_pd(_mm256_add_epi64(
            _mm256_castpd_si256(value),
            _mm256_slli_epi64::<52>(_mm256_castpd_si256(rounded)),
        )),
        below(kept, x, limit) _mm256_and_pd(kept, _mm256_cmp_pd::<_CMP_LT_OQ>(x, limit)),
        sum(v) {
            let pairs = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd::<1>(v));
            _mm_cvtsd_f64(_mm_add_sd(pairs, _mm_unpackhi_pd(pairs, pairs)))
        }
    }

    #[cfg(target_arch = "x86_64")]
    register! {
        __m256, f32, 8, _mm256_set1_ps, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_add_ps, _mm256_sub_ps, _mm256_mul_ps,
        _mm256_fmadd_ps, _mm256_fnmadd_ps, _mm256_fnmsub_ps, _mm256_min_ps,
        power(value, rounded) _mm256_castsi256_ps(_mm256_add_epi32(
            _mm256_castps_si256(value),
            _mm256_slli_epi32::<23>(_mm256_castps_si256(rounded)),
        )),
        below(kept, x, limit) _mm256_and_ps(kept, _mm256_cmp_ps::<_CMP_LT_OQ>(x, limit)),
        sum(v) {
            let fours = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v));
            let pairs = _mm_add_ps(fours, _mm_movehl_ps(fours, fours));
            _mm_cvtss_f32(_mm_add_ss(pairs, _mm_shuffle_ps::<1>(pairs, pairs)))
        }
    }

    #[cfg(target_arch = "x86_64")]
    register! {
        __m512d, f64, 8, _mm512_set1_pd, _mm512_loadu_pd, _mm512_storeu_pd, _mm512_add_pd, _mm512_sub_pd, _mm512_mul_pd,
        _mm512_fmadd_pd, _mm512_fnmadd_pd, _mm512_fnmsub_pd, _mm512_min_pd,
        power(value, rounded) _mm512_castsi512_pd(_mm512_add_epi64(
            _mm512_castpd_si512(value),
            _mm512_slli_epi64::<52>(_mm512_castpd_si512(rounded)),
        )),
        below(kept, x, limit) _mm512_maskz_mov_pd(_mm512_cmp_pd_mask::<_CMP_LT_OQ>(x, limit), kept),
        sum(v) _mm512_reduce_add_pd(v)
    }

    #[cfg(target_arch = "x86_64")]
    register! {
        __m512, f32, 16, _mm512_set1_ps, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_add_ps, _mm512_sub_ps, _mm512_mul_ps,
        _mm512_fmadd_ps, _mm512_fnmadd_ps, _mm512_fnmsub_ps, _mm512_min_ps,
        power(value, rounded) _mm512_castsi512_ps(_mm512_add_epi32(
            _mm512_castps_si512(value),
            _mm512_slli_epi32::<23>(_mm512_castps_si512(rounded)),
        )),
        below(kept, x, limit) _mm512_maskz_mov_ps(_mm512_cmp_ps_mask::<_CMP_LT_OQ>(x, limit), kept),
        sum(v) _mm512_reduce_add_ps(v)
    }

    /// The names of x86 for what NEON has with its addend first, and for what it lacks.
    #[cfg(target_arch = "aarch64")]
    macro_rules! as_on_x86 {
        ($register:ty, $fma:ident, $fms:ident, $neg:ident, $less:ident, $select:ident, $fmadd:ident, $fnmadd:ident, $fnmsub:ident, $min:ident) => {
            #[inline(always)]
            fn $fmadd(x: $register, a: $register, b: $register) -> $register {
                // SAFETY: every aarch64 processor has NEON.
                unsafe { $fma(b, x, a) }
            }
            #[inline(always)]
            fn $fnmadd(x: $register, a: $register, b: $register) -> $register {
                // SAFETY: as above.
                unsafe { $fms(b, x, a) }
            }
            #[inline(always)]
            fn $fnmsub(x: $register, a: $register, b: $register) -> $register {
                // SAFETY: as above.
                unsafe { $neg($fma(b, x, a)) }
            }
            #[inline(always)]
            fn $min(x: $register, y: $register) -> $register {
                // SAFETY: as above.
                unsafe { $select($less(x, y), x, y) }
            }
        };
    }
    #[cfg(target_arch = "aarch64")]
    as_on_x86!(
        float64x2_t,
        vfmaq_f64,
        vfmsq_f64,
        vnegq_f64,
        vcltq_f64,
        vbslq_f64,
        fmadd_f64,
        fnmadd_f64,
        fnmsub_f64,
        min_f64
    );
    #[cfg(target_arch = "aarch64")]
    as_on_x86!(
        float32x4_t,
        vfmaq_f32,
        vfmsq_f32,
        vnegq_f32,
        vcltq_f32,
        vbslq_f32,
        fmadd_f32,
        fnmadd_f32,
        fnmsub_f32,
        min_f32
    );

    #[cfg(target_arch = "aarch64")]
    register! {
        float64x2_t, f64, 2, vdupq_n_f64, vld1q_f64, vst1q_f64, vaddq_f64, vsubq_f64, vmulq_f64, fmadd_f64, fnmadd_f64, fnmsub_f64,
        min_f64,
        power(value, rounded) vreinterpretq_f64_s64(vaddq_s64(
            vreinterpretq_s64_f64(value),
            vshlq_n_s64::<52>(vreinterpretq_s64_f64(rounded)),
        )),
        below(kept, x, limit) vreinterpretq_f64_u64(vandq_u64(vreinterpretq_u64_f64(kept), vcltq_f64(x, limit))),
        sum(v) vaddvq_f64(v)
    }

    #[cfg(target_arch = "aarch64")]
    register! {
        float32x4_t, f32, 4, vdupq_n_f32, vld1q_f32, vst1q_f32, vaddq_f32, vsubq_f32, vmulq_f32, fmadd_f32, fnmadd_f32, fnmsub_f32,
        min_f32,
        power(value, rounded) vreinterpretq_f32_s32(vaddq_s32(
            vreinterpretq_s32_f32(value),
            vshlq_n_s32::<23>(vreinterpretq_s32_f32(rounded)),
        )),
        below(kept, x, limit) vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(kept), vcltq_f32(x, limit))),
        sum(v) vaddvq_f32(v)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Exp<'a, E>(&'a mut [E]);

    impl<E: Element> Job<E> for Exp<'_, E> {
        #[inline(always)]
        fn run<V: Lanes<Element = E>>(self) {
            exp_of_minus::<V>(self.0);
        }
    }

    /// The largest error in units of the last place over the range in which results are normal numbers.
    fn worst<E: Element>(exp: fn(&mut [E]), unit: fn(f64) -> f64) -> f64 {
        let largest: f64 = E::LARGEST.into();
        let x: Vec<E> =
            (0..1 << 18).map(|i| E::nearest(0.9999 * largest * (f64::from(i) / f64::from(1 << 18)).powi(3))).collect();
        let mut y = x.clone();
        exp(&mut y);
        x.iter().zip(&y).fold(0.0, |worst: f64, (&x, &y)| {
            let want = (-x.into()).exp();
            worst.max((y.into() - want).abs() / unit(want))
        })
    }

    #[test]
    fn exp_is_within_two_units_in_the_last_place() {
        // std's exp of f64 is right to well below one unit.
        let double = |x: f64| f64::from_bits(x.to_bits() + 1) - x;
        let single = |x: f64| f64::from(f32::from_bits((x as f32).to_bits() + 1)) - f64::from(x as f32);
        assert!(worst::<f64>(|x| f64::dispatch(Exp(x)), double) <= 2.0);
        assert!(worst::<f64>(exp_of_minus::<Portable<f64>>, double) <= 2.0);
        assert!(worst::<f32>(|x| f32::dispatch(Exp(x)), single) <= 2.0);
        assert!(worst::<f32>(exp_of_minus::<Portable<f32>>, single) <= 2.0);
    }

    #[test]
    fn exp_at_the_ends() {
        let ends = [0.0, 1e-300, 708.0, 1e6, 1e300, f64::INFINITY, 709.0, 0.0];
        let mut values = [ends, ends, ends, ends].concat();
        f64::dispatch(Exp(&mut values));
        assert_eq!(values[..8], [1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
        let mut values = [0.0f32, 1e-30, 87.0, 1e6, f32::INFINITY, 88.0, 100.0, 0.0].repeat(8);
        f32::dispatch(Exp(&mut values));
        assert_eq!(values[..8], [1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
    }
}
