"""The expression language of specs: parsed and type-checked, then evaluated or encoded."""
