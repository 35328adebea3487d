"""Tables in files, read in batches."""
