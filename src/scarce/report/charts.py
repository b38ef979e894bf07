"""The charts of a report: plain arrays in, a small SVG with its words and numbers out."""

from scarce.report.bars import bar_chart, histogram_chart
from scarce.report.canvas import Chart
from scarce.report.lines import Line, Mark, line_chart, response_chart
from scarce.report.reliability import reliability_chart

__all__ = [
    "Chart",
    "Line",
    "Mark",
    "line_chart",
    "reliability_chart",
    "histogram_chart",
    "bar_chart",
    "response_chart",
]
