"""Language models as judges and as writers of queries."""
