"""GPUs as monitoring tools see them: NVML's C interface, answered by a running server. See docs/howto/monitoring.md."""
