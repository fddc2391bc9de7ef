"""Whether a machine can lend a whole GPU to a virtual machine (V3), and what libvirt loads for it (V4)."""
