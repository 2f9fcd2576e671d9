//! Entropic Wasserstein Component Analysis.
