"""EtherCAT slaves without hardware: frames in, frames out.

    frame                       datagrams in an Ethernet frame
    registers esc               a slave controller's memory, and what happens when a master touches it
    sync_manager fmmu eeprom clock watchdog al_state     its parts
    dictionary pdo              a device's objects, and those of them in its process data
    mailbox coe coe_information what goes through the mailbox
    sii                         the content of the EEPROM
    power_states servo drive    a CiA 402 drive
    mechanics                   what the motors turn
    slave devices bus           a controller with its device; ready-made ones; the chain of them
    line faults wire            its cable; what can go wrong; a network interface in the cable's place

Times are nanoseconds of the caller's clock (int), which never runs backwards. The protocol is that of ETG.1000.4 and
.6 as Beckhoff's "EtherCAT Slave Controller, Hardware Data Sheet", sections I (technology) and II (registers), tells it.
"""
