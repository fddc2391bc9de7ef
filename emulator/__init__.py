"""Everything that runs: engine, kernel, host, scenarios, command line."""
