"""Feed-forward networks of any number of layers, trained by back-propagation."""
