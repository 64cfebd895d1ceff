"""The fixtures of the reports, which the tests in a browser share."""

from tests.report.fixtures import catalogue, image_params, image_report, params, report, root, text_only

__all__ = ["catalogue", "image_params", "image_report", "params", "report", "root", "text_only"]
