"""The choice of an index: floors that must hold, one objective, and why the others lost."""
