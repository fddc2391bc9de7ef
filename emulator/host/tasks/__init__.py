"""Programs on the CPU that use contexts: applications that train."""
