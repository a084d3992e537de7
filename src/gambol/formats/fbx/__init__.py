"""FBX: read with the help of ufbx, in a process of its own; written by code of our own."""
