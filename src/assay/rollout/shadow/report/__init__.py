"""What a shadow log says: differences beyond the noise floor, latency, failures, judged measures."""
