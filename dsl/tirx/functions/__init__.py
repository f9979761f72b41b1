"""The functions of T, T.cuda and T.ptx."""
