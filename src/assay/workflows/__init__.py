"""One typed request and one function for each verb; the layer that joins files, store and computation."""
