"""The SVG back end: pictures without any library, the same bytes every time."""

from scarce.plots.svg import forest as forest  # these add their pictures to `draw`
from scarce.plots.svg import trend as trend
from scarce.plots.svg.charts import draw
from scarce.plots.svg.sheet import Chart
from scarce.plots.svg.strip import strip

__all__ = ["Chart", "draw", "strip"]
