"""From what users have (data frames, arrays of numbers or images) to what networks take."""

from conftr.features.encoding import Array, Encoding, Images, from_json, learn
from conftr.features.frames import Frame, is_frame

__all__ = ["Array", "Encoding", "Frame", "Images", "from_json", "is_frame", "learn"]
