"""An hour of comings and goings in minutes, after which a control plane must hold as much as before."""
