"""The node types that come with riven, one module each; none knows another."""
