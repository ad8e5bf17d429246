"""What only AI agents call."""
