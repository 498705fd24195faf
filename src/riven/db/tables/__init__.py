"""The tables, as SQLAlchemy Core describes them; seen only by the stages that own SQL."""
