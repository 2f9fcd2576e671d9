//! Which vectors the kernel is computed with: what the processor has, or what `EWCA_SIMD` asks for.

use std::sync::OnceLock;

use crate::error::{Error, Result};

/// The variable that chooses.
const VARIABLE: &str = "EWCA_SIMD";

/// A kind of vectors. All give the same results to rounding; the widest is the fastest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Simd {
    /// 512 bits: x86 with AVX-512 F and DQ.
    Avx512,
    /// 256 bits: x86 with AVX2 and FMA.
    Avx2,
    /// 128 bits: every 64-bit ARM.
    Neon,
    /// Plain Rust, on any processor.
    Portable,
}

impl Simd {
    const ALL: [Self; 4] = [Self::Avx512, Self::Avx2, Self::Neon, Self::Portable];

    /// The name by which `EWCA_SIMD` chooses it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Avx512 => "avx512",
            Self::Avx2 => "avx2",
            Self::Neon => "neon",
            Self::Portable => "portable",
        }
    }

    /// What this processor has, widest first.
    #[must_use]
    pub fn available() -> Vec<Self> {
        Self::ALL.into_iter().filter(|simd| simd.is_available()).collect()
    }

    /// What fits use: the widest that this processor has, or what the environment variable `EWCA_SIMD` names (`avx512`, `avx2`,
    /// `neon` or `portable`), looked at once. Fits are refused where it names something else, or what the processor lacks.
    ///
    /// # Errors
    /// Where `EWCA_SIMD` names vectors that there are not, or that this processor lacks.
    pub fn chosen() -> Result<Self> {
        static CHOSEN: OnceLock<Result<Simd>> = OnceLock::new();
        CHOSEN.get_or_init(|| Self::named(std::env::var_os(VARIABLE).map(|name| name.to_string_lossy().into()))).clone()
    }

    /// The same where a fit is under way, which [`Simd::chosen`] has allowed.
    pub(super) fn in_use() -> Self {
        Self::chosen().unwrap_or(Self::Portable)
    }

    fn named(name: Option<String>) -> Result<Self> {
        let available = Self::available();
        match name {
            None => Ok(available[0]),
            Some(name) => available.iter().copied().find(|simd| simd.name() == name).ok_or_else(|| {
                let names: Vec<&str> = available.iter().map(|simd| simd.name()).collect();
                let expected = format!("this processor has {}; unset it for the fastest", names.join(", "));
                Error::Parameter { name: VARIABLE, value: name, expected }
            }),
        }
    }

    fn is_available(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            match self {
                Self::Avx512 => has!("avx512f") && has!("avx512dq"),
                Self::Avx2 => has!("avx2") && has!("fma"),
                Self::Neon => false,
                Self::Portable => true,
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            self == Self::Portable || self == Self::Neon && cfg!(target_arch = "aarch64")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_choose_what_there_is() {
        assert_eq!(Simd::named(None).unwrap(), Simd::available()[0]);
        for simd in Simd::available() {
            assert_eq!(Simd::named(Some(simd.name().into())).unwrap(), simd);
        }
        let wrong = Simd::named(Some("sse9".into())).unwrap_err().to_string();
        assert!(wrong.starts_with("EWCA_SIMD is sse9: this processor has ") && wrong.contains("portable"), "{wrong}");
    }
}
