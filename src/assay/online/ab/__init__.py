"""A/B tests: sums of each variant, their differences, checks of the traffic, and the status."""
