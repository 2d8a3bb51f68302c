"""Calls to other programs: HTTP client, retries, rate limit, journal of calls, secrets, redaction."""
