"""Reports for people: one self-contained HTML page for a fitted model."""

from dpfit.models.report.page import report_html

__all__ = ["report_html"]
