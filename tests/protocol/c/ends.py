"""The C library's client and device as Python's ctypes have them."""

import ctypes

from ringhil.protocol.line.management import KEPT, Type

from . import library as c

OK, REFUSED, SILENT, GONE, NO_ROOM, ODD = range(6)
WRITE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint8), ctypes.c_size_t)
READ = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint8), ctypes.c_int)
EVENT = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint8), ctypes.c_size_t)
ANSWER = ctypes.CFUNCTYPE(
    ctypes.c_size_t,
    ctypes.c_void_p,
    ctypes.POINTER(ctypes.c_uint8),
    ctypes.c_size_t,
    ctypes.POINTER(ctypes.c_uint8),
    ctypes.c_size_t,
)


class Stream(ctypes.Structure):
    """`struct rh_stream`."""

    _fields_ = (("context", ctypes.c_void_p), ("write", WRITE), ("read", READ))


class Client(ctypes.Structure):
    """`struct rh_client`."""

    _fields_ = (
        ("line", Stream),
        ("receiver", c.Receiver),
        ("out", ctypes.c_void_p),
        ("room", ctypes.c_size_t),
        ("tries", ctypes.c_uint),
        ("id", ctypes.c_uint16),
        ("refusal", c.structure(Type.REFUSED)),
        ("on_event", EVENT),
    )


class Kept(ctypes.Structure):
    """`struct rh_kept`."""

    _fields_ = (
        ("crc", ctypes.c_uint32),
        ("id", ctypes.c_uint16),
        ("request", ctypes.c_size_t),
        ("length", ctypes.c_size_t),
    )


class Device(ctypes.Structure):
    """`struct rh_device`."""

    _fields_ = (
        ("line", Stream),
        ("receiver", c.Receiver),
        ("answers", ctypes.c_void_p),
        ("out", ctypes.c_void_p),
        ("answer_room", ctypes.c_size_t),
        ("room", ctypes.c_size_t),
        ("next", ctypes.c_size_t),
        ("kept", KEPT * Kept),
        ("context", ctypes.c_void_p),
        ("answer", ANSWER),
    )
