"""Warnings about fits, in scikit-learn's category where scikit-learn is installed."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Optional

from ._model import Certificate, Finding

_ADVICE = {
    "max_iterations": "the iteration limit was reached before the tolerance: raise {limit}",
    "stalled": "the tolerance is below rounding error: raise {tol}",
}


def convergence_warning() -> type[Warning]:
    """scikit-learn's ``ConvergenceWarning``, or ``UserWarning`` without it."""
    try:
        from sklearn.exceptions import ConvergenceWarning
    except ImportError:
        return UserWarning
    return ConvergenceWarning  # type: ignore[no-any-return]


def warn_about(
    certificate: Certificate,
    epsilon: float,
    *,
    limit: str,
    tol: str,
    features: Optional[Sequence[str]] = None,
    stacklevel: int = 3,
) -> None:
    """Says what is wrong with a fit, if anything. ``features`` are the names of the columns, where they have some."""
    for finding in certificate.findings:
        if finding.kind == "dominant_feature":
            text: Optional[str] = _dominant(finding, features)
        else:
            text = _in_words(finding, certificate, epsilon, limit, tol)
        if text is not None:
            category = convergence_warning() if finding.kind == "not_converged" else UserWarning
            warnings.warn(text, category, stacklevel=stacklevel)


def _dominant(finding: Finding, features: Optional[Sequence[str]]) -> str:
    """One feature decides on the first component."""
    number = finding.values["feature"]
    name = f"in column {number}" if features is None else repr(str(features[number]))
    return (
        f"one feature, {name}, dominates the first component, with {100 * finding.values['variance']:.1f} % of the variance: if the "
        "features have different units, scale them first (sklearn.preprocessing.StandardScaler)"
    )


def _in_words(finding: Finding, certificate: Certificate, epsilon: float, limit: str, tol: str) -> Optional[str]:
    """A finding that matters to whoever uses the result; None for the others, which are in the certificate."""
    values = finding.values
    if finding.kind == "not_converged":
        # Who interrupted the fit knows.
        advice = _ADVICE.get(values["termination"])
        if advice is None:
            return None
        gradient = f"(relative gradient {certificate.relative_gradient:.1e})"
        return f"EWCA did not converge: {advice.format(limit=limit, tol=tol)} {gradient}"
    if finding.kind == "poor_approximation":
        return (
            f"EWCA's approximation with {values['landmarks']} landmarks is poor: checked on exact rows, the plan is off by "
            f"{100 * values['marginal_error']:.2g} %: use more landmarks, a larger perplexity, or an exact fit (landmarks=None)"
        )
    if finding.kind == "collapsed":
        return (
            f"EWCA collapsed at epsilon {epsilon:.4g}: smoothing is too strong: the components no longer reflect the data; lower epsilon or "
            "perplexity"
        )
    if finding.kind == "perplexity_floor":
        return (
            "some samples are identical, and identical samples are always matched with each other: the smallest possible perplexity is "
            f"{values['smallest']:.4g}, and the fit is just above it"
        )
    if finding.kind == "perplexity_missed":
        return (
            f"the perplexity is not {values['wanted']:.4g} as requested: the optimum jumps near epsilon {epsilon:.4g}, and no epsilon "
            "gives a perplexity in between"
        )
    return None
