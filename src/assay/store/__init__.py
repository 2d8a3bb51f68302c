"""What is remembered: records in SQL, tables as Parquet by digest, and what joins them."""
