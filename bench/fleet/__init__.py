"""Many simulated Envoys, the ways in which they reach a control plane, and a real one."""
