"""Warnings about fits, in scikit-learn's category where scikit-learn is installed."""

from __future__ import annotations

import warnings

from ._model import Certificate

_ADVICE = {
    "max_iterations": "the iteration limit was reached before the tolerance: raise {limit}",
    "stalled": "no step lowers the loss any more, but the tolerance is not met: it is finer than rounding allows, loosen {tol}",
}


def convergence_warning() -> type[Warning]:
    """scikit-learn's ``ConvergenceWarning``, or ``UserWarning`` without it."""
    try:
        from sklearn.exceptions import ConvergenceWarning
    except ImportError:
        return UserWarning
    return ConvergenceWarning  # type: ignore[no-any-return]


def warn_about(certificate: Certificate, epsilon: float, *, limit: str, tol: str, stacklevel: int = 3) -> None:
    """Says what is wrong with a fit, if anything."""
    advice = _ADVICE.get(certificate.termination)
    if advice is not None:
        text = f"EWCA did not converge: {advice.format(limit=limit, tol=tol)} (relative gradient {certificate.relative_gradient:.1e})"
        warnings.warn(text, convergence_warning(), stacklevel=stacklevel)
    near = certificate.approximation
    if near is not None and near.marginal_error > 0.01:
        text = (
            f"EWCA's kernel is approximate ({near.landmarks} landmarks), and by exact rows the plan is off by {100 * near.marginal_error:.2g} %: "
            "use more landmarks, a larger perplexity, or the exact kernel (landmarks=None)"
        )
        warnings.warn(text, stacklevel=stacklevel)
    if certificate.collapsed:
        text = f"EWCA collapsed at epsilon {epsilon:.4g}: components shrink the data instead of showing them; lower epsilon or perplexity"
        warnings.warn(text, stacklevel=stacklevel)
