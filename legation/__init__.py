"""The product: reads objects, has them translated, serves the result to Envoys, and writes back their status."""
