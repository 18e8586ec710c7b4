"""Just enough of GGUF v3 to make a file of f32 tensors with the metadata of another file.

Metadata are kept as the bytes that the file has, so that nothing is lost of a tokenizer; what is
replaced is named. Files are ours: a file that is not GGUF v3 is refused, damage is not looked for.
"""

import array
import struct
import sys

_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_TEXT, _LIST, _UINT32 = 8, 9, 4
_ALIGNMENT = 32
F32 = 0


class _Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self, form):
        value = struct.unpack_from("<" + form, self.data, self.at)[0]
        self.at += struct.calcsize("<" + form)
        return value

    def text(self):
        length = self.number("Q")
        self.at += length
        return self.data[self.at - length : self.at].decode("utf-8")

    def skip_value(self, kind):
        if kind == _TEXT:
            self.text()
        elif kind == _LIST:
            inner, count = self.number("I"), self.number("Q")
            if inner in _SIZES:
                self.at += _SIZES[inner] * count
            else:
                for _ in range(count):
                    self.skip_value(inner)
        else:
            self.at += _SIZES[kind]


def _open(path):
    """(a reader after the metadata, {key: (kind, bytes)}, the number of tensors)"""
    with open(path, "rb") as file:
        reader = _Reader(file.read())
    if reader.data[:4] != b"GGUF" or struct.unpack_from("<I", reader.data, 4)[0] != 3:
        raise ValueError("%s: is not a GGUF v3 file" % path)
    n_tensors = struct.unpack_from("<Q", reader.data, 8)[0]
    reader.at = 16
    metadata = {}
    for _ in range(reader.number("Q")):
        key, kind = reader.text(), reader.number("I")
        start = reader.at
        reader.skip_value(kind)
        metadata[key] = (kind, reader.data[start : reader.at])
    return reader, metadata, n_tensors


def read_metadata(path):
    """{key: (kind, the value's bytes)} of a GGUF v3 file, in its order."""
    return _open(path)[1]


def _head(n_tensors, metadata):
    head = b"GGUF" + struct.pack("<IQQ", 3, n_tensors, len(metadata))
    for key, (kind, data) in metadata.items():
        head += text(key)[1] + struct.pack("<I", kind) + data
    return head


def write_with(path, old, changes):
    """Writes the file `old` with some metadata changed or added, tensors as they are."""
    reader, metadata, n_tensors = _open(old)
    start = reader.at
    for _ in range(n_tensors):
        reader.text()
        n_dimensions = reader.number("I")
        reader.at += 8 * n_dimensions + 4 + 8  # with the format and the offset
    infos = reader.data[start : reader.at]
    tensors = reader.data[reader.at + _padded(reader.at) :]
    head = _head(n_tensors, metadata | changes) + infos
    with open(path, "wb") as file:
        file.write(head + bytes(_padded(len(head))) + tensors)


def uint32(value):
    """A value for `write`."""
    return _UINT32, struct.pack("<I", value)


def text(value):
    """A value for `write`."""
    data = value.encode("utf-8")
    return _TEXT, struct.pack("<Q", len(data)) + data


def _padded(size):
    return -size % _ALIGNMENT


def write(path, metadata, tensors):
    """`tensors`: [(name, (columns, rows) or (columns,), array of f32)], rows one after another."""
    head, offset = _head(len(tensors), metadata), 0
    for name, shape, values in tensors:
        head += text(name)[1] + struct.pack("<I%dQ" % len(shape), len(shape), *shape)
        head += struct.pack("<IQ", F32, offset)
        size = len(values) * values.itemsize
        offset += size + _padded(size)
    with open(path, "wb") as file:
        file.write(head + bytes(_padded(len(head))))
        for _, _, values in tensors:
            if sys.byteorder == "big":
                values = array.array("f", values)
                values.byteswap()
            file.write(values.tobytes() + bytes(_padded(len(values) * values.itemsize)))
