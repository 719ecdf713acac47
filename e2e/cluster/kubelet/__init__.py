"""Stands for kubelet, scheduler and load balancer: pods are processes in namespaces of their own."""
