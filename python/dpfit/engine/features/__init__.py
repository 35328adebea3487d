"""From columns to the features that a model is linear in."""
