"""Tables whose rows stay on the workers of Dask or Spark."""
