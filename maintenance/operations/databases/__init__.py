"""Operations on all tables of a database."""
