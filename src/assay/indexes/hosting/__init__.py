"""Indexes in processes of their own."""
