"""Who judges what: samples of queries, pools of documents, judgments of people and models, and checks."""
