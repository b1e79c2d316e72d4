"""Motors on CAN in MIT mode: their frames, an arm of them, its cycle, the driver for the bus process."""
