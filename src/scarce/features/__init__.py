"""Features of maxent without a matrix of features: lines on segments, and sums back from them."""
