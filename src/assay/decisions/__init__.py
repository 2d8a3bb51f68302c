"""Rules over estimates and comparisons, the checks of these rules, and the verdict they lead to."""
