"""The dashboard: pages over the workflows. A page parses its address, calls one workflow and renders."""
