"""The documented APIs of engines that cannot be had here, and doubles that hold to them."""
