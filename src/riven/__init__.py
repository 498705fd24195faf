"""riven: durable, multi-tenant workflow automation. Stays empty, so that workflow code stays pure."""
