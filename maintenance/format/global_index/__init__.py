"""Files of global indexes: of one column of many data files, from its values to row ids."""
