"""CANopen over EtherCAT: a device's objects, and what goes through its mailbox."""
