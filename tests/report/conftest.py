"""The fixtures of the reports, which the tests in a browser share."""

from tests.report.fixtures import catalogue, draw_only, image_params, image_report, params, report, root, text_only

__all__ = ["catalogue", "draw_only", "image_params", "image_report", "params", "report", "root", "text_only"]
