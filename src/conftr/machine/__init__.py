"""What every room asks of the machine: files, digests, progress, cores, other machines; no JAX."""
