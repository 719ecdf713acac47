"""Pictures of what the benchmarks say, for docs/performance.md."""
