"""What users did: events, online metrics, A/B tests and interleaving."""
