"""Fitted models: the estimators that need no tuning, and every view of what they found."""
