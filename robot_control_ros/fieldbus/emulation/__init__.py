"""The arms and topologies of this package on the bus of `ethercat_emulator`."""
