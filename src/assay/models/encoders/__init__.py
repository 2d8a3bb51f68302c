"""The encoders, one file each, loaded when they are named."""
