"""What a module can do, in code to copy from."""
