"""Writing what an import found: robot file, joint mapping, report and drawings."""
