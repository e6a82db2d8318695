"""Output of an import: robot file, joint mapping, report and drawings."""
