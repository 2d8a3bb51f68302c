"""Tests that stay valid when the data are looked at more than once."""
