# SPDX-License-Identifier: MIT
"""Fields of variable length, as VBLKs have them: a byte that says how many follow, then a number or a text."""

from lab.volumes.ldm.layout import LdmError


def number(value: int) -> bytes:
    """A number in as few bytes as hold it, most significant first, and at least one."""
    length = max(1, (value.bit_length() + 7) // 8)
    return bytes([length]) + value.to_bytes(length, "big")


def text(value: str) -> bytes:
    """A text without an end mark."""
    encoded = value.encode("ascii")
    return bytes([len(encoded)]) + encoded


class Cursor:
    """Reads fields one behind the other; what is not there is an error that names the structure."""

    def __init__(self, data: bytes, where: str):
        self.data = data
        self.where = where
        self.at = 0

    def take(self, length: int) -> bytes:
        """The next bytes as they are."""
        if self.at + length > len(self.data):
            raise LdmError(f"{self.where}: a field ends behind the structure; the database is damaged, create it again")
        self.at += length
        return self.data[self.at - length : self.at]

    def fixed(self, length: int) -> int:
        """A number of fixed length."""
        return int.from_bytes(self.take(length), "big")

    def number(self) -> int:
        """A number of variable length; no byte at all is 0."""
        length = self.fixed(1)
        if length > 8:
            raise LdmError(f"{self.where}: a number of {length} bytes; the database is damaged, create it again")
        return self.fixed(length)

    def text(self) -> str:
        """A text of variable length."""
        return readable(self.take(self.fixed(1)), self.where)


def readable(raw: bytes, where: str) -> str:
    """Text of printable ASCII."""
    if any(byte < 0x20 or byte > 0x7E for byte in raw):
        raise LdmError(f"{where}: a text with signs that are no text; the database is damaged, create it again")
    return raw.decode("ascii")


def padded(value: str, length: int) -> bytes:
    """A text at the start of a field of fixed length, zeros behind it."""
    encoded = value.encode("ascii")
    if len(encoded) >= length:
        raise ValueError(f"{value!r} does not fit into {length} bytes")
    return encoded.ljust(length, b"\0")


def unpadded(raw: bytes, where: str) -> str:
    """The text at the start of a field of fixed length."""
    return readable(raw.partition(b"\0")[0], where)
