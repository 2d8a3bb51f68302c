"""Annotation by people: projects, their pairs, gold questions, and the progress of raters."""
