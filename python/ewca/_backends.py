"""Arrays of other libraries, as POT takes them: what comes in as torch's or JAX's goes out as torch's or JAX's."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

_Back = Callable[[np.ndarray], Any]


def as_numpy(x: Any) -> tuple[Any, _Back]:
    """Something as NumPy can read it, and the way back for results: to the library, type and device that it came from.

    Arrays on the CPU are not copied on their way in. Gradients end here: results have none.
    """
    if isinstance(x, np.ndarray):
        return x, _to_numpy(x.dtype)
    if hasattr(x, "detach") and hasattr(x, "cpu"):
        return x.detach().cpu().numpy(), _to_torch(x)
    if hasattr(x, "__array_namespace__"):
        return _exported(x), _to_namespace(x)
    return x, _to_numpy(getattr(x, "dtype", None))


def _to_numpy(dtype: Any) -> _Back:
    # POT computes in the type of the data; all that is not of single precision is of double.
    wanted = np.float32 if dtype == np.float32 else np.float64
    return lambda found: np.ascontiguousarray(found, dtype=wanted)


def _to_torch(x: Any) -> _Back:
    import torch

    dtype = x.dtype if x.dtype.is_floating_point else torch.float64
    return lambda found: torch.from_numpy(np.ascontiguousarray(found)).to(dtype=dtype, device=x.device)


def _exported(x: Any) -> np.ndarray:
    """The numbers of an array that follows the array API standard."""
    try:
        return np.asarray(np.from_dlpack(x))
    except (AttributeError, BufferError, RuntimeError, TypeError, ValueError):
        # On another device, or of a type that DLPack does not know: by NumPy's own way.
        return np.asarray(x)


def _to_namespace(x: Any) -> _Back:
    library = x.__array_namespace__()
    kind = np.dtype(str(getattr(x.dtype, "name", x.dtype)).rsplit(".", 1)[-1])
    single = kind.kind == "f" and kind.itemsize <= 4
    name = kind.name if kind.kind == "f" else "float64"
    device = getattr(x, "device", None)

    def back(found: np.ndarray) -> Any:
        rounded = np.ascontiguousarray(found, dtype=np.float32 if single else np.float64)
        words = {"dtype": getattr(library, name)}
        try:
            return library.asarray(rounded, device=device, **words)
        except TypeError:
            return library.asarray(rounded, **words)

    return back
