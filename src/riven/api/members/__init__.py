"""Users of the identity provider in a workspace."""
