"""Work on all tables of a warehouse within a budget, and what it costs."""
