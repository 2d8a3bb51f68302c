"""Means of measures from few human labels and many model labels."""
