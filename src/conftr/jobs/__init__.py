"""The practitioner's verbs without the command line: fit, calibrate, predict, monitor, export."""
