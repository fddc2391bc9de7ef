"""Roles, leases, keepalives, and what firmware and CPU write in them."""
