"""Where the values of each column lie, found with noisy histograms."""
