"""Many simulated Envoys, and the ways in which they reach a control plane."""
