"""Pictures as plain numbers, which the templates write as SVG, each with a text for those who do not see it."""
