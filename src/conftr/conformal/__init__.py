"""The paper's mathematics (sec. 2 and 3), for NumPy, JAX and PyTorch from one source."""
