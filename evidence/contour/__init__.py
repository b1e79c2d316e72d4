"""The contour demonstration: six emulated drives on an EtherCAT bus follow a rectangle."""
