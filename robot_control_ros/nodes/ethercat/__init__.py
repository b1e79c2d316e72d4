"""EtherCAT drives as a node."""
