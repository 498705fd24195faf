"""Servers out of wheels, for one machine: started, watched and stopped here; knows nothing of what riven keeps in them."""
