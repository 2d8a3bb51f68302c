"""Records in SQL, tables as Parquet files named by their digest, and their import and export."""
