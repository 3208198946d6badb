"""Small files in the true formats, and what is known of them."""

import io
import struct
import tarfile

from conftr.data.files import File, digest


def file_of(name, contents):
    return File(name, len(contents), f"sha256:{digest('sha256', contents)}")


def idx_bytes(values):
    header = bytes([0, 0, 8, values.ndim]) + struct.pack(f">{values.ndim}I", *values.shape)
    return header + values.tobytes()


def tar_bytes(members, mode="w:gz"):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:
        for name, contents in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(contents)
            archive.addfile(entry, io.BytesIO(contents))
    return buffer.getvalue()
