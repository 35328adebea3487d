"""From a table to a model, in public numbers only: ranges, features, rounds."""
