"""Several tasks on one GPU: the driver that programs use, and the programs of a scenario. See docs/howto/sharing.md."""
