"""From what users have (data frames, arrays of numbers or images, texts) to what networks take."""
