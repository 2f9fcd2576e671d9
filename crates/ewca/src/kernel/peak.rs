//! What the processor can do at most: multiply-adds in registers, and exponentials in the first-level cache.

use std::hint::black_box;
use std::time::Instant;

use super::lanes::{Element, Job, Lanes, exp_of_minus};

/// Operations per second of one thread.
#[derive(Debug, Clone, Copy)]
pub struct Peak {
    /// Multiply-adds (or other simple operations on a vector), each number counted.
    pub multiply_adds: f64,
    /// Exponentials.
    pub exponentials: f64,
}

impl Peak {
    /// Measures in double or single precision, for about a tenth of a second.
    #[must_use]
    pub fn measure(single: bool) -> Self {
        if single { Self::of::<f32>() } else { Self::of::<f64>() }
    }

    fn of<E: Element>() -> Self {
        let best = |job: &mut dyn FnMut() -> usize| {
            let rate = |_| {
                let clock = Instant::now();
                job() as f64 / clock.elapsed().as_secs_f64()
            };
            (0..10).map(rate).fold(0.0, f64::max)
        };
        let mut values = vec![E::nearest(0.5); 2048];
        Self {
            multiply_adds: best(&mut || {
                let mut count = 0;
                E::dispatch(MultiplyAdds { values: &mut values, count: &mut count });
                count
            }),
            exponentials: best(&mut || {
                let mut values = vec![E::nearest(0.5); 2048];
                E::dispatch(Exponentials { values: &mut values });
                1000 * values.len()
            }),
        }
    }
}

struct MultiplyAdds<'a, E> {
    values: &'a mut [E],
    count: &'a mut usize,
}

impl<E: Element> Job<E> for MultiplyAdds<'_, E> {
    #[inline(always)]
    fn run<V: Lanes<Element = E>>(self) {
        const CHAINS: usize = 12;
        const STEPS: usize = 400_000;
        let mut chains = [V::splat(self.values[0]); CHAINS];
        let (factor, term) = (V::splat(black_box(E::nearest(0.999))), V::splat(black_box(E::nearest(0.001))));
        for _ in 0..STEPS {
            for chain in &mut chains {
                *chain = chain.times_plus(factor, term);
            }
        }
        for (q, chain) in chains.into_iter().enumerate() {
            self.values[q] = chain.sum();
        }
        *self.count = STEPS * CHAINS * V::COUNT;
    }
}

struct Exponentials<'a, E> {
    values: &'a mut [E],
}

impl<E: Element> Job<E> for Exponentials<'_, E> {
    #[inline(always)]
    fn run<V: Lanes<Element = E>>(self) {
        for _ in 0..1000 {
            exp_of_minus::<V>(self.values);
            black_box(&mut *self.values);
        }
    }
}
