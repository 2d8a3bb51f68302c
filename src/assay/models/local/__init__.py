"""Language models on this machine: which there are, fetching their weights, and serving them."""
