"""The selection of an index by floors and one objective."""
