"""What the adapters of database servers share: clients, base classes, a local PostgreSQL."""
