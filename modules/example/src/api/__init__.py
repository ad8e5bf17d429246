"""What the site's pages ask, and tools made from it."""
