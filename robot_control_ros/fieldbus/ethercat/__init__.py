"""Drives of CiA 402 on a bus: files, process data, state machines, supervision."""
