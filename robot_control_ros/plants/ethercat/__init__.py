"""Drives on EtherCAT: CiA 402, process data, topology, supervision; and an emulated bus to prove it all on."""
