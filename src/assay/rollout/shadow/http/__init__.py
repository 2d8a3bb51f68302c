"""A mirror in front of two HTTP endpoints; needs h11 and, to serve, uvicorn."""
