"""The parts of the UBI reader: records of files, their fields, and what follows from several records."""
