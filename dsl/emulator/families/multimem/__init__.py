"""Instructions on multimem addresses, of multicast objects of one device. PTX ISA 8.2.3, 9.7.9.14."""
