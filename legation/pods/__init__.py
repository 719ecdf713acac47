"""Where the pods of XBackends are: Services that have the cluster say so."""
