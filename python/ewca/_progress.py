"""A progress bar for fits: tqdm's where it is installed, else lines on standard error."""

from __future__ import annotations

import sys
from typing import Any, Callable, NamedTuple, Optional

#: Called now and then with attempt, iteration, epsilon, loss and relative gradient.
Callback = Callable[[int, int, float, float, float], None]


class Iteration(NamedTuple):
    """A running fit after one of its iterations, as a ``callback`` sees it.

    >>> import numpy as np, ewca
    >>> X = np.random.default_rng(0).normal(size=(40, 3)) * [3, 2, 1]
    >>> seen = []
    >>> model = ewca.EWCA(1, callback=seen.append).fit(X)
    >>> seen[0].iteration, all(now.kernel_passes > 0 for now in seen)
    (0, True)
    """

    #: The start that is being made: 0 for the first.
    attempt: int
    #: The iteration of this start, from 0, where it begins.
    iteration: int
    #: The regularisation at work, which moves while a perplexity is searched for.
    epsilon: float
    #: The objective.
    loss: float
    #: The largest residual of a component, relative to itself: below ``tol`` the fit has converged.
    relative_gradient: float
    #: The sum of what rows of the plan differ from the weights.
    marginal_error: float
    #: Passes over all pairs of samples so far.
    kernel_passes: int
    #: Seconds since the fit began.
    elapsed: float
    #: The relative gradient that the fit is after.
    tol: float


class Progress:
    """A context that shows how a fit goes. ``callback`` is None where nothing is to be shown."""

    def __init__(self, verbose: int, tol: float) -> None:
        self._shown = bool(verbose)
        self._tol = tol
        self._bar: Any = None
        self.callback: Optional[Callback] = None

    def __enter__(self) -> Progress:
        if self._shown:
            self.callback = self._show
            try:
                from tqdm.auto import tqdm
            except ImportError:
                pass
            else:
                self._bar = tqdm(desc="EWCA", unit=" iterations", leave=True, dynamic_ncols=True)
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def done(self, iterations: int, epsilon: float, loss: float, gradient: float) -> None:
        """The last state of the fit."""
        if self._shown:
            self._show(0, iterations, epsilon, loss, gradient)

    def _show(self, attempt: int, iteration: int, epsilon: float, loss: float, gradient: float) -> None:
        text = f"loss {loss:.6g}, gradient {gradient:.1e} of {self._tol:.0e}, epsilon {epsilon:.4g}"
        if attempt:
            text = f"attempt {attempt + 1}, {text}"
        if self._bar is None:
            print(f"EWCA iteration {iteration}: {text}", file=sys.stderr)
            return
        self._bar.n = iteration
        self._bar.set_postfix_str(text, refresh=True)
