"""What the operator of an installation asks for, with a platform key."""
