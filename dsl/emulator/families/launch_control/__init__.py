"""clusterlaunchcontrol: a running cluster takes over one that has not begun. PTX ISA 9.7.13.17, 9.7.13.18."""
