"""The shapes: tables, records and errors. Everything else in Assay stands on this room."""
