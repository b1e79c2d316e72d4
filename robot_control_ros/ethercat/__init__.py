"""EtherCAT drives: the driver, the bus's own process, tools for the command line."""
