"""A value that passed a guard, with the receipt that says so; and the one refusal when it was changed afterwards."""

from __future__ import annotations

from hashlib import sha256
from typing import Any, Generic, NoReturn, TypeVar, final

import msgspec

from mklang.errors import AlteredAfterCheck
from mklang.guards.failures import Failure

T_co = TypeVar("T_co", covariant=True)


class Receipt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was checked by which guard. The hashes are SHA-256 in hex.

    ``guard_sha`` is the guard's meaning, ``in_sha`` the bytes that came in, ``out_sha`` the canonical bytes of the
    value that passed; ``bytes`` is their number. ``refused`` says why items were left out, where a guard may do that.
    """

    guard: str
    version: int
    guard_sha: str
    in_sha: str
    out_sha: str
    bytes: int
    refused: tuple[Failure, ...] = ()

    def to_wire(self) -> dict[str, object]:
        """The JSON form."""
        wire = {name: getattr(self, name) for name in self.__struct_fields__ if name != "refused"}
        return wire | ({"refused": [failure.to_wire() for failure in self.refused]} if self.refused else {})


_MAKER = object()


@final
class Checked(Generic[T_co]):
    """A value and its receipt. Only a guard makes one, so that a function that takes a ``Checked`` cannot be given text
    that nobody looked at: not by type, and not at run time."""

    __slots__ = ("_receipt", "_value")
    _receipt: Receipt
    _value: T_co

    def __init__(self, value: T_co, receipt: Receipt, *, maker: object = None) -> None:
        """For guards only."""
        if maker is not _MAKER:
            raise TypeError("only a guard makes a Checked value: use Guard.check, check_value or load")
        object.__setattr__(self, "_value", value)
        object.__setattr__(self, "_receipt", receipt)

    @property
    def value(self) -> T_co:
        """What passed. Changing it changes no file: a writer looks at it again."""
        return self._value

    @property
    def receipt(self) -> Receipt:
        """The receipt."""
        return self._receipt

    def content(self) -> bytes:
        """The canonical bytes of the value as it is now. Raises ``AlteredAfterCheck`` when they are no longer those
        that passed."""
        data = canonical(self._value)
        if sha256(data).hexdigest() != self._receipt.out_sha:
            raise AlteredAfterCheck(f"G501: the value was changed after guard '{self._receipt.guard}' had checked it")
        return data

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a Checked value is frozen")

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Checked value stays in its process: check the bytes where they arrive")

    def __repr__(self) -> str:
        return f"<Checked by {self._receipt.guard} v{self._receipt.version}, {self._receipt.bytes} bytes>"


def checked(value: Any, receipt: Receipt) -> Checked[Any]:
    """The one way in, for guards."""
    return Checked(value, receipt, maker=_MAKER)


def canonical(value: Any) -> bytes:
    """One spelling for one value: a text as its UTF-8 bytes, anything else as JSON with sorted keys and no spaces."""
    if isinstance(value, str):
        return value.encode()
    try:
        return _encode(value)
    except (TypeError, ValueError, RecursionError):
        raise AlteredAfterCheck("G501: the value is not JSON") from None


_encode = msgspec.json.Encoder(order="sorted").encode
