"""What a node ought to do, frame by frame, written from the contract and not from the RTL."""
