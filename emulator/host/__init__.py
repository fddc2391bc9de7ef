"""The CPU: counts its cards, splits the work, hands it out, checks what comes back."""
