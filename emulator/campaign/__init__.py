"""Many runs: scenario files as tests, fault campaigns, failures made small."""
