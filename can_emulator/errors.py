"""Every error that this package raises on purpose, beside ValueError for a wrong argument."""


class EmulatorError(OSError):
    """Base of all errors of this package."""


class NetworkError(EmulatorError):
    """A port or a CAN interface can't be used."""
