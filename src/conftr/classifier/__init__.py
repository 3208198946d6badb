"""The calibrated classifier: division, training, choosing, calibration, estimator, artefact."""
