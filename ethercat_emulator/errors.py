"""Every error that this package raises on purpose, beside ValueError for a wrong argument."""


class EmulatorError(OSError):
    """Base of all errors of this package."""


class NetworkError(EmulatorError):
    """A network interface or a network namespace can't be used."""


class UnknownInterfaceError(NetworkError):
    """There is no such network interface; the message lists those that there are."""


class FaultChannelError(EmulatorError):
    """The fault channel has no socket, nobody answers there, or the emulator refuses a line."""
