"""What is wrong, in words, with remedies: in objects, in the cluster and in its Envoys."""
