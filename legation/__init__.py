"""The product: reads objects, has them translated, serves the result to Envoys, writes back their status."""
