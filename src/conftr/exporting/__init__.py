"""A classifier as one ONNX graph, from raw rows to sets: what Python is not needed for."""
