"""URLs that ringhil adds to pyserial's: it finds them here once `ringhil.emulator.serial.client` is loaded."""
