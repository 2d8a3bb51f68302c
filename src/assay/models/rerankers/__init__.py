"""The rerankers, one file each, loaded when they are named."""
