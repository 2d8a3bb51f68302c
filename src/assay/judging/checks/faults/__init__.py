"""The faults of evaluation sets, one module each: its function `find` returns what it found.

A new module here is a new check: nothing else has to be changed.
"""
