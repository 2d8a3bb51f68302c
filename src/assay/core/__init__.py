"""Tables, vectors, records and errors: the types that every other package uses."""
