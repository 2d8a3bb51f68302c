"""How the schema of the records came to be, step by step."""
