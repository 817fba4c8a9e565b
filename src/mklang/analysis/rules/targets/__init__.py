"""Names that must lead somewhere: the entry, the targets of gates, the machines called, the tiers asked for."""
