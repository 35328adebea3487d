//! Gaussian noise on an integer grid.
